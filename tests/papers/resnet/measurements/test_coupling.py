"""Lemma C.1's terms neuron by neuron, with diagonal matrices written out."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import resnet_cases as cases
from beyondkernels.core import Outcome, Stream
from beyondkernels.measure.point_blocks import blocks
from beyondkernels.networks import theorem_network
from beyondkernels.papers.resnet import Coupling, ResNetWeights, coupling_bounds, coupling_terms
from beyondkernels.papers.resnet.measurements.course import course, radii, scales
from measuring import measured
from refusals import refused

INITIAL, NOW = cases.weights(0.0), cases.weights(0.4)
X = Stream(5).normal(cases.N, cases.D, dtype=torch.float64)


def diagonal(rows: np.ndarray, z: np.ndarray) -> np.ndarray:
    """diag{1_{⟨row, z⟩ ≥ 0}}."""
    return np.diag([1.0 if sum(r * v for r, v in zip(row, z, strict=True)) >= 0 else 0.0 for row in rows])


def literal(initial: ResNetWeights, now: ResNetWeights, x: np.ndarray) -> dict[str, Any]:
    """Lemma C.1's left sides for one point, with W = now − initial in the proof's sense."""
    A, W0, V0 = now.A.numpy(), initial.W.numpy(), initial.V.numpy()
    W, V = now.W.numpy() - W0, now.V.numpy() - V0
    x1 = np.append(x, 1.0)
    D_W0, D_W = diagonal(W0, x1), diagonal(W0 + W, x1)
    out1 = A @ D_W @ (W0 + W) @ x1
    z = np.append(out1, 1.0)
    D_V0, D_V = diagonal(V0, z), diagonal(V0 + V, z)
    size = np.linalg.norm
    return {
        "first_flips": np.count_nonzero(D_W0 - D_W),
        "first_vanishing": size(A @ D_W @ W @ x1 - A @ D_W @ (W0 + W) @ x1),
        "first_output": size(out1),
        "second_flips": np.count_nonzero(D_V0 - D_V),
        "second_vanishing": size(A @ D_V @ V @ z - A @ D_V @ (V0 + V) @ z),
        "second_matrix": size(A @ D_V @ V0, 2),
        "second_output": size(A @ D_V @ (V0 + V) @ z),
    }


@pytest.mark.parametrize("now", [NOW, cases.weights(0.05), cases.weights(0.4, same_readout=False)])
def test_terms_against_matrices(now):
    found = coupling_terms(INITIAL, now, X)
    for i, x in enumerate(X.numpy()):
        for name, value in literal(INITIAL, now, x).items():
            assert float(getattr(found, name)[i]) == pytest.approx(value, rel=1e-10), name
    assert int(found.first_flips.sum()) > 0
    assert int(found.second_flips.sum()) > 0


def test_weights_are_the_network():
    params = cases.parameters(0.3)
    out, _ = theorem_network(cases.M, 0.8, 1.1).apply(params, {}, X)
    weights = ResNetWeights.of(params)
    _, out1 = weights.first(X)
    torch.testing.assert_close(out1 + weights.second(out1)[1], out, rtol=1e-12, atol=1e-13)
    bare = {name: value for name, value in params.items() if not name.endswith("bias")}
    assert not ResNetWeights.of(bare).W[:, -1].any()
    assert (weights.width, weights.outputs) == (cases.M, cases.K)


def test_a_gate_is_open_at_zero():
    zero = ResNetWeights(torch.zeros(2, 2).double(), torch.zeros(2, 2).double(), torch.ones(1, 2).double())
    assert zero.first(torch.ones(1, 1))[0].tolist() == [[1, 1]]


def test_bounds_as_the_lemma_prints_them():
    m, k, sw, sv, tw, tv, out = 1000, 4, 0.05, 3.0, 2.0, 0.1, torch.tensor([0.0, 1.5]).double()
    found = coupling_bounds(m, k, (sw, sv), (tw, tv), out)
    left = tw * (tw / sw) ** (1 / 3) / m ** (1 / 6) + k**0.5 * sw
    matrix = tv * (tv / sv) ** (1 / 3) + (k / m) ** 0.5 * sv
    expected = {
        "first_flips": [(tw / sw) ** (2 / 3) * m ** (2 / 3)] * 2,
        "first_vanishing": [left] * 2,
        "first_output": [tw + left] * 2,
        "second_flips": [(tv / sv) ** (2 / 3) * m] * 2,
        "second_vanishing": [matrix * 1.0, matrix * 2.5],
        "second_matrix": [matrix] * 2,
        "second_output": [matrix + tv, 2.5 * (matrix + tv)],
    }
    for name, values in expected.items():
        assert getattr(found, name).tolist() == pytest.approx(values, rel=1e-12), name


def around(m: int, sigma: float, seed: int) -> tuple[ResNetWeights, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A start, a point x, z = (out₁, 1) scaled to length one, and u across it, of length one with last entry zero."""
    initial = ResNetWeights.of(theorem_network(m, 0.1, sigma).init(cases.D, cases.K, Stream(seed))[0])
    x = X[:1] / X[:1].norm()
    out1 = initial.first(x)[1][0]
    z = torch.cat([out1, torch.ones(1).double()])
    u = torch.eye(cases.K + 1)[0].double()
    u[:-1] -= (out1[0] / (out1 @ out1)) * out1
    return initial, x, z / z.norm(), u / u.norm()


def moved(initial: ResNetWeights, now: ResNetWeights, x: torch.Tensor) -> torch.Tensor:
    """A (D − D⁽⁰⁾) V⁽⁰⁾ at one point."""
    out1 = now.first(x)[1]
    return (now.A * (now.second(out1)[0] - initial.second(out1)[0])) @ initial.V


@pytest.mark.parametrize(("sigma", "tau"), [(8.0, 0.4), (30.0, 0.4), (30.0, 3.0), (2.0, 2.0)])
def test_the_matrix_of_the_second_layer_keeps_to_the_radius(sigma, tau):
    """(f) as printed would fall with τ/σ_v; here the change is (τ/π)/√(1 + (τ/σ_v)²) across z, and none along z."""
    m = 160_000
    initial, x, z, u = around(m, sigma, seed=1)
    change = tau * (initial.A[0] * torch.sign(initial.V @ u))[:, None] * z
    # ‖V‖/τ is the root of a mean of m squared normal numbers, whose error is 1/√(2m)
    assert float(torch.linalg.matrix_norm(change, ord=2)) == pytest.approx(tau, rel=5 / (2 * m) ** 0.5)
    now = ResNetWeights(initial.W, initial.V + change, initial.A)
    found, share = moved(initial, now, x), tau / sigma
    # a sum over the neurons that changed, a share of at most τ/σ: its error is σ/√m times the root of that share
    error = 5 * sigma / m**0.5 * share**0.5
    assert float((found @ u)[0]) == pytest.approx(tau / np.pi / (1 + share**2) ** 0.5, abs=error)
    if share <= 0.1:
        assert float((found @ z).norm()) < tau / 30
        assert float(coupling_terms(initial, now, x).second_matrix) > tau / 4


@pytest.mark.parametrize(("sigma", "least"), [(8.0, 1.3), (32.0, 2.2)])
def test_the_matrix_can_exceed_the_order_of_the_radius(sigma, least):
    """Flips chosen for what they bring by what they cost reach cτ(σ_v/τ)^(1/3), above τ.

    With independent normal a, h, g, of which half have the sign that helps, and a threshold on |ah|/g², cost and gain
    are integrals over small g; together c = (3K²)^(1/3) with K = E|ah|^(3/2)/√(2π), about 0.64.
    """
    m, tau, eps = 160_000, 0.5, 1e-9
    initial, x, z, u = around(m, sigma, seed=1)
    g, h = initial.V @ z, initial.V @ u
    gain = -initial.A[0] * h * torch.sign(g)  # a gate changes by −sign g
    order = torch.argsort(torch.where(gain > 0, gain / g**2, -1.0), descending=True)
    chosen = order[g[order].square().cumsum(0) <= (tau / (1 + eps)) ** 2]
    assert (gain[chosen] > 0).all()
    change = torch.zeros_like(initial.V)
    change[chosen] = -(1 + eps) * g[chosen, None] * z
    assert 0.99 * tau < float(change.norm()) <= tau
    now = ResNetWeights(initial.W, initial.V + change, initial.A)
    found = coupling_terms(initial, now, x)
    assert int(found.second_flips) == len(chosen)
    K = (2**0.75 * math.gamma(1.25) / math.pi**0.5) ** 2 / (2 * math.pi) ** 0.5
    limit = (3 * K**2) ** (1 / 3) * tau * (sigma / tau) ** (1 / 3)
    across = float((moved(initial, now, x) @ u)[0])
    # the sum over chosen neurons has a standard error of the root of its squares; τ/σ is not yet zero: 2 % more
    error = float(gain[chosen].square().sum()) ** 0.5
    assert across == pytest.approx(limit, abs=5 * error + 0.02 * limit)
    assert 5 * error < 0.1 * limit
    assert float(found.second_matrix) > least * tau


def test_measurement_along_a_run():
    problem, run = cases.TwoSignals(), cases.outcome((0, 0.0), (3, 0.1), (10, 0.4))
    found = measured(Coupling(points=20, seed=4), run, problem)
    assert (dict(found.scalars), dict(found.arrays)) == ({}, {})
    at = Outcome(series=dict(found.series)).at
    x = problem.sample(20, Stream(4).child("coupling")).x
    now = cases.weights(0.4)
    each = [literal(INITIAL, now, row) for row in x.numpy()]
    for name in each[0]:
        unit = cases.M if name.endswith("flips") else 1
        assert at(f"coupling/{name}", 10) == pytest.approx(np.mean([one[name] for one in each]) / unit, rel=1e-10), name
        assert at(f"coupling/{name}_max", 10) == pytest.approx(max(one[name] for one in each) / unit, rel=1e-10), name
    assert at("coupling/second_flips_each", 10) == pytest.approx([one["second_flips"] / cases.M for one in each])
    assert at("coupling/first_flips", 0) == at("coupling/first_flips_bound", 0) == at("coupling/first_radius", 0) == 0
    assert 0 < at("coupling/first_radius", 3) < at("coupling/first_radius", 10)
    assert at("coupling/first_radius", 10) == pytest.approx(np.linalg.norm((now.W - INITIAL.W).numpy(), 2))
    assert at("coupling/second_radius", 10) == pytest.approx(np.linalg.norm((now.V - INITIAL.V).numpy(), 2))
    sigma = float(np.std(INITIAL.W.numpy())), float(np.std(INITIAL.V.numpy())) * cases.M**0.5
    radii = at("coupling/first_radius", 10), at("coupling/second_radius", 10)
    outputs = torch.tensor([one["first_output"] for one in each])
    bounds = coupling_bounds(cases.M, cases.K, sigma, radii, outputs)
    assert at("coupling/second_output_bound", 10) == pytest.approx(float(bounds.second_output.mean()))
    assert at("coupling/second_flips_bound", 10) == pytest.approx(float(bounds.second_flips.mean()) / cases.M)
    for name in each[0]:
        ratio = max(one[name] / right for one, right in zip(each, getattr(bounds, name).tolist(), strict=True))
        assert at(f"coupling/{name}_ratio", 10) == pytest.approx(ratio, rel=1e-10), name
    assert at("coupling/first_flips_ratio", 0) == 0


def test_blocks_of_points_change_nothing(monkeypatch):
    problem, run = cases.TwoSignals(), cases.outcome((0, 0.0), (10, 0.4))
    whole = measured(Coupling(points=20, seed=4), run, problem).series
    monkeypatch.setattr("beyondkernels.measure.point_blocks._BLOCK", 3 * cases.M)
    assert [len(part) for part in blocks(X, cases.M)] == [3, 3, 1]
    parts = measured(Coupling(points=20, seed=4), run, problem).series
    assert parts.keys() == whole.keys()
    assert all(parts[name] == pytest.approx(whole[name], rel=1e-12) for name in whole)


def test_scales_and_radii_of_a_wide_start():
    initial = ResNetWeights.of(theorem_network(4000, 0.3, 2.0).init(cases.D, cases.K, Stream(1))[0])
    w, v = scales(initial)
    # the relative error of a standard deviation of n normal numbers is 1/√(2n)
    assert w == pytest.approx(0.3, rel=5 / (2 * 4000 * (cases.D + 1)) ** 0.5)
    assert v == pytest.approx(2.0, rel=5 / (2 * 4000 * (cases.K + 1)) ** 0.5)
    moved = ResNetWeights(initial.W + 0.5, initial.V, initial.A)
    assert radii(initial, moved) == pytest.approx((0.5 * (4000 * (cases.D + 1)) ** 0.5, 0.0))


def test_sentences():
    kept = cases.outcome((0, 0.0), (3, 0.1))
    late = Outcome(arrays={name: value for name, value in kept.arrays.items() if not name.startswith("snapshot/0/")})
    odd = Outcome(arrays={name: value for name, value in kept.arrays.items() if name != "snapshot/3/A.weight"})
    deaf = Outcome(arrays={name: value for name, value in kept.arrays.items() if name != "snapshot/3/V.bias"})
    for run in (late, odd, deaf):
        refused(r"^the run must have kept W, V and A with their biases at the same steps", course, run)
    bare = Outcome(arrays={name: value for name, value in kept.arrays.items() if not name.endswith("bias")})
    assert not course(bare)[3].V[:, -1].any()
    refused(r"^params must hold W\.weight, V\.weight and A\.weight, got a$", ResNetWeights.of, {"a": X})


def test_wide_networks_couple():
    """Flips are a vanishing fraction at a fixed distance from the start, and obey (a) and (d) with constant 2."""
    fractions = []
    for m in (200, 3200):
        params, _ = theorem_network(m, 0.3, 2.0).init(cases.D, cases.K, Stream(1))
        initial = ResNetWeights.of(params)
        step_w, step_v = (Stream(2).child(n).normal(*w.shape).double() for n, w in (("W", initial.W), ("V", initial.V)))
        step_w /= torch.linalg.matrix_norm(step_w, ord=2)  # spectral norm τ_w = 1, τ_v = 0.2
        step_v *= 0.2 / torch.linalg.matrix_norm(step_v, ord=2)
        now = ResNetWeights(initial.W + step_w, initial.V + step_v, initial.A)
        found = coupling_terms(initial, now, X / X.norm(dim=1, keepdim=True))
        bounds = coupling_bounds(m, cases.K, (0.3, 2.0), (1.0, 0.2), found.first_output)
        assert (found.first_flips <= 2 * bounds.first_flips).all()
        assert (found.second_flips <= 2 * bounds.second_flips).all()
        fractions.append(float(found.first_flips.double().mean()) / m)
    assert fractions[1] < 0.5 * fractions[0]
