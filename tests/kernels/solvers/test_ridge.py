"""The ridge path against a fit for every ridge and every point left out."""

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.solvers.ridge import ridge_path
from refusals import refused

F64 = torch.float64


def gaussian(x1, x2, width=1.5):
    return torch.exp(-torch.cdist(x1, x2).square() / (2 * width**2))


def problem(n=25, k=3, m=11, seed=0):
    stream = Stream(seed)
    x, z = stream.child("x").normal(n, 3, dtype=F64), stream.child("z").normal(m, 3, dtype=F64)
    W = stream.child("W").normal(3, k, dtype=F64)
    y = torch.sin(x @ W) + 0.2 * stream.child("noise").normal(n, k, dtype=F64)
    gram = gaussian(x, x)
    return (gram + gram.T) / 2, y, gaussian(z, x), torch.sin(z @ W)


def solve(gram, y, ridge):
    """α by elimination."""
    return np.linalg.solve(gram.numpy() + ridge * np.eye(len(gram)), y.numpy())


def left_out(gram, y, ridge):
    """Each point's residual under a fit that never saw it, one fit a point."""
    residuals = np.zeros(y.shape)
    for i in range(len(y)):
        rest = [j for j in range(len(y)) if j != i]
        alpha = solve(gram[rest][:, rest], y[rest], ridge)
        residuals[i] = y[i].numpy() - gram[i, rest].numpy() @ alpha
    return residuals


RIDGES = [10.0, 0.3, 1e-2, 1e-5]


def test_leave_one_out_is_leaving_one_out():
    gram, y, _, _ = problem()
    path = ridge_path(gram, y, RIDGES)
    for ridge, errors in zip(RIDGES, path.loo_errors, strict=True):
        literal = left_out(gram, y, ridge)
        np.testing.assert_allclose(path.loo_residuals(ridge), literal, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(errors, (literal**2).mean(0), rtol=1e-8)


def test_every_ridge_is_a_fit_by_elimination():
    gram, y, block, y_val = problem()
    path = ridge_path(gram, y, RIDGES)
    validation = path.validation_errors(block, y_val)
    for i, ridge in enumerate(RIDGES):
        alpha = solve(gram, y, ridge)
        np.testing.assert_allclose(path.coefficients(ridge), alpha, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(path.predict(block, ridge), block.numpy() @ alpha, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            path.training_errors[i], ((y.numpy() - gram.numpy() @ alpha) ** 2).mean(0), rtol=1e-7, atol=1e-13
        )
        np.testing.assert_allclose(validation[i], ((y_val.numpy() - block.numpy() @ alpha) ** 2).mean(0), rtol=1e-8)
        shifted = gram.numpy() + ridge * np.eye(len(gram))
        hat = gram.numpy() @ np.linalg.inv(shifted)
        assert path.degrees_of_freedom[i].item() == pytest.approx(np.trace(hat), rel=1e-8)
        assert path.conditions[i].item() == pytest.approx(np.linalg.cond(shifted), rel=1e-8)
    np.testing.assert_allclose(path.eigenvalues, np.linalg.eigvalsh(gram.numpy()), atol=1e-13)


def test_outputs_do_not_see_each_other_and_a_vector_is_a_column():
    gram, y, block, y_val = problem()
    whole = ridge_path(gram, y, RIDGES)
    one = ridge_path(gram, y[:, 1], RIDGES)
    torch.testing.assert_close(one.loo_errors, whole.loo_errors[:, 1:2], rtol=1e-12, atol=0)
    assert one.predict(block).shape == (11, 1)
    torch.testing.assert_close(
        one.validation_errors(block, y_val[:, 1]), whole.validation_errors(block, y_val)[:, 1:2], rtol=1e-10, atol=0
    )


def test_the_default_grid_scales_with_the_kernel():
    gram, y, block, _ = problem()
    path, scaled = ridge_path(gram, y), ridge_path(7 * gram, y)
    assert len(path.ridges) == 30
    assert path.ridges[0].item() == pytest.approx(100, rel=1e-12)  # the diagonal is 1
    assert path.ridges[-1].item() == pytest.approx(1e-10, rel=1e-12)
    torch.testing.assert_close(scaled.ridges, 7 * path.ridges)
    torch.testing.assert_close(scaled.predict(7 * block), path.predict(block), rtol=1e-8, atol=1e-8)


def test_the_best_ridge_has_the_least_error_over_all_outputs():
    gram, y, block, y_val = problem()
    path = ridge_path(gram, y, RIDGES)
    sums = [(left_out(gram, y, ridge) ** 2).sum() for ridge in RIDGES]
    assert path.best == path.choose("loo") == RIDGES[int(np.argmin(sums))]
    sums = [((y_val.numpy() - block.numpy() @ solve(gram, y, ridge)) ** 2).sum() for ridge in RIDGES]
    assert path.choose((block, y_val)) == RIDGES[int(np.argmin(sums))]
    torch.testing.assert_close(path.predict(block), path.predict(block, path.best), rtol=0, atol=0)
    torch.testing.assert_close(path.loo_residuals().square().mean(0), path.loo_errors[RIDGES.index(path.best)])


def test_of_equal_ridges_the_largest_wins():
    path = ridge_path(torch.eye(4), torch.ones(4), [0.1, 10.0, 1.0])
    assert path.ridges.tolist() == [10.0, 1.0, 0.1]
    assert path.best == 10.0  # each point is alone: leaving it out predicts 0 at every ridge
    assert path.loo_errors.flatten().tolist() == [1.0, 1.0, 1.0]


def test_without_a_ridge_the_points_are_interpolated():
    gram = torch.tensor([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    y = torch.tensor([1.0, -1.0, 2.0])
    path = ridge_path(gram, y, [0.0, 1.0])
    torch.testing.assert_close(path.predict(gram, 0.0)[:, 0], y.to(F64))
    assert path.training_errors[-1].item() == 0
    np.testing.assert_allclose(path.loo_residuals(0.0), left_out(gram, y[:, None], 0.0), rtol=1e-12)


def test_without_a_ridge_a_singular_matrix_is_refused():
    x = Stream(0).normal(6, 2, dtype=F64)
    sentence = r"ridges must be positive for this gram, got 0: its smallest eigenvalue .* is not above the rounding"
    refused(sentence, ridge_path, x @ x.T, torch.ones(6), [0.0, 1.0])
    path = ridge_path(x @ x.T, torch.ones(6), [1.0])
    refused(sentence, path.coefficients, 0.0)
