"""Pairs of points on their way through the layers of an infinitely wide network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch

from beyondkernels.activations import Activation, quadrature_dual

TRUST = 2e-14
"""How far covariances are trusted, relative to the variances; dual maps take points so near to parallel as parallel."""


Check = Callable[[torch.Tensor], None]
"""What complains about values that are not finite."""


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
        return Ball(self.middle.clone(), self.radius.clone())

    def __getitem__(self, at: slice) -> Ball:
        return Ball(self.middle[at], self.radius[at])

    def outer(self, other: Ball) -> Ball:
        """All products with the numbers of another ball, one dimension each."""
        return Ball(self.middle[:, None], self.radius[:, None]).mul_(Ball(other.middle[None], other.radius[None]))

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
class Batch(Generic[Entries]):
    """Points, and what each of them carries: its variance and the mean of σ, layer by layer."""

    x: torch.Tensor
    variances: list[Entries]
    means: list[Entries]

    def rows(self, rows: slice) -> Batch[Entries]:
        return Batch(self.x[rows], [q[rows] for q in self.variances], [mean[rows] for mean in self.means])


class Pairs(ABC, Generic[Entries]):
    """Pairs of points. Calls go layer by layer: the first is about layer 1, the second about layer 2."""

    @abstractmethod
    def dual(self, c: Entries, slope: bool = True) -> tuple[Entries, Entries]:
        """E[σ(u)σ(v)] and E[σ′(u)σ′(v)] (only if asked for) of the next layer, for the covariances c of (u, v)."""

    @abstractmethod
    def crossed_means(self) -> Entries:
        """E[σ(u₁)] E[σ(v₂)] + E[σ(u₂)] E[σ(v₁)] of the layers 1 and 2."""


class _EachWithItself(Pairs[Entries]):
    """Each point paired with itself. Its variances and means are recorded for its pairs with other points.

    Arguments:
        sigma: the activation.
        check: what complains about variances that are not finite.
    """

    def __init__(self, sigma: Activation, check: Check) -> None:
        self._sigma, self._check = sigma, check
        self.variances: list[Entries] = []
        self.means: list[Entries] = []


class Selves(_EachWithItself[torch.Tensor]):
    """Each point paired with itself."""

    def dual(self, c: torch.Tensor, slope: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        self._check(c)
        self.variances.append(c.clone())
        mean, second, slope_second = self._sigma.moments(c)
        self.means.append(mean)
        return second.clone(), slope_second

    def crossed_means(self) -> torch.Tensor:
        return 2 * self.means[0] * self.means[1]


class SelvesOfBalls(_EachWithItself[Ball]):
    """Each point with itself, its variances known up to a radius."""

    def dual(self, c: Ball, slope: bool = True) -> tuple[Ball, Ball]:
        """The moments; their radii are what they change between c − radius and c + radius, and their own errors."""
        self._check(c.middle)
        self.variances.append(c.clone())
        high, unknown = _shifted(c, 1)
        low, _ = _shifted(c, -1)
        errors = self._sigma.moments_error(c.middle)
        mean, second, slope_second = (
            # the moments at c and on both sides are off by their errors, and so is a difference of two
            _ball(middle, [(below, above)], 3 * error, unknown)
            for middle, below, above, error in zip(
                *(self._sigma.moments(q) for q in (c.middle, low, high)), errors, strict=True
            )
        )
        self.means.append(mean)
        return second, slope_second

    def crossed_means(self) -> Ball:
        return self.means[0].clone().mul_(self.means[1]).mul_(2.0)


class _TwoBatches(Pairs[Entries]):
    """The points of one batch with those of another.

    Arguments:
        sigma: the activation.
        tolerance: what quadrature aims at.
        one: points, n1 of them.
        two: points, n2 of them.
    """

    def __init__(self, sigma: Activation, tolerance: float, one: Batch[Entries], two: Batch[Entries]) -> None:
        self._sigma, self._tolerance = sigma, tolerance
        self._variances = iter(zip(one.variances, two.variances, strict=True))
        self._means = one.means, two.means


class Tile(_TwoBatches[torch.Tensor]):
    """The points of one batch with those of another."""

    def dual(self, c: torch.Tensor, slope: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        q1, q2 = next(self._variances)
        value, derivative, _ = _duals(self._sigma, self._tolerance, q1[:, None], q2[None], c, slope)
        return value, derivative

    def crossed_means(self) -> torch.Tensor:
        one, two = self._means
        return torch.outer(one[0], two[1]).addr_(one[1], two[0])


class TileOfBalls(_TwoBatches[Ball]):
    """A tile whose variances and covariances are known up to a radius."""

    def dual(self, c: Ball, slope: bool = True) -> tuple[Ball, Ball]:
        """The dual maps; radii are what they change as c and the variances move by theirs, and their own errors."""
        one, two = next(self._variances)
        q1, q2 = one.middle[:, None], two.middle[None]
        (up1, unknown1), (up2, unknown2), (down2, _) = _shifted(one, 1), _shifted(two, 1), _shifted(two, -1)
        radius = c.radius.nan_to_num(torch.inf, torch.inf).maximum(TRUST * q1.sqrt() * q2.sqrt())
        places = [
            (q1, q2, c.middle),
            (q1, q2, c.middle - radius),
            (q1, q2, c.middle + radius),
            # to first order, the larger of these two changes is that of q1 plus that of q2, whatever their signs
            (up1[:, None], up2[None], c.middle),
            (up1[:, None], down2[None], c.middle),
        ]
        found = [self._at(*place, slope) for place in places]
        error = 5 * max(error for *_, error in found)  # that of the first, and those of the two differences added to it
        unknown = unknown1[:, None] | unknown2[None]

        def ball(middle: torch.Tensor, low: torch.Tensor, high: torch.Tensor, *ups: torch.Tensor) -> Ball:
            return _ball(middle, [(low, high), (ups[0], ups[1])], error, unknown)

        return ball(*(value for value, _, _ in found)), ball(*(derivative for _, derivative, _ in found))

    def crossed_means(self) -> Ball:
        one, two = self._means
        return one[0].outer(two[1]).add_(one[1].outer(two[0]))

    def _at(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        size = q1.sqrt() * q2.sqrt()
        return _duals(self._sigma, self._tolerance, q1, q2, c.clamp(-size, size), slope)


def _duals(
    sigma: Activation, tolerance: float, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool
) -> tuple[torch.Tensor, torch.Tensor, float]:
    """The dual maps and the error stated with them; the second stands for nothing where it was not asked for."""
    if sigma.closed_form:
        value, derivative = sigma.dual(q1, q2, c, slope)
        error = 0.0
    else:
        value, derivative, error = quadrature_dual(sigma, q1, q2, c, tolerance, slope)
    return value, value if derivative is None else derivative, error


def _shifted(q: Ball, sign: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Variances at the end of their radius, and where that end is beyond all numbers: these stay as they are."""
    end = (q.middle + sign * q.radius).clamp(min=0)
    unknown = ~torch.isfinite(q.middle + q.radius)
    return torch.where(unknown, q.middle, end), unknown


def _ball(
    middle: torch.Tensor,
    sides: list[tuple[torch.Tensor, torch.Tensor]],
    error: torch.Tensor | float,
    unknown: torch.Tensor,
) -> Ball:
    radius = TRUST * middle.abs() + error
    for low, high in sides:
        radius += (low - middle).abs().maximum((high - middle).abs())
    return Ball(middle, radius.nan_to_num_(torch.inf, torch.inf).masked_fill_(unknown, torch.inf))
