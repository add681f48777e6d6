"""Lemmas G.3, 5.5 and 5.8 along runs, point by point and neuron by neuron."""

import math

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms.losses import PseudoHuber, Squared
from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.measure.overparam import (
    ThreeLayerCoupling,
    TwoLayerCoupling,
    three_layer_bounds,
    two_layer_bounds,
    two_layer_terms,
)
from beyondkernels.measure.overparam.course import row_norm
from beyondkernels.networks import ThreeLayerLearner, TwoLayerLearner
from beyondkernels.problems.overparam import TwoLayerTruth, UnitInputs
from beyondkernels.runs import RunSpec
from beyondkernels.runs.perform import perform
from measuring import measured

torch.set_num_threads(1)

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


def test_bounds_as_they_are_printed():
    m, k, tau, B = 400, 3, 0.002, 2.5
    found = two_layer_bounds(m, k, tau, B)
    assert found["flips"] == pytest.approx(tau * m**0.5)
    assert found["gap"] == pytest.approx(B * tau**2 * m**1.5)
    assert found["gradient_gap"] == pytest.approx(k**0.5 * B * tau * m**1.5 + k * B**2 * tau**2 * m**2.5)
    found = three_layer_bounds((100, 400), (0.02, 0.3))
    assert found["first_flips"] * 100 == pytest.approx(0.02**0.8 * 100**1.2)
    assert found["second_flips"] * 400 == pytest.approx(0.3 ** (2 / 3) * 400 + 0.02 ** (2 / 3) * 100 ** (1 / 6) * 400)
    assert found["left_over"] == pytest.approx(0.02**3.2 * 100**0.8 * 400**1.5 + 2 * 0.3)


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
        bk.algorithms.GradientDescent(20, 0.5 / network.width, batch=1, objective=Squared()),
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


def test_row_norms():
    W = torch.tensor([[3.0, 4.0], [0.0, 12.0]])
    assert row_norm(W, 4) == pytest.approx((5**4 + 12**4) ** 0.25)
    assert row_norm(W, math.inf) == 12


def test_what_a_run_must_have_kept():
    arrays = {"snapshot/3/W": np.zeros((2, 5)), "snapshot/0/buffers/b1": np.zeros(2)}
    with pytest.raises(InputError, match="must have kept W at the same steps, 0 among them"):
        measured(TwoLayerCoupling(), Outcome(arrays=arrays), TRUTH)
