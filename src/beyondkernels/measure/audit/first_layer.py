"""The layer that sees the input, and how a network's outputs depend on what the layer gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from beyondkernels.engine import Predictor
from beyondkernels.networks import ModuleNetwork, recorded

_BLOCK = 128
"""Points whose derivatives are taken at once."""

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
        out: the network's outputs, (n, k).
        weight: of the layer, a neuron in each row.
        output: of the layer.
        neurons: the dimension of ``output`` that belongs to the neurons.
        groups: how many groups of channels a convolution keeps apart.
    """

    out: torch.Tensor
    weight: torch.Tensor
    output: torch.Tensor
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
    patches = first.output.numel() > K
    whole = not patches and W[0].numel() == x[0].numel()
    return FirstLayer(W.flatten(1), G, tuple(x.shape[1:]) if whole else tuple(W.shape[1:]), patches)


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
        blocks.append(_each(out, points).flatten(2))
    return torch.cat(blocks)


def _pass(at: Predictor, x: torch.Tensor) -> _Pass | None:
    dtype = next(iter(at.params.values())).dtype
    x = x.detach().to(dtype) if x.is_floating_point() else x
    with torch.enable_grad():
        return _module_pass(at, x) if isinstance(at.network, ModuleNetwork) else _network_pass(at, x)


def _network_pass(at: Predictor, x: torch.Tensor) -> _Pass | None:
    with recorded() as uses:
        # A derivative in the points makes every layer's output a part of the graph.
        out = at.network.apply(at.params, at.buffers, x.requires_grad_())[0]
    use = next((use for use in uses if use.output.requires_grad), None)
    return None if use is None else _Pass(out.reshape(len(x), -1), use.weight, use.output, -1, 1)


def _module_pass(at: Predictor, x: torch.Tensor) -> _Pass | None:
    module = at.module(tuple(x.shape[1:]), 0).requires_grad_()
    calls: list[tuple[torch.nn.Module, torch.Tensor]] = []

    def record(part: torch.nn.Module, _given: object, output: torch.Tensor) -> None:
        calls.append((part, output))

    for part in module.modules():
        if isinstance(part, (torch.nn.Linear, *_CONVOLUTIONS, *_OTHERS)):
            part.register_forward_hook(record)
    out = module(x)
    part, output = calls[0] if calls else (None, out)
    if isinstance(part, torch.nn.Linear):
        return _Pass(out.reshape(len(x), -1), part.weight, output, -1, 1)
    if isinstance(part, _CONVOLUTIONS):
        return _Pass(out.reshape(len(x), -1), part.weight, output, 1, part.groups)
    return None


def _outer(seen: _Pass) -> torch.Tensor:
    """The sum of the outer products of all derivatives in the layer's outputs."""
    total = torch.zeros(len(seen.weight), len(seen.weight), dtype=torch.float64)
    for slopes in _derivatives(seen.out, seen.output):
        g = slopes.movedim(seen.neurons, -1).flatten(0, -2).double()
        total += g.T @ g
    return total


def _each(out: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    return torch.stack([slopes.double() for slopes in _derivatives(out, of)], 1)


def _derivatives(out: torch.Tensor, of: torch.Tensor) -> Iterator[torch.Tensor]:
    """The derivative of each output in turn, for all points: evaluation keeps points apart, so their sum will do."""
    k = out.shape[1]
    for c in range(k):
        (found,) = torch.autograd.grad(out[:, c].sum(), of, retain_graph=c < k - 1, materialize_grads=True)
        yield found
