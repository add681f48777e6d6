"""The least hinge loss over a ball, against linear programming, a grid and random weights."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from beyondkernels.core import Stream
from beyondkernels.papers.features.theory import least_hinge_loss


def drawn(n: int, N: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    stream = Stream(seed)
    x = stream.child("x").uniform(n, N, dtype=torch.float64) * 2 - 1
    noise = 0.5 * stream.child("noise").normal(n, dtype=torch.float64)
    y = torch.where(x[:, 0] - 0.5 * x[:, -1] + noise > 0, 1.0, -1.0).double()
    p = stream.child("p").uniform(n, dtype=torch.float64) + 0.1
    return x, y, p / p.sum()


def loss(x: torch.Tensor, y: torch.Tensor, p: torch.Tensor, w: torch.Tensor) -> float:
    return float(p @ (1 - y * (x @ w)).clamp(min=0))


def test_without_a_bound_it_is_a_linear_program():
    x, y, p = drawn(60, 4)
    # min Σ p ξ with ξ ≥ 1 − y⟨x, w⟩, ξ ≥ 0
    upper = torch.cat([-(y[:, None] * x), -torch.eye(60, dtype=torch.float64)], 1)
    costs = torch.cat([torch.zeros(4, dtype=torch.float64), p])
    exact = linprog(costs.numpy(), upper.numpy(), -np.ones(60), bounds=[(None, None)] * 4 + [(0, None)] * 60).fun
    found = least_hinge_loss(x, y, 100.0, probabilities=p, tolerance=1e-6)
    assert found.lower - 1e-12 <= exact <= found.upper + 1e-12
    assert found.gap <= 1e-6


@pytest.mark.parametrize("norm", [0.1, 1.0, 2.0])
def test_a_grid_of_directions(norm):
    x, y, p = drawn(40, 2)
    angles = torch.linspace(0, 2 * torch.pi, 721, dtype=torch.float64)
    lengths = norm * torch.linspace(0, 1, 101, dtype=torch.float64)
    grid = lengths[:, None, None] * torch.stack([angles.cos(), angles.sin()], 1)
    margins = y[:, None, None] * torch.einsum("nj,laj->nla", x, grid)
    best = float(torch.einsum("n,nla->la", p, (1 - margins).clamp(min=0)).min())
    found = least_hinge_loss(x, y, norm, probabilities=p, tolerance=1e-6)
    assert found.lower <= best
    assert found.upper == pytest.approx(best, abs=2e-3 * norm)
    assert float(found.weights.norm()) <= norm
    assert found.upper == pytest.approx(loss(x, y, p, found.weights), rel=1e-12)


def test_both_values_hold_whatever_the_solver_did():
    # with a tolerance so large that it hardly moves
    x, y, p = drawn(50, 6)
    coarse = least_hinge_loss(x, y, 3.0, probabilities=p, tolerance=0.5)
    fine = least_hinge_loss(x, y, 3.0, probabilities=p, tolerance=1e-6)
    assert coarse.gap > 100 * fine.gap
    assert coarse.lower <= fine.lower + 1e-9
    assert coarse.upper >= fine.upper - 1e-9


def test_no_weights_in_the_ball_fall_below_the_dual_value():
    x, y, p = drawn(50, 6)
    found = least_hinge_loss(x, y, 0.8, probabilities=p)
    for w in Stream(1).normal(200, 6, dtype=torch.float64):
        assert loss(x, y, p, 0.8 * w / w.norm()) >= found.lower


def test_features_that_are_zero_or_equal():
    y = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    nothing = least_hinge_loss(torch.zeros(3, 4, dtype=torch.float64), y, 5.0)
    assert nothing.upper == nothing.lower + nothing.gap == pytest.approx(1.0, abs=1e-3)
    twice = least_hinge_loss(torch.stack([y, y], 1), y, 0.5, tolerance=1e-6)
    assert twice.upper == pytest.approx(1 - 0.5 * 2**0.5, abs=1e-5)  # two equal features are one of length √2
