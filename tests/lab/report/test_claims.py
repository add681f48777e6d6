import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from beyondkernels.core import InputError
from beyondkernels.lab import AtLeast, AtMost, Between, Claim, mean_interval

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
    assert AtLeast(bound).judge(values).holds == (mean >= bound)
    assert AtMost(bound).judge(values).holds == (mean <= bound)
    assert Between(bound, bound + width).judge(values).holds == (bound <= mean <= bound + width)


@given(VALUES, st.floats(-1e3, 1e3))
def test_clearly_is_decided_by_the_interval(values, bound):
    mean, low, high, _ = mean_interval(values)
    clearly, forgiving = AtMost(bound, "clearly").judge(values), AtMost(bound, "unless clearly not").judge(values)
    if low is None or high is None:
        assert clearly.holds is forgiving.holds is None
    elif low < high:
        assert clearly.holds == (high < bound)
        assert forgiving.holds == (low <= bound)
    else:
        assert clearly.holds == (mean < bound)  # what equals the bound with every seed is not clear of it
        assert forgiving.holds == (mean <= bound)


@pytest.mark.parametrize(
    ("judged", "holds", "reason"),
    [
        (AtLeast(80).judge([90.0], "%"), True, "90.0 % is at least 80.0 %, by 10.0 points"),
        (AtLeast(80).judge([70.0], "%"), False, "70.0 % is below 80.0 %, by 10.0 points"),
        (AtLeast(80).judge([79.96], "%"), False, "79.96 % is below 80.00 %, by 0.04 points"),
        (AtLeast(80).judge([80.0], "%"), True, "80.0 % is at least 80.0 %, by 0.0 points"),
        (AtMost(1.35).judge([0.03]), True, "0.03 is at most 1.35, by 1.32"),
        (AtLeast(1.35).judge([15.93]), True, "15.93 is at least 1.35, by 14.58"),
        (AtMost(1e-5).judge([2e-5]), False, "2.0 × 10⁻⁵ is above 1.0 × 10⁻⁵, by 1.0 × 10⁻⁵"),
        (Between(45, 60).judge([44.0], "%"), False, "44.0 % lies 1.0 points below [45.0 %, 60.0 %]"),
        (Between(45, 60).judge([61.5], "%"), False, "61.5 % lies 1.5 points above [45.0 %, 60.0 %]"),
    ],
)
def test_reason_says_by_how_much(judged, holds, reason):
    assert judged.holds is holds
    assert judged.reason == reason


def test_an_interval_around_the_bound_is_said():
    assert "other seeds may say otherwise" in AtLeast(80).judge([79.0, 82.0]).reason
    assert "otherwise" not in AtLeast(80).judge([89.0, 89.1]).reason
    assert "otherwise" not in AtLeast(80).judge([80.0, 80.0]).reason


@pytest.mark.parametrize("lost", [None, math.nan, math.inf])
def test_missing_runs_leave_the_claim_open_but_show_the_rest(lost):
    judged = AtLeast(50).judge([99.0, lost, 97.0], "%")
    assert judged.holds is None
    assert judged.reason == "1 of 3 runs gave no value"
    assert judged.measured == 98.0
    assert judged.interval == "95 % t interval over 2 seeds"
    assert judged.values == (99.0, 97.0)
    assert AtMost(1).judge([]).reason == "no run gave a value"
    assert Between(0, 1).judge([lost]).measured is None


def test_intervals_keep_within_what_can_be():
    assert mean_interval([60.0, 99.0], within=(0.0, 100.0))[1:3] == (0.0, 100.0)
    _, low, high, _ = mean_interval([60.0, 61.0, 60.5], within=(0.0, 100.0))
    assert low is not None and high is not None and 0 < low < 60.5 < high < 100
    assert mean_interval([101.0, 101.0], within=(0.0, 100.0))[1:3] == (101.0, 101.0)  # never beside its mean


def test_between_refuses_an_empty_interval():
    with pytest.raises(InputError, match="lower must be at most upper, got 2 and 1"):
        Between(2, 1)


def test_json_has_the_keys_of_the_contract_and_no_infinities():
    claim = Claim("a", "text", math.inf, np.float64("nan"), 1.0, 2.0, "kind", True, "why", "%")
    written = json.loads(json.dumps(claim.as_dict(), allow_nan=False))
    assert list(written) == [
        "id",
        "text",
        "paper",
        "measured",
        "low",
        "high",
        "interval",
        "holds",
        "reason",
        "strength",
        "values",
    ]
    assert written["paper"] is None
    assert written["measured"] is None
    assert written["holds"] is True


def test_numbers_of_very_different_sizes_are_written_each_in_its_own_way() -> None:
    assert AtMost(0.1).judge([1.3e-5]).reason.startswith("1.3 × 10⁻⁵ is at most 0.100")
    assert AtLeast(20.0).judge([518_774.9]).reason == "518,775 is at least 20, by 518,755"
