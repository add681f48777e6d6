"""Algorithm 1: its step against autograd, its decisions one by one, and whole runs through the engine."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import Batch
from beyondkernels.algorithms.optimisers import adam, sgd
from beyondkernels.core import Case, DivergedError, InputError, Sample, Stream, digest
from beyondkernels.engine import TrainedNetwork, train
from beyondkernels.engine.state import restore, saved_state
from beyondkernels.papers.bfc.algorithms import DenseNetSGD
from beyondkernels.papers.bfc.networks import DistilledDenseNet, QuadraticDenseNet
from beyondkernels.papers.bfc.problems import QuadraticTarget, UniformInputs
from beyondkernels.papers.bfc.theory import practical
from refusals import refused
from stepping import started
from views import view

D, POINTS = 5, 300
TARGET = QuadraticTarget(D, (2, 1), ((1,), (2, 0)), (1.0, 0.2), relative=True, inputs=UniformInputs())
STDS = tuple(scale * std.value for scale, std in zip(TARGET.scales, TARGET.layer_stds.values(), strict=True))
NETWORK: Any = DistilledDenseNet(TARGET.graph, 6, TARGET.scales, second_moments=TARGET.second_moments)
SETTINGS = practical(STDS, TARGET.scales, error=1e-2, weight=0.1)
RULE = DenseNetSGD(SETTINGS, adam(0.02), (60, 60, 60, 60), batch=50, check_every=20, draws=20)


def sample(seed=0):
    return TARGET.sample(POINTS, Stream(seed).child("train"))


def member(rule=RULE, seed=0, network=NETWORK):
    return started(network, rule, sample(seed), Stream(seed).child("learner"))


def grown(seed=0):
    """Parameters and buffers of all layers, and what an optimiser carries."""
    params, buffers = replace(NETWORK, ranks=(2, 1)).init(D, 1, Stream(seed))
    return params, buffers


def seen(rule, at, params, buffers, target, network=NETWORK, **words):
    stage = rule.stages()[at[0]]
    optimiser = rule.optimiser_state(stage, params) | {"target_error": torch.tensor(target, dtype=torch.float64)}
    words = {"sample": sample(), "in_dim": D, "initial": Stream(0)} | words
    return replace(view(rule, network, params, optimiser, at, **words), buffers=buffers)


def numbers(rule, stage, step=1):
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in rule.hyper(stage, step).items()}


def test_a_step_is_descent_on_the_objective():
    rule = replace(RULE, rule=sgd(0.01), noise_std=0.1)
    (params, buffers), stage, points = grown(), rule.stages()[4], sample()
    few = Sample(points.x[:7], points.y[:7])
    optimiser = rule.optimiser_state(stage, params) | {"target_error": torch.tensor(0.7, dtype=torch.float64)}
    noise = rule.noise(stage, NETWORK, params, 7, Stream(3))
    assert set(noise) == {"on/W2.1", "on/W3.2", "on/W3.0"}
    after = rule.step(stage, NETWORK, params, buffers, optimiser, Batch(few.x, few.y), noise, numbers(rule, stage))
    theirs = {name: value.clone().requires_grad_() for name, value in params.items()}
    value = rule.objective(NETWORK, theirs, buffers, few, stage, 0.7)
    value.backward()
    assert after.loss.item() == pytest.approx(value.item(), rel=1e-12)
    for name, old in theirs.items():
        moved = old.detach() - 0.01 * old.grad + (0.1 * noise[f"on/{name}"] if name[0] == "W" else 0)
        torch.testing.assert_close(after.params[name], moved, rtol=1e-11, atol=1e-13)
    assert after.optimiser["clock"].item() == 1


def test_the_objective_of_a_stage():
    """λ₃ … λ₅ only for layers that have K, λ₆ = decay · ε₀² for layers that have W."""
    (params, buffers), points = grown(), sample()
    present = {name: value for name, value in params.items() if name[:2] != "K3"}
    found = float(RULE.objective(NETWORK, present, buffers, points, RULE.stages()[3], 0.5))
    W2, K2 = params["W2.1"], params["K2.1"]
    loss = (NETWORK.apply(present, buffers, points.x, train=True)[0] - points.y).square().mean()
    tie = 2 * 0.1 * 1.0**2 * (K2.T @ K2 - W2.T @ W2).square().sum()  # λ₄ and λ₅; the second layer has no block ◁
    decay = 1e-4 * 0.5**2 * sum(value.square().sum() for value in present.values())
    assert found == pytest.approx(float(loss + tie + decay), rel=1e-11)


def test_stages():
    assert [(stage.name, stage.steps) for stage in RULE.stages()] == [
        ("start", 1), ("W2", 60), ("K2", 60), ("W3", 60), ("K3", 60)
    ]  # fmt: skip
    assert [RULE.layer(stage) for stage in RULE.stages()] == [(2, ""), (2, "W"), (2, "K"), (3, "W"), (3, "K")]


def test_the_start_looks_and_changes_nothing():
    one, seen_at = member(), {}
    before = {name: value.clone() for name, value in one.params.items()}
    train([one], [frozenset({1})], lambda m: seen_at.__setitem__(m.step, dict(m.params)), until=1)
    assert before.keys() == {"W2.1"}
    assert torch.equal(one.params["W2.1"], before["W2.1"])
    value = float(RULE.objective(NETWORK, before, {}, sample(), RULE.stages()[1], 1.0))
    assert float(one.optimiser["target_error"]) == pytest.approx(math.sqrt(value), rel=1e-4)
    assert one.stage.name == "W2"


def test_the_target_error_is_halved_until_it_fits():
    (params, buffers), stage = grown(), RULE.stages()[4]
    after: Any = RULE.transition(seen(RULE, (4, 20, 200), params, buffers, 1e4))
    assert after.stage == 4
    target = float(after.optimiser["target_error"])
    assert math.log2(1e4 / target) == pytest.approx(round(math.log2(1e4 / target)))
    obj = [float(RULE.objective(NETWORK, params, buffers, sample(), stage, e)) for e in (target, 2 * target)]
    assert target**2 / 4 <= obj[0]
    assert obj[1] < (2 * target) ** 2 / 4


def test_below_the_last_error_training_ends():
    params, buffers = grown()
    easy = replace(RULE, settings=replace(SETTINGS, error=1e6))
    after: Any = easy.transition(seen(easy, (4, 20, 200), params, buffers, 9e5))
    assert after.stage is None
    assert float(after.optimiser["target_error"]) == 9e5
    early = easy.transition(seen(easy, (1, 20, 40), {"W2.1": params["W2.1"]}, {}, 9e5))
    assert early.stage == 2  # not before all layers are there


@pytest.mark.parametrize(("factor", "moves"), [(1.01, True), (0.99, False)])
@pytest.mark.parametrize("index", [1, 2])
def test_thresholds(index, factor, moves):
    params, buffers = grown()
    given = {name: value for name, value in params.items() if name == "W2.1" or (index == 2 and name == "K2.1")}
    target = 10.0
    value = float(RULE.objective(NETWORK, given, buffers, sample(), RULE.stages()[index], target))
    distill, join = SETTINGS.distill_at, SETTINGS.join_at
    settings = replace(SETTINGS, distill_at=(factor * value, distill[1]), join_at=(join[0], factor * value))
    rule = replace(RULE, settings=settings)
    after: Any = rule.transition(seen(rule, (index, 20, 40), given, buffers if index == 2 else {}, target))
    assert after.stage == (index + 1 if moves else index)
    added = after.params.keys() - given.keys()
    assert added == (({"K2.1"} if index == 1 else {"W3.2", "W3.0"}) if moves else set())
    if moves:
        assert after.buffers.keys() == ({"R2"} if index == 1 else buffers.keys())
        assert float(after.optimiser["distilled2" if index == 1 else "joined3"]) == 40
        assert float(after.optimiser["clock"]) == 0


@pytest.mark.parametrize("strict", [False, True])
def test_a_stage_that_has_had_its_steps(strict):
    params, _ = grown()
    rule = replace(RULE, strict=strict, settings=replace(SETTINGS, distill_at=(0.0, 0.0)))
    after = rule.transition(seen(rule, (1, 60, 61), {"W2.1": params["W2.1"]}, {}, 10.0))
    assert after.stage == (None if strict else 2)
    assert ("K2.1" in after.params) == (not strict)


def test_a_rank_of_zero_ends_the_training_and_says_so():
    rule = replace(RULE, settings=replace(SETTINGS, rank_cut=(1e6, 1e6), relative_cut=False))
    learner = TrainedNetwork(NETWORK, rule)
    outcome = learner.fit(Case(TARGET, sample(), sample(1), Stream(0)), lambda _: None)
    assert outcome.status == "finished"
    assert outcome.scalars["layer2/rank"] == 0
    assert outcome.scalars["steps"] <= 61
    assert "layer3/joined" not in outcome.scalars


def test_a_full_rank_goes_on_and_says_so():
    rule = replace(RULE, settings=replace(SETTINGS, rank_cut=(1e-12, 1e-12)))
    outcome = TrainedNetwork(NETWORK, rule).fit(Case(TARGET, sample(), sample(1), Stream(0)), lambda _: None)
    assert outcome.scalars["layer2/rank"] == D
    assert outcome.scalars["layer2/full_rank"] == 1
    assert outcome.scalars["layer3/rank"] >= 1


def test_known_ranks_are_taken():
    one = member(network=replace(NETWORK, ranks=(3, 2)))
    train([one], [frozenset()], lambda _: None)
    assert one.params["K2.1"].shape == (3, D)
    assert one.params["K3.2"].shape == (2, 6)


def test_an_objective_that_is_not_finite_is_a_divergence():
    params, buffers = grown()
    broken = params | {"W3.2": params["W3.2"] * 1e200}
    with pytest.raises(DivergedError, match="the objective is inf after step 200"):
        RULE.transition(seen(RULE, (4, 20, 200), broken, buffers, 1.0))
    wild = replace(RULE, rule=sgd(1e3))
    outcome = TrainedNetwork(NETWORK, wild).fit(Case(TARGET, sample(), sample(1), Stream(0)), lambda _: None)
    assert outcome.status == "diverged"
    assert 1 < outcome.scalars["steps"] <= 21


def test_a_run_goes_through_all_stages_and_learns():
    rule = DenseNetSGD.practical(STDS, TARGET.scales, error=0.01 * STDS[0], steps=300, last=2, rate=0.02, batch=100)
    learner = TrainedNetwork(NETWORK, rule, snapshot_at=(1500,), snapshot_names=("W3.2", "K3.0"))
    learner.check(TARGET, POINTS, POINTS)
    outcome = learner.fit(Case(TARGET, sample(), sample(1), Stream(0).child("learner")), lambda _: None)
    s = outcome.scalars
    order = [s[name] for name in ("layer2/joined", "layer2/distilled", "layer3/joined", "layer3/distilled")]
    assert order == sorted(set(order))
    assert (s["layer2/rank"], s["layer3/rank"]) == (2, 1)
    before = float(sample().y.square().mean())
    assert s["train_loss"] < 1e-2 * before
    assert s["test_loss"] < 0.02 * TARGET.target_std.value**2
    assert s["target_error"] < 0.1 * math.sqrt(before)
    predictor: Any = outcome.predictor
    assert all(value.dtype == torch.float64 for value in (predictor.params | predictor.buffers).values())


def test_alone_and_in_company():
    """Members change stages at times of their own, and end with the bits that they have alone."""
    loose = replace(SETTINGS, distill_at=(0.5, 0.5), rank_cut=(0.05, 1e-4))
    base = replace(RULE, settings=loose, noise_std=1e-3, fading=True, steps=(24, 24, 24, 24), check_every=12)
    rules = [replace(base, rule=adam(rate)) for rate in (0.1, 0.01)]
    together = [member(rule, seed) for seed, rule in enumerate(rules)]
    train(together, [frozenset({33})] * 2, lambda _: None)
    entered = set()
    for seed, rule in enumerate(rules):
        alone = member(rule, seed)
        train([alone], [frozenset()], lambda _: None)
        other = together[seed]
        assert alone.params.keys() == other.params.keys() >= {"K3.2", "W3.0"}
        assert all(torch.equal(value, other.params[name]) for name, value in alone.params.items())
        assert all(torch.equal(value, other.buffers[name]) for name, value in alone.buffers.items())
        entered.add(float(alone.optimiser["distilled2"]))
    assert len(entered) > 1


def test_members_with_alphas_of_their_own_take_their_steps_together():
    """They are one group while their stages agree, and end with the bits that they have alone."""
    networks = [NETWORK, replace(NETWORK, alphas=tuple(2 * alpha for alpha in NETWORK.alphas))]
    together = [member(seed=3, network=network) for network in networks]
    assert together[0].group() == together[1].group()
    train(together, [frozenset()] * 2, lambda _: None, until=30)
    for network, other in zip(networks, together, strict=True):
        alone = member(seed=3, network=network)
        train([alone], [frozenset()], lambda _: None, until=30)
        assert all(torch.equal(value, other.params[name]) for name, value in alone.params.items())
    assert not torch.equal(together[0].params["W2.1"], together[1].params["W2.1"])


def test_zeros_need_noise():
    refused("noise_std must be positive where W starts from zeros", replace, RULE, start="zero")
    one = member(replace(RULE, start="zero", noise_std=0.01))
    assert not one.params["W2.1"].any()
    train([one], [frozenset()], lambda _: None, until=3)
    assert one.params["W2.1"].any()


def test_the_rate_fades_in_a_stage():
    rule = replace(RULE, rule=sgd(0.01), fading=True)
    (params, buffers), stage, points = grown(), rule.stages()[4], sample()
    batch = Batch(points.x[:7], points.y[:7])
    lengths = []
    for clock in (0.0, 30.0, 60.0):
        state = rule.optimiser_state(stage, params) | {"clock": torch.tensor(clock, dtype=torch.float64)}
        after = rule.step(stage, NETWORK, params, buffers, state, batch, {}, numbers(rule, stage)).params
        lengths.append(sum(float((after[name] - params[name]).square().sum()) for name in params) ** 0.5)
    assert [length / lengths[0] for length in lengths] == pytest.approx([1, 0.5, 0], abs=1e-9)


def test_classification():
    """The loss is CE(y, v(x₀ + F)), Reg has the factor v, and v follows ε₀ (footnote 47)."""
    rule = replace(RULE, target="classification", constant=2.0, rule=sgd(0.01))
    network: Any = replace(NETWORK, leading=True)
    (params, buffers), stage = grown(), rule.stages()[4]
    x = Stream(4).normal(9, D + 1, dtype=torch.float64)
    y = x[:, 0].sign()
    target = 0.25
    v = math.log(4) / (2.0 * 0.25)
    out = network.apply(params, buffers, x, train=True)[0][:, 0]
    plain = replace(rule, target="regression")
    labels = network.apply(params, buffers, x)[0]
    penalty = float(plain.objective(network, params, buffers, Sample(x, labels), stage, target))  # its loss is zero
    expected = float(torch.log1p(torch.exp(-v * y * out)).mean()) + v * penalty
    found = float(rule.objective(network, params, buffers, Sample(x, y), stage, target))
    assert found == pytest.approx(expected, rel=1e-10)
    state = rule.optimiser_state(stage, params)
    state |= {n: torch.tensor(e, dtype=torch.float64) for n, e in (("target_error", target), ("loss_scale", v))}
    after = rule.step(stage, network, params, buffers, state, Batch(x, y), {}, numbers(rule, stage))
    assert after.loss.item() == pytest.approx(expected, rel=1e-10)
    theirs = {name: value.clone().requires_grad_() for name, value in params.items()}
    rule.objective(network, theirs, buffers, Sample(x, y), stage, target).backward()
    for name, old in theirs.items():
        torch.testing.assert_close(after.params[name], old.detach() - 0.01 * old.grad, rtol=1e-9, atol=1e-12)
    assert set(rule.loss.report(out[:, None], y)) == {"loss", "accuracy"}
    halved: Any = rule.transition(seen(rule, (4, 20, 200), params, buffers, 0.5, network=network, sample=Sample(x, y)))
    e = float(halved.optimiser["target_error"])
    assert float(halved.optimiser["loss_scale"]) == pytest.approx(math.log(1 / e) / (2 * e))


@pytest.mark.parametrize("constant", [0.3, 100.0])
def test_v_follows_the_target_error(constant):
    """Literally: while the objective is below ε₀/2, ε₀ halves, and v = log(1/ε₀)/(cε₀) with it (footnote 47)."""
    light = practical(STDS, TARGET.scales, error=1e-2, weight=1e-4)  # so that Reg of a random network is small
    rule = replace(RULE, target="classification", constant=constant, settings=light)
    network: Any = replace(NETWORK, leading=True)
    params, buffers = grown()
    x = Stream(4).normal(200, D + 1, dtype=torch.float64)
    x[:, 0] *= 30
    y = network.apply(params, buffers, x)[0].sign()  # the network makes no mistake
    out = network.apply(params, buffers, x, train=True)[0]
    plain = replace(rule, target="regression")

    def objective(e):
        v = math.log(1 / e) / (constant * e)
        penalty = plain.objective(network, params, buffers, Sample(x, out), rule.stages()[4], e)  # its loss is zero
        return float(torch.log1p(torch.exp(-v * y * out)).mean() + v * penalty)

    halved = []
    while objective(0.5 / 2 ** len(halved)) < 0.5 / 2 ** len(halved) / 2:
        halved.append(objective(0.5 / 2 ** len(halved)))
    assert (len(halved) > 0) == (constant < 1)
    expected = 0.5 / 2 ** len(halved)
    after: Any = rule.transition(seen(rule, (4, 20, 200), params, buffers, 0.5, network=network, sample=Sample(x, y)))
    assert float(after.optimiser["target_error"]) == expected
    assert float(after.optimiser["loss_scale"]) == pytest.approx(math.log(1 / expected) / (constant * expected))


def test_identity():
    assert digest(replace(RULE, rule=adam(0.02))) == digest(RULE)
    others = [RULE, replace(RULE, fading=True), replace(RULE, noise_std=0.1), replace(RULE, target="classification")]
    programs = [rule.program(stage) for rule in others for stage in rule.stages()]
    assert len(set(programs)) == len(programs)
    faster = replace(RULE, rule=adam(0.5), settings=replace(SETTINGS, cross=(3.0, 3.0)))
    assert faster.program(RULE.stages()[1]) == RULE.program(RULE.stages()[1])
    assert RULE.hyper_of(RULE.stages()[4], range(2, 4))["own3"] == [SETTINGS.own[1]] * 2


def test_refused():
    refused("steps must hold 4 numbers, two for each layer of the settings, got 3", replace, RULE, steps=(1, 1, 1))
    with pytest.raises(InputError, match="DenseNetSGD is for a DistilledDenseNet, got a QuadraticDenseNet"):
        member(network=QuadraticDenseNet(TARGET.graph, (2, 2), TARGET.scales))
    with pytest.raises(InputError, match="graph must connect layer 3 to layer 2, to be distilled, got"):
        member(network=DistilledDenseNet(((1,), (1, 0)), 6, (1.0, 0.1)))
    assert RULE.later_parameters(NETWORK)[:3] == ("W2.1", "K2.1", "W3.2")


def test_an_interrupted_member_goes_on_with_the_same_bits():
    whole = member()
    train([whole], [frozenset()], lambda _: None)
    first, second = member(), member()
    train([first], [frozenset()], lambda _: None, until=whole.step - 30)
    assert restore(second, saved_state(first, {})) is not None
    train([second], [frozenset()], lambda _: None)
    assert all(torch.equal(value, whole.params[name]) for name, value in second.params.items())
