"""Pairs of points on their way through the layers of an infinitely wide network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch

from beyondkernels.activations import Activation, quadrature_dual

TRUST = 2e-14
"""How far covariances are trusted, relative to the variances; dual maps take points so near to parallel as parallel."""


@dataclass
class Ball:
    """Numbers known up to a radius; what is computed from them carries its own.

    Arguments:
        middle: the numbers.
        radius: how far each may be off, to first order.
    """

    middle: torch.Tensor
    radius: torch.Tensor

    def clone(self) -> Ball:
        """A copy."""
        return Ball(self.middle.clone(), self.radius.clone())

    def mul_(self, factor: Ball | float) -> Ball:
        """Multiply by balls, entry by entry, or by a number."""
        if isinstance(factor, Ball):
            self.radius = self.radius * (factor.middle.abs() + factor.radius) + self.middle.abs() * factor.radius
            self.middle = self.middle * factor.middle
        else:
            self.middle, self.radius = self.middle * factor, self.radius * abs(factor)
        return self

    def add_(self, term: Ball | float, *, alpha: float = 1.0) -> Ball:
        """Add alpha times balls or a number."""
        if isinstance(term, Ball):
            self.middle, self.radius = self.middle + alpha * term.middle, self.radius + abs(alpha) * term.radius
        else:
            self.middle = self.middle + alpha * term
        return self


Entries = TypeVar("Entries", torch.Tensor, Ball)


@dataclass(frozen=True)
class Batch:
    """Points, and what each of them carries: its variance and the mean of σ, layer by layer."""

    x: torch.Tensor
    variances: list[torch.Tensor]
    means: list[torch.Tensor]

    def rows(self, rows: slice) -> Batch:
        """Some of the points."""
        variances, means = ([values[rows] for values in layers] for layers in (self.variances, self.means))
        return Batch(self.x[rows], variances, means)


class Pairs(ABC, Generic[Entries]):
    """Pairs of points; the first question is about layer 1, the next about layer 2, and so on."""

    @abstractmethod
    def dual(self, c: Entries, slope: bool = True) -> tuple[Entries, Entries]:
        """E[σ(u)σ(v)] and E[σ′(u)σ′(v)] (only if asked for) of the next layer, for the covariances c of (u, v)."""

    @abstractmethod
    def crossed_means(self) -> Entries:
        """E[σ(u₁)] E[σ(v₂)] + E[σ(u₂)] E[σ(v₁)] of the layers 1 and 2."""


class Selves(Pairs[torch.Tensor]):
    """Each point with itself: what it meets on its way is written down for the pairs with others.

    Arguments:
        sigma: the activation.
    """

    def __init__(self, sigma: Activation) -> None:
        self._sigma = sigma
        self.variances: list[torch.Tensor] = []
        self.means: list[torch.Tensor] = []

    def dual(self, c: torch.Tensor, slope: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        """The moments of each point's variance."""
        self.variances.append(c.clone())
        mean, second, slope_second = self._sigma.moments(c)
        self.means.append(mean)
        return second.clone(), slope_second

    def crossed_means(self) -> torch.Tensor:
        """The same two layers of one point."""
        return 2 * self.means[0] * self.means[1]


class Tile(Pairs[torch.Tensor]):
    """The points of one batch with those of another.

    Arguments:
        sigma: the activation.
        tolerance: what quadrature aims at.
        one: points, n1 of them.
        two: points, n2 of them.
    """

    def __init__(self, sigma: Activation, tolerance: float, one: Batch, two: Batch) -> None:
        self._sigma, self._tolerance = sigma, tolerance
        self._variances = iter(zip(one.variances, two.variances, strict=True))
        self._means = one.means, two.means

    def dual(self, c: torch.Tensor, slope: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        """The dual maps, in closed form or by quadrature."""
        value, derivative, _ = self.values(*self.variances(), c, slope)
        return value, derivative

    def crossed_means(self) -> torch.Tensor:
        """Products of means, shape (n1, n2)."""
        one, two = self._means
        return torch.outer(one[0], two[1]).addr_(one[1], two[0])

    def variances(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The variances (n1, 1) and (1, n2) of the next layer."""
        q1, q2 = next(self._variances)
        return q1[:, None], q2[None]

    def values(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        """The dual maps and the error stated with them."""
        if self._sigma.closed_form:
            value, derivative = self._sigma.dual(q1, q2, c, slope)
            error = 0.0
        else:
            value, derivative, error = quadrature_dual(self._sigma, q1, q2, c, self._tolerance, slope)
        return value, value if derivative is None else derivative, error


class TileOfBalls(Pairs[Ball]):
    """A tile whose covariances are known up to a radius.

    Arguments:
        tile: the tile.
    """

    def __init__(self, tile: Tile) -> None:
        self._tile = tile

    def dual(self, c: Ball, slope: bool = True) -> tuple[Ball, Ball]:
        """The dual maps at c; their radii are what they change between c − radius and c + radius, and their errors."""
        q1, q2 = self._tile.variances()
        size = (q1 * q2).sqrt()
        radius = c.radius.maximum(TRUST * size)
        middle, low, high = (
            self._tile.values(q1, q2, (c.middle + shift).clamp(-size, size), slope) for shift in (0, -radius, radius)
        )

        # each of the three is off by its own error, and so is a difference of two
        error = middle[2] + 2 * max(low[2], high[2])
        return _between(middle[0], low[0], high[0], error), _between(middle[1], low[1], high[1], error)

    def crossed_means(self) -> Ball:
        """Products of means, as far as they are trusted."""
        means = self._tile.crossed_means()
        return Ball(means, TRUST * means.abs())


def _between(middle: torch.Tensor, low: torch.Tensor, high: torch.Tensor, error: float) -> Ball:
    return Ball(middle, (low - middle).abs().maximum((high - middle).abs()) + error)
