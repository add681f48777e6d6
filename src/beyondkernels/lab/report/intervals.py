"""Intervals over seeds: of a mean, a median, a share, and of the least or the largest of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from beyondkernels.core import require, require_between

Range = tuple[float, float]
"""The least and the greatest value that a quantity can have."""

ANY: Range = (-math.inf, math.inf)
NON_NEGATIVE: Range = (0.0, math.inf)
SHARE: Range = (0.0, 1.0)
PERCENT: Range = (0.0, 100.0)

Statistic = Literal["mean", "median", "share", "least", "largest", "number"]
"""What a claim is about; ``number`` is a single number that was already computed from several runs."""


@dataclass(frozen=True)
class Interval:
    """A statistic over seeds, with its interval.

    Arguments:
        measured: the statistic; None without numbers.
        low: the lower end; None where there is no interval, minus infinity where nothing bounds it from below.
        high: the upper end.
        label: what kind of interval it is.
    """

    measured: float | None
    low: float | None
    high: float | None
    label: str


def interval_of(
    values: Sequence[float], statistic: Statistic = "mean", within: Range = ANY, beside: float = 0.0
) -> Interval:
    """The statistic over seeds with its interval.

    Arguments:
        values: one for each seed.
        statistic: what is said of them.
        within: the least and the greatest value there can be.
        beside: as in :func:`mean_interval`; means alone know of it.
    """
    v = sorted(float(value) for value in values)
    require(all(map(math.isfinite, v)), f"values must be finite, got {v}")
    if not v:
        return Interval(None, None, None, "no value")
    if statistic == "number":
        return Interval(v[0], None, None, "one number over all seeds")
    if statistic == "share":
        return share_interval(v)
    if statistic == "median":
        return median_interval(v)
    if statistic in ("least", "largest"):
        return extreme_interval(v, statistic == "least", within)
    return Interval(*mean_interval(values, within=within, beside=beside))


def mean_interval(
    values: Sequence[float], level: float = 0.95, within: Range = ANY, beside: float = 0.0
) -> tuple[float | None, float | None, float | None, str]:
    r"""The mean over seeds with its t interval, and a label that says what the interval is.

    .. math:: h = t_{n-1,\,(1+\text{level})/2} \cdot s / \sqrt n, \qquad s^2 = \tfrac{1}{n-1} \sum_i (v_i - \bar v)^2,
              \qquad g^{-1}\bigl(g(\bar v) \pm g'(\bar v)\, h\bigr)

    with g(v) = v where nothing bounds the quantity, log(v − a) where it is at least a, and log((v − a)/(b − v)) where
    it lies between a and b: the interval never leaves the range, and holds the true mean more often than v̄ ± h, cut at
    the ends, does. With three to ten seeds, shares between beta(½, ½) and beta(20, 1): in 93 to 97 % of all cases, cut
    89 to 95 %; very skewed ones such as beta(5, 0.2): 85 to 88 %; exponential sizes: 93 to 94 %, cut 88 to 90 %. A
    heavy tail that few seeds have seen escapes both (log-normal sizes with deviation 2: about 70 %), mostly by an upper
    end that is too low.

    A single value has no spread, so no interval; values that are all alike have one without width.

    Arguments:
        values: the v_i, one for each seed.
        level: how often such intervals hold the true mean, for independent normal values.
        within: the least and the greatest value there can be, a and b.
        beside: the standard error due to what seeds do not show, such as the choice of test points they share. Both
            add up as independent errors do.

    >>> mean_interval([1.0, 2.0, 3.0])
    (2.0, -0.484..., 4.484..., '95 % t interval over 3 seeds')
    >>> mean_interval([0.5, 0.75, 1.0], within=(0.0, 1.0))
    (0.75, 0.098..., 0.988..., '95 % t interval over 3 seeds')
    >>> mean_interval([7.0])
    (7.0, None, None, 'one seed, no interval')
    """
    require_between("level", level, 0, 1, "()")
    v = [float(value) for value in values]
    require(all(map(math.isfinite, v)), f"values must be finite, got {v}")
    n = len(v)
    if n == 0:
        return None, None, None, "no value"
    mean = math.fsum(v) / n if min(v) < max(v) else v[0]  # a third of three times 0.7 is not 0.7
    if n == 1:
        return mean, None, None, "one seed, no interval"
    from scipy.special import ndtri, stdtrit

    try:
        s = math.sqrt(math.fsum((value - mean) ** 2 for value in v) / (n - 1))
    except OverflowError:
        # hypot scales before it squares, so losses of 1e200, which training does reach, have a deviation.
        s = math.hypot(*(value - mean for value in v)) / math.sqrt(n - 1)
    # Student's t and not the normal distribution: with three seeds their quantiles are 4.30 and 1.96.
    half = float(stdtrit(n - 1, (1 + level) / 2)) * s / math.sqrt(n)
    half = math.hypot(half, float(ndtri((1 + level) / 2)) * beside) if beside else half
    low, high = _around(mean, half, within)
    return mean, low, high, f"{100 * level:g} % t interval over {n} seeds{' and test points' if beside else ''}"


def _around(mean: float, half: float, within: Range) -> Range:
    """An interval about a mean, on the scale on which the range has no end."""
    a, b = within
    if half == 0 or not a < mean < b:  # on an end, or beyond what was declared: there is no such scale
        return max(mean - half, min(a, mean)), min(mean + half, max(b, mean))
    if math.isinf(a) and math.isinf(b):
        return mean - half, mean + half
    if math.isinf(b):
        return a + (mean - a) * _exp(-half / (mean - a)), a + (mean - a) * _exp(half / (mean - a))
    if math.isinf(a):
        return b - (b - mean) * _exp(half / (b - mean)), b - (b - mean) * _exp(-half / (b - mean))
    odds, step = (mean - a) / (b - mean), half * (b - a) / ((mean - a) * (b - mean))
    low, high = odds * _exp(-step), odds * _exp(step)
    return a + (b - a) * low / (1 + low), b - (b - a) / (1 + high)


def _exp(x: float) -> float:
    # e⁷⁰⁹ is the last float; an end so far out says the same.
    return math.exp(min(x, 700.0))


def median_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    r"""The median over seeds, between two of the values.

    .. math:: P\bigl(v_{(k)} \le \text{median} \le v_{(n+1-k)}\bigr) \ge 1 - 2\, P(\mathrm{Bin}(n, \tfrac12) < k)

    for any distribution; k is the largest with at least that level, or 1 where n is too small for any: the label says
    which level is reached.

    Arguments:
        values: one for each seed.
        level: how often such intervals hold the true median.

    >>> median_interval([3.0, 1.0, 2.0, 9.0, 4.0])
    Interval(measured=3.0, low=1.0, high=9.0, label='93.8 % interval of the median over 5 seeds')
    """
    v, n = sorted(values), len(values)
    middle = (v[(n - 1) // 2] + v[n // 2]) / 2
    if n == 1:
        return Interval(middle, None, None, "one seed, no interval")

    def reached(k: int) -> float:
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    # Below six seeds even the whole range holds the median less often than 95 %, so the label says how often.
    k = max((k for k in range(1, n // 2 + 1) if reached(k) >= level), default=1)
    return Interval(middle, v[k - 1], v[n - k], f"{100 * reached(k):.3g} % interval of the median over {n} seeds")


def share_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    r"""The share of seeds of which something is so, with the interval of Clopper and Pearson.

    .. math:: \bigl[B^{-1}(q;\, k,\, n-k+1),\; B^{-1}(1-q;\, k+1,\, n-k)\bigr], \qquad q = (1-\text{level})/2,

    with the quantiles of beta distributions, for k of n seeds; it holds the true share at least that often, whatever it
    is.

    Arguments:
        values: 1 for each seed of which it is so, else 0.
        level: how often such intervals hold the true share.

    >>> share_interval([1.0, 1.0, 1.0, 1.0, 1.0])
    Interval(measured=1.0, low=0.478..., high=1.0, label='95 % interval of the share of 5 seeds')
    """
    require(set(values) <= {0.0, 1.0}, f"a share is of values 0 and 1, got {list(values)}")
    from scipy.special import betaincinv

    n, k = len(values), round(sum(values))
    # Exact rather than approximate: with five of five seeds a normal interval would have no width.
    low = float(betaincinv(k, n - k + 1, (1 - level) / 2)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, (1 + level) / 2)) if k < n else 1.0
    return Interval(k / n, low, high, f"{100 * level:g} % interval of the share of {n} seeds")


def extreme_interval(values: Sequence[float], least: bool, within: Range = ANY, level: float = 0.95) -> Interval:
    r"""The least (or largest) over seeds, and where that of as many other seeds lies.

    .. math:: P\bigl(\min_i v'_i > v_{(k)}\bigr) = \binom{2n-k}{n} \Big/ \binom{2n}{n}

    for any continuous distribution, because every order of the 2n seeds is equally likely; k is the smallest for which
    this is at most 1 − level. Nothing but the quantity's own range bounds the least of other seeds from below.

    Arguments:
        values: one for each seed.
        least: the least; otherwise the largest.
        within: the least and the greatest value there can be.
        level: how often the least of other seeds lies there.

    >>> extreme_interval([3.0, 1.0, 2.0, 9.0, 4.0], least=True, within=(0.0, 10.0))
    Interval(measured=1.0, low=0.0, high=4.0, label='97.6 % interval for the least of 5 new seeds')
    """
    sign, n = (1.0 if least else -1.0), len(values)
    v = sorted(sign * value for value in values)
    word = "least" if least else "largest"
    if n == 1:
        return Interval(sign * v[0], None, None, "one seed, no interval")

    def beyond(k: int) -> float:
        return math.comb(2 * n - k, n) / math.comb(2 * n, n)

    k = next((k for k in range(1, n + 1) if beyond(k) <= 1 - level), n)
    # The least of other seeds may lie below all of these, so on that side only the quantity's own range is an end.
    ends = (within[0] if least else within[1], sign * v[0], sign * v[k - 1])
    return Interval(
        sign * v[0], min(ends), max(ends), f"{100 * (1 - beyond(k)):.3g} % interval for the {word} of {n} new seeds"
    )
