from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.estimators import KernelRidgePath, RandomFeaturesRegressor

X = Stream(0).child("x").normal(25, 3, dtype=torch.float64).numpy()
Y = X[:, 0] * X[:, 1] + 2


@pytest.mark.parametrize("count", [5, 15, 60])
def test_predictions_are_those_of_a_solve_by_hand(count):
    model = RandomFeaturesRegressor(count, weight_std=0.7, bias_std=0.4, ridges=0.02, random_state=3).fit(
        X[:15], Y[:15]
    )
    stream = Stream(3).child("features")
    W = 0.7 * stream.child("weights").normal(count, 3, dtype=torch.float64).numpy()
    b = 0.4 * stream.child("biases").normal(count, dtype=torch.float64).numpy()
    phi = np.maximum(X @ W.T + b, 0) / math.sqrt(count)
    train, mean = phi[:15], Y[:15].mean()
    v = np.linalg.solve(train.T @ train + 0.02 * np.eye(count), train.T @ (Y[:15] - mean))
    np.testing.assert_allclose(model.coefficients_, v, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.predict(X[15:]), mean + phi[15:] @ v, rtol=1e-9)


@pytest.mark.parametrize("count", [5, 60])
def test_features_and_their_kernel_agree(count):
    features = RandomFeaturesRegressor(count, activation="truncated_relu", random_state=1).fit(X, Y)
    kernel = KernelRidgePath(features.kernel_).fit(X, Y)
    np.testing.assert_allclose(features.path_.ridges, kernel.path_.ridges, rtol=1e-12)
    np.testing.assert_allclose(features.loo_errors_[:20], kernel.loo_errors_[:20], rtol=1e-6)
    assert features.ridge_ == pytest.approx(kernel.ridge_)
    np.testing.assert_allclose(features.predict(X), kernel.predict(X), rtol=1e-6)


def test_weights_scale_with_the_dimension_by_default():
    default = RandomFeaturesRegressor(20).fit(X, Y)
    named = RandomFeaturesRegressor(20, weight_std=1 / math.sqrt(3)).fit(X, Y)
    np.testing.assert_allclose(default.predict(X), named.predict(X), rtol=1e-9)
