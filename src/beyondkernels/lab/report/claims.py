"""Claims: sentences that can fail, whose they are, what was measured, and whether they hold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from beyondkernels.core import Checked, require
from beyondkernels.lab.report.intervals import ANY, Range, Statistic, interval_of
from beyondkernels.lab.report.numbers import default_decimals, plain, show_number

NOT_EVALUATED = "not evaluated at this scale"
"""The reason of a claim that is not meant for the scale that was run."""

Verdict = Literal["holds", "fails", "undecided"]
Source = Literal["paper", "ours"]

PaperKind = Literal["bound", "existence", "probability", "order", "number", "sentence"]
"""What a paper states: a bound from one side; that something exists; that something happens with high probability; an
asymptotic order; a printed number; anything else that it says in words."""

OurKind = Literal["control", "expectation", "check", "question"]
"""What we add: a control, without which a claim would say little; what we expect beyond the paper; a check of the
machinery, which no result of an experiment could make fail; a question to a user's own model, of which no answer is
expected."""

Kind = PaperKind | OurKind

Cause = Literal["paper", "bar", "training", "size", "open"]
"""Why a claim does not hold: the paper is wrong here; the bar is ours and too high; too little training or too few
seeds; sizes too small for what holds in a limit; nobody knows yet."""

LITTLE = 100.0
"""A bound with free constants that holds by more than this factor says little."""

LOOSE: tuple[Kind, ...] = "bound", "order"
"""The kinds whose constants may be free."""

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
        values: what was measured with each seed.
        kind: what kind of statement it is, which also says whether it is the paper's or ours.
        place: where the paper states it.
        cause: why it does not hold, in a word; ``None`` where it holds.
        because: the same in a sentence.
        sets: for each set of seeds by itself, whether the statistic meets the bound; empty with a single set.
        slack: by which factor it stays within a bound, where that can be said.
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
    values: tuple[float, ...] = ()
    kind: Kind = "expectation"
    place: str = ""
    cause: Cause | None = None
    because: str = ""
    sets: tuple[bool | None, ...] = ()
    slack: float | None = None

    @property
    def verdict(self) -> Verdict:
        """``holds``, ``fails`` or ``undecided``."""
        if self.holds is None:
            return "undecided"
        return "holds" if self.holds else "fails"

    @property
    def source(self) -> Source:
        """``paper`` or ``ours``, by the kind of statement."""
        return source_of(self.kind)

    @property
    def says_little(self) -> bool:
        """Whether it is a bound that holds by so much that it says little: its constants are free."""
        return bool(self.holds) and self.kind in LOOSE and (self.slack or 0.0) > LITTLE

    def as_dict(self) -> dict[str, Any]:
        """The claim as ``bk run --json`` writes it: non-finite numbers are null."""
        names = ("id", "text", "source", "kind", "place", "paper", "measured", "low", "high", "interval", "holds")
        names += ("reason", "cause", "because", "sets", "slack", "values")
        return {name: plain(getattr(self, name)) for name in names}


def source_of(kind: Kind) -> Source:
    """Who says a claim of that kind: the paper or we."""
    return "paper" if kind in get_args(PaperKind) else "ours"


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
        margin: by how much the statistic passes; negative where it does not.
        values: the numbers themselves.
        statistic: what of them is measured.
        slack: by which factor the statistic stays within a bound, where both are positive.
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
    slack: float | None = None


class Condition(Checked, ABC):
    """A condition on the mean over seeds, or on another statistic: that it lies in a range.

    The statistic's 95 % interval decides. Wholly inside the range, the condition holds; wholly outside, it fails; if
    it reaches across an end, other seeds may say otherwise and nothing is decided. A single number, and the least or
    the largest of all runs, decide by themselves: one run is a witness, or a counterexample.
    """

    strict: ClassVar[bool] = False
    """Whether a number at an end does not pass."""

    @property
    @abstractmethod
    def ends(self) -> Range:
        """The least and the greatest value that pass; where it is strict, the values between them pass."""

    def passes(self, margin: float) -> bool:
        """Whether a number passes that lies inside by so much; outside, the margin is negative."""
        return margin > 0 if self.strict else margin >= 0

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
        lower, upper = self.ends
        margin = min(mean - lower, upper - mean)
        judged = replace(judged, margin=margin, reason=self._words(mean, margin, unit), slack=_slack(mean, self.ends))
        return self._decided(judged)

    def _decided(self, judged: Judged) -> Judged:
        (lower, upper), low, high = self.ends, judged.low, judged.high
        if judged.statistic in ("number", "least", "largest"):
            return replace(
                judged, holds=self.passes(judged.margin), reason=judged.reason + _share_of_seeds(judged, self.ends)
            )
        if low is None or high is None:
            return replace(judged, reason=f"{judged.reason}; one seed has no interval, so nothing is decided")
        at_an_end = low <= lower <= high or low <= upper <= high
        if lower <= low and high <= upper and not (self.strict and at_an_end):
            return replace(judged, holds=True)
        if high < lower or low > upper or (self.strict and low == high and at_an_end):
            return replace(judged, holds=False)
        more = "; the interval contains the bound, so other seeds may say otherwise"
        return replace(judged, reason=judged.reason + (_seeds_needed(judged, lower) or more))

    @abstractmethod
    def _words(self, mean: float, margin: float, unit: str) -> str: ...


@dataclass(frozen=True)
class AtLeast(Condition):
    """That the mean over seeds, or another statistic, is no smaller than a bound.

    Arguments:
        bound: the smallest number that passes.

    >>> AtLeast(95).judge([99.0, 100.0, 98.0], unit="%").reason
    '99.0 % is at least 95.0 %, by 4.0 points'
    """

    bound: float

    @property
    def ends(self) -> Range:
        return self.bound, math.inf

    def _words(self, mean: float, margin: float, unit: str) -> str:
        return _one_sided(mean, self.bound, margin, unit, ("at least", "below"))


@dataclass(frozen=True)
class AtMost(Condition):
    """That the mean over seeds is no larger than a bound; arguments as for :class:`AtLeast`.

    >>> AtMost(0.85).judge([0.86, 0.88]).reason
    '0.870 is above 0.850, by 0.020; the interval contains the bound, so other seeds may say otherwise'
    >>> [AtMost(0.85).judge(values).holds for values in ([0.7, 0.71], [0.7, 0.9], [0.98, 0.99], [0.7])]
    [True, None, False, None]
    """

    bound: float

    @property
    def ends(self) -> Range:
        return -math.inf, self.bound

    def _words(self, mean: float, margin: float, unit: str) -> str:
        return _one_sided(mean, self.bound, margin, unit, ("at most", "above"))


class Above(AtLeast):
    """That it is larger than a bound: what equals it does not pass.

    >>> Above(0.0).judge([0.0, 0.0]).holds, AtLeast(0.0).judge([0.0, 0.0]).holds
    (False, True)
    """

    strict = True

    def _words(self, mean: float, margin: float, unit: str) -> str:
        return _one_sided(mean, self.bound, margin, unit, ("above" if margin > 0 else "at most", "below"))


class Below(AtMost):
    """That it is smaller than a bound: what equals it does not pass."""

    strict = True

    def _words(self, mean: float, margin: float, unit: str) -> str:
        return _one_sided(mean, self.bound, margin, unit, ("below" if margin > 0 else "at least", "above"))


@dataclass(frozen=True)
class Between(Condition):
    """That the mean over seeds lies in a range.

    Arguments:
        lower: its lower end.
        upper: its upper end.

    >>> Between(45, 60).judge([52.0, 53.0], unit="%").reason
    '52.5 % lies in [45.0 %, 60.0 %], 7.5 points inside'
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        require(self.lower <= self.upper, f"lower must be at most upper, got {self.lower} and {self.upper}")

    @property
    def ends(self) -> Range:
        return self.lower, self.upper

    def _words(self, mean: float, margin: float, unit: str) -> str:
        digits = _digits(margin, mean, self.lower, self.upper, unit=unit)
        ends = f"[{show_number(self.lower, unit, digits)}, {show_number(self.upper, unit, digits)}]"
        away, at = _margin(abs(margin), unit, digits), show_number(mean, unit, digits)
        if margin >= 0:
            return f"{at} lies in {ends}, {away} inside"
        return f"{at} lies {away} {'below' if mean < self.lower else 'above'} {ends}"


def _one_sided(mean: float, bound: float, margin: float, unit: str, words: tuple[str, str]) -> str:
    digits = _digits(margin, mean, bound, unit=unit)
    word = words[0] if margin >= 0 else words[1]
    found = f"{show_number(mean, unit, digits)} is {word} {show_number(bound, unit, digits)}"
    return f"{found}, by {_margin(abs(margin), unit, digits)}"


def _slack(mean: float, ends: Range) -> float | None:
    """By which factor a number stays within its bound; None where a factor says nothing."""
    lower, upper = ends
    if math.isinf(lower) and mean > 0 and 0 < upper < math.inf:
        return upper / mean
    return mean / lower if math.isinf(upper) and 0 < lower < math.inf and 0 < mean < math.inf else None


def _share_of_seeds(judged: Judged, ends: Range) -> str:
    """Of a bound on all seeds: of how many other seeds it holds, since that n of n obey says no more than that."""
    every = math.isinf(ends[1]) if judged.statistic == "least" else math.isinf(ends[0])
    if judged.statistic == "number" or not every or judged.margin < 0 or len(judged.values) < 2:
        return ""
    share = 100 * _CONFIDENCE ** (1 / len(judged.values))
    return f"; this holds for at least {share:.0f} % of all seeds, with 95 % confidence"


def _seeds_needed(judged: Judged, bound: float) -> str:
    """Of a share that all seeds meet: how many it would take to confirm the bound."""
    if judged.statistic != "share" or judged.measured != 1.0 or not 0 < bound < 1:
        return ""
    needed = math.ceil(math.log(_CONFIDENCE / 2) / math.log(bound))
    return f"; all {len(judged.values)} seeds pass, and it would take {needed} of {needed} to confirm the bound"


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
