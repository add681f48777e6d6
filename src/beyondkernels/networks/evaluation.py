"""Predictions of a network on any number of points, in memory that does not grow with them."""

from __future__ import annotations

import torch

from beyondkernels.core import Tensors
from beyondkernels.networks.base import Network

_POINTS = 2000
_NUMBERS = 2**23
"""Points that are evaluated together, at most; fewer of a wide network, whose hidden values would leave the cache."""


def evaluation_block(network: Network) -> int:
    """How many points are evaluated together.

    >>> from beyondkernels.networks import TwoLayer
    >>> evaluation_block(TwoLayer(100)), evaluation_block(TwoLayer(20_000))
    (2000, 208)
    """
    fitting = _NUMBERS // max(1, network.footprint)
    return max(16, min(_POINTS, fitting // 16 * 16))  # products of other sizes are padded


def predictions(network: Network, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
    """What a network predicts for each point of x, block by block.

    Arguments:
        network: the network, evaluated as after training (``train=False``).
        params: its parameters.
        buffers: its buffers.
        x: the points, at least one.
    """
    size = evaluation_block(network)
    blocks = (network.apply(params, buffers, rows, train=False)[0] for rows in x.split(size))
    first = next(blocks)
    # one tensor from the start: results of every block would lie between the hidden values of one and the next, whose
    # memory could then not be used again
    out = first.new_empty(len(x), *first.shape[1:])
    out[: len(first)] = first
    for i, block in enumerate(blocks, 1):
        out[i * size : i * size + len(block)] = block
    return out
