"""Claims: sentences that can fail, with the published value, the measured one, and whether they hold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from beyondkernels.core import require, require_between
from beyondkernels.lab.report.numbers import default_decimals, plain, show_number

NOT_EVALUATED = "not evaluated at this scale"
"""The reason of a claim that is not meant for the scale that was run."""

Verdict = Literal["holds", "fails", "undecided"]

Strength = Literal["mean", "clearly", "unless clearly not"]
"""What decides: the mean alone; the whole interval; or the mean, forgiven where the interval reaches the bound."""

Range = tuple[float, float]
"""The least and the greatest value that a quantity can have."""

ANY: Range = (-math.inf, math.inf)


@dataclass(frozen=True)
class Claim:
    """A sentence that can fail.

    Arguments:
        id: its short name within the experiment.
        text: the sentence.
        paper: the published value, for display.
        measured: what was measured: the mean over seeds.
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
        measured: their mean.
        low: the lower end of its interval.
        high: the upper end.
        interval: what kind of interval that is.
        holds: whether the test is passed; None when it cannot be said.
        reason: by how much, or why it cannot be said.
        margin: by how much the mean passes; negative where it does not.
        values: the numbers themselves.
    """

    measured: float | None
    low: float | None
    high: float | None
    interval: str
    holds: bool | None = None
    reason: str = ""
    margin: float = math.nan
    values: tuple[float, ...] = ()


class Condition(ABC):
    """A condition on the mean over seeds."""

    strength: Strength

    def judge(self, values: Sequence[float | None], unit: str = "", within: Range = ANY, beside: float = 0.0) -> Judged:
        """Decide by the numbers of all seeds.

        Arguments:
            values: one for each seed; ``None`` or a non-finite number where a run has none.
            unit: written behind the numbers.
            within: the least and the greatest value there can be; an interval does not reach beyond.
            beside: as in :func:`mean_interval`.
        """
        there = [float(value) for value in values if value is not None and math.isfinite(value)]
        mean, low, high, interval = mean_interval(there, within=within, beside=beside)
        judged = Judged(mean, low, high, interval, values=tuple(there))
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
                return replace(judged, reason=f"{reason}; one seed has no interval, so nothing is clear")
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


def mean_interval(
    values: Sequence[float], level: float = 0.95, within: Range = ANY, beside: float = 0.0
) -> tuple[float | None, float | None, float | None, str]:
    r"""The mean over seeds with its t interval, and a label that says what the interval is.

    .. math:: \bar v \pm t_{n-1,\,(1+\text{level})/2} \cdot s / \sqrt n,
              \qquad s^2 = \tfrac{1}{n-1} \sum_i (v_i - \bar v)^2

    A single value has no spread, so no interval.

    Arguments:
        values: the v_i, one for each seed.
        level: how often such intervals hold the true mean, for independent normal values.
        within: the least and the greatest value there can be; the interval does not reach beyond.
        beside: the standard error due to what seeds do not show, such as the choice of test points they share. Both
            add up as independent errors do.

    >>> mean_interval([1.0, 2.0, 3.0], within=(0.0, 10.0))
    (2.0, 0.0, 4.484..., '95 % t interval over 3 seeds')
    >>> mean_interval([7.0])
    (7.0, None, None, 'one seed, no interval')
    """
    require_between("level", level, 0, 1, "()")
    v = [float(value) for value in values]
    require(all(map(math.isfinite, v)), f"values must be finite, got {v}")
    n = len(v)
    if n == 0:
        return None, None, None, "no value"
    mean = math.fsum(v) / n
    if n == 1:
        return mean, None, None, "one seed, no interval"
    from scipy.special import ndtri, stdtrit

    try:
        s = math.sqrt(math.fsum((value - mean) ** 2 for value in v) / (n - 1))
    except OverflowError:
        s = math.hypot(*(value - mean for value in v)) / math.sqrt(n - 1)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * s / math.sqrt(n)
    half = math.hypot(half, float(ndtri((1 + level) / 2)) * beside) if beside else half
    least, greatest = min(within[0], mean), max(within[1], mean)
    low, high = max(mean - half, least), min(mean + half, greatest)
    return mean, low, high, f"{100 * level:g} % t interval over {n} seeds{' and test points' if beside else ''}"


def _one_sided(
    condition: Condition, judged: Judged, mean: float, margin: float, unit: str, words: tuple[str, str]
) -> Judged:
    bound = condition.bound if isinstance(condition, AtLeast | AtMost) else math.nan
    digits = _digits(margin, mean, bound, unit=unit)
    word = words[0] if margin >= 0 else words[1]
    reason = f"{show_number(mean, unit, digits)} is {word} {show_number(bound, unit, digits)}"
    return condition.by_strength(judged, margin, f"{reason}, by {_margin(abs(margin), unit, digits)}", (bound,))


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
