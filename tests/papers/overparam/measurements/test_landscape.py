"""The smoothed objective around points of Algorithm 2, draw by draw and sign by sign."""

import itertools
import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms.losses import PseudoHuber
from beyondkernels.core import Problem, Stream
from beyondkernels.execution.outcomes import perform
from beyondkernels.measure import Measurement
from beyondkernels.papers.overparam import SmoothedCoupling, SmoothedLandscape, ThreeLayerLearner, ThreeLayerSGD
from beyondkernels.papers.overparam.measurements.landscape import Place
from beyondkernels.papers.overparam.problems import ThreeLayerTruth, TwoLayerTruth, UnitInputs
from beyondkernels.store import RunSpec
from refusals import refused

TRUTH = ThreeLayerTruth(UnitInputs(4), "identity", "sin", "exp", 1, 1, outputs=2, noise=0.1, instance=100)
SETTINGS = bk.overparam.ThreeLayerSettings(smoothing=(0.02, 0.03), penalties=(0.01, 0.02), wait=3)
NETWORK = ThreeLayerLearner(10, 0.5, 8)
NAMES = ("W", "V", "buffers/b1", "buffers/b2", "buffers/a")
LOSS = PseudoHuber()


def run(
    *measurements: Measurement,
    problem: Problem = TRUTH,
    snapshot_at: tuple[int, ...] = (0, 5),
    variant: Literal["L1", "L2"] = "L1",
) -> RunSpec:
    rule = ThreeLayerSGD(SETTINGS, 9, 0.1, variant, batch=4)
    learner = bk.engine.TrainedNetwork(NETWORK, rule, snapshot_at=snapshot_at, snapshot_names=NAMES)
    return RunSpec(problem, learner, 30, 10, 100, measurements)


def kept(outcome, step):
    found = {name: torch.from_numpy(outcome.arrays[f"snapshot/{step}/{name}"]).double() for name in NAMES}
    return {n: found[n] for n in ("W", "V")}, {n[8:]: found[n] for n in NAMES if "/" in n}


def place(outcome, step, points=6):
    weights, buffers = kept(outcome, step)
    drawn = TRUTH.sample(30, Stream(100).child("train"))
    x, y = drawn.x[:points].double(), drawn.y[:points].double()
    return weights, Place(x, y, TRUTH.target(x), buffers, SETTINGS, LOSS)


def test_objectives_along_a_run():
    """Every mean over draws once more, with the network itself and with diagonal matrices."""
    rates, draws = (0.05, 0.002), 3
    outcome = perform([run(SmoothedLandscape(6, rates, draws, fit_points=50, seed=7))])[0]
    assert list(outcome.series["landscape/step"]) == [0, 5]
    weights, here = place(outcome, 5)
    start, _ = kept(outcome, 0)
    moved = {name: weights[name] - start[name] for name in weights}
    stream = Stream(7).child("landscape")
    fit = TRUTH.sample(50, stream.child("fit")).x.double()
    gates = bk.overparam.three_layer_gates(fit, weights["W"], weights["V"], here.buffers)
    star = bk.overparam.truth_direction(TRUTH, fit, gates, here.buffers["a"], 1e-3, stream.child("signs"))
    star = here.balanced(weights, moved, star, rates[0], stream.child("balance"))

    def objective(at, increments, factor=1.0):
        out = factor * NETWORK.apply(at, here.buffers, here.x)[0]
        return float(LOSS.each(out, here.y).mean()) + bk.overparam.penalty(increments, SETTINGS.penalties)

    orders = {n: stream.child("control", n).generator().permutation(m) for n, m in (("W", 10), ("V", 8))}
    control = {name: torch.stack([star[name][int(i)] for i in orders[name]]) for name in star}
    at_step = {name[10:]: values[1] for name, values in outcome.series.items() if name.startswith("landscape/")}
    for e, eta in enumerate(rates):
        c, other = np.zeros((draws, 3)), 0.0
        for i in range(draws):
            at = stream.child("draw", str(i))
            noise = {
                name: std * at.child(name).normal(*weights[name].shape, dtype=torch.float64)
                for name, std in zip(("W", "V"), SETTINGS.smoothing, strict=True)
            }
            noisy = {name: weights[name] + noise[name] for name in noise}
            signs = 2 * at.child("signs").bernoulli(0.5, 10).double() - 1
            for sign in (1, -1):
                sigma = sign * math.sqrt(eta) * torch.diag(signs)
                more = {"W": sigma @ star["W"], "V": star["V"] @ sigma}
                new = {name: noisy[name] + more[name] for name in noise}
                c[i, 0] += objective(new, {name: moved[name] + more[name] for name in noise}) / 2
                more = {"W": sigma @ control["W"], "V": control["V"] @ sigma}
                new = {name: noisy[name] + more[name] for name in noise}
                other += objective(new, {name: moved[name] + more[name] for name in noise}) / (2 * draws)
            c[i, 1] = objective(noisy, moved, 1 - eta)
            c[i, 2] = objective(noisy, moved)
        mean = c.mean(0)
        falls = (mean[2] - mean[:2]) / (eta * mean[2])
        assert at_step["objective"] == pytest.approx(mean[2])
        assert at_step["move"][e] == pytest.approx(falls[0], rel=1e-6)
        assert at_step["shrink"][e] == pytest.approx(falls[1])
        if e == 0:
            assert at_step["control"] == pytest.approx((mean[2] - other) / (eta * mean[2]))
        assert at_step["decrease"][e] == pytest.approx(falls.max(), rel=1e-6)
        column = int(falls[1] > falls[0])
        spread = (c[:, 2] - c[:, column]).std(ddof=1) / eta / mean[2] / math.sqrt(draws)
        assert at_step["decrease_error"][e] == pytest.approx(spread, rel=1e-6)
        errors = sum(at_step[name] for name in ("missing", "crossing", "growth")) + at_step["gates"][e]
        rest = at_step["loss"] - float(LOSS.each(here.target, here.y).mean()) - errors
        assert at_step["promised"][e] == pytest.approx(rest / (2 * mean[2]))
        assert at_step["errors"][e] == pytest.approx(errors / at_step["loss"])
    readouts = [kept(outcome, step)[1]["a"] for step in (0, 5)]
    assert at_step["scale"] == pytest.approx(float((readouts[1] / readouts[0]).mean()))
    assert at_step["scale"] < 1


def case(width=6):
    """A place without noise, a direction, and the gates there."""
    params, buffers = ThreeLayerLearner(width, 0.5, 5).init(4, 2, Stream(100))
    at, buffers = ({n: v.double() for n, v in each.items()} for each in (params, buffers))
    drawn = TRUTH.sample(5, Stream(101))
    x, y = drawn.x.double(), drawn.y.double()
    star = {name: Stream(103).child(name).normal(*value.shape, dtype=torch.float64) for name, value in at.items()}
    here = Place(x, y, TRUTH.target(x), buffers, bk.overparam.ThreeLayerSettings(), LOSS)
    return here, at, star, bk.overparam.three_layer_gates(x, at["W"], at["V"], buffers)


def test_first_order_over_all_signs():
    """slope + crossing is the derivative in η of the mean over Σ of the loss of the pseudo network."""
    here, at, star, gates = case()
    found = here.drawn(at, star, (1e-3,), Stream(102))

    def mean(eta):
        total = 0.0
        for signs in itertools.product((1.0, -1.0), repeat=6):
            sigma = math.sqrt(eta) * torch.diag(torch.tensor(signs).double())
            W, V = at["W"] + sigma @ star["W"], at["V"] + star["V"] @ sigma
            out = bk.overparam.pseudo_three_layer(here.x, W, V, gates, here.buffers)
            total += float(LOSS.each(out, here.y).mean()) / 64
        return total

    eta = 1e-6
    assert float(found["slope"] + found["crossing"]) == pytest.approx((mean(eta) - mean(0.0)) / eta, rel=1e-3)


def test_errors_of_the_proof():
    """``missing`` and ``gates``, by points; and the proof's inequality with them holds for a small η."""
    here, at, star, gates = case()
    eta = 1e-3  # some gates change: for a smaller one the cost is rounding
    found = here.drawn(at, star, (eta,), Stream(102))
    signs = 2 * Stream(102).child("signs").bernoulli(0.5, 6).double() - 1
    out = bk.overparam.pseudo_three_layer(here.x, at["W"], at["V"], gates, here.buffers)
    left = (out - here.y).norm(dim=1)
    slopes = left / (1 + left**2).sqrt()  # of the pseudo-Huber loss
    ahead = bk.overparam.pseudo_three_layer(here.x, star["W"], star["V"], gates, here.buffers, (False, False))
    missing = sum(float(slopes[n] * (here.target[n] - ahead[n]).norm()) for n in range(5)) / 5
    assert float(found["missing"]) == pytest.approx(missing)
    cost = 0.0
    for sign in (1, -1):
        sigma = sign * math.sqrt(eta) * torch.diag(signs)
        W, V = at["W"] + sigma @ star["W"], at["V"] + star["V"] @ sigma
        real = ThreeLayerLearner(6, 0.5, 5).apply({"W": W, "V": V}, here.buffers, here.x)[0]
        fixed = bk.overparam.pseudo_three_layer(here.x, W, V, gates, here.buffers)
        cost += float((slopes * (real - fixed).norm(dim=1)).mean()) / 2 / eta
    assert cost > 1e-3
    assert float(found["gates"][0]) == pytest.approx(cost)
    s, t = bk.overparam.crossing_terms(here.x, at, star, gates, here.buffers)
    linear = (s + t) @ signs
    promised = float(LOSS.each(out, here.y).mean()) - here.irreducible - missing - cost
    assert found["move"][0] + found["shrink"][0] >= promised - 0.5 * float(linear.square().sum(1).mean())


def test_no_way_down_lowers_penalties():
    """Where the loss is zero, neither way lowers the objective, whatever its penalties: Lemma 5.3 needs small ones."""
    here, at, star, gates = case()
    out = bk.overparam.pseudo_three_layer(here.x, at["W"], at["V"], gates, here.buffers)
    found = replace(here, y=out).drawn(at, star, (1e-4,), Stream(102))
    assert found["loss"] == 0
    assert found["move"][0] < 0
    assert found["shrink"][0] < 0


def test_the_balance_is_the_best_candidate():
    here, at, star, gates = case()
    star = {"W": 30 * star["W"], "V": star["V"]}
    found = here.balanced(at, {name: 0 * value for name, value in at.items()}, star, 0.01, Stream(104))
    left = bk.overparam.pseudo_three_layer(here.x, at["W"], at["V"], gates, here.buffers) - here.y
    of_v, of_w = 0.0, 0.0
    s, t = bk.overparam.crossing_terms(here.x, at, star, gates, here.buffers)
    for n, r in enumerate(left):
        size = 1 + float(r @ r)
        hessian = torch.eye(2).double() / size**0.5 - torch.outer(r, r) / size**1.5  # of the pseudo-Huber loss
        of_v += sum(float(s[n, :, i] @ hessian @ s[n, :, i]) for i in range(6))
        of_w += sum(float(t[n, :, i] @ hessian @ t[n, :, i]) for i in range(6))

    def fall(c):
        tried = {"W": star["W"] / c, "V": c * star["V"]}
        return np.mean([here.drawn(at, tried, (0.01,), Stream(104).child(str(i)))["move"][0] for i in range(4)])

    candidates = [(of_w / of_v) ** 0.25 * 2 ** (i / 2) for i in range(5)]
    falls = [fall(c) for c in candidates]
    c = candidates[int(np.argmax(falls))]
    assert max(falls) > min(falls)
    assert torch.allclose(found["W"], star["W"] / c)
    assert torch.allclose(found["V"], star["V"] * c)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (run(SmoothedLandscape(), problem=TwoLayerTruth(UnitInputs(4), instance=100)), "ThreeLayerTruth"),
        (run(SmoothedCoupling((0.1, 0.1)), problem=TwoLayerTruth(UnitInputs(4), instance=100)), "ThreeLayerTruth"),
        (run(SmoothedLandscape(), variant="L2"), "variant must be L1"),
        (run(SmoothedLandscape(), snapshot_at=(0, 9)), "must end before the last step, 9"),
    ],
)
def test_bad_input(spec, words):
    refused(words, perform, [spec])


def test_lemmas_56_and_57_along_a_run():
    std, rates = (0.05, 0.04), (1.0, 0.2)
    outcome = perform([run(SmoothedCoupling(std, 6, rates, draws=2, fit_points=50, seed=3))])[0]
    weights, _ = kept(outcome, 5)
    start, buffers = kept(outcome, 0)
    stream = Stream(3).child("smoothing")
    fit, x = (TRUTH.sample(n, stream.child(name)).x.double() for n, name in ((50, "fit"), (6, "points")))
    gates = bk.overparam.three_layer_gates(fit, start["W"], start["V"], buffers)
    star = bk.overparam.truth_direction(TRUTH, fit, gates, buffers["a"], 1e-3, stream.child("signs"))
    longest = {name: max(float(row.norm()) for row in star[name]) for name in star}
    assert outcome.scalars["smoothing/rows"] == pytest.approx(longest["W"] * longest["V"])
    squares = [sum(float(row @ row) for row in star[name]) for name in star]
    assert outcome.scalars["smoothing/norms"] == pytest.approx(math.sqrt(squares[0] * squares[1]))

    def opened(at, point):
        hidden = at["W"] @ point + buffers["b1"]
        D_w = torch.diag((hidden >= 0).double())
        return D_w, torch.diag((at["V"] @ D_w @ hidden + buffers["b2"] >= 0).double())

    def error(at):
        total = 0.0
        for point in x:
            D_w, D_v = opened(at, point)
            given = buffers["a"] @ D_v @ star["V"] @ D_w @ star["W"] @ point
            total += float((TRUTH.target(point[None])[0] - given).abs().sum()) / 6
        return total

    assert outcome.scalars["smoothing/existing"] == pytest.approx(error(start))
    kept_error, gap = 0.0, np.zeros(2)
    for i in range(2):
        at = stream.child("draw", str(i))
        noisy = {
            name: weights[name] + s * at.child(name).normal(*weights[name].shape, dtype=torch.float64)
            for name, s in zip(("W", "V"), std, strict=True)
        }
        kept_error += error(noisy) / 2
        sigma = torch.diag(2 * at.child("signs").bernoulli(0.5, 10).double() - 1)
        step = {"W": sigma @ star["W"] / longest["W"] / 10, "V": star["V"] @ sigma / longest["V"] * math.sqrt(10) / 8}
        for e, eta in enumerate(rates):
            after = {name: noisy[name] + eta * step[name] for name in step}
            for point in x:
                outs = []
                for gates_at in (after, noisy):
                    D_w, D_v = opened(gates_at, point)
                    inner = after["V"] @ D_w @ (after["W"] @ point + buffers["b1"]) + buffers["b2"]
                    outs.append(buffers["a"] @ D_v @ inner)
                gap[e] += float((outs[0] - outs[1]).abs().mean()) / 6 / 2 / eta**2
    assert gap.min() > 0
    series = {name[10:]: values[1] for name, values in outcome.series.items() if name.startswith("smoothing/")}
    assert series["kept"] == pytest.approx(kept_error)
    assert series["gap"] == pytest.approx(gap)
    right = 10 * 0.01 / 0.05 + 8 * 0.01 / 0.04 + 8 / 10 * (10 / 64) / 0.04
    assert series["bound"] == pytest.approx(right)
    moved = weights["V"] - start["V"]
    assert series["second_radius"] == pytest.approx(float(moved.norm()))
