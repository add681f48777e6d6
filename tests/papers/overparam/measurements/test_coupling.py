"""Lemmas G.3, 5.5 and 5.8 along runs, point by point and neuron by neuron."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms.losses import PseudoHuber, Squared
from beyondkernels.core import Outcome, Stream
from beyondkernels.execution.outcomes import perform
from beyondkernels.papers.overparam import ThreeLayerLearner, TwoLayerLearner, TwoLayerTruth, UnitInputs
from beyondkernels.papers.overparam.measurements import (
    ThreeLayerCoupling,
    TwoLayerCoupling,
    three_layer_bounds,
    two_layer_bounds,
    two_layer_terms,
)
from beyondkernels.store import RunSpec
from measuring import measured
from refusals import refused

TRUTH = TwoLayerTruth(UnitInputs(5), "sin", terms=2, outputs=2, instance=100)


def case(width: int = 40):
    params, buffers = TwoLayerLearner(width, 0.5).init(5, 2, Stream(100))
    start, buffers = params["W"].double(), {name: value.double() for name, value in buffers.items()}
    W = start + 0.1 * Stream(101).normal(width, 5, dtype=torch.float64)
    drawn = TRUTH.sample(6, Stream(102))
    return start, W, buffers, drawn.x.double(), drawn.y.double()


@pytest.mark.parametrize("loss", [Squared(), PseudoHuber()])
def test_two_layer_terms(loss):
    start, W, buffers, x, y = case()
    found = two_layer_terms(start, W, buffers, x, y, loss)
    a, b = buffers["a"], buffers["b1"]
    for n in range(6):
        opened = [start[i] @ x[n] + b[i] >= 0 for i in range(40)]
        flips = sum(bool(opened[i]) != bool(W[i] @ x[n] + b[i] >= 0) for i in range(40))
        assert float(found.flips[n]) == flips / 40

        def real(V: torch.Tensor, n: int = n) -> torch.Tensor:
            return a @ torch.relu(V @ x[n] + b)

        def pseudo(V: torch.Tensor, n: int = n, opened: list = opened) -> torch.Tensor:
            return a @ torch.stack([(V[i] @ x[n] + b[i]) * opened[i] for i in range(40)])

        assert float(found.gap[n]) == pytest.approx(float((real(W) - pseudo(W)).abs().max()))
        gradients = []
        for function in (real, pseudo):
            V = W.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(loss.each(function(V)[None], y[n : n + 1]).sum(), V)
            gradients.append(gradient)
        assert float(found.gradient_gap[n]) == pytest.approx(float((gradients[0] - gradients[1]).norm(dim=1).sum()))
        assert float(found.gradient[n]) == pytest.approx(float(gradients[0].norm(dim=1).sum()))


def product(powers: str, values: dict[str, float]) -> float:
    """A product of powers, written as ``tau_w^4/5 m_1^6/5``; a name alone has the power 1."""
    found = 1.0
    for factor in powers.split():
        name, _, power = factor.partition("^")
        found *= values[name] ** float(Fraction(power or 1))
    return found


def summed(powers: str, values: dict[str, float]) -> float:
    return sum(product(each, values) for each in powers.split("+"))


@pytest.mark.parametrize(
    ("term", "printed", "dropped"),
    [
        # the numbers of changed gates lose a √k in the print, and what each of them costs gains one in (3)
        ("flips", ["tau m^1/2"], ["k^1/2"]),
        ("gap", ["k^1/2 tau^2 m^3/2"], ["k^1/2"]),  # in the print the root reaches too far, over τ² as well
        ("gradient_gap", ["k tau m^3/2", "k^3/2 tau^2 m^5/2"], ["", "k^1/2"]),
    ],
)
@pytest.mark.parametrize("m", [400, 90_000])
def test_right_sides_of_g3_as_they_are_printed(term, printed, dropped, m):
    """With τ = ηt as printed, the distance √k B τ, and B = 1 as what Õ hides."""
    values = {"k": 3.0, "tau": 0.002, "m": float(m)}
    found = two_layer_bounds(m, 3, math.sqrt(3) * 0.002, 1.0)[term]
    wanted = sum(product(one, values) * product(more, values) for one, more in zip(printed, dropped, strict=True))
    assert found == pytest.approx(wanted, rel=1e-12)


def test_right_sides_of_g3_neuron_by_neuron():
    """As the proof adds them up over neurons; the sizes make every count a whole number."""
    m, k, B, distance = 400, 4, 2.5, 0.005
    found = two_layer_bounds(m, k, distance, B)
    changed = [i < round(found["flips"] * m) for i in range(m)]
    assert sum(changed) == round(m * distance * 20) == 40  # √400 is 20: the inputs have the density √m
    gap = sum(B * distance for each in changed if each)  # |a_{r,i}| ≤ B, and its input is at most a distance from 0
    assert found["gap"] == pytest.approx(gap)
    readout = math.sqrt(k * B**2)  # of a neuron, over the outputs
    slopes = math.sqrt(k * gap**2)  # of a 1-smooth loss, whose outputs differ by a gap each
    with_one_gate = sum(readout * 1.0 for each in changed if each)  # the loss is 1-Lipschitz
    assert found["gradient_gap"] == pytest.approx(with_one_gate + sum(readout * slopes for _ in changed))


@pytest.mark.parametrize(
    ("m1", "m2", "tau_w", "tau_v"), [(100, 400, 0.02, 0.3), (64, 64, 0.1, 1.0), (900, 1600, 1e-2, 0.05)]
)
def test_right_sides_of_5_5_and_5_8_as_they_are_printed(m1, m2, tau_w, tau_v):
    """The lemma counts gates; σ_v is 0."""
    values = {"m_1": float(m1), "m_2": float(m2), "tau_w": tau_w, "tau_v": tau_v}
    found = three_layer_bounds((m1, m2), (tau_w, tau_v))
    assert found["first_flips"] * m1 == pytest.approx(summed("tau_w^4/5 m_1^6/5", values))
    assert found["second_flips"] * m2 == pytest.approx(summed("tau_v^2/3 m_2 + tau_w^2/3 m_1^1/6 m_2", values))
    assert found["left_over"] == pytest.approx(summed("tau_w^16/5 m_1^4/5 m_2^3/2 + m_2^1/2 m_1^-1/2 tau_v", values))


def test_the_bound_on_flips_is_met_by_random_moves():
    """A move of length τ along x, in either direction, changes at most the share that the density allows."""
    params, buffers = TwoLayerLearner(20_000).init(5, 1, Stream(100))
    start, b = params["W"].double(), buffers["b1"].double()
    x = UnitInputs(5).draw(1, Stream(101))
    tau = 0.3 / math.sqrt(20_000)
    inputs = (start @ x[0] + b)[:, None]
    W = start - tau * inputs.sign() * x  # towards the other side
    both = {"b1": b, "a": buffers["a"].double()}
    found = two_layer_terms(start, W, both, x, torch.zeros(1, 1).double(), Squared())
    bound = two_layer_bounds(20_000, 1, tau, 1.0)["flips"]
    assert 0.5 * bound < float(found.flips) < bound


def trained(network, names, measurement):
    learner = bk.engine.TrainedNetwork(
        network,
        bk.algorithms.GradientDescent(20, 0.5 / network.width, batch=1, loss=Squared()),
        snapshot_at=(0, 5, 20),
        snapshot_names=names,
    )
    return perform([RunSpec(TRUTH, learner, 30, 10, 100, (measurement,))])[0]


def test_along_a_run_of_two_layers():
    outcome = trained(
        TwoLayerLearner(60), ("W", "buffers/b1", "buffers/a"), TwoLayerCoupling(7, seed=5, loss=Squared())
    )
    x = TRUTH.sample(7, Stream(5).child("coupling"))
    kept = {name: torch.from_numpy(array).double() for name, array in outcome.arrays.items()}
    buffers = {name: kept[f"snapshot/0/buffers/{name}"] for name in ("b1", "a")}
    start, W = kept["snapshot/0/W"], kept["snapshot/20/W"]
    terms = two_layer_terms(start, W, buffers, x.x.double(), x.y.double(), Squared())
    assert list(outcome.series["coupling/step"]) == [0, 5, 20]
    assert outcome.at("coupling/flips", 20) == pytest.approx(float(terms.flips.mean()))
    assert outcome.at("coupling/gap_max", 20) == pytest.approx(float(terms.gap.max()))
    radius = float((W - start).norm(dim=1).max())
    assert outcome.at("coupling/radius", 20) == pytest.approx(radius)
    bounds = two_layer_bounds(60, 2, radius, float(buffers["a"].abs().max()))
    assert outcome.at("coupling/gradient_gap_bound", 20) == pytest.approx(bounds["gradient_gap"])
    assert outcome.at("coupling/gap", 0) == outcome.at("coupling/flips", 0) == 0


def test_along_a_run_of_three_layers():
    names = ("W", "V", "buffers/b1", "buffers/b2", "buffers/a")
    outcome = trained(ThreeLayerLearner(30), names, ThreeLayerCoupling(7, draws=3))
    kept = {name: torch.from_numpy(array).double() for name, array in outcome.arrays.items()}
    b1, b2 = (kept[f"snapshot/0/buffers/{name}"] for name in ("b1", "b2"))
    x = TRUTH.sample(7, Stream(0).child("coupling")).x.double()
    shares = []
    for point in x:
        opened = []
        for step in (0, 20):
            hidden = kept[f"snapshot/{step}/W"] @ point + b1
            opened.append(kept[f"snapshot/{step}/V"] @ torch.relu(hidden) + b2 >= 0)
        shares.append(float((opened[0] != opened[1]).double().mean()))
    assert outcome.at("coupling/second_flips", 20) == pytest.approx(np.mean(shares))
    moved = kept["snapshot/20/W"] - kept["snapshot/0/W"]
    assert outcome.at("coupling/first_radius", 20) == pytest.approx(float((moved.norm(dim=1) ** 4).sum() ** 0.25))
    assert outcome.at("coupling/left_over", 0) < 1e-12 < outcome.at("coupling/left_over", 5)


def test_what_a_run_must_have_kept():
    arrays = {"snapshot/3/W": np.zeros((2, 5)), "snapshot/0/buffers/b1": np.zeros(2)}
    refused("must have kept W at the same steps, 0 among", measured, TwoLayerCoupling(), Outcome(arrays=arrays), TRUTH)
