"""Suprema over pseudo networks against what other weights of the same norm reach."""

import itertools
import math

import pytest
import torch

from beyondkernels.core import Stream, Tensors
from beyondkernels.papers.overparam import ThreeLayerLearner, TwoLayerLearner, UnitInputs
from beyondkernels.papers.overparam.theory import (
    pseudo_three_layer,
    pseudo_two_layer,
    real_at_maximum,
    sign_vectors,
    spectral_bound,
    three_layer_bound,
    three_layer_gates,
    three_layer_suprema,
    two_layer_bound,
    two_layer_suprema,
)

X = UnitInputs(4).draw(7, Stream(100))


def double(tensors: Tensors) -> Tensors:
    return {name: value.double() for name, value in tensors.items()}


def shallow(width: int = 9) -> tuple[torch.Tensor, Tensors]:
    params, buffers = TwoLayerLearner(width).init(4, 2, Stream(101))
    return params["W"].double(), double(buffers)


def row_norm(W: torch.Tensor, power: float) -> torch.Tensor:
    return torch.linalg.vector_norm(W.norm(dim=1), ord=power)


def test_signs():
    every = sign_vectors(4, 1, Stream(0))
    assert sorted(map(tuple, every.tolist())) == sorted(itertools.product((-1.0, 1.0), repeat=4))
    drawn = sign_vectors(100, 50, Stream(0))
    assert drawn.shape == (50, 100)
    assert set(drawn.flatten().tolist()) == {-1.0, 1.0}
    assert abs(float(drawn.mean())) < 0.06


@pytest.mark.parametrize("power", [math.inf, 4.0, 2.0])
def test_two_layer_suprema_are_reached_and_not_passed(power):
    start, buffers = shallow()
    signs = sign_vectors(7, 0, Stream(0))[5:6]

    def value(W: torch.Tensor) -> torch.Tensor:
        more = pseudo_two_layer(X, start + W, start, buffers) - pseudo_two_layer(X, start, start, buffers)
        return (signs @ more)[0]

    found = two_layer_suprema(X, start, buffers, signs, power)[0]
    gradient = torch.autograd.functional.jacobian(value, torch.zeros_like(start))  # it is linear: (k, m, d)
    assert isinstance(gradient, torch.Tensor)
    for r in range(2):
        for i in range(200):
            W = Stream(102).at(i).normal(9, 4, dtype=torch.float64)
            assert float(value(W)[r]) <= float(found[r] * row_norm(W, power)) + 1e-12
        lengths = gradient[r].norm(dim=1)
        # Hölder's inequality is an equality where ‖w_j‖^q ∝ ‖gradient_j‖^{q*}
        exponent = 0.0 if power == math.inf else 1 / (power - 1)
        best = gradient[r] / lengths[:, None].clamp(min=1e-300) * lengths[:, None] ** exponent
        assert float(value(best)[r] / row_norm(best, power)) == pytest.approx(float(found[r]))


def test_the_mean_over_all_signs_is_the_complexity():
    """The start's own sum has mean zero, so that leaving it out changes nothing."""
    start, buffers = shallow()
    signs = sign_vectors(7, 0, Stream(0))
    whole = 0.3 * two_layer_suprema(X, start, buffers, signs) + signs @ pseudo_two_layer(X, start, start, buffers)
    assert torch.allclose(whole.mean(0), 0.3 * two_layer_suprema(X, start, buffers, signs).mean(0))


def test_complexity_is_within_lemma_g5():
    start, buffers = shallow(200)
    exact = two_layer_suprema(X, start, buffers, sign_vectors(7, 0, Stream(0))).mean(0) / 7
    bound = two_layer_bound(7, 200, 1.0, float(buffers["a"].abs().max()))
    assert 0.05 * bound < float(exact.max()) < bound


def test_real_networks_at_the_maximum():
    start, buffers = shallow()
    signs = sign_vectors(7, 0, Stream(0))[3:6]
    tiny = real_at_maximum(X, start, buffers, signs, 1e-9) / 1e-9
    assert torch.allclose(tiny, two_layer_suprema(X, start, buffers, signs), rtol=1e-5)
    network, radius = TwoLayerLearner(9), 0.4
    found = real_at_maximum(X, start, buffers, signs, radius)
    for row, xi in zip(found, signs, strict=True):
        for r in range(2):
            W = start.clone()
            for j in range(9):
                s = sum(
                    (xi[i] * X[i] for i in range(7) if start[j] @ X[i] + buffers["b1"][j] >= 0), torch.zeros(4).double()
                )
                if s.norm() > 0:
                    W[j] += radius * buffers["a"][r, j].sign() * s / s.norm()
            change = network.apply({"W": W}, buffers, X)[0] - network.apply({"W": start}, buffers, X)[0]
            assert float(row[r]) == pytest.approx(float(xi @ change[:, r]))


def test_three_layer_suprema_are_reached_and_not_passed():
    params, buffers = (double(each) for each in ThreeLayerLearner(6, second_width=5).init(4, 1, Stream(101)))
    signs = sign_vectors(7, 0, Stream(0))[5:6]
    fixed = three_layer_gates(X, params["W"], params["V"], buffers)

    def value(W: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return (signs @ pseudo_three_layer(X, W, V, fixed, buffers, (False, False)))[0, 0]

    found = float(three_layer_suprema(X, params, buffers, signs)[0, 0])
    best = 0.0
    for seed in range(5):  # alternating maximisation from random starts
        W, V = Stream(seed).normal(6, 4, dtype=torch.float64), torch.zeros(5, 6, dtype=torch.float64)
        for _ in range(60):
            W = (W / row_norm(W, 4)).requires_grad_()
            (V,) = torch.autograd.grad(value(W, V.requires_grad_()), V)
            V = (V / V.norm()).detach()
            best = max(best, value(W, V).item())
            (gradient,) = torch.autograd.grad(value(W, V), W)
            lengths = gradient.norm(dim=1, keepdim=True)
            W = gradient / lengths.clamp(min=1e-300) * lengths ** (1 / 3)
    assert best <= found * (1 + 1e-9)
    assert best == pytest.approx(found, rel=1e-4)


def test_bounds_and_bad_input():
    assert two_layer_bound(25, 100, 0.1, 2.0) == pytest.approx(4.0)
    assert three_layer_bound(25, (16, 100), (0.5, 0.2)) == pytest.approx((0.1 * 2 * 10 + 1) / 5)
    assert three_layer_bound(25, (16, 100), (0.5, 0.2), output_std=0.3) == pytest.approx(0.3 * (0.1 * 2 * 10 + 1) / 5)


def test_spectral_bound_is_that_of_footnote_14():
    """The footnote's formula, term by term, for increments whose rows are equally long: then its sums are reached."""
    m, N, std = 16, 25, 0.5
    W, V = torch.full((m, 4), 0.1).double(), torch.full((m, m), 0.02).double()
    row_sums = [float(each.norm(dim=1).sum()) for each in (W, V)]
    a_norm, w_norm, v_norm = std * math.sqrt(m), 1.0, 1.0
    inner = (row_sums[0] / w_norm) ** (2 / 3) + (row_sums[1] / v_norm) ** (2 / 3)
    literal = a_norm * w_norm * v_norm * inner**1.5 / math.sqrt(N)
    radii = float(W.norm(dim=1).pow(4).sum().pow(0.25)), float(V.norm())
    assert spectral_bound(N, m, radii, output_std=std) == pytest.approx(literal)
