"""Linear layers: the product by hand, and the record of what went through them."""

import contextvars
import math
import threading

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.networks import FullyConnected, Linearised, ThreeLayerResNet, TwoLayer, Use, linear, recorded
from refusals import refused

F64 = torch.float64


@pytest.mark.parametrize("rows", [1, 2, 3, 16])
@pytest.mark.parametrize("n", [1, 4, 5])
@pytest.mark.parametrize("d", [1, 5, 16])
def test_it_is_a_matrix_product(n, d, rows):
    x, w, b = (Stream(i).normal(*shape, dtype=F64) for i, shape in enumerate([(n, d), (rows, d), (rows,)]))
    by_hand = [[math.fsum(x[i, j] * w[r, j] for j in range(d)) for r in range(rows)] for i in range(n)]
    assert torch.allclose(linear(x, w), torch.tensor(by_hand, dtype=F64), rtol=0, atol=1e-14)
    for scale in (1.0, 0.3, 0.0):
        shifted = [[by_hand[i][r] + scale * b[r].item() for r in range(rows)] for i in range(n)]
        assert torch.allclose(linear(x, w, b, scale), torch.tensor(shifted, dtype=F64), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("d", "rows"), [(7, 3), (1, 1), (1, 3), (5, 16)])
def test_points_of_another_dimension(d, rows):
    """With one row, torch would stretch a point of one number over all weights, and say nothing."""
    sentence = rf"^points must have dimension 4 to fit the weights, got {d}$"
    refused(sentence, linear, torch.ones(2, d), torch.ones(rows, 4))


def test_uses_are_recorded_inside_the_block_only():
    x, w, b = Stream(0).normal(3, 4), Stream(1).normal(2, 4), Stream(2).normal(2)
    linear(x, w)
    with recorded() as uses:
        assert uses == []
        first = linear(x, w, b, 0.5)
        second = linear(first, w.mT)
    linear(x, w)
    assert len(uses) == 2
    assert uses[0] == Use(w, b, 0.5, x, first)
    assert uses[1].weight.shape == (4, 2)
    assert uses[1].bias is None
    assert uses[1].input is first
    assert uses[1].output is second


def test_an_exception_ends_the_record():
    x, w = torch.ones(1, 2), torch.ones(2, 2)
    with recorded() as outer:
        with pytest.raises(ZeroDivisionError), recorded() as inner:
            linear(x, w)
            raise ZeroDivisionError
        linear(x, 2 * w)
    with pytest.raises(ZeroDivisionError), recorded() as alone:
        raise ZeroDivisionError
    linear(x, w)
    assert (len(outer), len(inner), len(alone)) == (1, 1, 0)
    assert torch.equal(outer[0].weight, 2 * w)


@pytest.mark.parametrize(
    ("network", "names"),
    [
        (TwoLayer(3), ["hidden", "output"]),
        (FullyConnected(5, depth=4), ["layer1", "layer2", "layer3", "output"]),
        (ThreeLayerResNet(5), ["W", "U", "A"]),
        (ThreeLayerResNet(5, "bottleneck"), ["W", "A", "V", "A"]),
    ],
    ids=["two layers", "fully connected", "residual", "bottleneck"],
)
def test_every_parameter_enters_through_here(network, names):
    """What the record says is what happened, and nothing went around it: tangent kernels stand on that."""
    params, buffers = network.init(4, 3, Stream(0))
    params = {name: value.double().requires_grad_() for name, value in params.items()}
    with recorded() as uses:
        out = network.apply(params, buffers, Stream(1).normal(6, 4, dtype=F64))[0]
    assert [use.weight is params[f"{name}.weight"] for use, name in zip(uses, names, strict=True)] == [True] * len(uses)
    for use in uses:
        again = use.input @ use.weight.mT + (0.0 if use.bias is None else use.bias_scale * use.bias)
        assert torch.allclose(use.output, again, rtol=0, atol=1e-13)
    # ∂out/∂W = Σ over uses of (∂out/∂output)ᵀ input, and the same for biases
    g = torch.autograd.grad(out.square().sum(), [use.output for use in uses], retain_graph=True)
    exact = dict(zip(params, torch.autograd.grad(out.square().sum(), list(params.values())), strict=True))
    for name, truth in exact.items():
        found = torch.zeros_like(truth)
        for use, slope in zip(uses, g, strict=True):
            if use.weight is params[name]:
                found = found + slope.mT @ use.input
            elif use.bias is params[name]:
                found = found + use.bias_scale * slope.sum(0)
        assert torch.allclose(found, truth, rtol=0, atol=1e-12), name


def test_the_record_of_an_expansion_is_that_of_its_network():
    """A linearised network calls its network inside a derivative: what is recorded there is not a prediction."""
    network = Linearised(FullyConnected(5))
    point = network.expansion_point(*network.init(4, 1, Stream(0)))
    with recorded() as uses:
        point[0].apply(point[1], point[2], torch.ones(2, 4))
    assert [use.weight is point[1][name] for use, name in zip(uses, point[1], strict=True)] == [True] * 3


def test_other_threads_are_not_recorded():
    x, w = torch.ones(1, 2), torch.ones(2, 2)
    thread = threading.Thread(target=contextvars.Context().run, args=(linear, x, w))
    with recorded() as uses:
        thread.start()
        thread.join(timeout=60)
    assert uses == []
