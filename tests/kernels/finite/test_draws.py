"""The mean over drawn networks: against a loop over Jacobians, and against the limit where there is one."""

from typing import Any

import pytest
import torch
from torch.func import jacrev

from beyondkernels.core import Stream, build, describe
from beyondkernels.kernels import MeanOverDraws, infinite_conjugate, infinite_tangent
from beyondkernels.networks import FullyConnected, Parameterisation, ThreeLayerResNet, TwoLayer

F64 = torch.float64
DRAWS = 4


def points(n=5, in_dim=3):
    return Stream(1).child("x").normal(n, in_dim, dtype=F64)


def parameters(network, i, out_dim, seed=0):
    drawn = int(Stream(seed).child("draw", str(i)).integers(2**62))
    params, _ = network.init(3, out_dim, Stream(drawn).child("network"))
    return {name: value.to(F64) for name, value in params.items()}


def tangent(network, params, x, group, out_dim):
    """Inner products of gradients of each output, averaged over outputs."""
    jacobian = jacrev(lambda p: network.apply(p, {}, x)[0])(params)
    chosen = [jacobian[name].reshape(len(x), out_dim, -1) for name in network.trained(group, params)]
    return torch.stack([torch.einsum("ikp,jkp->ij", part, part) for part in chosen]).sum(0) / out_dim


@pytest.mark.parametrize(
    "network",
    [ThreeLayerResNet(8, "bottleneck"), ThreeLayerResNet(8), FullyConnected(6, 3, "erf"), TwoLayer(4)],
    ids=lambda network: type(network).__name__ + getattr(network, "form", ""),
)
@pytest.mark.parametrize("group", ["all", "hidden", "last"])
def test_mean_and_standard_error_over_jacobians(network, group):
    x, out_dim = points(), 2
    kernel = MeanOverDraws(network, DRAWS, group=group, out_dim=out_dim)
    grams = torch.stack([tangent(network, parameters(network, i, out_dim), x, group, out_dim) for i in range(DRAWS)])
    close: Any = {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(kernel(x), grams.mean(0), **close)
    torch.testing.assert_close(kernel(x[:2], x[1:]), grams.mean(0)[:2, 1:], **close)
    torch.testing.assert_close(kernel.diagonal(x), grams.mean(0).diagonal(), **close)
    error = grams.std(0) / DRAWS**0.5
    torch.testing.assert_close(kernel.standard_error(x), error, **close)
    torch.testing.assert_close(kernel.standard_error(x[:2], x[1:]), error[:2, 1:], **close)


def test_the_conjugate_kernel_sees_what_enters_the_readout():
    scales = Parameterisation(weight_variance=1.5, bias_variance=0.5, readout_variance=0.7)
    network, x = ThreeLayerResNet(8, "full", "erf", scales), points()
    kernel = MeanOverDraws(network, DRAWS, "conjugate")
    grams = []
    for i in range(DRAWS):
        params = parameters(network, i, 1)
        h1 = torch.erf((1.5 / 3) ** 0.5 * x @ params["W.weight"].T + 0.5**0.5 * params["W.bias"])
        h2 = torch.erf((1.5 / 8) ** 0.5 * h1 @ params["U.weight"].T + 0.5**0.5 * params["U.bias"])
        grams.append(0.7 / 8 * (h1 + h2) @ (h1 + h2).T)
    mean = torch.stack(grams).mean(0)
    torch.testing.assert_close(kernel(x), mean, rtol=1e-12, atol=0)
    torch.testing.assert_close(kernel(x[:1], x), mean[:1], rtol=1e-12, atol=0)
    torch.testing.assert_close(kernel.diagonal(x), kernel(x).diagonal(), rtol=1e-12, atol=0)


def test_the_mean_is_the_limit_for_two_layers():
    network, x = FullyConnected(400, 2, "erf", Parameterisation(bias_variance=0.2)), points()
    for kernel, limit in (
        (MeanOverDraws(network, 60), infinite_tangent(network)),
        (MeanOverDraws(network, 60, "conjugate"), infinite_conjugate(network)),
    ):
        error = kernel.standard_error(x)
        assert error.max() < 0.02 * limit(x).max()
        assert ((kernel(x) - limit(x)).abs() <= 5 * error).all()


def test_memory_changes_nothing_and_seeds_do():
    network, x = FullyConnected(16, 3), points()
    kernel = MeanOverDraws(network, 2)
    torch.testing.assert_close(MeanOverDraws(network, 2, memory=100_000)(x), kernel(x), rtol=1e-12, atol=1e-14)
    assert (MeanOverDraws(network, 2, seed=1)(x) - kernel(x)).abs().max() > 1e-3
    assert build(describe(kernel)) == kernel
