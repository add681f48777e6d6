"""Slope, curvature and the step of App. G: against finite differences, and at points near the target."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.algorithms.optimisers import Adam, Rate, chain
from beyondkernels.core import Case, Ended, InputError, Outcome, Problem, Stream
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.kernels import KernelRidge, PolynomialKernel
from beyondkernels.networks import Network
from beyondkernels.papers.bfc.algorithms import DenseNetSGD
from beyondkernels.papers.bfc.measurements import DescentDirections, slope_and_curvature
from beyondkernels.papers.bfc.networks import DistilledDenseNet, QuadraticDenseNet
from beyondkernels.papers.bfc.problems import Agnostic, QuadraticTarget, UniformInputs
from beyondkernels.papers.bfc.theory import QuadraticWeights, practical, star
from refusals import refused

PROBLEM = QuadraticTarget(4, (2, 1), ((1,), (2, 0)), (1.0, 0.1), inputs=UniformInputs())
NETWORK = DistilledDenseNet(PROBLEM.graph, 12, PROBLEM.scales, second_moments=PROBLEM.second_moments)
MEASUREMENT = DescentDirections(points=100)


def rule(weight=1e-2):
    settings = practical((1.0, 0.1), PROBLEM.scales, error=1e-3, weight=weight)
    return DenseNetSGD(settings, chain(Adam(), Rate(0.01)), (5, 5, 5, 5))


def near(noise: float) -> tuple[dict, dict]:
    """Weights that compute the target, with other features and in other bases, and some noise on W."""
    stream = Stream(2)
    U = torch.linalg.qr(stream.child("U").normal(2, 2, dtype=torch.float64)).Q
    buffers = {"R2": stream.child("R2").normal(3, 2, dtype=torch.float64), "R3": torch.ones(1, 1).double()}
    W = PROBLEM.weights
    moved = W[3, 2] @ star(torch.eye(2).double()) @ torch.linalg.inv(star(buffers["R2"] @ U))
    params = {"K2.1": U @ W[2, 1], "K3.2": moved, "K3.0": W[3, 0]}
    for name in ("W2.1", "W3.2", "W3.0"):
        small = params[name.replace("W", "K")]
        frame = torch.linalg.qr(stream.child("frame", name[:2]).normal(12, len(small), dtype=torch.float64)).Q
        wiggle = stream.child("noise", name).normal(12, small.shape[1], dtype=torch.float64)
        params[name] = frame @ small + noise * wiggle
    return params, buffers


def ended(params, buffers, *, network: Network = NETWORK, algorithm=None, problem: Problem = PROBLEM) -> Ended:
    stream = Stream(0)
    samples = (problem.sample(n, stream.child(name)) for n, name in ((120, "train"), (10, "test")))
    arrays = {f"snapshot/7/{name}": value.numpy() for name, value in params.items()}
    arrays |= {f"snapshot/7/buffers/{name}": value.numpy() for name, value in buffers.items()}
    case = Case(problem, *samples, stream=stream)
    outcome = Outcome(arrays=arrays, predictor=Predictor(network, params, buffers))
    return Ended(TrainedNetwork(network, algorithm or rule()), case, outcome)


def row(run: Ended, measurement=MEASUREMENT) -> dict[str, float]:
    series = measurement.measure(run).series
    assert series["descent/step"].tolist() == [7]
    return {name.removeprefix("descent/"): float(values[0]) for name, values in series.items()}


def test_slope_and_curvature_are_those_of_finite_differences():
    params = {name: Stream(1).child(name).normal(2, 2, dtype=torch.float64) for name in ("a", "b")}

    def objective(p):
        return ((p["a"] @ p["b"] - torch.eye(2)) ** 2).sum() + p["a"].sin().sum()

    def at(vector):
        return float(objective({"a": vector[:4].view(2, 2), "b": vector[4:].view(2, 2)}))

    start, unit = torch.cat([params["a"].flatten(), params["b"].flatten()]), torch.eye(8).double()
    h = 1e-4
    slope = [(at(start + h * e) - at(start - h * e)) / (2 * h) for e in unit]
    hessian = np.zeros((8, 8))
    for i, e in enumerate(h * unit):
        for j, f in enumerate(h * unit):
            corners = at(start + e + f) - at(start + e - f) - at(start - e + f) + at(start - e - f)
            hessian[i, j] = corners / (4 * h * h)
    gradient, curvature = slope_and_curvature(objective, params, 8)
    assert gradient == pytest.approx(np.linalg.norm(slope), rel=1e-6)
    assert curvature == pytest.approx(np.linalg.eigvalsh(hessian)[0], abs=1e-5)
    with pytest.raises(InputError, match=r"^most must be at least 8, the parameters of the network, got 7$"):
        slope_and_curvature(objective, params, 7)


def test_near_the_target_the_step_goes_down_as_the_theorems_say():
    for noise in (0.3, 0.03):
        params, buffers = near(noise)
        found = row(ended(params, buffers))
        assert found["objective"] > 1e-4
        assert found["promised"] == pytest.approx(0.7, abs=1e-9)  # all layers have joined, and they fit the labels
        assert found["decrease"] > found["promised"]
        assert found["loss_decrease"] == pytest.approx(2, abs=0.1)  # (1 − η)² of what is missing
        assert found["escape"] > 1


def test_the_decrease_is_that_of_the_step_written_out():
    """Without K, as in stage 2Δ: W moves in directions that it has not used, and the products are mixed exactly."""
    params = {"W2.1": near(0.3)[0]["W2.1"]}
    run, eta = ended(params, {}), MEASUREMENT.wide_step
    x, y = run.case.train.x[:100], run.case.train.y[:100, 0]
    G1 = x.square() - torch.tensor(PROBLEM.second_moments)
    W, W_star = params["W2.1"], PROBLEM.weights[2, 1]

    def loss(M):
        return float((((G1 @ M) * G1).sum(1) - y).square().mean())

    grams = W.T @ W, W_star.T @ W_star
    before, after = loss(grams[0]), loss((1 - eta) * grams[0] + eta * grams[1])
    decay = rule().settings.decay[0] * before  # λ₆ = e ε²
    sizes = [float(gram.trace()) for gram in grams]
    objective = before + decay * sizes[0]
    found = row(run)
    assert found["objective"] == pytest.approx(objective, rel=1e-9)
    assert found["loss_decrease"] == pytest.approx((before - after) / (eta * before), rel=1e-6)
    moved = after + decay * ((1 - eta) * sizes[0] + eta * sizes[1])
    assert found["decrease"] == pytest.approx((objective - moved) / (eta * objective), rel=1e-6)
    missing = PROBLEM.contributions(x)[3].square().mean().item()
    assert found["promised"] == pytest.approx(0.7 - 1.5**2 * missing / objective, rel=1e-9)  # (1 + 1/γ)² for γ = 2
    assert found["loss_promised"] == pytest.approx(0.99 - (0.04 * objective + 1.5**2 * missing) / before, rel=1e-9)
    less = row(run, replace(MEASUREMENT, gamma=4.0))["promised"]
    assert less == pytest.approx(0.7 - 1.25**2 * missing / objective, rel=1e-9)


def test_the_steps_of_the_theorems():
    """η₁ ≤ η₂ / poly(κ̃), and K moves by η₂."""
    assert MEASUREMENT.wide_step < MEASUREMENT.small_step
    refused(r"^small_step must be at least wide_step=0\.001, got 0\.0001$", replace, MEASUREMENT, wide_step=1e-3)
    params, buffers = near(0.03)
    moved = params | {"K3.0": 1.1 * params["K3.0"]}
    equal, larger = (
        row(ended(moved, buffers), replace(MEASUREMENT, wide_step=1e-5, small_step=step)) for step in (1e-5, 1e-4)
    )
    assert larger["decrease"] > equal["decrease"]  # the regulariser ties K to W, and η₂ is the step that follows it


def test_more_features_than_the_target_has_and_fewer():
    params, buffers = near(0.03)
    stream = Stream(4)
    extra = 1e-3 * stream.normal(1, 4, dtype=torch.float64)
    R = stream.child("R2").normal(6, 3, dtype=torch.float64)
    more = params | {"K2.1": torch.cat([params["K2.1"], extra])}
    wide = stream.child("W").normal(12, 6, dtype=torch.float64)
    more |= {"W3.2": wide, "K3.2": stream.child("K").normal(1, 6, dtype=torch.float64)}
    assert math.isfinite(row(ended(more, buffers | {"R2": R}))["decrease"])
    fewer = params | {"K2.1": params["K2.1"][:1], "W3.2": wide[:, :1], "K3.2": params["K3.2"][:, :1]}
    found = row(ended(fewer, buffers | {"R2": R[:1, :1]}))
    assert math.isnan(found["decrease"])
    assert math.isnan(found["promised"])
    assert found["gradient"] > 0


def test_a_plain_learner_has_slope_and_curvature_alone():
    network = QuadraticDenseNet(PROBLEM.graph, (2, 1), PROBLEM.scales, PROBLEM.second_moments)
    params, _ = network.init(4, 1, Stream(0))
    run = ended(params, {}, network=network, algorithm=GradientDescent(1, 0.1, loss=Squared()))
    found = row(run)
    x, y = run.case.train.x[:100], run.case.train.y[:100]
    leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
    loss = (network.apply(leaves, {}, x)[0] - y).square().mean()
    loss.backward()
    slope = torch.cat([value.grad.flatten() for value in leaves.values() if value.grad is not None])
    assert found["objective"] == pytest.approx(loss.item())
    assert found["gradient"] == pytest.approx(slope.norm().item())
    assert found["curvature"] < 0
    assert math.isnan(found["decrease"])


def test_labels_that_no_target_explains():
    """The risk of the target itself counts as what cannot be reached."""
    params, buffers = near(0.3)
    problem = Agnostic(PROBLEM, optimal_risk=0.04)
    found = row(ended(params, buffers, problem=problem))
    assert found["promised"] == pytest.approx(0.7 - 2.25 * 0.04 / found["objective"], rel=1e-9)
    assert found["decrease"] > found["promised"]


def test_the_learner_computes_the_target_at_noise_zero():
    params, buffers = near(0.0)
    x = PROBLEM.sample(20, Stream(9)).x
    torch.testing.assert_close(NETWORK.apply(params, buffers, x)[0][:, 0], PROBLEM.target(x))
    weights = QuadraticWeights.of_network(NETWORK, params, buffers, 4)
    assert weights.spread.keys() == {2, 3}


def test_sentences():
    params, buffers = near(0.1)
    run = ended(params, buffers)
    with pytest.raises(InputError, match=r"^the run kept no snapshot; ask for them with snapshot_at and"):
        MEASUREMENT.measure(Ended(run.learner, run.case, replace(run.outcome, arrays={})))
    with pytest.raises(InputError, match=r"^learner must be a TrainedNetwork, got KernelRidge$"):
        MEASUREMENT.measure(Ended(KernelRidge(PolynomialKernel(2)), run.case, run.outcome))
