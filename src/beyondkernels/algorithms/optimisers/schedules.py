"""Numbers that change from step to step, as data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from beyondkernels.core import Component
from beyondkernels.core.constraints import between, not_negative, positive
from beyondkernels.core.fields import Checked

Size = Annotated[float, not_negative]
"""A number that is not negative."""


class Schedule(Component, Checked, ABC):
    """A number for each step, counted from 1."""

    @abstractmethod
    def at(self, step: int) -> float:
        """The number s_t of the step t."""

    def over(self, steps: range) -> list[float]:
        """The numbers s_t of a range of steps; a schedule with a faster way than one by one overrides this."""
        return [self.at(step) for step in steps]

    def times(self, factor: float) -> Schedule:
        """The same course with every number multiplied.

        Arguments:
            factor: by which.
        """
        return Multiplied(self, factor)


@dataclass(frozen=True)
class Multiplied(Schedule):
    r"""Another schedule with every number multiplied by the same factor.

    .. math:: s_t = f \cdot s'_t

    Arguments:
        schedule: s′.
        factor: f.

    >>> Multiplied(Drops(0.1, (1,)), 5.0).over(range(1, 3))
    [0.5, 0.05000000000000001]
    """

    schedule: Schedule
    factor: Annotated[float, positive]

    def at(self, step: int) -> float:
        """The number f · s′_t."""
        return self.factor * self.schedule.at(step)

    def over(self, steps: range) -> list[float]:
        """The numbers f · s′_t, by the schedule's own way."""
        return [self.factor * value for value in self.schedule.over(steps)]

    def times(self, factor: float) -> Schedule:
        """One product in place of two."""
        return Multiplied(self.schedule, self.factor * factor)


@dataclass(frozen=True)
class Constant(Schedule):
    """The same number in every step."""

    value: Size

    def at(self, step: int) -> float:
        return self.value

    def over(self, steps: range) -> list[float]:
        return [self.value] * len(steps)

    def times(self, factor: float) -> Constant:
        """Another constant, without the last digits that a product leaves: five times 0.001 is 0.005."""
        return Constant(float(f"{self.value * factor:.12g}"))


@dataclass(frozen=True)
class Drops(Schedule):
    r"""A number that falls by a factor after certain steps.

    .. math:: s_t = s \cdot f^{\#\{i : t > t_i\}}

    Arguments:
        value: s.
        drops: :math:`t_i`.
        factor: f.

    >>> Drops(0.1, (2, 3), 0.5).over(range(1, 6))
    [0.1, 0.1, 0.05, 0.025, 0.025]
    """

    value: Size
    drops: tuple[int, ...]
    factor: Annotated[float, between(0, 1, "(]")] = 0.1

    def at(self, step: int) -> float:
        return self.value * self.factor ** sum(step > drop for drop in self.drops)

    def over(self, steps: range) -> list[float]:
        """Piece by piece: most steps have the number of the one before."""
        ends = sorted({drop for drop in self.drops if steps.start <= drop < steps.stop - 1})
        starts = [steps.start, *(drop + 1 for drop in ends)]
        stops = [*(drop + 1 for drop in ends), steps.stop]
        return [self.at(start) for start, stop in zip(starts, stops, strict=True) for _ in range(start, stop)]


@dataclass(frozen=True)
class _Between(Schedule):
    value: Size
    steps: Annotated[int, positive]
    end: Size = 0.0


@dataclass(frozen=True)
class Cosine(_Between):
    r"""Half a cosine, from one number to another.

    .. math:: s_t = e + (s - e)\,\tfrac12\bigl(1 + \cos(\pi\,\min(t - 1, T) / T)\bigr)

    Arguments:
        value: s, the number of the first step.
        steps: T, after how many steps the end is reached; it stays there.
        end: e.
    """

    def at(self, step: int) -> float:
        done = min(step - 1, self.steps) / self.steps
        return self.end + (self.value - self.end) * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True)
class Linear(_Between):
    r"""A straight line from one number to another.

    .. math:: s_t = s + (e - s) \min(t - 1, T) / T

    Arguments:
        value: s, the number of the first step.
        steps: T, after how many steps the end is reached; it stays there.
        end: e.
    """

    def at(self, step: int) -> float:
        return self.value + (self.end - self.value) * min(step - 1, self.steps) / self.steps


@dataclass(frozen=True)
class Power(Schedule):
    r"""A number that falls like a power of the step.

    .. math:: s_t = s\,t^{-p}

    Arguments:
        value: s.
        power: p.
    """

    value: Size
    power: Size = 0.5

    def at(self, step: int) -> float:
        return self.value * step**-self.power


@dataclass(frozen=True)
class WarmUp(Schedule):
    r"""A linear rise to the start of another schedule.

    .. math:: s_t = \tfrac{t}{w}\, s'_1 \quad (t \le w), \qquad s_t = s'_{t - w} \quad (t > w)

    Arguments:
        steps: w.
        then: s′, a schedule or a number.

    >>> WarmUp(4, 0.8).over(range(1, 7))
    [0.2, 0.4, 0.6000000000000001, 0.8, 0.8, 0.8]
    """

    steps: Annotated[int, positive]
    then: Schedule | Size

    def __post_init__(self) -> None:
        object.__setattr__(self, "then", schedule(self.then))

    def at(self, step: int) -> float:
        then = schedule(self.then)
        return then.at(1) * (step / self.steps) if step <= self.steps else then.at(step - self.steps)


def schedule(given: Schedule | float) -> Schedule:
    """A schedule as it is, and a number as a constant one."""
    return given if isinstance(given, Schedule) else Constant(float(given))
