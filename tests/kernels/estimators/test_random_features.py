import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from beyondkernels.activations.truncated_relu import TruncatedReLU
from beyondkernels.core import InputError, Stream
from beyondkernels.kernels.classical.random_features import FourierFeatures, GaussianFeatures
from beyondkernels.kernels.estimators import ConjugateKernelRegressor, KernelRidgePath, RandomFeaturesRegressor
from beyondkernels.kernels.finite.functional import conjugate_features
from beyondkernels.kernels.finite.memory import peak_bytes
from beyondkernels.networks import FromModule, FullyConnected, Network, Parameterisation, ThreeLayerResNet, TwoLayer
from module_cases import perceptron
from naive import ridge_with_intercept

X = Stream(0).child("x").normal(25, 3, dtype=torch.float64).numpy()
Y = X[:, 0] * X[:, 1] + 2


def solved_by_hand(phi: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """v from the first 15 points, and predictions for the others."""
    alpha, b = ridge_with_intercept(phi[:15] @ phi[:15].T, Y[:15], ridge)
    v = phi[:15].T @ alpha
    return v, b + phi[15:] @ v


fresh: Any = clone


@pytest.mark.parametrize("count", [5, 15, 60])
def test_predictions_are_those_of_a_solve_by_hand(count):
    model = RandomFeaturesRegressor(count, weight_std=0.7, bias_std=0.4, ridges=0.02, random_state=3).fit(
        X[:15], Y[:15]
    )
    stream = Stream(3).child("features")
    W = 0.7 * stream.child("weights").normal(count, 3, dtype=torch.float64).numpy()
    b = 0.4 * stream.child("biases").normal(count, dtype=torch.float64).numpy()
    phi = np.maximum(X @ W.T + b, 0) / math.sqrt(count)
    v, predictions = solved_by_hand(phi, 0.02)
    np.testing.assert_allclose(model.coefficients_, v, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.predict(X[15:]), predictions, rtol=1e-9)


@pytest.mark.parametrize("count", [5, 60])
def test_features_and_their_kernel_agree(count):
    features = RandomFeaturesRegressor(count, activation="truncated_relu", random_state=1).fit(X, Y)
    kernel = KernelRidgePath(features.kernel_).fit(X, Y)
    np.testing.assert_allclose(features.path_.ridges, kernel.path_.ridges, rtol=1e-12)
    np.testing.assert_allclose(features.loo_errors_[:20], kernel.loo_errors_[:20], rtol=1e-6)
    assert features.ridge_ == pytest.approx(kernel.ridge_)
    np.testing.assert_allclose(features.predict(X), kernel.predict(X), rtol=1e-6)


@pytest.mark.parametrize("count", [5, 60])
def test_waves_by_hand(count):
    features = FourierFeatures(count, bandwidth=3.0)
    model = RandomFeaturesRegressor(features=features, ridges=0.02, random_state=3).fit(X[:15], Y[:15])
    stream = Stream(3).child("features")
    W = math.sqrt(2 / 3) * stream.child("weights").normal(count, 3, dtype=torch.float64).numpy()
    b = 2 * math.pi * stream.child("phases").uniform(count, dtype=torch.float64).numpy()
    v, predictions = solved_by_hand(np.sqrt(2 / count) * np.cos(X @ W.T + b), 0.02)
    np.testing.assert_allclose(model.coefficients_, v, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.predict(X[15:]), predictions, rtol=1e-9)


@pytest.mark.parametrize(
    "network",
    [
        FullyConnected(width=6),
        FullyConnected(width=64, parameterisation=Parameterisation("standard", readout_bias_variance=0.1)),
        ThreeLayerResNet(width=16),
        TwoLayer(pairs=8),
        FromModule(perceptron, "mlp"),
    ],
    ids=lambda network: type(network).__name__,
)
def test_a_networks_features_give_the_regression_of_its_conjugate_kernel(network: Network):
    by_features = RandomFeaturesRegressor(features=network, ridges=0.02, random_state=3).fit(X[:15], Y[:15])
    by_kernel = ConjugateKernelRegressor(network, ridges=0.02, random_state=3).fit(X[:15], Y[:15])
    np.testing.assert_allclose(by_features.predict(X[15:]), by_kernel.predict(X[15:]), rtol=1e-8)
    assert by_features.kernel_ == by_kernel.kernel_
    assert by_features.loo_error_ == pytest.approx(by_kernel.loo_error_, rel=1e-8)
    params, buffers = network.init(3, 1, Stream(3).child("network"))
    phi = conjugate_features(network, params, buffers, torch.from_numpy(X)).numpy()
    v, predictions = solved_by_hand(phi, 0.02)
    np.testing.assert_allclose(by_features.coefficients_, v, rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(by_features.predict(X[15:]), predictions, rtol=1e-8)


def test_simple_arguments_are_gaussian_features():
    simple = RandomFeaturesRegressor(30, activation="truncated_relu", weight_std=0.5, bias_std=0.2, ridges=0.1)
    given = RandomFeaturesRegressor(features=GaussianFeatures(30, TruncatedReLU(), 0.5, 0.2), ridges=0.1)
    np.testing.assert_array_equal(simple.fit(X, Y).predict(X), given.fit(X, Y).predict(X))
    other = fresh(given).set_params(count=7, activation="erf", weight_std=9.0, bias_std=9.0)
    np.testing.assert_array_equal(other.fit(X, Y).predict(X), given.predict(X))


def test_fields_of_the_features_are_parameters():
    model = RandomFeaturesRegressor(features=FourierFeatures(count=8, bandwidth=2.0))
    params = model.get_params()
    assert (params["features__count"], params["features__bandwidth"]) == (8, 2.0)
    assert model.set_params(features__count=np.int64(5)).features == FourierFeatures(count=5, bandwidth=2.0)
    assert model.fit(X, Y).coefficients_.shape == (5,)
    model.set_params(features=FullyConnected(width=8), features__width=12)
    assert model.fit(X, Y).coefficients_.shape == (12,)
    with pytest.raises(ValueError, match="Invalid parameter 'features__count' for estimator"):
        RandomFeaturesRegressor().set_params(features__count=5)


@pytest.mark.parametrize("features", [GaussianFeatures(50), FullyConnected(width=50)], ids=["neurons", "network"])
@pytest.mark.parametrize(("n", "outputs", "ridges"), [(400, 1, None), (40, 3, None), (50, 1, 0.1)])
def test_the_memory_is_kept_and_the_least_is_told(features, n, outputs, ridges):
    x = Stream(1).normal(n, 3, dtype=torch.float64).numpy()
    y = np.sin(x[:, :1] + np.arange(outputs))
    model = RandomFeaturesRegressor(features=features, ridges=ridges)
    whole = model.fit(x, y).predict(x)
    grid = 30 if ridges is None else 1
    least = 8 * (3 * n * 50 + 6 * min(n, 50) ** 2 + 4 * n * grid * (outputs + 1))
    with pytest.raises(InputError) as error:
        fresh(model).set_params(memory=least - 1).fit(x, y)
    assert str(error.value) == (
        f"memory must be at least {least:,} bytes for 50 features of {n} points, got {least - 1:,}"
    )
    small = fresh(model).set_params(memory=least)
    drawn = 8 * 2 * (50 * 50 if isinstance(features, Network) else 4 * 50)  # and a copy
    assert peak_bytes(lambda: small.fit(x, y)) <= least + drawn
    np.testing.assert_allclose(small.predict(x), whole, rtol=1e-7, atol=1e-9)
    few = small.set_params(memory=8 * 8 * 100 * 7)
    assert peak_bytes(lambda: few.predict(x)) <= 8 * 8 * 100 * 7 + drawn + 8 * n * (3 + 2 * outputs)
    np.testing.assert_allclose(few.predict(x), whole, rtol=1e-7, atol=1e-9)
