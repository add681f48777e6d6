import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.estimators import ConjugateKernelRegressor
from beyondkernels.kernels.infinite.fully_connected import infinite_conjugate
from beyondkernels.networks import FullyConnected, Network, ThreeLayerResNet
from naive import ridge_with_intercept

X = Stream(0).child("x").normal(25, 3, dtype=torch.float64)
Y = (X[:, 0] * X[:, 1] + 2).numpy()
TRAIN, TEST = X[:15], X[15:]


def by_hand(K: np.ndarray, block: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    alpha, b = ridge_with_intercept(K, y, ridge)
    return b + block @ alpha


@pytest.mark.parametrize("network", [FullyConnected(width=16, depth=4), ThreeLayerResNet(width=16)])
def test_infinite_width(network: Network):
    kernel = infinite_conjugate(network)
    model = ConjugateKernelRegressor(network, infinite_width=True, ridges=0.2).fit(TRAIN.numpy(), Y[:15])
    expected = by_hand(kernel(TRAIN).numpy(), kernel(TEST, TRAIN).numpy(), Y[:15], 0.2)
    np.testing.assert_allclose(model.predict(TEST.numpy()), expected, rtol=1e-9)
