"""A network with its parameters: the predictor that training gives."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Stream, Tensors, shape_of
from beyondkernels.networks import ModuleNetwork, Network, NetworkModule, predictions


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

    def module(self, in_shape: tuple[int, ...], out_dim: int) -> torch.nn.Module:
        """The network as a module with these parameters: a user's own one, or one around a network of the package.

        Arguments:
            in_shape: the shape of a point.
            out_dim: the dimension of a prediction.
        """
        in_dim = shape_of(in_shape)
        if isinstance(self.network, ModuleNetwork):
            return self.network.as_module(self.params, self.buffers, in_dim)
        made = NetworkModule(self.network, in_dim, out_dim, Stream(0))
        made.load(self.params, self.buffers)
        return made.eval()

    @property
    def device(self) -> torch.device:
        """Where its parameters are."""
        return next(iter((self.params | self.buffers).values())).device
