"""Scales of layers: one random function in two parameterisations, by equality and by its variance."""

import math
from typing import Any

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.networks import FullyConnected, Layer, Parameterisation, ThreeLayerResNet

F64 = torch.float64
SCALES: dict[str, Any] = {
    "weight_variance": 1.7,
    "bias_variance": 0.3,
    "readout_variance": 0.6,
    "readout_bias_variance": 0.2,
}


def double(tensors):
    return {name: value.double() for name, value in tensors.items()}


@pytest.mark.parametrize("input_fan_in", [None, 1, 3])
@pytest.mark.parametrize("form", ["deep", "full", "bottleneck"])
def test_both_kinds_start_as_the_same_function(form, input_fan_in):
    """Drawn from one stream, they are the same point by point."""
    scales = SCALES | {"input_fan_in": input_fan_in}
    values = []
    for kind in ("ntk", "standard"):
        if form == "deep":
            network = FullyConnected(6, 4, parameterisation=Parameterisation(kind, **scales))
        else:
            scales["readout_bias_variance"] = None
            network = ThreeLayerResNet(6, form, parameterisation=Parameterisation(kind, **scales))
        params = double(network.init(5, 3, Stream(0))[0])
        values.append(network.apply(params, {}, Stream(1).normal(7, 5, dtype=F64))[0])
    assert torch.allclose(*values, rtol=1e-5, atol=1e-6)  # parameters are drawn in float32
    assert values[0].std() > 0.1


@pytest.mark.parametrize(
    ("kind", "biased", "input_fan_in"),
    [("ntk", True, 1), ("standard", True, None), ("ntk", False, None), ("standard", False, 1)],
)
def test_variance_of_predictions(kind, biased, input_fan_in):
    """E f(x)² by Monte Carlo over networks; for ReLU E σ(u)² = q/2 at any width, so the recursion below is exact."""
    d, m, n = 5, 4, 3000
    scales = SCALES | {"input_fan_in": input_fan_in}
    if not biased:
        scales |= {"bias_variance": None, "readout_bias_variance": None}
    network = FullyConnected(m, depth=3, parameterisation=Parameterisation(kind, **scales))
    x = Stream(7).normal(1, d)
    drawn = torch.stack([network.apply(network.init(d, 1, Stream(seed))[0], {}, x)[0][0, 0] for seed in range(n)])
    v, bias = scales["weight_variance"], scales["bias_variance"] or 0.0
    q = v * x.square().sum().item() / (input_fan_in or d) + bias
    q = v * (m * q / 2) / m + bias
    exact = scales["readout_variance"] * (m * q / 2) / m + (scales["readout_bias_variance"] or 0.0)
    square = drawn.double() ** 2
    error = square.std().item() / math.sqrt(n)
    assert square.mean().item() == pytest.approx(exact, abs=5 * error)
    assert error < 0.07 * exact
    assert drawn.mean().item() == pytest.approx(0, abs=5 * drawn.std().item() / math.sqrt(n))


@pytest.mark.parametrize("kind", ["ntk", "standard"])
@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_gains_are_those_of_the_gradient(kind, readout, biased):
    """Σ over parameters of the product of two gradients, one output, by autograd."""
    scales: dict[str, Any] = SCALES if biased else {}
    layer = Parameterisation(kind, **scales).layer(4, readout=readout)
    params = {name: value.double().requires_grad_() for name, value in layer.draw("it", 3, 4, Stream(0)).items()}
    h = Stream(1).normal(2, 4, dtype=F64)
    out = layer.apply("it", params, h)
    one, other = (torch.autograd.grad(out[i, 2], list(params.values()), retain_graph=True) for i in range(2))
    products = [float((a * b).sum()) for a, b in zip(one, other, strict=True)]
    expected = [layer.weight_gain * float(h[0] @ h[1]), layer.bias_gain]
    assert products == pytest.approx(expected[: len(products)], rel=1e-12)
    assert len(products) == (2 if biased else 1)
    if not biased:
        assert layer.bias_gain == 0


def test_layers():
    scales = Parameterisation(weight_variance=3.0, bias_variance=0.5, readout_variance=0.7, input_fan_in=2)
    assert scales.layer(6) == Layer("ntk", 0.5, 0.5)
    assert scales.layer(6, of_inputs=True) == Layer("ntk", 1.5, 0.5)
    assert scales.layer(7, readout=True) == Layer("ntk", 0.7 / 7, None)
    assert Parameterisation().layer(8, of_inputs=True).weight_variance == 0.25
