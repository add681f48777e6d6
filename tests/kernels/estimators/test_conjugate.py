import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.estimators import ConjugateKernelClassifier, ConjugateKernelRegressor
from beyondkernels.kernels.finite.functional import conjugate_gram
from beyondkernels.kernels.infinite.fully_connected import infinite_conjugate
from beyondkernels.networks import FullyConnected, Network, ThreeLayerResNet, TwoLayer
from naive import ridge_with_intercept

X = Stream(0).child("x").normal(25, 3, dtype=torch.float64)
Y = (X[:, 0] * X[:, 1] + 2).numpy()
TRAIN, TEST = X[:15], X[15:]


def by_hand(K: np.ndarray, block: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    alpha, b = ridge_with_intercept(K, y, ridge)
    return b + block @ alpha


@pytest.mark.parametrize("network", [FullyConnected(width=16), ThreeLayerResNet(width=16), TwoLayer(pairs=8)])
def test_predictions_are_those_of_a_solve_by_hand(network: Network):
    params, buffers = network.init(3, 1, Stream(4).child("network"))
    K = conjugate_gram(network, params, buffers, TRAIN).numpy()
    block = conjugate_gram(network, params, buffers, TEST, TRAIN).numpy()
    model = ConjugateKernelRegressor(network, ridges=0.2, random_state=4).fit(TRAIN.numpy(), Y[:15])
    np.testing.assert_allclose(model.predict(TEST.numpy()), by_hand(K, block, Y[:15], 0.2), rtol=1e-9)


@pytest.mark.parametrize("network", [FullyConnected(width=16, depth=4), ThreeLayerResNet(width=16)])
def test_infinite_width(network: Network):
    kernel = infinite_conjugate(network)
    model = ConjugateKernelRegressor(network, infinite_width=True, ridges=0.2).fit(TRAIN.numpy(), Y[:15])
    expected = by_hand(kernel(TRAIN).numpy(), kernel(TEST, TRAIN).numpy(), Y[:15], 0.2)
    np.testing.assert_allclose(model.predict(TEST.numpy()), expected, rtol=1e-9)


def test_classes_by_a_solve_by_hand():
    network = FullyConnected(width=64)
    params, buffers = network.init(3, 1, Stream(0).child("network"))
    K = conjugate_gram(network, params, buffers, TRAIN).numpy()
    block = conjugate_gram(network, params, buffers, TEST, TRAIN).numpy()
    labels = Y[:15] > 2
    model = ConjugateKernelClassifier(network, ridges=0.2).fit(TRAIN.numpy(), labels)
    expected = by_hand(K, block, np.where(labels, 1.0, -1.0), 0.2)
    np.testing.assert_allclose(model.decision_function(TEST.numpy()), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(TEST.numpy()), expected > 0)
