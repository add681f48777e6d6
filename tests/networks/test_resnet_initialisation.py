"""The starts of §6 and §8.1: variances of what is drawn, matrix by matrix."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.networks import (
    FullyConnected,
    ThreeLayerResNet,
    initial_stds,
    popular_initialisation,
    theorem_network,
)

M, D, K = 400, 30, 15


def check(values: torch.Tensor, std: float) -> None:
    """Mean and variance within five standard errors."""
    v, n = values.double().flatten(), values.numel()
    assert abs(float(v.mean())) < 5 * std / n**0.5
    assert abs(float(v.square().mean()) / std**2 - 1) < 5 * (2 / n) ** 0.5


@pytest.mark.parametrize("form", ["full", "bottleneck"])
def test_the_popular_start(form):
    params, _ = ThreeLayerResNet(M, form, parameterisation=popular_initialisation(M)).init(D, K, Stream(1))
    second = "U" if form == "full" else "V"
    assert params.keys() == {"W.weight", "W.bias", f"{second}.weight", f"{second}.bias", "A.weight"}
    for value in params.values():
        check(value, M**-0.5)


@pytest.mark.parametrize("depth", [2, 3])
def test_the_popular_start_of_fully_connected_networks(depth):
    params, _ = FullyConnected(M, depth, parameterisation=popular_initialisation(M)).init(D, K, Stream(1))
    assert len(params) == 2 * depth - 1
    for value in params.values():
        check(value, M**-0.5)


@pytest.mark.parametrize(("sigma_w", "sigma_v"), [(0.2, 3.0), (1.5, 0.4)])
def test_the_start_of_theorem_1(sigma_w, sigma_v):
    network = theorem_network(M, sigma_w, sigma_v)
    params, _ = network.init(D, K, Stream(2))
    expected = {
        "W.weight": sigma_w,
        "W.bias": sigma_w,
        "V.weight": sigma_v / M**0.5,
        "V.bias": sigma_v / M**0.5,
        "A.weight": M**-0.5,
    }
    assert params.keys() == expected.keys()
    for name, std in expected.items():
        check(params[name], std)
    assert initial_stds(network, D, K) == pytest.approx((sigma_w, sigma_v))
