"""Kernels of freshly drawn networks of finite width."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self, cast

import torch

from beyondkernels.core import Stream, Tensors, later, require, shape_of
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.checks import MEMORY, Numbers, tensor
from beyondkernels.kernels.finite.at import ConjugateAt, TangentAt
from beyondkernels.networks import Network


class DrawnKernel(Kernel):
    """A kernel of a freshly drawn network, at whose parameters everything is computed."""

    network: Network
    seed: int
    out_dim: int
    in_shape: tuple[int, ...] | None

    @abstractmethod
    def at(self, x: torch.Tensor) -> TangentAt | ConjugateAt:
        """The kernel at the parameters drawn for points like these."""

    def for_shape(self, in_shape: tuple[int, ...]) -> Self:
        return self if self.in_shape is not None else replace(cast(Any, self), in_shape=in_shape)

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return self.at(x1).gram(folded(x1, self.in_shape), folded(x2, self.in_shape))

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return self.at(x).gram(folded(x, self.in_shape))

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self.at(x).diagonal(folded(x, self.in_shape))

    def _shaped(self, name: str, x: Numbers) -> tuple[Self, torch.Tensor]:
        """The kernel for the shape in which points come, and the points as vectors."""
        given = tensor(name, x)
        shaped = self.for_shape(tuple(given.shape[1:])) if given.ndim > 2 else self
        return shaped, points(name, given)

    def _drawn(self, x: torch.Tensor) -> tuple[Tensors, Tensors]:
        # from the seed alone: every block of a Gram matrix is that of one and the same network
        shape = shape_of(tuple(folded(x, self.in_shape).shape[1:]))
        return self.network.init(shape, self.out_dim, Stream(self.seed).child("network"))


@dataclass(frozen=True)
class FiniteTangent(DrawnKernel):
    """The traced tangent kernel of a freshly drawn network.

    Arguments:
        network: the network.
        seed: of the draw; parameters come from the stream ``network`` below it.
        group: the parameters in which derivatives are taken: ``all`` or one of the network's groups.
        out_dim: the number of outputs.
        memory: bytes that may be taken, the result included; it changes no value beyond rounding.
        in_shape: the shape of points for the network, into which vectors are folded, such as (3, 32, 32); None for the
            shape in which points come.

    Reference: Jacot, Gabriel & Hongler (2018), Neural tangent kernel; Allen-Zhu & Li (resnet), §3.1 (6).
    """

    network: Network
    seed: Annotated[int, any_number] = 0
    group: str = "all"
    out_dim: Annotated[int, positive] = 1
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})
    in_shape: Annotated[tuple[int, ...], positive] | None = later(None)

    def full(self, x1: Numbers, x2: Numbers | None = None) -> torch.Tensor:
        """The kernel of every pair of outputs, shape (n1, n2, out_dim, out_dim)."""
        kernel, first = self._shaped("x1", x1)
        second = None if x2 is None else folded(points("x2", x2), kernel.in_shape)
        return kernel.at(first).full(folded(first, kernel.in_shape), second)

    def at(self, x: torch.Tensor) -> TangentAt:
        return TangentAt(self.network, *self._drawn(x), group=self.group, memory=self.memory)


@dataclass(frozen=True)
class FiniteConjugate(DrawnKernel):
    """The conjugate kernel of a freshly drawn network: its last layer's inputs as random features.

    Over which readouts it is the covariance of the output, :func:`conjugate_features` says.

    Arguments:
        network: the network.
        seed: of the draw; parameters come from the stream ``network`` below it.
        out_dim: the number of outputs, on which only the bottleneck form of the ResNet depends.
        memory: bytes that may be taken, the result included.
        in_shape: the shape of points for the network, into which vectors are folded; None for that in which they come.

    Reference: Daniely (2017), SGD learns the conjugate kernel class of the network; resnet, §3.1 (5).
    """

    network: Network
    seed: Annotated[int, any_number] = 0
    out_dim: Annotated[int, positive] = 1
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})
    in_shape: Annotated[tuple[int, ...], positive] | None = later(None)

    def features(self, x: Numbers) -> torch.Tensor:
        """The features themselves, shape (n, features)."""
        kernel, given = self._shaped("x", x)
        return kernel.at(given).features(folded(given, kernel.in_shape))

    def at(self, x: torch.Tensor) -> ConjugateAt:
        return ConjugateAt(self.network, *self._drawn(x), memory=self.memory)


def folded(x: torch.Tensor, in_shape: tuple[int, ...] | None) -> torch.Tensor:
    """Vectors (n, d) as points of a shape: a view, nothing is copied.

    Arguments:
        x: the vectors.
        in_shape: the shape; None leaves them as they are.
    """
    if in_shape is None:
        return x
    require(
        math.prod(in_shape) == x.shape[1],
        f"in_shape must have as many numbers as points, {x.shape[1]}, got {in_shape}",
    )
    return x.unflatten(1, in_shape)
