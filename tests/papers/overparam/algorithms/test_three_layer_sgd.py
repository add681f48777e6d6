"""Algorithm 2: line by line, its special cases, the law of λ, and the choice at the end."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import Batch, PseudoHuber, Squared
from beyondkernels.core import DivergedError, Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.papers.overparam import ThreeLayerLearner, ThreeLayerSettings, ThreeLayerSGD, TwoLayerSGD
from stepping import started
from views import view

D, N, M1, M2 = 3, 6, 5, 4
SAMPLE = Sample(Stream(0).child("x").normal(N, D), Stream(0).child("y").normal(N, 1))
NETWORK: Any = ThreeLayerLearner(M1, second_width=M2)
SETTINGS = ThreeLayerSettings((0.2, 0.1), 0.3, (0.5, 0.2), wait=2, draws=9)
RULE = ThreeLayerSGD(SETTINGS, 14, 0.1)


def member(rule=RULE, seed=1, network=NETWORK) -> Member:
    return started(network, rule, SAMPLE, Stream(seed))


def trained(rule=RULE, seed=1, until=None) -> Member:
    found = member(rule, seed)
    with torch.no_grad():
        train([found], [frozenset()], lambda _: None, until=until)
    return found


def loss(lam, W, V, buffers, x, y):
    """L(λF(x; W, V), y) with the pseudo-Huber loss, a mean over points."""
    hidden = (x @ W.T + buffers["b1"]).clamp(min=0)
    out = (hidden @ V.T + buffers["b2"]).clamp(min=0) @ buffers["a"].T
    return ((1 + (lam * out - y).square().sum(1)).sqrt() - 1).mean()


def literal(rule: ThreeLayerSGD, seed: int):
    """Algorithm 2 in float64, line by line, with explicit λ_t and t₀, on draws that are the engine's."""
    start = member(rule, seed)
    W0, V0 = start.params["W"].double(), start.params["V"].double()
    buffers = {name: value.double() for name, value in start.buffers.items()}
    x, y, s, eta = SAMPLE.x.double(), SAMPLE.y.double(), rule.settings, rule.learning_rate
    rows: Any = start.rows(0, rule.steps)
    W, V, lam, t0, times = torch.zeros_like(W0), torch.zeros_like(V0), {1: 1.0}, 1, []
    assert s.wait is not None
    for t in range(1, rule.steps + 1):
        drawn = {name: value.double() for name, value in start.noise(t - 1).items()}
        point = rows[t - 1]
        W, V = W.requires_grad_(), V.requires_grad_()
        sigma = torch.diag(drawn["signs"]) if rule.variant == "L2" else torch.eye(M1, dtype=torch.float64)
        objective = loss(
            lam[t], sigma @ W + drawn["smoothing/W"] + W0, V @ sigma + drawn["smoothing/V"] + V0, buffers,
            x[point], y[point],
        )  # fmt: skip
        for row in W:
            objective = objective + s.penalties[0] * (row @ row) ** 2
        objective = objective + s.penalties[1] * (V * V).sum()
        slope_w, slope_v = torch.autograd.grad(objective, (W, V))
        W = (W - eta * slope_w + eta * drawn["gradient/W"]).detach()
        V = (V - eta * slope_v + eta * drawn["gradient/V"]).detach()
        if t == t0:
            times.append(t)
            lam[t + 1] = (1 - eta) * lam[t]
            t0 = t + int(start.noise(t)["wait"])
            assert t + s.wait <= t0 <= t + 2 * s.wait
        else:
            lam[t + 1] = lam[t]
    stream, last = start.stream.child("transition").at(rule.steps), lam[rule.steps]
    if rule.variant == "L2":
        sigma = torch.diag(2 * stream.child("signs").bernoulli(0.5, M1).double() - 1)
        W, V = sigma @ W, V @ sigma
    found = []
    for j in range(s.draws):
        at = stream.child("draw", str(j))
        w = W0 + s.smoothing[0] * at.child("W").normal(M1, D).double() + W
        v = V0 + s.smoothing[1] * at.child("V").normal(M2, M1).double() + V
        found.append((float(loss(last, w, v, buffers, x, y)), j, w, v))
    return min(found, key=lambda each: each[0]), last, times, buffers["a"], found


@pytest.mark.parametrize("variant", ["L1", "L2"])
@pytest.mark.parametrize("batch", [1, 3])
def test_algorithm_2_line_by_line(variant, batch):
    chosen = set()
    for seed in (1, 2, 3):
        rule = replace(RULE, variant=variant, batch=batch)
        found = trained(rule, seed)
        (value, j, W, V), scale, times, a, _ = literal(rule, seed)
        assert len(times) >= 4
        torch.testing.assert_close(found.params["W"].double(), W, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found.params["V"].double(), V, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found.buffers["a"].double(), scale * a, rtol=1e-5, atol=1e-6)
        assert float(found.optimiser["scale"]) == pytest.approx(scale, rel=1e-5)
        assert int(found.optimiser["chosen"]) == j
        out = NETWORK.apply(found.params, found.buffers, SAMPLE.x)[0]
        assert PseudoHuber().report(out, SAMPLE.y)["loss"] == pytest.approx(value, rel=1e-4)  # λ_T F is what remains
        chosen.add(j)
    assert len(chosen) > 1


def test_the_last_step_does_not_shrink_the_last_scale():
    """λ_T is the scale of step T, also where T is one of the random times."""
    rule = replace(RULE, settings=replace(SETTINGS, wait=1))
    for steps in range(1, 8):
        short = replace(rule, steps=steps)
        _, scale, times, _, _ = literal(short, 1)
        assert scale == pytest.approx(0.9 ** sum(t < steps for t in times))
        assert float(trained(short).optimiser["scale"]) == pytest.approx(scale, rel=1e-6)


@pytest.mark.parametrize("variant", ["L1", "L2"])
def test_the_slopes_of_the_penalties_vanish_at_the_start(variant):
    """The first step feels the loss alone, whatever the penalties are."""
    free = trained(replace(RULE, variant=variant, settings=replace(SETTINGS, penalties=(0.0, 0.0))), until=1)
    heavy = trained(replace(RULE, variant=variant, settings=replace(SETTINGS, penalties=(1e6, 1e6))), until=1)
    assert torch.equal(free.params["W"], heavy.params["W"])
    assert torch.equal(free.params["V"], heavy.params["V"])


def test_the_step_follows_the_objective_that_it_reports():
    stage, one = RULE.stages()[0], trained(until=6)
    rule, noise = replace(RULE, variant="L2"), member(replace(RULE, variant="L2")).noise(6)
    noise = {name: 0 * value if name.startswith("gradient") else value for name, value in noise.items()}
    params, buffers, optimiser = (
        {name: value.double() for name, value in part.items()} for part in (one.params, one.buffers, one.optimiser)
    )
    noise = {name: value.double() for name, value in noise.items()}
    batch = Batch(SAMPLE.x.double(), SAMPLE.y.double())
    hyper = {name: torch.tensor(value, dtype=torch.float64) for name, value in rule.hyper(stage, 1).items()}
    after = rule.step(stage, NETWORK, params, buffers, optimiser, batch, noise, hyper)
    for name in ("W", "V"):
        along = Stream(7).child(name).normal(*params[name].shape, dtype=torch.float64)
        values = [
            rule.step(
                stage, NETWORK, params | {name: params[name] + h * along}, buffers, optimiser, batch, noise, hyper
            ).loss
            for h in (1e-6, -1e-6)
        ]
        slope = float((params[name] - after.params[name]).mul(along).sum()) / 0.1
        assert float(values[0] - values[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)


def times_of(rule, seed):
    """The steps in which λ is smaller than before."""
    found, last = [], 1.0
    one = member(rule, seed)
    state, stage = dict(one.optimiser), rule.stages()[0]
    hyper = {name: torch.tensor(value) for name, value in rule.hyper(stage, 1).items()}
    for t in range(1, rule.steps + 1):
        result = rule.step(stage, NETWORK, one.params, one.buffers, state, Batch(SAMPLE.x, SAMPLE.y),
                           one.noise(t - 1), hyper)  # fmt: skip
        state = result.optimiser
        if float(state["scale"]) < last:
            found.append(t)
            last = float(state["scale"])
    return found, last


def test_the_law_of_the_scale():
    """It shrinks by 1 − η after step 1, then after uniform waits in T_w, …, 2T_w, independent for each seed."""
    rule = ThreeLayerSGD(ThreeLayerSettings(wait=2), 240, 0.01)
    waits = []
    for seed in (1, 2):
        times, scale = times_of(rule, seed)
        assert times[0] == 2  # λ₂ = (1 − η)λ₁
        assert scale == pytest.approx(0.99 ** len(times), rel=1e-4)
        waits.append(torch.tensor(times).diff())
    both = torch.cat(waits)
    counts = torch.bincount(both).double()
    assert set(both.tolist()) == {2, 3, 4}
    expected = len(both) / 3
    assert bool(((counts[2:] - expected).abs() < 5 * math.sqrt(2 * expected / 3)).all())
    assert waits[0][:50].tolist() != waits[1][:50].tolist()


def test_the_noise_has_the_stated_size():
    rule = ThreeLayerSGD(replace(SETTINGS, smoothing=(0.02, 0.3), gradient_noise=0.7), 5, 0.1, "L2")
    noise = member(rule, network=ThreeLayerLearner(200)).noise(0)
    for name, std in (("smoothing/W", 0.02), ("smoothing/V", 0.3), ("gradient/W", 0.7), ("gradient/V", 0.7)):
        count = noise[name].numel()
        assert float(noise[name].std()) == pytest.approx(std, rel=5 / math.sqrt(2 * count))
        assert abs(float(noise[name].mean())) < 5 * std / math.sqrt(count)
    assert set(noise["signs"].tolist()) == {-1.0, 1.0}
    assert abs(float(noise["signs"].sum())) < 5 * math.sqrt(200)
    again = member(rule, network=ThreeLayerLearner(200)).noise(1)
    assert not any(torch.equal(value, again[name]) for name, value in noise.items() if name != "wait")


def test_the_choice_is_the_least_of_all_draws():
    rule = replace(RULE, settings=replace(SETTINGS, smoothing=(0.5, 0.5), draws=20))
    (value, j, _, _), _, _, _, found = literal(rule, 3)
    values = [each[0] for each in found]
    assert value == min(values) < 0.8 * sorted(values)[10]
    assert int(trained(rule, 3).optimiser["chosen"]) == j > 0


def test_a_loss_that_is_not_finite_is_a_divergence():
    one = member()
    broken = {name: value * float("nan") for name, value in one.params.items()}
    seen = replace(view(RULE, NETWORK, broken, one.optimiser, (0, 14, 14), sample=SAMPLE), buffers=one.buffers)
    with pytest.raises(DivergedError, match="no noise matrix has a finite loss after step 14"):
        RULE.transition(seen)


def test_alone_and_in_company():
    """Members of other seeds and settings shrink λ at times of their own, and end with the bits they have alone."""
    other = replace(SETTINGS, smoothing=(0.3, 0.05), gradient_noise=0.01, penalties=(0.0, 1.0), wait=3, draws=4)
    for variant in ("L1", "L2"):
        rules = [replace(RULE, variant=variant), ThreeLayerSGD(other, 14, 0.03, variant)]
        pairs = [(rule, seed) for rule in rules for seed in (1, 2)]
        together = [member(*pair) for pair in pairs]
        assert len({one.group() for one in together}) == 1
        with torch.no_grad():
            train(together, [frozenset({5})] * 4, lambda _: None)
        for one, pair in zip(together, pairs, strict=True):
            alone = trained(*pair)
            for part in ("params", "buffers", "optimiser"):
                mine, theirs = getattr(one, part), getattr(alone, part)
                assert all(torch.equal(value, theirs[name]) for name, value in mine.items())
        assert len({float(one.optimiser["scale"]) for one in together}) > 1


def test_groups_follow_what_is_drawn():
    groups = {
        member(ThreeLayerSGD(settings, 14, 0.1)).group()
        for settings in (SETTINGS, replace(SETTINGS, wait=None), replace(SETTINGS, smoothing=(0.0, 0.1)),
                         replace(SETTINGS, gradient_noise=0.0))
    }  # fmt: skip
    assert len(groups | {member(replace(RULE, variant="L2")).group()}) == 5
    assert member(replace(RULE, loss=Squared())).group() not in groups


def test_a_rate_may_be_small_where_nothing_shrinks():
    assert replace(RULE, learning_rate=1e-8, settings=replace(RULE.settings, wait=None)).learning_rate == 1e-8


def test_signs_of_one_are_the_first_variant():
    first, second = RULE, replace(RULE, variant="L2")
    stage, one = RULE.stages()[0], trained(until=5)
    noise = member().noise(5)
    hyper = {name: torch.tensor(value) for name, value in RULE.hyper(stage, 1).items()}
    given = (one.params, one.buffers, one.optimiser, Batch(SAMPLE.x, SAMPLE.y))
    plain = first.step(stage, NETWORK, *given, noise, hyper)
    for signs, same in ((torch.ones(M1), True), (-torch.ones(M1), False)):
        signed = second.step(stage, NETWORK, *given, noise | {"signs": signs}, hyper)
        for name in ("W", "V"):
            assert torch.allclose(plain.params[name], signed.params[name], rtol=1e-5, atol=1e-6) == same


def test_without_noise_and_penalties_it_is_plain_descent():
    """The steps, the draws of points and the end are Algorithm 1's, bit for bit."""
    plain: Any = TwoLayerSGD(14, 0.1)
    other = member(plain)
    with torch.no_grad():
        train([other], [frozenset()], lambda _: None)
    found = trained(ThreeLayerSGD(ThreeLayerSettings(), 14, 0.1))
    for name in ("W", "V"):
        assert torch.equal(found.params[name], other.params[name])
        assert not torch.equal(found.params[name], member().params[name])
    assert torch.equal(found.buffers["a"], other.buffers["a"])
