"""Claims: sentences that can fail, with the published value, the measured one, and whether they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from beyondkernels.core import require, require_between
from beyondkernels.reports.numbers import default_decimals, plain, show_number

SILENT = "says nothing at this scale"
"""The reason of a claim that says nothing at the scale that was run."""

Verdict = Literal["holds", "fails", "silent"]

_SIDES = {"at least": "below", "at most": "above"}


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

    @property
    def verdict(self) -> Verdict:
        """``holds``, ``fails`` or ``silent``."""
        if self.holds is None:
            return "silent"
        return "holds" if self.holds else "fails"

    def as_dict(self) -> dict[str, Any]:
        """The claim as ``bk run --json`` writes it: non-finite numbers are null."""
        names = ("id", "text", "paper", "measured", "low", "high", "interval", "holds", "reason")
        return {name: plain(getattr(self, name)) for name in names}


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float | None, float | None, float | None, str]:
    r"""The mean over seeds with its t interval, and a label that says what the interval is.

    .. math:: \bar v \pm t_{n-1,\,(1+\text{level})/2} \cdot s / \sqrt n,
              \qquad s^2 = \tfrac{1}{n-1} \sum_i (v_i - \bar v)^2

    A single value has no spread, so no interval.

    Arguments:
        values: the v_i, one for each seed.
        level: how often such intervals hold the true mean, for independent normal values.

    >>> mean_interval([1.0, 2.0, 3.0])
    (2.0, -0.484..., 4.484..., '95 % t interval over 3 seeds')
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
    from scipy.special import stdtrit

    s = math.sqrt(math.fsum((value - mean) ** 2 for value in v) / (n - 1))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * s / math.sqrt(n)
    return mean, mean - half, mean + half, f"{100 * level:g} % t interval over {n} seeds"


def at_least(
    id: str,  # noqa: A002
    text: str,
    values: Sequence[float | None],
    bound: float,
    *,
    paper: float | str | None = None,
    unit: str = "",
    speaks: bool = True,
    silence: str = SILENT,
) -> Claim:
    """The claim that the mean over seeds is no smaller than a bound.

    Arguments:
        id: the claim's short name.
        text: its sentence.
        values: one for each seed; ``None`` or a non-finite number where a run is missing.
        bound: the smallest mean at which the claim holds.
        paper: the published value.
        unit: written behind the numbers.
        speaks: whether the claim says anything at this scale.
        silence: the reason given when it does not.

    >>> claim = at_least("network", "the network learns the parity", [99.0, 100.0, 98.0], 95, unit="%")
    >>> claim.holds, claim.reason
    (True, '99.0 % is at least 95.0 %, by 4.0 points')
    """
    return _one_sided("at least", id, text, values, bound, paper, unit, speaks, silence)


def at_most(
    id: str,  # noqa: A002
    text: str,
    values: Sequence[float | None],
    bound: float,
    *,
    paper: float | str | None = None,
    unit: str = "",
    speaks: bool = True,
    silence: str = SILENT,
) -> Claim:
    """The claim that the mean over seeds is no larger than a bound; arguments as for :func:`at_least`.

    >>> at_most("kernel", "the tangent kernel does not", [0.86, 0.88], 0.85).reason
    '0.870 is above 0.850, by 0.020; the interval contains the bound, so other seeds may say otherwise'
    """
    return _one_sided("at most", id, text, values, bound, paper, unit, speaks, silence)


def between(
    id: str,  # noqa: A002
    text: str,
    values: Sequence[float | None],
    lower: float,
    upper: float,
    *,
    paper: float | str | None = None,
    unit: str = "",
    speaks: bool = True,
    silence: str = SILENT,
) -> Claim:
    """The claim that the mean over seeds lies in [lower, upper]; other arguments as for :func:`at_least`.

    >>> between("one_step", "one step is not enough", [52.0, 53.0], 45, 60, unit="%").reason
    '52.5 % lies in [45.0 %, 60.0 %], 7.5 points inside'
    """
    require(lower <= upper, f"lower must be at most upper, got {lower} and {upper}")
    claim = _measured(id, text, values, paper, unit, speaks, silence)
    if claim.reason or claim.measured is None:
        return claim
    mean = claim.measured
    margin = min(mean - lower, upper - mean)
    digits = _digits(margin, mean, lower, upper, unit=unit)
    ends = f"[{show_number(lower, unit, digits)}, {show_number(upper, unit, digits)}]"
    away, at = _margin(abs(margin), unit, digits), show_number(mean, unit, digits)
    if margin >= 0:
        reason = f"{at} lies in {ends}, {away} inside"
    else:
        reason = f"{at} lies {away} {'below' if mean < lower else 'above'} {ends}"
    return _decided(claim, margin >= 0, reason, (lower, upper))


def _one_sided(
    side: Literal["at least", "at most"],
    name: str,
    text: str,
    values: Sequence[float | None],
    bound: float,
    paper: float | str | None,
    unit: str,
    speaks: bool,
    silence: str,
) -> Claim:
    claim = _measured(name, text, values, paper, unit, speaks, silence)
    if claim.reason or claim.measured is None:
        return claim
    mean = claim.measured
    margin = mean - bound if side == "at least" else bound - mean
    digits = _digits(margin, mean, bound, unit=unit)
    words = side if margin >= 0 else _SIDES[side]
    reason = f"{show_number(mean, unit, digits)} is {words} {show_number(bound, unit, digits)}"
    return _decided(claim, margin >= 0, f"{reason}, by {_margin(abs(margin), unit, digits)}", (bound,))


def _measured(
    name: str,
    text: str,
    values: Sequence[float | None],
    paper: float | str | None,
    unit: str,
    speaks: bool,
    silence: str,
) -> Claim:
    """The claim with its measured value, undecided; it has a reason already when nothing can be decided."""
    there = [float(value) for value in values if value is not None and math.isfinite(value)]
    mean, low, high, interval = mean_interval(there)
    missing = len(values) - len(there)
    if not speaks:
        reason = silence
    elif not there:
        reason = "no run gave a value"
    elif missing:
        reason = f"{missing} of {len(values)} runs gave no value"
    else:
        reason = ""
    return Claim(name, text, paper, mean, low, high, interval, None, reason, unit)


def _decided(claim: Claim, holds: bool, reason: str, bounds: tuple[float, ...]) -> Claim:
    low, high = claim.low, claim.high
    if low is not None and high is not None and low < high and any(low <= bound <= high for bound in bounds):
        reason += "; the interval contains the bound, so other seeds may say otherwise"
    return Claim(
        claim.id, claim.text, claim.paper, claim.measured, low, high, claim.interval, holds, reason, claim.unit
    )


def _digits(margin: float, mean: float, *bounds: float, unit: str) -> int | None:
    """Enough decimals to tell the numbers apart and to keep a bound whole: 79.96 against 80.00, 15.90 against 1.35."""
    largest = max(map(abs, (mean, *bounds)))
    if unit != "%" and (0 < largest < 1e-3 or largest >= 1e7):
        return None
    usual = max(default_decimals(number, unit) for number in (largest, *bounds))
    return usual if margin == 0 else min(max(usual, -math.floor(math.log10(abs(margin)))), 9)


def _margin(margin: float, unit: str, digits: int | None) -> str:
    return f"{show_number(margin, '', digits)} points" if unit == "%" else show_number(margin, unit, digits)
