"""The direction that a ground truth gives, and what it does, by loops and by all signs."""

import itertools

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.papers.overparam import ThreeLayerLearner, ThreeLayerTruth, UnitInputs

NEAR = 1e-10


def drawn(width: int, second: int, outputs: int, dim: int = 4):
    params, buffers = ThreeLayerLearner(width, 0.5, second).init(dim, outputs, Stream(100))
    return {n: p.double() for n, p in params.items()}, {n: b.double() for n, b in buffers.items()}


def ridge_by_least_squares(features: torch.Tensor, target: torch.Tensor, ridge: float) -> torch.Tensor:
    """The same regression as a least squares problem with further rows."""
    m = features.shape[1]
    weight = ridge * float(features.square().sum())
    rows = torch.cat([features, weight**0.5 * torch.eye(m).double()])
    return torch.linalg.lstsq(rows, torch.cat([target, torch.zeros(m).double()]), driver="gelsd").solution


def test_the_direction_has_the_form_of_the_proof():
    truth = ThreeLayerTruth(UnitInputs(4), "identity", "sin", "exp", outer_terms=2, outputs=2, instance=100)
    at, buffers = drawn(6, 5, 2)
    x = truth.draw(40, Stream(101))
    gates = bk.overparam.three_layer_gates(x, at["W"], at["V"], buffers)
    found = bk.overparam.truth_direction(truth, x, gates, buffers["a"], 0.01, Stream(102))
    w = truth.matrices()
    W, V = torch.zeros(6, 4).double(), torch.zeros(5, 6).double()
    for r in range(2):
        for i in range(2):
            one = sum((w["v1"][i, j] * torch.sin(x @ w["w1"][j]) for j in range(2)), torch.zeros(40).double())
            two = sum((w["v2"][i, j] * torch.exp(x @ w["w2"][j]) for j in range(2)), torch.zeros(40).double())
            alpha = ridge_by_least_squares(gates.second * buffers["a"][r], w["a"][r, i] * one, 0.01)
            beta = ridge_by_least_squares(gates.first * 0.5, two, 0.01)
            v = 2 * Stream(102).child(str(r), str(i)).bernoulli(0.5, 6).double() - 1
            assert set(v.tolist()) == {-1.0, 1.0}
            for k in range(6):
                W[k, 3] += v[k] * beta[k]
                for j in range(5):
                    V[j, k] += alpha[j] * v[k]
    assert torch.allclose(found["W"], W, atol=NEAR)
    assert torch.allclose(found["V"], V, atol=NEAR)


def test_the_direction_gives_the_ground_truth():
    """Lemma 5.6 with one term: the signs drop out, and a wide network leaves little of F*."""
    truth = ThreeLayerTruth(UnitInputs(4), "identity", "sin", "exp", outer_terms=1, inner_terms=1, instance=100)
    fit, x = truth.draw(1500, Stream(103)), truth.draw(200, Stream(104))
    left = {}
    for m in (30, 300):
        at, buffers = drawn(m, m, 1)
        gates = bk.overparam.three_layer_gates(fit, at["W"], at["V"], buffers)
        star = bk.overparam.truth_direction(truth, fit, gates, buffers["a"], 1e-3, Stream(105))
        seen = bk.overparam.three_layer_gates(x, at["W"], at["V"], buffers)
        given = bk.overparam.pseudo_three_layer(x, star["W"], star["V"], seen, buffers, (False, False))
        left[m] = float((given - truth.target(x)).abs().mean() / truth.target(x).abs().mean())
    assert left[300] < 0.15 < left[30]


def test_crossing_terms():
    """With fixed gates a step of any size is exactly what the docstring says, and the terms are as printed."""
    at, buffers = drawn(6, 5, 2)
    x = UnitInputs(4).draw(7, Stream(101))
    star = {name: Stream(106).child(name).normal(*value.shape, dtype=torch.float64) for name, value in at.items()}
    gates = bk.overparam.three_layer_gates(x, at["W"], at["V"], buffers)
    s, t = bk.overparam.crossing_terms(x, at, star, gates, buffers)
    before = bk.overparam.pseudo_three_layer(x, at["W"], at["V"], gates, buffers)
    ahead = bk.overparam.pseudo_three_layer(x, star["W"], star["V"], gates, buffers, (False, False))
    signs, eta = torch.tensor([1.0, -1, -1, 1, 1, -1]).double(), 0.3
    sigma = torch.diag(signs)
    W, V = at["W"] + eta**0.5 * sigma @ star["W"], at["V"] + eta**0.5 * star["V"] @ sigma
    after = bk.overparam.pseudo_three_layer(x, W, V, gates, buffers)
    assert torch.allclose(after, before + eta**0.5 * (s + t) @ signs + eta * ahead, atol=NEAR)
    D_w, D_v = torch.diag(gates.first[3].double()), torch.diag(gates.second[3].double())
    literal = buffers["a"][1] @ D_v @ star["V"] @ sigma @ D_w @ (at["W"] @ x[3] + buffers["b1"])
    assert float(s[3, 1] @ signs) == pytest.approx(float(literal))
    literal = buffers["a"][1] @ D_v @ at["V"] @ D_w @ sigma @ star["W"] @ x[3]
    assert float(t[3, 1] @ signs) == pytest.approx(float(literal))


def test_growth_of_the_penalties_over_all_signs():
    """(333) and (336), with the term of second order."""
    moved = {"W": Stream(1).normal(5, 3, dtype=torch.float64), "V": Stream(2).normal(4, 5, dtype=torch.float64)}
    star = {"W": Stream(3).normal(5, 3, dtype=torch.float64), "V": Stream(4).normal(4, 5, dtype=torch.float64)}
    penalties, eta = (0.7, 1.3), 0.2
    total = 0.0
    for signs in itertools.product((1.0, -1.0), repeat=5):
        sigma = torch.diag(torch.tensor(signs).double())
        W, V = moved["W"] + eta**0.5 * sigma @ star["W"], moved["V"] + eta**0.5 * star["V"] @ sigma
        fourth = sum(float(row.norm()) ** 4 for row in W)
        value = 0.7 * fourth + 1.3 * float(V.norm()) ** 2
        assert bk.overparam.penalty({"W": W, "V": V}, penalties) == pytest.approx(value)
        total += value / 32
    second = 0.7 * eta**2 * sum(float(row.norm()) ** 4 for row in star["W"])
    grown = eta * sum(bk.overparam.penalty_growth(moved, star, penalties)) + second
    assert total == pytest.approx(bk.overparam.penalty(moved, penalties) + grown)


def test_the_bound_of_lemma_57():
    m1, m2, w, v, std_w, std_v = 30, 50, 0.02, 0.3, 0.1, 0.04
    printed = m1 * w**2 / std_w + m2 * w**2 / std_v + (m2 / m1) * v**2 / std_v
    assert bk.overparam.smoothed_coupling_bound((m1, m2), (w, v), (std_w, std_v)) == pytest.approx(printed)
