"""By how many points one learner is ahead of another, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from beyondkernels.auditing.scores import Scores, error_of_test_points
from beyondkernels.auditing.subject import Subject
from beyondkernels.lab import mean_interval
from beyondkernels.lab.report.numbers import show_number

_LARGE = 1e5
"""Scores of this size are written as powers of ten: a network that all but diverged can explain −10²⁴ per cent."""


@dataclass(frozen=True)
class Lead:
    """By how many points one learner is ahead of another one, seed by seed.

    Arguments:
        mean: over seeds.
        low: the lower end of its 95 % interval; None where there is none.
        high: the upper end.
        seeds: how many there are.
        over: what the interval is over.
    """

    mean: float
    low: float | None
    high: float | None
    seeds: int
    over: str = "seeds"

    @property
    def size(self) -> str:
        """Its size in words."""
        return shown_points(abs(self.mean))

    @property
    def above_zero(self) -> bool:
        """Whether the interval lies above zero."""
        return self.low is not None and self.low > 0

    @property
    def sentence(self) -> str:
        """Whether the difference stands."""
        if self.low is None or self.high is None:
            return f"{self._why} it cannot be said whether the difference stands beyond seeds."
        stands = "stands" if self.low > 0 or self.high < 0 else "does not stand"
        return f"The difference {stands} beyond {self.over} (95 % interval {self._interval} points)."

    @property
    def doubt(self) -> str:
        """What has to be added to a gain that does not stand."""
        if self.above_zero:
            return ""
        if self.low is None:
            return " (with one seed)" if self.seeds == 1 else " (the same with all seeds)"
        return f" (not beyond {self.over}: 95 % interval {self._interval})"

    @property
    def _why(self) -> str:
        return "With one seed" if self.seeds == 1 else "All seeds give the same number, so"

    @property
    def _interval(self) -> str:
        assert self.low is not None and self.high is not None, "asked for where there is one"
        return f"{signed(self.low)} to {signed(self.high)}"


def lead(subject: Subject, first: Scores, second: Scores, among: int = 1) -> Lead | None:
    """How far the first learner is ahead of the second, over the seeds that both have; None if there are none.

    Arguments:
        subject: what is audited.
        first: scores of one learner.
        second: scores of the other.
        among: of how many leads this is the largest. The interval is wider then (Bonferroni), because the largest of
            many is large by chance.
    """
    both = [seed for seed in first if seed in second]
    if not both:
        return None
    error = error_of_test_points(subject, first.among(both), second)
    differences = [first[seed] - second[seed] for seed in both]
    within = (-100.0, 100.0) if subject.classes else (-math.inf, math.inf)
    mean, low, high, _ = mean_interval(differences, 1 - 0.05 / among, within, beside=error)
    assert mean is not None, "there is a seed"
    if low is not None and high is not None and high - low <= 1e-9 * max(1.0, abs(mean)):
        # numbers that are equal up to rounding say nothing of their spread
        low = high = None
    return Lead(mean, low, high, len(both), "seeds and test points" if error else "seeds")


def leads(
    subject: Subject, names: Sequence[str], pair: Callable[[str], tuple[Scores, Scores]], among: int | None = None
) -> dict[str, Lead]:
    """The lead of the first over the second at each name for which a seed has both.

    Arguments:
        subject: what is audited.
        names: of what is compared.
        pair: the scores of both at a name.
        among: as in :func:`lead`; as many as there are unless given.
    """
    pairs = {name: pair(name) for name in names}
    there = {name: both for name, both in pairs.items() if both[0].keys() & both[1].keys()}
    found = {name: lead(subject, *both, among=among or len(there)) for name, both in there.items()}
    return {name: each for name, each in found.items() if each is not None}


def signed(number: float) -> str:
    """A number of points with its sign, one decimal."""
    if abs(number) >= _LARGE:
        return show_number(number)
    return f"{round(number, 1) + 0.0:.1f}".replace("-", "−")  # adding zero takes the sign from a rounded zero


def shown_points(number: float) -> str:
    """A number of points, with more decimals where one would round it up to the next whole point."""
    text = signed(number)
    rounded_up = text.endswith(".0") and abs(number) < _LARGE and number < float(text) - 5e-3
    return f"{number:.2f}" if rounded_up else text
