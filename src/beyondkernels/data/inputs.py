"""Distributions of inputs: cubes, cubes with any background, spheres and Gaussians."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import torch

from beyondkernels.core import Component, Stream, require
from beyondkernels.core.constraints import between, positive, size


@dataclass(frozen=True)
class Inputs(Component, ABC):
    """A distribution of inputs.

    Arguments:
        dim: d.
    """

    dim: Annotated[int, size]

    @property
    def in_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @property
    @abstractmethod
    def length(self) -> float | None:
        """‖x‖, if it is the same for all x."""

    @abstractmethod
    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        """Draw n points (n, d), float64."""

    def points(self, most: int) -> torch.Tensor | None:
        """Every point once (float64), if all are equally likely and there are at most that many."""
        return None


class UnitVectors(Inputs):
    """Inputs of norm one."""

    @property
    def length(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Cube(Inputs):
    r"""Uniform on a cube's corners, :math:`x \in \{\pm s\}^d`.

    Arguments:
        dim: d.
        side: s, by default 1/√d, which makes ‖x‖ = 1.

    >>> Cube(4).points(100).shape, Cube(4).length
    (torch.Size([16, 4]), 1.0)
    """

    side: Annotated[float, positive] | None = None

    @property
    def length(self) -> float:
        """s√d."""
        return 1.0 if self.side is None else self.side * math.sqrt(self.dim)

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        return signs(n, self.dim, stream) * self._side

    def points(self, most: int) -> torch.Tensor | None:
        """All 2^d corners."""
        return corners(self.dim) * self._side if 2**self.dim <= most else None

    @property
    def _side(self) -> float:
        return 1 / math.sqrt(self.dim) if self.side is None else self.side


@dataclass(frozen=True)
class Sphere(UnitVectors):
    """Uniform on the unit sphere.

    Arguments:
        dim: d.
    """

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        x = stream.normal(n, self.dim, dtype=torch.float64)
        return x / x.norm(dim=1, keepdim=True)


@dataclass(frozen=True)
class Gaussian(Inputs):
    """Gaussian, N(0, I/d).

    Arguments:
        dim: d.

    Reference: Allen-Zhu & Li (resnet), §2.1.
    """

    @property
    def length(self) -> None:
        """None: ‖x‖² is only near 1, with a variance of 2/d."""

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        return stream.normal(n, self.dim, dtype=torch.float64) / math.sqrt(self.dim)


class Background(Component, ABC):
    """A distribution of signs, D₂ up to the factor 1/√d."""

    @abstractmethod
    def draw(self, n: int, width: int, stream: Stream) -> torch.Tensor:
        """Signs ±1, (n, width), float64."""


@dataclass(frozen=True)
class Biased(Background):
    """Independent signs.

    Arguments:
        positive: the probability of +1; 1/2 makes the whole cube uniform, 1 a constant background.
    """

    positive: Annotated[float, between(0, 1)] = 0.5

    def draw(self, n: int, width: int, stream: Stream) -> torch.Tensor:
        return stream.bernoulli(self.positive, n, width).double() * 2 - 1


@dataclass(frozen=True)
class Alike(Background):
    """One fair sign for the whole background of a point, so that its coordinates are fully dependent."""

    def draw(self, n: int, width: int, stream: Stream) -> torch.Tensor:
        return signs(n, 1, stream).expand(n, width).clone()


@dataclass(frozen=True)
class FunctionBackground(Background):
    """A background that the user defines.

    Arguments:
        function: takes n, the number of background coordinates and a stream, and gives signs ±1 of shape (n, width);
            a named, importable function, so that runs can be stored.
    """

    function: Callable[[int, int, Stream], torch.Tensor]

    def draw(self, n: int, width: int, stream: Stream) -> torch.Tensor:
        found = torch.as_tensor(self.function(n, width, stream), dtype=torch.float64)
        require(
            found.shape == (n, width) and bool((found.abs() == 1).all()),
            f"function must give signs of shape ({n}, {width}), each 1 or −1, got shape {tuple(found.shape)}",
        )
        return found


@dataclass(frozen=True)
class CubeWithBackground(UnitVectors):
    r"""Some coordinates are uniform; the others are independent of them and have any distribution.

    .. math:: x \sim U(\{\pm 1/\sqrt d\}^{d_1}) \times D_2

    Arguments:
        dim: d.
        uniform: d₁.
        background: D₂ as signs.

    Reference: Allen-Zhu & Li (resnet), §7.
    """

    uniform: int
    background: Background = field(default_factory=Biased)

    def __post_init__(self) -> None:
        require(0 <= self.uniform <= self.dim, f"uniform must lie between 0 and dim = {self.dim}, got {self.uniform}")

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        first = signs(n, self.uniform, stream.child("uniform"))
        rest = self.background.draw(n, self.dim - self.uniform, stream.child("background"))
        return torch.cat([first, rest], 1) / math.sqrt(self.dim)

    def points(self, most: int) -> torch.Tensor | None:
        positive = self.background.positive if isinstance(self.background, Biased) else None
        if self.uniform == self.dim or positive == 0.5:
            return Cube(self.dim).points(most)
        if positive not in (0, 1) or 2**self.uniform > most:
            return None
        rest = torch.full((2**self.uniform, self.dim - self.uniform), 2.0 * positive - 1, dtype=torch.float64)
        return torch.cat([corners(self.uniform), rest], 1) / math.sqrt(self.dim)


def signs(n: int, width: int, stream: Stream) -> torch.Tensor:
    """Independent fair signs ±1, float64."""
    return stream.bernoulli(0.5, n, width).double() * 2 - 1


def corners(dim: int) -> torch.Tensor:
    """All of {−1, 1}^d, (2^d, d) float64."""
    bits = torch.arange(2**dim)[:, None] >> torch.arange(dim)
    return (bits & 1).double() * 2 - 1
