"""A network with its numbers: what training leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Tensors
from beyondkernels.engine.budget import evaluation_block
from beyondkernels.networks import Network


@dataclass(frozen=True)
class Predictor:
    """The function that a network computes with some parameters.

    Arguments:
        network: the architecture.
        params: its parameters.
        buffers: its buffers.
    """

    network: Network
    params: Tensors
    buffers: Tensors

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Predictions (n, out_dim), block by block, each network on its own so that company changes nothing."""
        network, size = self.network, evaluation_block(self.network)
        with torch.no_grad():
            blocks = (network.apply(self.params, self.buffers, rows, train=False)[0] for rows in x.split(size))
            first = next(blocks)
            # one tensor from the start: results of every block would lie between the hidden values of one and the
            # next, whose memory could then not be used again
            out = first.new_empty(len(x), *first.shape[1:])
            out[: len(first)] = first
            for i, block in enumerate(blocks, 1):
                out[i * size : i * size + len(block)] = block
        return out

    def intermediates(self, x: torch.Tensor) -> dict[str, tuple[torch.Tensor, ...]]:
        """What each layer makes of the points, as ``Network.intermediates`` says."""
        with torch.no_grad():
            return self.network.intermediates(self.params, self.buffers, x)
