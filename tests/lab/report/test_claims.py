import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beyondkernels.core import InputError
from beyondkernels.lab import AtLeast, AtMost, Between, Claim, mean_interval

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


@given(VALUES, st.floats(-1e3, 1e3), st.floats(0, 100))
def test_the_mean_decides(values, bound, width):
    mean = values[0] if len(set(values)) == 1 else math.fsum(values) / len(values)  # of equal numbers without rounding
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
        (AtLeast(80).judge([70.0], "%"), False, "70.0 % is below 80.0 %, by 10.0 points"),
        (AtLeast(80).judge([79.96], "%"), False, "79.96 % is below 80.00 %, by 0.04 points"),
        (AtMost(1.35).judge([0.03]), True, "0.03 is at most 1.35, by 1.32"),
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


def test_between_refuses_an_empty_interval():
    with pytest.raises(InputError, match="lower must be at most upper, got 2 and 1"):
        Between(2, 1)


def test_json_has_the_keys_of_the_contract_and_no_infinities():
    claim = Claim("a", "text", math.inf, np.float64("nan"), 1.0, 2.0, "kind", True, "why", "%")
    written = json.loads(json.dumps(claim.as_dict(), allow_nan=False))
    assert list(written)[-2:] == ["strength", "values"]
    assert written["paper"] is None
    assert written["measured"] is None
    assert written["holds"] is True


def test_a_bound_on_all_seeds_says_how_many_of_all_obey():
    all_ = AtLeast(0.0).judge([1.0, 2.0, 3.0], statistic="least")
    assert all_.holds and all_.measured == 1.0 and f"{100 * 0.05 ** (1 / 3):.0f} % of all seeds" in all_.reason
    assert AtLeast(1.5).judge([1.0, 2.0, 3.0], statistic="least").holds is False
    existence = AtMost(1.5).judge([1.0, 2.0, 3.0], statistic="least")
    assert existence.holds and "other seeds may say otherwise" in existence.reason
    assert AtMost(5.0, "clearly").judge([1.0, 2.0, 3.0], statistic="median").holds
    assert AtMost(2.5, "clearly").judge([1.0, 2.0, 3.0], statistic="median").holds is False
