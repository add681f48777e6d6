import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beyondkernels.core import InputError
from beyondkernels.reports import Claim, at_least, at_most, between, mean_interval

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


@given(VALUES)
def test_interval_is_the_t_interval_of_scipy(values):
    mean, low, high, label = mean_interval(values)
    assert mean == pytest.approx(np.mean(values), abs=1e-9)
    scale = np.std(values, ddof=1) / np.sqrt(len(values))
    if scale > 1e-9:
        expected = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=scale)
        assert (low, high) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert label == f"95 % t interval over {len(values)} seeds"


def test_interval_holds_the_true_mean_as_often_as_it_says():
    draws = np.random.Generator(np.random.Philox(3)).normal(2.0, 5.0, size=(3000, 4))
    ends = np.array([mean_interval(list(v), level=0.8)[1:3] for v in draws], dtype=float)
    hits = int(((ends[:, 0] <= 2.0) & (ends[:, 1] >= 2.0)).sum())
    assert abs(hits / 3000 - 0.8) < 4 * math.sqrt(0.8 * 0.2 / 3000)


def test_one_value_or_none_has_no_interval():
    assert mean_interval([3.0]) == (3.0, None, None, "one seed, no interval")
    assert mean_interval([]) == (None, None, None, "no value")


def test_interval_refuses_what_is_not_finite():
    with pytest.raises(InputError, match="values must be finite"):
        mean_interval([1.0, math.nan])
    with pytest.raises(InputError, match=r"level must lie in \(0, 1\), got 1"):
        mean_interval([1.0], level=1)


@given(VALUES, st.floats(-1e3, 1e3), st.floats(0, 100))
def test_the_mean_decides(values, bound, width):
    mean = math.fsum(values) / len(values)
    assert at_least("a", "", values, bound).holds == (mean >= bound)
    assert at_most("a", "", values, bound).holds == (mean <= bound)
    assert between("a", "", values, bound, bound + width).holds == (bound <= mean <= bound + width)


@pytest.mark.parametrize(
    ("claim", "holds", "reason"),
    [
        (at_least("a", "", [90.0], 80, unit="%"), True, "90.0 % is at least 80.0 %, by 10.0 points"),
        (at_least("a", "", [70.0], 80, unit="%"), False, "70.0 % is below 80.0 %, by 10.0 points"),
        (at_least("a", "", [79.96], 80, unit="%"), False, "79.96 % is below 80.00 %, by 0.04 points"),
        (at_least("a", "", [80.0], 80, unit="%"), True, "80.0 % is at least 80.0 %, by 0.0 points"),
        (at_most("a", "", [0.03], 1.35), True, "0.03 is at most 1.35, by 1.32"),
        (at_least("a", "", [15.93], 1.35), True, "15.93 is at least 1.35, by 14.58"),
        (at_most("a", "", [2e-5], 1e-5), False, "2.0 × 10⁻⁵ is above 1.0 × 10⁻⁵, by 1.0 × 10⁻⁵"),
        (between("a", "", [44.0], 45, 60, unit="%"), False, "44.0 % lies 1.0 points below [45.0 %, 60.0 %]"),
        (between("a", "", [61.5], 45, 60, unit="%"), False, "61.5 % lies 1.5 points above [45.0 %, 60.0 %]"),
    ],
)
def test_reason_says_by_how_much(claim, holds, reason):
    assert claim.holds is holds
    assert claim.reason == reason
    assert claim.verdict == ("holds" if holds else "fails")


def test_an_interval_around_the_bound_is_said():
    assert "other seeds may say otherwise" in at_least("a", "", [79.0, 82.0], 80).reason
    assert "otherwise" not in at_least("a", "", [89.0, 89.1], 80).reason
    assert "otherwise" not in at_least("a", "", [80.0, 80.0], 80).reason


@pytest.mark.parametrize("lost", [None, math.nan, math.inf])
def test_missing_runs_leave_the_claim_open_but_show_the_rest(lost):
    claim = at_least("a", "text", [99.0, lost, 97.0], 50, paper=100.0, unit="%")
    assert claim.holds is None
    assert claim.verdict == "silent"
    assert claim.reason == "1 of 3 runs gave no value"
    assert claim.measured == 98.0
    assert claim.interval == "95 % t interval over 2 seeds"
    assert at_most("a", "", [], 1).reason == "no run gave a value"
    assert between("a", "", [lost], 0, 1).measured is None


def test_a_claim_that_does_not_speak_is_silent_and_still_measured():
    claim = at_most("a", "", [5.0], 1, speaks=False)
    assert (claim.holds, claim.reason, claim.measured) == (None, "says nothing at this scale", 5.0)
    assert at_least("a", "", [5.0], 1, speaks=False, silence="needs D = 100").reason == "needs D = 100"


def test_between_refuses_an_empty_interval():
    with pytest.raises(InputError, match="lower must be at most upper, got 2 and 1"):
        between("a", "", [1.0], 2, 1)


def test_json_has_the_keys_of_the_contract_and_no_infinities():
    claim = Claim("a", "text", math.inf, np.float64("nan"), 1.0, 2.0, "kind", True, "why", "%")
    written = json.loads(json.dumps(claim.as_dict(), allow_nan=False))
    assert list(written) == ["id", "text", "paper", "measured", "low", "high", "interval", "holds", "reason"]
    assert written["paper"] is None
    assert written["measured"] is None
    assert written["holds"] is True
