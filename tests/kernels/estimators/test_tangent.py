from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import ConjugateKernelRegressor, TangentKernelRegressor, infinite_conjugate, infinite_tangent
from beyondkernels.kernels.finite.functional import tangent_gram
from beyondkernels.networks import FromModule, FullyConnected, Network, Parameterisation, ThreeLayerResNet, TwoLayer
from module_cases import perceptron
from naive import ridge_with_intercept

X = Stream(0).child("x").normal(25, 3, dtype=torch.float64)
Y = (X[:, 0] * X[:, 1] + 2).numpy()
TRAIN, TEST = X[:15], X[15:]


def by_hand(K: np.ndarray, block: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    alpha, b = ridge_with_intercept(K, y, ridge)
    return b + block @ alpha


@pytest.mark.parametrize(
    ("network", "group"),
    [
        (FullyConnected(width=16), "all"),
        (FullyConnected(width=16, parameterisation=Parameterisation("standard", bias_variance=0.1)), "hidden"),
        (ThreeLayerResNet(width=16), "last"),
        (ThreeLayerResNet(width=16, form="bottleneck"), "all"),
        (TwoLayer(pairs=8), "hidden"),
        (FromModule(perceptron, "mlp", {"first": ("0.weight", "0.bias")}), "first"),
    ],
)
def test_predictions_are_those_of_a_solve_by_hand(network: Network, group: str):
    params, buffers = network.init(3, 1, Stream(4).child("network"))
    K = tangent_gram(network, params, buffers, TRAIN, group=group).numpy()
    block = tangent_gram(network, params, buffers, TEST, TRAIN, group=group).numpy()
    model = TangentKernelRegressor(network, group=group, ridges=0.2, random_state=4).fit(TRAIN.numpy(), Y[:15])
    np.testing.assert_allclose(model.predict(TEST.numpy()), by_hand(K, block, Y[:15], 0.2), rtol=1e-9)
    assert model.ridge_ == 0.2
    np.testing.assert_allclose(model.condition_, np.linalg.cond(K + 0.2 * np.eye(15)), rtol=1e-8)
    np.testing.assert_array_equal(model.x_fit_, TRAIN.numpy())


def test_the_default_network_is_three_layers_of_512_with_biases():
    default = TangentKernelRegressor(ridges=1.0).fit(TRAIN.numpy(), Y[:15])
    network = FullyConnected(width=512, depth=3, parameterisation=Parameterisation(bias_variance=1.0))
    named = TangentKernelRegressor(network, ridges=1.0).fit(TRAIN.numpy(), Y[:15])
    np.testing.assert_array_equal(default.predict(TEST.numpy()), named.predict(TEST.numpy()))


@pytest.mark.parametrize("network", [FullyConnected(width=16, depth=4), ThreeLayerResNet(width=16)])
@pytest.mark.parametrize("group", ["all", "hidden", "last", None])
def test_infinite_width(network: Network, group: str | None):
    given: Any = {"infinite_width": True, "ridges": 0.2}
    if group is None:
        kernel, model = infinite_conjugate(network), ConjugateKernelRegressor(network, **given)
    else:
        kernel, model = infinite_tangent(network, group), TangentKernelRegressor(network, group=group, **given)
    model.fit(TRAIN.numpy(), Y[:15])
    expected = by_hand(kernel(TRAIN).numpy(), kernel(TEST, TRAIN).numpy(), Y[:15], 0.2)
    np.testing.assert_allclose(model.predict(TEST.numpy()), expected, rtol=1e-9)
    assert model.kernel_ == kernel
