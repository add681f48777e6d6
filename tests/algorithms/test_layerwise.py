"""Training layer by layer, against a loop in plain PyTorch with an optimiser for each stage."""

import itertools
from dataclasses import replace

import pytest
import torch

from beyondkernels.algorithms import Batch, GradientDescent, Layerwise, Squared
from beyondkernels.core import Stream, digest
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation
from views import view

D, K, M, POINTS = 5, 3, 8, 12
FIRST = GradientDescent(6, 0.05, POINTS, 0.9, 0.02, "all", Squared(), drops=(4,))
SECOND = GradientDescent(5, 0.03, POINTS, 0.8, 0.01, "all", Squared(), drops=(2, 3))
RULE = Layerwise(FIRST, SECOND)
forms = pytest.mark.parametrize("form", ["full", "bottleneck"])


def network_of(form, bias=True):
    scales = popular_initialisation(M)
    return ThreeLayerResNet(M, form, parameterisation=scales if bias else replace(scales, bias_variance=None))


def batch(t, seed=0):
    stream = Stream(7 + seed).at(t)
    return Batch(stream.child("x").normal(POINTS, D), stream.child("y").normal(POINTS, K))


def numbers(rule, stage, step):
    return {name: torch.tensor(value) for name, value in rule.hyper(stage, step).items()}


def seen(rule, network, params, optimiser, at, seed):
    return view(rule, network, params, optimiser, at, initial=Stream(seed), in_dim=D, out_dim=K)


def run(rule, network, seed=0):
    """The states after every step, the start first, those of a new stage after its transition."""
    params, buffers = rule.initialise(network, D, K, Stream(seed))
    states, losses, step = [params], [], 0
    for i, stage in enumerate(rule.stages()):
        optimiser = rule.optimiser_state(stage, params)
        for t in range(stage.steps):
            params, buffers, optimiser, loss = rule.step(
                stage, network, params, buffers, optimiser, batch(step), {}, numbers(rule, stage, step + 1)
            )
            step += 1
            if t + 1 == stage.steps:
                after = rule.transition(seen(rule, network, params, optimiser, (i, t + 1, step), seed))
                assert after.stage == (1 if i == 0 else None)
                params = after.params
            states.append(params)
            losses.append(float(loss))
    return states, losses


def literal(network, hidden_only, seed=0):
    """The same in plain PyTorch: out₁ alone, then the second layer on top of a first one that no gradient enters."""
    start = network.init(D, K, Stream(seed))[0]
    W, b1, A = (start[n].clone().requires_grad_() for n in ("W.weight", "W.bias", "A.weight"))
    letter = "U" if network.form == "full" else "V"
    V, b2 = (start[f"{letter}.{n}"].clone().requires_grad_() for n in ("weight", "bias"))
    losses, step = [], 0

    def go(trained, rate, momentum, decay, steps, drops, out):
        nonlocal step
        optimiser = torch.optim.SGD(trained, lr=rate, momentum=momentum, weight_decay=decay)
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, drops, 0.1)
        for _ in range(steps):
            x, y = batch(step)
            loss = (out(x) - y).square().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
            step += 1

    trained = [W, b1] if hidden_only else [W, b1, A]
    go(trained, 0.05, 0.9, 0.02, 6, [4], lambda x: torch.relu(x @ W.T + b1) @ A.T)
    W, b1, A = (each.detach() for each in (W, b1, A))

    def both(x):
        h = torch.relu(x @ W.T + b1)
        seen = h if network.form == "full" else h @ A.T
        return h @ A.T + torch.relu(seen @ V.T + b2) @ A.T

    go([V, b2], 0.03, 0.8, 0.01, 5, [2, 3], both)
    end = {"W.weight": W, "W.bias": b1, "A.weight": A, f"{letter}.weight": V, f"{letter}.bias": b2}
    return {name: value.detach() for name, value in end.items()}, losses


@forms
@pytest.mark.parametrize("group", ["all", "hidden"])
def test_against_plain_pytorch(form, group):
    network, rule = network_of(form), Layerwise(replace(FIRST, group=group), replace(SECOND, group=group))
    states, losses = run(rule, network)
    expected, theirs = literal(network, group == "hidden")
    assert losses == pytest.approx(theirs, rel=1e-5)
    assert states[-1].keys() == expected.keys() == network.init(D, K, Stream(0))[0].keys()
    for name, value in expected.items():
        torch.testing.assert_close(states[-1][name], value, rtol=1e-4, atol=1e-6)


@forms
@pytest.mark.parametrize("bias", [True, False])
def test_the_second_layer_waits_and_then_moves_alone(form, bias):
    network, letter = network_of(form, bias), "U" if form == "full" else "V"
    drawn = network.init(D, K, Stream(0))[0]
    states, _ = run(RULE, network)
    second = {name for name in drawn if name.startswith(letter)}
    x = batch(99).x.double()
    for state in states[:6]:
        assert all(not state[name].any() for name in second)
        wide = {name: state[name].double() for name in drawn}
        h = torch.relu(x @ wide["W.weight"].T + (wide["W.bias"] if bias else 0))
        out1 = h @ wide["A.weight"].T
        torch.testing.assert_close(network.apply(wide, {}, x)[0], out1, rtol=1e-13, atol=1e-14)
    for before, after in itertools.pairwise(states[:6]):
        assert {n for n in drawn if not torch.equal(before[n], after[n])} == drawn.keys() - second
    assert all(torch.equal(states[6][name], drawn[name]) for name in second)  # its own draw, put in untouched
    for before, after in itertools.pairwise(states[6:]):
        assert {n for n in drawn if not torch.equal(before[n], after[n])} == second
    assert all(torch.equal(states[-1][name], states[6][name]) for name in drawn.keys() - second)


def test_drops_count_from_the_stage_s_start():
    first, second = RULE.stages()
    rates = [RULE.hyper(first, t)["rate"] for t in range(1, 7)]
    assert rates == pytest.approx([0.05] * 4 + [0.005] * 2)
    rates = [RULE.hyper(second, t)["rate"] for t in range(7, 12)]
    assert rates == pytest.approx([0.03, 0.03, 0.003, 0.0003, 0.0003])
    for stage, steps in ((first, range(1, 7)), (second, range(7, 12)), (second, range(9, 10))):
        one_by_one = [RULE.hyper(stage, step) for step in steps]
        assert RULE.hyper_of(stage, steps) == {name: [each[name] for each in one_by_one] for name in one_by_one[0]}


@forms
@pytest.mark.parametrize("stage", RULE.stages(), ids=lambda stage: stage.name)
def test_vmapped_step_gives_bitwise_what_a_member_alone_gives(form, stage):
    network, members = network_of(form), []
    for seed in range(3):
        params, buffers = RULE.initialise(network, D, K, Stream(seed))
        if stage.name == "second layer":
            params = RULE.transition(seen(RULE, network, params, {}, (0, 6, 6), seed)).params
        state = {name: value + 0.1 for name, value in RULE.optimiser_state(stage, params).items()}
        members.append((params, buffers, state, batch(0, seed), {}, numbers(RULE, stage, 7)))

    def stack(parts):
        if isinstance(parts[0], Batch):
            return Batch(*(torch.stack(part) for part in zip(*parts, strict=True)))
        return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}

    step = torch.func.vmap(lambda *args: RULE.step(stage, network, *args))  # pyright: ignore[reportCallIssue]
    together = step(*(stack(part) for part in zip(*members, strict=True)))
    for i, member in enumerate(members):
        alone = step(*(stack([part]) for part in member))
        assert torch.equal(together.loss[i], alone.loss[0])
        for kind in ("params", "optimiser"):
            for name, value in getattr(together, kind).items():
                assert torch.equal(value[i], getattr(alone, kind)[name][0]), name


def test_rules_of_the_stages():
    first, second = RULE.stages()
    assert (first.batch, first.steps, second.batch, second.steps) == (POINTS, 6, POINTS, 5)
    assert RULE.descent(first) == replace(FIRST, group="W+A")
    assert Layerwise(replace(FIRST, group="hidden"), SECOND).descent(first) == replace(FIRST, group="W")
    assert RULE.descent(second) == replace(SECOND, group="hidden-W")
    assert FIRST.descent(FIRST.stages()[0]) is FIRST
    assert RULE.loss == Squared()


def test_identity_and_program():
    assert digest(RULE) != digest(Layerwise(SECOND, FIRST))
    first, second = RULE.stages()
    faster = Layerwise(replace(FIRST, learning_rate=0.5), replace(SECOND, weight_decay=0.0, drops=()))
    assert [faster.program(stage) for stage in (first, second)] == [RULE.program(stage) for stage in (first, second)]
    hidden = Layerwise(replace(FIRST, group="hidden"), SECOND)
    assert len({RULE.program(first), RULE.program(second), hidden.program(first), FIRST.program(first)}) == 4
