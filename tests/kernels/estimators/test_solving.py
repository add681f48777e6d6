"""Ridge regression after centring, against loops that leave one point out and fit again."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels.estimators import solving
from beyondkernels.kernels.estimators.solving import solve_features, solve_gram
from beyondkernels.kernels.solvers.ridge import ridge_path

N, K = 12, 2
Y = Stream(0).child("y").normal(N, K, dtype=torch.float64) + torch.tensor([5.0, -1.0])
RIDGES = [3.0, 0.3, 0.01]


def features(m: int, n: int = N) -> torch.Tensor:
    return 0.5 + Stream(1).child("features").normal(n, m, dtype=torch.float64)


def naive_loo(gram: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Residuals of each point under the fit to all others, mean included, one solve a point."""
    residuals = np.zeros_like(y)
    for i in range(len(y)):
        rest = [j for j in range(len(y)) if j != i]
        mean = y[rest].mean(0)
        alpha = np.linalg.solve(gram[np.ix_(rest, rest)] + ridge * np.eye(len(rest)), y[rest] - mean)
        residuals[i] = y[i] - (mean + gram[i, rest] @ alpha)
    return residuals


@pytest.mark.parametrize("m", [3, 12, 40])
@pytest.mark.parametrize("route", ["gram", "features"])
def test_leave_one_out_errors_are_those_of_refits(route, m):
    phi = features(m)
    gram = (phi @ phi.T).numpy()
    fit = solve_gram(phi @ phi.T, Y, RIDGES) if route == "gram" else solve_features(phi, Y, RIDGES)
    expected = [naive_loo(gram, Y.numpy(), ridge) for ridge in RIDGES]
    np.testing.assert_allclose(fit.loo_errors, [(e**2).mean() for e in expected], rtol=1e-9)
    best = int(np.argmin([(e**2).mean() for e in expected]))
    assert fit.ridge == RIDGES[best]
    np.testing.assert_allclose(fit.loo_residuals, expected[best], rtol=1e-8, atol=1e-10)


def test_the_mean_is_learned_without_the_point():
    """With a kernel that is zero the predictor is the mean of the others: an error of c·n/(n − 1)."""
    fit = solve_gram(torch.zeros(N, N), Y, [1.0])
    mean = Y.mean(0)
    torch.testing.assert_close(fit.loo_residuals, (Y - mean) * N / (N - 1), rtol=1e-12, atol=0)
    torch.testing.assert_close(fit.intercept, mean)


@pytest.mark.parametrize("m", [3, 12, 40])
def test_weights_minimise_the_penalised_loss(m):
    phi, ridge = features(m), 0.3
    fit = solve_features(phi, Y, ridges=[ridge])
    w = np.linalg.solve((phi.T @ phi).numpy() + ridge * np.eye(m), (phi.T @ (Y - Y.mean(0))).numpy())
    np.testing.assert_allclose(fit.coefficients, w, rtol=1e-9, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh((phi.T @ phi if m < N else phi @ phi.T).numpy()) + ridge
    np.testing.assert_allclose(fit.condition, eigenvalues[-1] / eigenvalues[0], rtol=1e-9)


def test_the_default_grid_is_the_same_by_both_routes():
    """Beside m ≥ n features, constant zeros make no difference but to which matrix is smaller."""
    phi = features(8)
    primal = solve_features(phi, Y)
    dual = solve_features(torch.cat([phi, torch.zeros(N, 8)], 1), Y)
    assert primal.path.spectrum.vectors.shape == (8, 8)
    assert dual.path.spectrum.vectors.shape == (N, N)
    torch.testing.assert_close(primal.path.ridges, dual.path.ridges, rtol=1e-12, atol=0)
    torch.testing.assert_close(primal.loo_errors, dual.loo_errors, rtol=1e-6, atol=0)
    torch.testing.assert_close(primal.coefficients, dual.coefficients[:8], rtol=1e-6, atol=1e-8)


def test_features_that_are_zero_leave_the_mean():
    fit = solve_features(torch.zeros(N, 3, dtype=torch.float64), Y)
    assert not fit.coefficients.any()


def test_of_equal_errors_the_largest_ridge():
    fit = solve_gram(torch.eye(N, dtype=torch.float64), Y, [1.0, 2.0, 4.0])  # no point says anything about another
    assert fit.ridge == 4.0


@pytest.mark.parametrize(("ridges", "better"), [([2.0, 1.0], 1), ([2e-8, 1e-8], 0)])
def test_errors_that_differ_by_rounding_are_equal(ridges, better):
    """The second error is less by 1e-9: something where the condition is 2, nothing where it is 1e8."""
    zeros = torch.zeros(2, 1, dtype=torch.float64)
    path = ridge_path(torch.diag(torch.tensor([0.0, 1.0])), zeros, ridges)
    residuals = torch.tensor([1 + 1e-9, 1.0], dtype=torch.float64).sqrt().expand(2, 2)
    solved = torch.stack([residuals, torch.zeros_like(residuals)], 2)
    chosen = solving._chosen(path, zeros[0], zeros, solved, torch.ones_like(residuals))
    torch.testing.assert_close(chosen.loo_errors, residuals[0] ** 2, rtol=1e-14, atol=0)
    assert chosen.ridge == ridges[better]


def test_one_point_cannot_be_left_out():
    with pytest.raises(InputError, match="y must hold at least two points to leave one out, got 1"):
        solve_gram(torch.ones(1, 1), torch.ones(1, 1))


def test_a_point_that_alone_carries_a_feature_cannot_be_left_out_without_ridge():
    phi = torch.zeros(4, 2, dtype=torch.float64)
    phi[:3, 0] = 1
    phi[3, 1] = 1
    with pytest.raises(InputError, match="ridges must be larger for these features, got at most 0: some point"):
        solve_features(phi, torch.arange(4.0, dtype=torch.float64)[:, None], [0.0])
