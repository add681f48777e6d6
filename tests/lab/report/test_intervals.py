"""Intervals, against scipy, against enumeration, and how often they hold what they say."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from beyondkernels.core import InputError
from beyondkernels.lab import ANY, NON_NEGATIVE, PERCENT, SHARE, mean_interval
from beyondkernels.lab.report.intervals import (
    Interval,
    Range,
    extreme_interval,
    interval_of,
    median_interval,
    share_interval,
)

DRAWS = 3000


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def rate(draws: np.ndarray, truth: float, interval: Callable[[list[float]], tuple]) -> float:
    """How often intervals of the rows hold a number."""
    ends = [interval(row.tolist())[1:3] for row in draws]
    return sum(low <= truth <= high for low, high in ends) / len(ends)


def ends(found: Interval) -> tuple:
    return found.measured, found.low, found.high, found.label


def mean_and_ends(found: tuple) -> tuple[float, float, float]:
    return found[:3]


def bounds(found: Interval) -> tuple[float, float]:
    assert found.low is not None and found.high is not None
    return found.low, found.high


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8))
def test_an_unbounded_mean_has_the_t_interval_of_scipy(values):
    mean, low, high, label = mean_interval(values)
    assert mean == pytest.approx(np.mean(values), abs=1e-9)
    scale = np.std(values, ddof=1) / np.sqrt(len(values))
    if scale > 1e-9:
        expected = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=scale)
        assert (low, high) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert label == f"95 % t interval over {len(values)} seeds"


def test_an_unbounded_mean_is_held_as_often_as_it_says():
    hits = rate(generator(3).normal(2.0, 5.0, size=(DRAWS, 4)), 2.0, lambda v: mean_interval(v, level=0.8))
    assert abs(hits - 0.8) < 4 * math.sqrt(0.8 * 0.2 / DRAWS)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("shape", [(0.5, 0.5), (20.0, 1.0), (2.0, 20.0), (1.0, 1.0)])
def test_the_mean_of_a_share_is_held_where_a_cut_interval_misses(n, shape):
    """The documented 93 to 97 %; the interval about the mean, cut at 0 and 1, is worse wherever the two differ."""
    draws, truth = generator(7).beta(*shape, size=(DRAWS, n)), shape[0] / sum(shape)
    kept = rate(draws, truth, lambda v: mean_interval(v, within=SHARE))
    cut = rate(draws, truth, lambda v: mean_interval(v))  # cutting at what cannot be loses no coverage
    assert 0.925 < kept < 0.98
    assert kept > cut or abs(cut - 0.95) < 0.01


def test_the_mean_of_a_size_is_held_more_often_than_by_a_cut_interval():
    draws = generator(8).exponential(1.0, size=(DRAWS, 5))
    assert rate(draws, 1.0, lambda v: mean_interval(v, within=NON_NEGATIVE)) > 0.92
    assert rate(draws, 1.0, mean_interval) < 0.90


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=6),
    st.sampled_from([SHARE, NON_NEGATIVE, (-math.inf, 1.0), PERCENT, ANY]),
    st.sampled_from([0.0, 0.1]),
)
def test_an_interval_stays_within_what_can_be_and_holds_its_mean(values, within: Range, beside):
    mean, low, high = mean_and_ends(mean_interval(values, within=within, beside=beside))
    assert within[0] <= low <= mean + 1e-12 and mean - 1e-12 <= high <= within[1]


def test_the_scale_of_a_range_is_the_derivative_of_its_map():
    """The literal formula: g(v̄) ± g′(v̄) h, with a numerical derivative."""
    values = [0.2, 0.25, 0.4]
    mean, low, high = mean_and_ends(mean_interval(values))
    half = (high - low) / 2
    maps: dict[Range, tuple] = {
        (0.1, math.inf): (lambda v: math.log(v - 0.1), lambda z: 0.1 + math.exp(z)),
        (-math.inf, 0.7): (lambda v: -math.log(0.7 - v), lambda z: 0.7 - math.exp(-z)),
        (0.1, 0.7): (lambda v: math.log((v - 0.1) / (0.7 - v)), lambda z: 0.1 + 0.6 / (1 + math.exp(-z))),
    }
    for within, (there, back) in maps.items():
        slope = (there(mean + 1e-6) - there(mean - 1e-6)) / 2e-6
        expected = back(there(mean) - slope * half), back(there(mean) + slope * half)
        assert mean_interval(values, within=within)[1:3] == pytest.approx(expected, rel=1e-6)


def test_numbers_that_agree_have_an_interval_without_width():
    assert mean_interval([1.0, 1.0], within=SHARE)[1:3] == (1.0, 1.0)
    assert mean_interval([0.7] * 3)[:3] == (0.7, 0.7, 0.7)  # though a third of their sum is less
    assert mean_interval([101.0, 101.0], within=PERCENT)[1:3] == (101.0, 101.0)  # never beside its mean


def test_one_value_or_none_has_no_interval():
    for statistic in ("mean", "median", "least", "largest"):
        assert ends(interval_of([3.0], statistic)) == (3.0, None, None, "one seed, no interval")
        assert ends(interval_of([], statistic)) == (None, None, None, "no value")


def test_what_is_not_finite_is_refused():
    with pytest.raises(InputError, match="values must be finite"):
        interval_of([1.0, math.nan], "median")
    with pytest.raises(InputError, match=r"level must lie in \(0, 1\), got 1"):
        mean_interval([1.0], level=1)


@pytest.mark.parametrize("n", range(2, 13))
def test_a_median_lies_between_values_as_often_as_the_label_says(n):
    """Every pattern of values below and above the true median is equally likely: an enumeration."""
    found = median_interval([float(i) for i in range(n)])
    low, high = map(int, bounds(found))
    hits = sum(low < sum(below) <= high for below in itertools.product((0, 1), repeat=n))
    level = 100 * hits / 2**n
    assert found.label.startswith(f"{level:.3g} %") and found.measured == (n - 1) / 2
    assert level >= 95 or (low, high) == (0, n - 1)  # with fewer than six seeds no two values are 95 % sure


@pytest.mark.parametrize("n", [1, 4, 9])
def test_a_share_is_held_at_least_as_often_as_it_says(n):
    intervals = [share_interval([1.0] * k + [0.0] * (n - k)) for k in range(n + 1)]
    for truth in np.linspace(0.0, 1.0, 41):
        hit = sum(
            stats.binom.pmf(k, n, truth)
            for k, found in enumerate(intervals)
            if bounds(found)[0] <= truth <= bounds(found)[1]
        )
        assert hit >= 0.95 - 1e-12
    for k, found in enumerate(intervals):  # and is no wider than it must be
        exact = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
        assert (found.measured, *bounds(found)) == pytest.approx((k / n, exact.low, exact.high))
    with pytest.raises(InputError, match=r"0 and 1, got \[0.5\]"):
        share_interval([0.5])


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_least_of_other_seeds_lies_there_as_often_as_the_label_says(n):
    """Every choice of the first seeds among all is equally likely: an enumeration."""
    found = extreme_interval([float(i) for i in range(n)], least=True, within=NON_NEGATIVE)
    rank, hits, count = int(bounds(found)[1]), 0, 0
    for first in itertools.combinations(range(2 * n), n):
        count += 1
        hits += min(set(range(2 * n)) - set(first)) < first[rank]
    assert found.label == f"{100 * hits / count:.3g} % interval for the least of {n} new seeds"
    assert found.low == 0.0 and found.measured == 0.0
    assert hits / count >= 0.95 or rank == n - 1


def test_the_largest_is_the_least_upside_down():
    values = [3.0, 1.0, 2.0, 9.0, 4.0]
    least, largest = extreme_interval([-v for v in values], least=True), extreme_interval(values, least=False)
    assert (largest.measured, *bounds(largest)) == (9.0, -bounds(least)[1], math.inf)
    assert least.low == -math.inf


def test_an_interval_holds_what_was_measured_even_beyond_a_wrong_range():
    found = extreme_interval([-0.3, -0.2, -0.1], least=True, within=NON_NEGATIVE)
    assert bounds(found)[0] <= -0.3 == found.measured
