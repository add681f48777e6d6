"""What a network is: an architecture as data, with pure ``init`` and ``apply``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from beyondkernels.core import Component, InputError, Stream, Tensors, unknown

_LINE = 16
"""Numbers (float32) in the 64 bytes to which linear algebra aligns."""


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

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers one point leaves behind on its way through: what an ensemble has to keep in the cache."""

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
    a product and a sum do not. The library also rounds by where a matrix begins in memory, so sizes that would let one
    network's matrices begin at another place than the next one's are filled up with zeros.
    """
    (n, d), m = x.shape[-2:], weight.shape[-2]
    if m == 1:
        return (x * weight).sum(-1, keepdim=True)
    # Rows matter on their own too: x may be some rows of a larger tensor, whose size is not to be seen from here.
    if d % 4 or m % 4 or any(size % _LINE for size in (n * d, m * d, n * m)):
        right, below = -d % _LINE, -m % _LINE
        return (F.pad(x, (0, right)) @ F.pad(weight, (0, right, 0, below)).mT)[..., :m]
    return x @ weight.mT
