"""The starts of §6 and §8.1: variances of what is drawn, matrix by matrix."""

from __future__ import annotations

import pytest
import torch

from beyondkernels.core import InputError, Stream, build, describe, digest
from beyondkernels.networks import (
    FullyConnected,
    Parameterisation,
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
    assert build(describe(network)) == network


def test_second_scales_do_not_touch_the_function():
    """In the standard parameterisation scales belong to the start alone."""
    plain = ThreeLayerResNet(8, "bottleneck", parameterisation=Parameterisation("standard", bias_variance=1.0))
    network = theorem_network(8, 0.1, 7.0)
    params, _ = plain.init(5, 2, Stream(3))
    x = Stream(4).normal(6, 5)
    assert torch.equal(plain.apply(params, {}, x)[0], network.apply(params, {}, x)[0])
    assert digest(network) != digest(theorem_network(8, 0.1, 7.5))


def test_stds_that_depend_on_the_dimensions():
    network = ThreeLayerResNet(50, "bottleneck", parameterisation=Parameterisation("standard", weight_variance=2.0))
    assert initial_stds(network, 8, 5) == pytest.approx((0.5, (50 * 2 / 5) ** 0.5))


def test_sentences():
    standard = Parameterisation("standard", bias_variance=1.0)
    with pytest.raises(InputError, match=r"^second is for the bottleneck form, got form='full'$"):
        ThreeLayerResNet(4, "full", parameterisation=standard, second=standard)
    with pytest.raises(InputError, match=r"^parameterisation must be of kind 'standard' beside second, got 'ntk'$"):
        ThreeLayerResNet(4, "bottleneck", second=standard)
    with pytest.raises(InputError, match=r"must both have biases or both have none, got 1\.0 and None$"):
        ThreeLayerResNet(4, "bottleneck", parameterisation=standard, second=Parameterisation("standard"))
    with pytest.raises(InputError, match=r"^width must be positive, got 0$"):
        popular_initialisation(0)
    with pytest.raises(InputError, match=r"^second_std must be positive, got 0$"):
        theorem_network(4, 1.0, 0)
    with pytest.raises(InputError, match=r"^network must be of the bottleneck form, got form='full'$"):
        initial_stds(ThreeLayerResNet(4), 3, 2)
