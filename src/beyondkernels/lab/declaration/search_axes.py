"""Axes of a search: 1, 2, 5 times powers of ten, growing where the best value sits on an edge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from beyondkernels.core import Checked, require, require_between

Place = Mapping[str, float]
"""A value on every axis."""

Scores = Callable[[Place], Mapping[str, float] | None]
"""The error of a place by each criterion, infinite where training diverged; None while it is not known."""

_DIGITS = (1, 2, 5)


@dataclass(frozen=True)
class Axis(Checked):
    """The values of one setting, and how far they may go.

    Arguments:
        values: 1, 2 or 5 times powers of ten, increasing.
        limits: the axis does not grow beyond these two numbers.

    >>> axis = Axis((0.02, 0.1), limits=(1e-3, 1.0))
    >>> axis.lower(), axis.higher()
    (0.005, 0.5)
    """

    values: tuple[float, ...]
    limits: tuple[float, ...]

    def lower(self) -> float | None:
        """The number one step below the first value; None beyond the limit."""
        first, *rest = map(position, self.values)
        return self._within(number(first - (rest[0] - first if rest else 1)))

    def higher(self) -> float | None:
        """The number one step above the last value; None beyond the limit."""
        *rest, last = map(position, self.values)
        return self._within(number(last + (last - rest[-1] if rest else 1)))

    def on_edge(self, value: float) -> bool:
        """Whether a value is the first or the last."""
        return value in (self.values[0], self.values[-1])

    def grown(self, best: Sequence[float]) -> Axis:
        """The axis with one more number at each end where one of the best values sits, within the limits."""
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
        place: the best place; the first of equal ones.
        error: its error.
        on_edge: whether the place sits on the grid's edge, because the limits were reached.
    """

    place: Place
    error: float
    on_edge: bool


@dataclass(frozen=True)
class Search:
    """A grid, and what was found on it.

    Arguments:
        axes: the axes by name.
        found: the best place by each criterion; None while scores are missing.
    """

    axes: Mapping[str, Axis]
    found: Mapping[str, Found] | None = None

    @property
    def places(self) -> list[Place]:
        """All combinations, the last axis running fastest."""
        values = itertools.product(*(axis.values for axis in self.axes.values()))
        return [dict(zip(self.axes, each, strict=True)) for each in values]


def searched(axes: Mapping[str, Axis], scores: Scores) -> Search:
    """The search as far as the known scores carry it.

    While the best place by any criterion sits on the edge, the grid grows there by whole rows and columns. The answer
    either asks for places whose scores are missing, or has found its best.

    Arguments:
        axes: the axes to begin with.
        scores: what is known.
    """
    while True:
        search = Search(axes)
        known = [(place, score) for place in search.places if (score := scores(place)) is not None]
        if len(known) < len(search.places):
            return search
        best = {criterion: min(known, key=lambda each, by=criterion: each[1][by]) for criterion in dict(known[0][1])}
        wider = {name: axis.grown([place[name] for place, _ in best.values()]) for name, axis in axes.items()}
        if wider == axes:
            return replace(search, found={name: _found(axes, *each, name) for name, each in best.items()})
        axes = wider


def _found(axes: Mapping[str, Axis], place: Place, score: Mapping[str, float], criterion: str) -> Found:
    return Found(place, score[criterion], any(axis.on_edge(place[name]) for name, axis in axes.items()))


def check_axis(settings: Any, name: str, limits_name: str) -> None:
    """Ask that the values of a search are 1, 2 or 5 times powers of ten and lie within two limits.

    Arguments:
        settings: what holds both.
        name: of the setting with the values.
        limits_name: of the setting with the limits.
    """
    ends = getattr(settings, limits_name)
    two = len(ends) == 2 and 0 < ends[0] <= ends[1]
    require(two, f"{limits_name} must be two increasing numbers, got {ends}")
    for value in getattr(settings, name):
        position(value)
        require_between(name, value, *ends)


def position(value: float) -> int:
    """Where a number stands among 1, 2 and 5 times powers of ten, counted from 1.

    >>> position(1), position(0.05), position(200)
    (0, -4, 7)
    >>> position(0.3)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: the values of a search must be 1, 2 or 5 times a power of ten, got 0.3
    """
    sentence = f"the values of a search must be 1, 2 or 5 times a power of ten, got {value:g}"
    require(0 < value < math.inf, sentence)
    digit, _, power = f"{value:.9e}".partition("e")
    require(float(digit) in _DIGITS, sentence)
    return 3 * int(power) + _DIGITS.index(int(float(digit)))


def number(place: int) -> float:
    """The number that stands at a position.

    >>> [number(place) for place in (-3, -2, -1, 0)]
    [0.1, 0.2, 0.5, 1.0]
    """
    return float(f"{_DIGITS[place % 3]}e{place // 3}")
