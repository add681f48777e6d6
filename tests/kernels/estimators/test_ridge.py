import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer

from beyondkernels.core import Stream
from beyondkernels.kernels import Gaussian, KernelRidgePath, Laplace
from beyondkernels.kernels.estimators.ridge import median_bandwidth

X = Stream(0).child("x").normal(25, 3, dtype=torch.float64).numpy()
Y = X[:, 0] * X[:, 1] + 2
KERNELS = [Gaussian(2.0), Laplace(2.0), 2 * Gaussian(1.0) + Laplace(1.0)]


def gram(kernel, a, b=None):
    return kernel(torch.from_numpy(a), None if b is None else torch.from_numpy(b)).numpy()


@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_are_those_of_scikit_learn(kernel):
    """Which knows no intercept with kernels, but centres them: that is the same fit."""
    K, block = gram(kernel, X[:15]), gram(kernel, X[15:], X[:15])
    centre = KernelCenterer().fit(K)
    theirs = KernelRidge(kernel="precomputed").set_params(alpha=0.1).fit(centre.transform(K), Y[:15] - Y[:15].mean())
    expected = Y[:15].mean() + theirs.predict(centre.transform(block))
    ours = KernelRidgePath(kernel, ridges=0.1).fit(X[:15], Y[:15])
    np.testing.assert_allclose(ours.predict(X[15:]), expected, rtol=1e-10)
    given = KernelRidgePath("precomputed", ridges=0.1).fit(K, Y[:15])
    np.testing.assert_allclose(given.predict(block), expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_without_intercept_predictions_are_those_of_scikit_learn(kernel):
    K, block = gram(kernel, X[:15]), gram(kernel, X[15:], X[:15])
    theirs = KernelRidge(kernel="precomputed").set_params(alpha=0.1).fit(K, Y[:15])
    for model, points, new in ((KernelRidgePath(kernel), X[:15], X[15:]), (KernelRidgePath("precomputed"), K, block)):
        ours = model.set_params(ridges=0.1, fit_intercept=False).fit(points, Y[:15])
        assert ours.intercept_ == 0
        np.testing.assert_allclose(ours.predict(new), theirs.predict(block), rtol=1e-10)


def test_the_default_kernel_is_gaussian_at_the_median_squared_distance():
    model = KernelRidgePath().fit(X, Y)
    squares = [((X[i] - X[j]) ** 2).sum() for i in range(25) for j in range(i)]
    assert isinstance(model.kernel_, Gaussian)
    assert np.sum(np.array(squares) <= model.kernel_.bandwidth * (1 + 1e-12)) == 150  # half of 300
    assert model.kernel_.bandwidth == pytest.approx(sorted(squares)[149])


def test_the_median_leaves_out_equal_points_and_looks_at_a_thousand():
    assert median_bandwidth(torch.zeros(5, 2)) == 1.0
    doubled = torch.from_numpy(np.concatenate([X] * 6))
    assert median_bandwidth(doubled) == pytest.approx(median_bandwidth(torch.from_numpy(X)))
    line = torch.arange(3000, dtype=torch.float64)[:, None]
    assert median_bandwidth(line) ** 0.5 == pytest.approx(3000 * (1 - 0.5**0.5), rel=0.01)


def test_a_matrix_in_single_precision_is_good_enough():
    K = gram(Gaussian(500.0), X)
    K32 = K.astype(np.float32)
    assert np.linalg.eigvalsh(K32.astype(np.float64))[0] < -1e-9
    double = KernelRidgePath("precomputed", ridges=0.1).fit(K, Y).predict(K)
    single = KernelRidgePath("precomputed", ridges=0.1).fit(K32, Y).predict(K32)
    np.testing.assert_allclose(single, double, rtol=1e-4)


def test_the_whole_path_is_there():
    ridges = [0.1, 10.0, 1.0]
    model = KernelRidgePath(Gaussian(2.0), ridges=ridges).fit(X, Y)
    assert model.path_.ridges.tolist() == [10.0, 1.0, 0.1]
    for ridge, error in zip(model.path_.ridges.tolist(), model.loo_errors_, strict=True):
        assert KernelRidgePath(Gaussian(2.0), ridges=ridge).fit(X, Y).loo_error_ == pytest.approx(error)
    model.set_params(fit_intercept=False).fit(X, Y)
    assert model.ridge_ == model.path_.best
    block = torch.from_numpy(gram(Gaussian(2.0), X[:4], X))
    np.testing.assert_allclose(model.predict(X[:4]), model.path_.predict(block)[:, 0], rtol=1e-12)
