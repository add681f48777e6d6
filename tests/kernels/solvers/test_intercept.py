"""Ridge regression with a fitted intercept, against loops that leave one point out and fit again."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from beyondkernels.core import Stream
from beyondkernels.kernels.solvers import intercept, ridge_path
from beyondkernels.kernels.solvers.intercept import solve_features, solve_gram
from naive import ridge_with_intercept
from refusals import refused

N, K = 12, 2
Y = Stream(0).child("y").normal(N, K, dtype=torch.float64) + torch.tensor([5.0, -1.0])
RIDGES = [3.0, 0.3, 0.01]


def features(m: int, n: int = N) -> torch.Tensor:
    return 0.5 + Stream(1).child("features").normal(n, m, dtype=torch.float64)


def naive_loo(gram: np.ndarray, y: np.ndarray, ridge: float, fit_intercept: bool) -> np.ndarray:
    """Residuals of each point under the fit to all others, intercept included, one system a point."""
    residuals = np.zeros_like(y)
    for i in range(len(y)):
        rest = [j for j in range(len(y)) if j != i]
        part = gram[np.ix_(rest, rest)]
        if fit_intercept:
            alpha, b = ridge_with_intercept(part, y[rest], ridge)
        else:
            alpha, b = np.linalg.solve(part + ridge * np.eye(len(rest)), y[rest]), 0.0
        residuals[i] = y[i] - (b + gram[i, rest] @ alpha)
    return residuals


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("m", [3, 12, 40])
@pytest.mark.parametrize("route", ["gram", "features"])
def test_leave_one_out_errors_are_those_of_refits(route, m, fit_intercept):
    phi = features(m)
    gram = (phi @ phi.T).numpy()
    given, solve = (phi @ phi.T, solve_gram) if route == "gram" else (phi, solve_features)
    fit = solve(given, Y, RIDGES, fit_intercept=fit_intercept)
    expected = [naive_loo(gram, Y.numpy(), ridge, fit_intercept) for ridge in RIDGES]
    np.testing.assert_allclose(fit.loo_errors, [(e**2).mean() for e in expected], rtol=1e-9)
    best = int(np.argmin([(e**2).mean() for e in expected]))
    assert fit.ridge == RIDGES[best]
    np.testing.assert_allclose(fit.loo_residuals, expected[best], rtol=1e-8, atol=1e-10)


def test_the_intercept_is_fitted_without_the_point():
    """With a kernel that is zero the predictor is the mean of the others: an error of c·n/(n − 1)."""
    fit = solve_gram(torch.zeros(N, N), Y, [1.0])
    mean = Y.mean(0)
    torch.testing.assert_close(fit.loo_residuals, (Y - mean) * N / (N - 1), rtol=1e-12, atol=0)
    torch.testing.assert_close(fit.intercept, mean)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("m", [3, 12, 40])
def test_weights_and_intercept_are_those_of_scikit_learn(m, fit_intercept):
    phi, ridge = features(m), 0.3
    fit = solve_features(phi, Y, ridges=[ridge], fit_intercept=fit_intercept)
    theirs = Ridge(alpha=ridge, fit_intercept=fit_intercept, solver="svd").fit(phi.numpy(), Y.numpy())
    np.testing.assert_allclose(fit.coefficients.T, theirs.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fit.intercept, theirs.intercept_ * np.ones(K), rtol=1e-9)
    dual = solve_gram(phi @ phi.T, Y, [ridge], fit_intercept=fit_intercept)
    np.testing.assert_allclose(phi.T @ dual.coefficients, fit.coefficients, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(dual.intercept, fit.intercept, rtol=1e-9)


@pytest.mark.parametrize("m", [3, 12, 40])
def test_the_condition_is_that_of_the_smaller_matrix(m):
    phi, ridge = features(m), 0.3
    centred = phi - phi.mean(0)
    eigenvalues = np.linalg.eigvalsh((centred.T @ centred if m < N else phi @ phi.T).numpy()) + ridge
    fit = solve_features(phi, Y, ridges=[ridge])
    np.testing.assert_allclose(fit.condition, eigenvalues[-1] / eigenvalues[0], rtol=1e-9)


def test_large_means_cost_no_digits():
    phi = features(40)
    small, large = solve_features(phi, Y, [0.1]), solve_features(phi, Y + 2.0**30, [0.1])
    torch.testing.assert_close(small.loo_residuals, large.loo_residuals, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(large.intercept - 2.0**30, small.intercept, rtol=1e-6, atol=1e-6)


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


def test_of_equal_errors_the_largest_ridge():
    fit = solve_gram(torch.eye(N, dtype=torch.float64), Y, [1.0, 2.0, 4.0])  # no point says anything about another
    assert fit.ridge == 4.0


@pytest.mark.parametrize(("ridges", "better"), [([2.0, 1.0], 1), ([2e-8, 1e-8], 0)])
def test_errors_that_differ_by_rounding_are_equal(ridges, better):
    """The second error is less by 1e-9: something where the condition is 2, nothing where it is 1e8."""
    path = ridge_path(torch.diag(torch.tensor([0.0, 1.0])), torch.zeros(2, 1, dtype=torch.float64), ridges)
    residuals = torch.tensor([1 + 1e-9, 1.0], dtype=torch.float64).sqrt().expand(2, 2)
    at, errors, _ = intercept._chosen(path, residuals[:, :, None], torch.ones_like(residuals))
    torch.testing.assert_close(errors, residuals[0] ** 2, rtol=1e-14, atol=0)
    assert at == better


def test_a_point_that_alone_carries_a_feature_cannot_be_left_out_without_ridge():
    phi = torch.zeros(4, 2, dtype=torch.float64)
    phi[:3, 0] = 1
    phi[3, 1] = 1
    y = torch.arange(4.0, dtype=torch.float64)[:, None]
    refused("larger for these features, got at most 0: some point", solve_features, phi, y, [0.0], fit_intercept=False)
    refused("ridges must be larger for these features, got at most 0: some point", solve_features, phi[:, 1:], y, [0.0])
