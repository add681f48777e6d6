"""Predictions of a network for many points, with memory that does not grow with their number."""

from __future__ import annotations

import torch

from beyondkernels.core import Tensors
from beyondkernels.networks.base import Network

_POINTS = 2000
_MODULE_POINTS = 64
"""The same for a user's module, whose intermediate numbers cannot be counted. Blocks of 256 points take a small
convolutional network 1.7 times as long."""

_NUMBERS = 2**23
"""The largest number of intermediate numbers in one block, so that they fit into the cache."""


def evaluation_block(network: Network) -> int:
    """How many points are evaluated at once.

    >>> from beyondkernels.networks import TwoLayer
    >>> evaluation_block(TwoLayer(100)), evaluation_block(TwoLayer(20_000))
    (2000, 208)
    """
    if network.batching == "sequential":
        return _MODULE_POINTS
    fitting = _NUMBERS // max(1, network.footprint)
    return max(16, min(_POINTS, fitting // 16 * 16))  # matrix products of other sizes would be padded


def predictions(network: Network, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
    """The predictions of a network for each point of x, computed in blocks.

    Arguments:
        network: the network, evaluated as after training (``train=False``).
        params: its parameters.
        buffers: its buffers.
        x: the points, at least one; numbers of another precision than the parameters' are converted.
    """
    size = evaluation_block(network)
    cast = next((value.dtype for value in params.values()), x.dtype) if x.is_floating_point() else x.dtype
    blocks = (network.apply(params, buffers, rows.to(cast), train=False)[0] for rows in x.split(size))
    first = next(blocks)
    # The result is one tensor from the start. Results of single blocks would lie in memory between the hidden values of
    # two blocks, and that memory could not be used again.
    out = first.new_empty(len(x), *first.shape[1:])
    out[: len(first)] = first
    for i, block in enumerate(blocks, 1):
        out[i * size : i * size + len(block)] = block
    return out
