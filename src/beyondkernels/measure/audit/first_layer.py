"""The layer that sees the input, and how a network's outputs depend on what the layer gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from beyondkernels.engine import Predictor
from beyondkernels.networks import ModuleNetwork, recorded

_BLOCK = 128
"""Points whose derivatives are taken at once."""

_FEW = 8
"""Points at which gradients are compared."""

_CONVOLUTIONS = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
_OTHERS = (torch.nn.Embedding, torch.nn.EmbeddingBag, torch.nn.MultiheadAttention, torch.nn.RNNBase)
"""Layers that may come first and are not linear in what they are given."""


@dataclass(frozen=True)
class FirstLayer:
    """What is known of the layer that sees the input.

    Arguments:
        weight: W as a matrix (neurons, inputs), in float64. A filter of a convolution is one row.
        slopes: G, the mean over points of the outer products of the derivatives in the layer's outputs, summed over
            outputs of the network and over positions, (neurons, neurons), in float64.
        shape: that of a row of W: of a whole point, of a patch (channels, height, width), or of a token.
        patches: whether the layer is applied at several positions of a point.
    """

    weight: torch.Tensor
    slopes: torch.Tensor
    shape: tuple[int, ...]
    patches: bool


@dataclass(frozen=True)
class _Pass:
    """One forward pass.

    Arguments:
        points: the points, in which derivatives can be taken.
        out: the network's outputs, (n, k).
        weight: of the layer, a neuron in each row.
        outputs: of the layer, one for each time it is called.
        back: takes derivatives in the layer's output to those in its input.
        neurons: the dimension of an output that belongs to the neurons.
        groups: how many groups of channels a convolution keeps apart.
    """

    points: torch.Tensor
    out: torch.Tensor
    weight: torch.Tensor
    outputs: Sequence[torch.Tensor]
    back: Callable[[torch.Tensor], torch.Tensor]
    neurons: int
    groups: int


def first_layer(at: Predictor, x: torch.Tensor) -> FirstLayer | None:
    r"""The first layer of a network, with the slopes of the network in its outputs; None if it is not linear.

    .. math:: G = \frac1n \sum_x \sum_q \sum_o g_{o,q}(x)\, g_{o,q}(x)^\top, \qquad
              g_{o,q}(x) = \frac{\partial f_o(x)}{\partial z_q}, \quad z_q = W x_q + b

    for a layer that is applied to patches :math:`x_q` of a point, or once to the whole point. Of a user's module it is
    the first linear layer or convolution that is called, unless an embedding, an attention or a recurrent layer comes
    before it. Of a network of the package it is the first linear layer.

    Arguments:
        at: the network.
        x: points, shape (n, …).
    """
    first = _pass(at, x[:1])
    if first is None:
        return None
    K, total = len(first.weight), 0.0
    for block in x.split(_BLOCK):
        seen = _pass(at, block)
        assert seen is not None
        total = total + _outer(seen)
    # A group of a grouped convolution sees channels of its own: products across groups belong to no patch.
    group = torch.arange(K) // (K // first.groups)
    G = total * (group[:, None] == group) / len(x)
    W = first.weight.detach().double()
    patches = first.outputs[0].numel() > K
    whole = not patches and W[0].numel() == x[0].numel()
    return FirstLayer(W.flatten(1), G, tuple(x.shape[1:]) if whole else tuple(W.shape[1:]), patches)


def sees_all(at: Predictor, x: torch.Tensor) -> bool | None:
    r"""Whether outputs depend on points through the first layer alone; None if that layer is not linear.

    .. math:: \nabla_x f_o = c \, W^\top \sum_i g_{o,i}, \qquad g_{o,i} = \partial f_o / \partial z_i

    is checked at a few points, with :math:`z_i` the output of the layer when it is called for the i-th time. The factor
    c > 0 is free, because points may be scaled before they enter. For a convolution the derivatives in patches are
    added up where patches overlap. The equation fails if a skip connection carries the point on, if the layer sees a
    part of the point, or if something other than a factor comes before it.

    Arguments:
        at: the network.
        x: points, shape (n, …).
    """
    seen = _pass(at, x[:_FEW])
    if seen is None:
        return None
    if len({tuple(z.shape) for z in seen.outputs}) > 1:  # the layer is given parts of different sizes
        return False
    through, whole, slopes = [], [], 0.0
    for own, *inner in _derivatives(seen.out, (seen.points, *seen.outputs)):
        g = torch.stack(inner).sum(0)
        through.append(seen.back(g).double().flatten(1))
        whole.append(own.double().flatten(1))
        slopes += g.double().square().sum().item()
    if through[0].shape != whole[0].shape:
        return False
    first, second = torch.cat(through), torch.cat(whole)
    factor = ((first * second).sum() / first.square().sum().clamp(min=torch.finfo(torch.float64).tiny)).clamp(min=0)
    size = seen.weight.detach().double().norm() * slopes**0.5  # gradients may cancel up to rounding
    tolerance = torch.finfo(seen.weight.dtype).eps ** 0.5
    return bool((second - factor * first).norm() <= tolerance * size * max(1.0, factor.item()))


def input_gradients(at: Predictor, x: torch.Tensor) -> torch.Tensor | None:
    """The gradient of each output in the point, shape (n, k, d), in float64; None if there is no derivative.

    Arguments:
        at: the network.
        x: points, shape (n, …).
    """
    if not x.is_floating_point():
        return None
    dtype = next(iter(at.params.values())).dtype
    blocks = []
    for block in x.split(_BLOCK):
        points = block.detach().to(dtype).requires_grad_()
        with torch.enable_grad():
            out = at.network.apply(at.params, at.buffers, points)[0].reshape(len(points), -1)
        if not out.requires_grad:  # points that only say which row of a table to take
            return None
        each = [slopes.double() for (slopes,) in _derivatives(out, (points,))]
        blocks.append(torch.stack(each, 1).flatten(2))
    return torch.cat(blocks)


def _pass(at: Predictor, x: torch.Tensor) -> _Pass | None:
    if not x.is_floating_point():  # no derivative in whole numbers
        return None
    points = x.detach().to(next(iter(at.params.values())).dtype).requires_grad_()
    with torch.enable_grad():
        return _module_pass(at, points) if isinstance(at.network, ModuleNetwork) else _network_pass(at, points)


def _network_pass(at: Predictor, x: torch.Tensor) -> _Pass | None:
    with recorded() as uses:
        # A derivative in the points makes every layer's output a part of the graph.
        out = at.network.apply(at.params, at.buffers, x)[0].reshape(len(x), -1)
    W = next((use.weight for use in uses if use.output.requires_grad), None)
    if W is None:
        return None
    return _Pass(x, out, W, [use.output for use in uses if use.weight is W], lambda g: g @ W, -1, 1)


def _module_pass(at: Predictor, x: torch.Tensor) -> _Pass | None:
    module = at.module(tuple(x.shape[1:]), 0).requires_grad_()
    calls: list[tuple[torch.nn.Module, torch.Tensor, torch.Tensor]] = []

    def record(part: torch.nn.Module, given: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor | None:
        calls.append((part, given[0], output) if given else (part, output, output))
        # What follows may change the output in place, as ReLU(inplace=True) does. So it gets a copy.
        return output.clone() if isinstance(output, torch.Tensor) else None

    for part in module.modules():
        if isinstance(part, (torch.nn.Linear, *_CONVOLUTIONS, *_OTHERS)):
            part.register_forward_hook(record)
    out = module(x.clone()).reshape(len(x), -1)
    if not calls or isinstance(calls[0][0], _OTHERS):
        return None
    part, given, _ = calls[0]
    convolution = isinstance(part, _CONVOLUTIONS)

    def back(g: torch.Tensor) -> torch.Tensor:
        zero = torch.zeros_like(given).requires_grad_()  # the layer is linear: any point will do
        with torch.enable_grad():
            return torch.autograd.grad(part.forward(zero), zero, g)[0]

    outputs = [output for called, _, output in calls if called is part]
    groups = part.groups if isinstance(part, _CONVOLUTIONS) else 1
    weight: torch.Tensor = getattr(part, "weight")  # noqa: B009 - no parameter where it is parametrised
    return _Pass(x, out, weight, outputs, back, 1 if convolution else -1, groups)


def _outer(seen: _Pass) -> torch.Tensor:
    """The sum of the outer products of all derivatives in the layer's outputs."""
    total = torch.zeros(len(seen.weight), len(seen.weight), dtype=torch.float64)
    for slopes in _derivatives(seen.out, seen.outputs):
        g = torch.stack(slopes).sum(0).movedim(seen.neurons, -1).flatten(0, -2).double()
        total += g.T @ g
    return total


def _derivatives(out: torch.Tensor, of: Sequence[torch.Tensor]) -> Iterator[tuple[torch.Tensor, ...]]:
    """The derivatives of each output in turn, for all points: evaluation keeps points apart, so their sum will do."""
    k = out.shape[1]
    for c in range(k):
        yield torch.autograd.grad(out[:, c].sum(), of, retain_graph=c < k - 1, materialize_grads=True)
