"""What a network is: an architecture as data, with pure ``init`` and ``apply``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import torch

from beyondkernels.core import Component, InputError, Stream, Tensors, unknown


class Network(Component, ABC):
    """An architecture. Sizes of data are arguments, never fields; parameters are dicts of tensors.

    ``batching`` says how many networks of one shape train at once: ``vmapped`` as one ensemble, or ``sequential``.
    """

    batching: ClassVar[Literal["vmapped", "sequential"]] = "vmapped"

    @abstractmethod
    def init(self, in_dim: int, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """Fresh parameters and buffers."""

    @abstractmethod
    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        """Predictions (n, out_dim) for inputs (n, in_dim), and the buffers afterwards."""

    @abstractmethod
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Named groups of parameters, each a tuple of parameter names; ``all`` is implied."""

    def trained(self, group: str, params: Tensors) -> tuple[str, ...]:
        """The names of the parameters in a group.

        Arguments:
            group: ``all`` or one of ``groups()``.
            params: the network's parameters.
        """
        if group == "all":
            return tuple(params)
        groups = self.groups()
        if group not in groups:
            unknown("parameter group", group, ["all", *groups])
        return groups[group]

    def smoothed(self, std: float) -> Network:
        """The same network with Gaussian noise of this level averaged out in front of every activation."""
        raise InputError(f"{type(self).__name__} has no closed form under noise of std {std}; draw the noise instead")


def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The product x Wᵀ by a route that does not depend on how many networks stand side by side.

    A matrix times a single column goes through different library code alone and in a batch, and rounds differently;
    a product and a sum do not.
    """
    if weight.shape[-2] == 1:
        return (x * weight).sum(-1, keepdim=True)
    return x @ weight.mT
