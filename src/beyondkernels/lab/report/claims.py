"""Claims: sentences that can fail, with the published value, the measured one, and whether they hold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from beyondkernels.core import Checked, require
from beyondkernels.lab.report.intervals import ANY, Range, Statistic, interval_of
from beyondkernels.lab.report.numbers import default_decimals, plain, show_number

NOT_EVALUATED = "not evaluated at this scale"
"""The reason of a claim that is not meant for the scale that was run."""

Verdict = Literal["holds", "fails", "undecided"]

Strength = Literal["mean", "clearly", "unless clearly not"]
"""What decides: the mean alone; the whole interval; or the mean, forgiven where the interval reaches the bound."""


_CONFIDENCE = 0.05
"""How likely the unlikely may be in what is said of all seeds."""


@dataclass(frozen=True)
class Claim:
    """A sentence that can fail.

    Arguments:
        id: its short name within the experiment.
        text: the sentence.
        paper: the published value, for display.
        measured: what was measured: the mean over seeds, or another statistic.
        low: the lower end of its interval.
        high: the upper end.
        interval: what kind of interval that is.
        holds: whether the claim holds; ``None`` when it cannot be said.
        reason: by how much it holds or fails, or why it cannot be said.
        unit: written behind the numbers, such as ``%``.
        strength: what decides it.
        values: what was measured with each seed.
    """

    id: str
    text: str
    paper: float | str | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str = ""
    holds: bool | None = None
    reason: str = ""
    unit: str = ""
    strength: Strength = "mean"
    values: tuple[float, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """``holds``, ``fails`` or ``undecided``."""
        if self.holds is None:
            return "undecided"
        return "holds" if self.holds else "fails"

    def as_dict(self) -> dict[str, Any]:
        """The claim as ``bk run --json`` writes it: non-finite numbers are null."""
        names = ("id", "text", "paper", "measured", "low", "high", "interval", "holds", "reason", "strength", "values")
        return {name: plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class Judged:
    """What a test says of the numbers of all seeds.

    Arguments:
        measured: their mean, or another statistic.
        low: the lower end of its interval.
        high: the upper end.
        interval: what kind of interval that is.
        holds: whether the test is passed; None when it cannot be said.
        reason: by how much, or why it cannot be said.
        margin: by how much the mean passes; negative where it does not.
        values: the numbers themselves.
        statistic: what of them is measured.
    """

    measured: float | None
    low: float | None
    high: float | None
    interval: str
    holds: bool | None = None
    reason: str = ""
    margin: float = math.nan
    values: tuple[float, ...] = ()
    statistic: Statistic = "mean"


class Condition(Checked, ABC):
    """A condition on the mean over seeds, or on another statistic."""

    strength: Strength

    def judge(
        self,
        values: Sequence[float | None],
        unit: str = "",
        within: Range = ANY,
        beside: float = 0.0,
        statistic: Statistic = "mean",
    ) -> Judged:
        """Decide by the numbers of all seeds.

        Arguments:
            values: one for each seed; ``None`` or a non-finite number where a run has none.
            unit: written behind the numbers.
            within: the least and the greatest value there can be; an interval does not reach beyond.
            beside: as in :func:`mean_interval`.
            statistic: what is said of the numbers of all seeds.
        """
        there = [float(value) for value in values if value is not None and math.isfinite(value)]
        found = interval_of(there, statistic, within, beside)
        mean = found.measured
        judged = Judged(mean, found.low, found.high, found.label, values=tuple(there), statistic=statistic)
        missing = len(values) - len(there)
        if mean is None:
            return replace(judged, reason="no run gave a value")
        if missing:
            return replace(judged, reason=f"{missing} of {len(values)} runs gave no value")
        return self._decide(judged, mean, unit)

    @abstractmethod
    def _decide(self, judged: Judged, mean: float, unit: str) -> Judged: ...

    def by_strength(self, judged: Judged, margin: float, reason: str, bounds: tuple[float, ...]) -> Judged:
        """Decide by the mean's margin, or by whether the interval keeps clear of the bounds."""
        low, high = judged.low, judged.high
        judged = replace(judged, margin=margin)
        if low is None or high is None:
            if self.strength != "mean":
                return replace(judged, reason=f"{reason}; there is no interval, so nothing is clear")
            return replace(judged, holds=margin >= 0, reason=reason)
        # an interval without width decides nothing but the mean: numbers that all equal the bound are not clear of it
        open_ = any(low <= bound <= high for bound in bounds) and (low < high or self.strength == "clearly")
        if open_:
            reason += "; the interval contains the bound, so other seeds may say otherwise"
        if not open_ or self.strength == "mean":
            return replace(judged, holds=margin >= 0, reason=reason)
        holds = self.strength == "unless clearly not"
        return replace(judged, holds=holds, reason=reason if holds == (margin >= 0) else f"not clearly: {reason}")


@dataclass(frozen=True)
class AtLeast(Condition):
    """That the mean over seeds is no smaller than a bound.

    Arguments:
        bound: the smallest mean that passes.
        strength: what decides.

    >>> AtLeast(95).judge([99.0, 100.0, 98.0], unit="%").reason
    '99.0 % is at least 95.0 %, by 4.0 points'
    """

    bound: float
    strength: Strength = "mean"

    def _decide(self, judged: Judged, mean: float, unit: str) -> Judged:
        return _one_sided(self, judged, mean, mean - self.bound, unit, ("at least", "below"))


@dataclass(frozen=True)
class AtMost(Condition):
    """That the mean over seeds is no larger than a bound; arguments as for :class:`AtLeast`.

    >>> AtMost(0.85).judge([0.86, 0.88]).reason
    '0.870 is above 0.850, by 0.020; the interval contains the bound, so other seeds may say otherwise'
    >>> AtMost(0.85, "clearly").judge([0.7, 0.9]).holds, AtMost(0.85, "clearly").judge([0.7]).holds
    (False, None)
    """

    bound: float
    strength: Strength = "mean"

    def _decide(self, judged: Judged, mean: float, unit: str) -> Judged:
        return _one_sided(self, judged, mean, self.bound - mean, unit, ("at most", "above"))


@dataclass(frozen=True)
class Between(Condition):
    """That the mean over seeds lies in an interval.

    Arguments:
        lower: its lower end.
        upper: its upper end.
        strength: what decides.

    >>> Between(45, 60).judge([52.0, 53.0], unit="%").reason
    '52.5 % lies in [45.0 %, 60.0 %], 7.5 points inside'
    """

    lower: float
    upper: float
    strength: Strength = "mean"

    def __post_init__(self) -> None:
        require(self.lower <= self.upper, f"lower must be at most upper, got {self.lower} and {self.upper}")

    def _decide(self, judged: Judged, mean: float, unit: str) -> Judged:
        margin = min(mean - self.lower, self.upper - mean)
        digits = _digits(margin, mean, self.lower, self.upper, unit=unit)
        ends = f"[{show_number(self.lower, unit, digits)}, {show_number(self.upper, unit, digits)}]"
        away, at = _margin(abs(margin), unit, digits), show_number(mean, unit, digits)
        if margin >= 0:
            reason = f"{at} lies in {ends}, {away} inside"
        else:
            reason = f"{at} lies {away} {'below' if mean < self.lower else 'above'} {ends}"
        return self.by_strength(judged, margin, reason, (self.lower, self.upper))


def _one_sided(
    condition: Condition, judged: Judged, mean: float, margin: float, unit: str, words: tuple[str, str]
) -> Judged:
    bound = condition.bound if isinstance(condition, AtLeast | AtMost) else math.nan
    digits = _digits(margin, mean, bound, unit=unit)
    word = words[0] if margin >= 0 else words[1]
    reason = f"{show_number(mean, unit, digits)} is {word} {show_number(bound, unit, digits)}"
    reason = f"{reason}, by {_margin(abs(margin), unit, digits)}"
    every = "least" if isinstance(condition, AtLeast) else "largest"
    if judged.statistic == every and condition.strength == "mean":
        # a bound on all seeds: no interval can reach it, but that n of n obey says how many of all do
        if margin >= 0 and len(judged.values) > 1:
            share = 100 * _CONFIDENCE ** (1 / len(judged.values))
            reason += f"; this holds for at least {share:.0f} % of all seeds, with 95 % confidence"
        return replace(judged, holds=margin >= 0, reason=reason, margin=margin)
    return condition.by_strength(judged, margin, reason, (bound,))


def _digits(margin: float, mean: float, *bounds: float, unit: str) -> int | None:
    """Enough decimals to tell the numbers apart and to keep a bound whole: 79.96 against 80.00, 15.90 against 1.35.

    None, each number by its own size, where they are all tiny or huge, or of very different sizes.
    """
    sizes = [abs(number) for number in (mean, *bounds) if number != 0]
    largest = max(sizes, default=0.0)
    if unit != "%" and (0 < largest < 1e-3 or largest >= 1e7 or largest > 1000 * min(sizes, default=0.0)):
        return None
    usual = max(default_decimals(number, unit) for number in (largest, *bounds))
    return usual if margin == 0 else min(max(usual, -math.floor(math.log10(abs(margin)))), 9)


def _margin(margin: float, unit: str, digits: int | None) -> str:
    return f"{show_number(margin, '', digits)} points" if unit == "%" else show_number(margin, unit, digits)
