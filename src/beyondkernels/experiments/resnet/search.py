"""The search over learning rate and weight decay: a grid of 1, 2, 5 times powers of ten that grows at its edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from beyondkernels.core import require

Point = tuple[float, float]
"""Learning rate and weight decay."""

Scores = Callable[[Point], tuple[float, ...] | None]
"""The errors of a point, one for each criterion, infinite where training diverged; None while it is not known."""

_DIGITS = (1, 2, 5)


@dataclass(frozen=True)
class Axis:
    """The values of one setting, and how far they may go.

    Arguments:
        values: 1, 2 or 5 times powers of ten, increasing.
        limits: the axis does not grow beyond these.

    >>> axis = Axis((0.02, 0.1), limits=(1e-3, 1.0))
    >>> axis.lower(), axis.higher()
    (0.005, 0.5)
    """

    values: tuple[float, ...]
    limits: tuple[float, float]

    def lower(self) -> float | None:
        """The number that comes before the first by the axis's own step; None beyond the limit."""
        first, *rest = map(position, self.values)
        return self._within(number(first - (rest[0] - first if rest else 1)))

    def higher(self) -> float | None:
        """The number that comes after the last by the axis's own step; None beyond the limit."""
        *rest, last = map(position, self.values)
        return self._within(number(last + (last - rest[-1] if rest else 1)))

    def on_edge(self, value: float) -> bool:
        """Whether a value is the first or the last."""
        return value in (self.values[0], self.values[-1])

    def grown(self, best: Sequence[float]) -> Axis:
        """The axis with a number more at each end where one of the best values sits, as far as the limits allow."""
        before = [self.lower()] if self.values[0] in best else []
        after = [self.higher()] if self.values[-1] in best else []
        values = [value for value in (*before, *self.values, *after) if value is not None]
        return replace(self, values=tuple(values))

    def _within(self, value: float) -> float | None:
        low, high = self.limits
        return value if low * (1 - 1e-9) <= value <= high * (1 + 1e-9) else None


@dataclass(frozen=True)
class Found:
    """What a search gives by one criterion.

    Arguments:
        point: the best learning rate and weight decay; the first of equal ones.
        error: their error.
        on_edge: whether the point sits on the grid's edge, because the limits were reached.
    """

    point: Point
    error: float
    on_edge: bool


@dataclass(frozen=True)
class Search:
    """A grid, and what was found on it.

    Arguments:
        rates: the learning rates.
        decays: the weight decays.
        found: the best point by each criterion; None while points are missing.
    """

    rates: Axis
    decays: Axis
    found: tuple[Found, ...] | None = None

    @property
    def points(self) -> list[Point]:
        """All combinations."""
        return [(rate, decay) for rate in self.rates.values for decay in self.decays.values]


def searched(rates: Axis, decays: Axis, scores: Scores) -> Search:
    """The search as far as the known scores carry it.

    While the best point by any of the criteria sits on the edge, the grid grows there by whole rows and columns. The
    answer either asks for points whose scores are missing, or has found its best.

    Arguments:
        rates: the learning rates to begin with.
        decays: the weight decays to begin with.
        scores: what is known.
    """
    while True:
        search = Search(rates, decays)
        known = {point: score for point in search.points if (score := scores(point)) is not None}
        if len(known) < len(search.points):
            return search
        criteria = range(len(next(iter(known.values()))))
        best = [min(known, key=lambda point, i=i: known[point][i]) for i in criteria]
        wider = rates.grown([rate for rate, _ in best]), decays.grown([decay for _, decay in best])
        if wider == (rates, decays):
            found = [
                Found(point, known[point][i], rates.on_edge(point[0]) or decays.on_edge(point[1]))
                for i, point in enumerate(best)
            ]
            return replace(search, found=tuple(found))
        rates, decays = wider


def position(value: float) -> int:
    """Where a number stands among 1, 2 and 5 times powers of ten, counted from 1.

    >>> position(1), position(0.05), position(200)
    (0, -4, 7)
    >>> position(0.3)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: rates and decays must be 1, 2 or 5 times a power of ten, got 0.3
    """
    sentence = f"rates and decays must be 1, 2 or 5 times a power of ten, got {value:g}"
    require(0 < value < math.inf, sentence)
    digit, _, power = f"{value:.9e}".partition("e")
    require(float(digit) in _DIGITS, sentence)
    return 3 * int(power) + _DIGITS.index(int(float(digit)))


def number(place: int) -> float:
    """The number that stands there.

    >>> [number(place) for place in (-3, -2, -1, 0)]
    [0.1, 0.2, 0.5, 1.0]
    """
    return float(f"{_DIGITS[place % 3]}e{place // 3}")
