"""The three-layer residual network: eq. (2.1) and the bottleneck form by loops, and each by the other."""

import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.networks import Parameterisation, ThreeLayerResNet

F64 = torch.float64


def affine(matrix, scale, vector, shifts):
    """scale · Mv + shift, a row after the other."""
    return [
        scale * math.fsum(entry * value for entry, value in zip(row, vector, strict=True)) + shift
        for row, shift in zip(matrix, shifts, strict=True)
    ]


def relu(vector):
    return [max(value, 0.0) for value in vector]


def plus(one, other):
    return [p + q for p, q in zip(one, other, strict=True)]


def by_loops(params, x, form, scales):
    """out(x) for one point, every matrix scaled by hand."""
    ntk = scales.kind == "ntk"
    W, A = params["W.weight"].tolist(), params["A.weight"].tolist()
    second = params["U.weight" if form == "full" else "V.weight"].tolist()
    m, k, d = len(W), len(A), len(x)

    def scale(variance, fan_in):
        return math.sqrt(variance / fan_in) if ntk else 1.0

    def shifts(name):
        if f"{name}.bias" not in params:
            return [0.0] * m
        return [b * (math.sqrt(scales.bias_variance) if ntk else 1.0) for b in params[f"{name}.bias"].tolist()]

    readout = scale(scales.readout_variance, m)
    h1 = relu(affine(W, scale(scales.weight_variance, scales.input_fan_in or d), x, shifts("W")))
    if form == "full":
        h2 = relu(affine(second, scale(scales.weight_variance, m), h1, shifts("U")))
        return affine(A, readout, plus(h1, h2), [0.0] * k)
    out1 = affine(A, readout, h1, [0.0] * k)
    h2 = relu(affine(second, scale(scales.weight_variance, scales.input_fan_in or k), out1, shifts("V")))
    return plus(out1, affine(A, readout, h2, [0.0] * k))


@pytest.mark.parametrize("form", ["full", "bottleneck"])
@pytest.mark.parametrize("kind", ["ntk", "standard"])
@pytest.mark.parametrize("bias", [None, 0.3])
@pytest.mark.parametrize("input_fan_in", [None, 1])
@pytest.mark.parametrize(("width", "out_dim"), [(5, 1), (4, 3), (1, 2)])
def test_against_loops(form, kind, bias, input_fan_in, width, out_dim):
    scales = Parameterisation(kind, 1.7, bias, 0.6, input_fan_in=input_fan_in)
    network = ThreeLayerResNet(width, form, parameterisation=scales)
    params, buffers = network.init(4, out_dim, Stream(2))
    params = {key: value.double() for key, value in params.items()}
    assert len(params) == (3 if bias is None else 5)
    assert buffers == {}
    x = Stream(3).normal(6, 4, dtype=F64)
    expected = [by_loops(params, row, form, scales) for row in x.tolist()]
    out, after = network.apply(params, buffers, x)
    assert torch.allclose(out, torch.tensor(expected, dtype=F64), rtol=0, atol=1e-13)
    assert after is buffers


@pytest.mark.parametrize("kind", ["ntk", "standard"])
@pytest.mark.parametrize("bias", [None, 0.3])
@pytest.mark.parametrize("input_fan_in", [None, 2])
def test_the_bottleneck_is_the_full_form_with_a_product(kind, bias, input_fan_in):
    """U = VA; where scales stand in the formula, those of A and V have to take the place of U's."""
    m, k = 6, 3
    scales = Parameterisation(kind, 1.7, bias, 0.6, input_fan_in=input_fan_in)
    narrow, full = (ThreeLayerResNet(m, form, parameterisation=scales) for form in ("bottleneck", "full"))
    params = {name: value.double() for name, value in narrow.init(4, k, Stream(0))[0].items()}
    scale = math.sqrt((1.7 / (input_fan_in or k)) * (0.6 / m) / (1.7 / m)) if kind == "ntk" else 1.0
    product = {("U" + name[1:] if name[0] == "V" else name): value for name, value in params.items()}
    product["U.weight"] = scale * params["V.weight"] @ params["A.weight"]
    x = Stream(1).normal(7, 4, dtype=F64)
    out = narrow.apply(params, {}, x)[0]
    assert torch.allclose(full.apply(product, {}, x)[0], out, rtol=0, atol=1e-13)
    first = full.apply(product | {"U.weight": 0 * product["U.weight"]}, {}, x)[0]
    assert (first - out).abs().max() > 0.1  # the second layer says something
