"""A network with its parameters: the predictor that training gives."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Tensors
from beyondkernels.networks import Network, predictions


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
        """Predictions (n, out_dim), in blocks. Each network is evaluated alone, so no bit depends on others."""
        with torch.no_grad():
            return predictions(self.network, self.params, self.buffers, x.to(self.device)).to(x.device)

    def intermediates(self, x: torch.Tensor) -> dict[str, tuple[torch.Tensor, ...]]:
        """The outputs of each layer, as in ``Network.intermediates``."""
        with torch.no_grad():
            return self.network.intermediates(self.params, self.buffers, x.to(self.device))

    @property
    def device(self) -> torch.device:
        """Where its parameters are."""
        return next(iter((self.params | self.buffers).values())).device
