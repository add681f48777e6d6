import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beyondkernels.core import InputError
from beyondkernels.lab import SHARE, Above, AtLeast, AtMost, Below, Between, Claim, mean_interval

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


@given(VALUES, st.floats(-1e3, 1e3), st.floats(0, 100))
def test_the_interval_decides(values, bound, width):
    _, low, high, _ = mean_interval(values)
    assert low is not None and high is not None
    for test, lower, upper in (
        (AtLeast(bound), bound, math.inf),
        (AtMost(bound), -math.inf, bound),
        (Between(bound, bound + width), bound, bound + width),
    ):
        expected = True if lower <= low and high <= upper else False if high < lower or low > upper else None
        assert test.judge(values).holds is expected
        number = test.judge(values[:1], statistic="number").holds  # a single number that no seed changes
        assert number == (lower <= values[0] <= upper)
    assert AtMost(bound).judge(values[:1]).holds is None  # one seed has no interval


@pytest.mark.parametrize("statistic", ["mean", "number", "largest"])
def test_what_equals_a_strict_bound_does_not_pass(statistic):
    """Two learners that agree on every seed are not told apart by "clearly better"."""
    for strict, loose, sign in ((Above, AtLeast, 1), (Below, AtMost, -1)):
        equal, beyond = [0.0, 0.0], [sign * 1e-9, sign * 1e-9]
        assert loose(0.0).judge(equal, statistic=statistic).holds is True
        assert strict(0.0).judge(equal, statistic=statistic).holds is False
        assert strict(0.0).judge(beyond, statistic=statistic).holds is True


@pytest.mark.parametrize(
    ("judged", "holds", "reason"),
    [
        (AtLeast(80).judge([70.0], "%", statistic="number"), False, "70.0 % is below 80.0 %, by 10.0 points"),
        (AtLeast(80).judge([79.96], "%", statistic="number"), False, "79.96 % is below 80.00 %, by 0.04 points"),
        (AtMost(1.35).judge([0.03], statistic="number"), True, "0.03 is at most 1.35, by 1.32"),
        (AtMost(1e-5).judge([2e-5], statistic="number"), False, "2.0 × 10⁻⁵ is above 1.0 × 10⁻⁵, by 1.0 × 10⁻⁵"),
        (
            Between(45, 60).judge([44.0], "%", statistic="number"),
            False,
            "44.0 % lies 1.0 points below [45.0 %, 60.0 %]",
        ),
        (
            Between(45, 60).judge([61.5], "%", statistic="number"),
            False,
            "61.5 % lies 1.5 points above [45.0 %, 60.0 %]",
        ),
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
    claim = Claim("a", "text", math.inf, np.float64("nan"), 1.0, 2.0, "t interval", True, "why", "%")
    written = json.loads(json.dumps(claim.as_dict(), allow_nan=False))
    assert {"source", "kind", "place", "cause", "because", "sets", "values"} <= set(written)
    assert written["paper"] is None
    assert written["measured"] is None
    assert written["holds"] is True


def test_a_bound_on_all_seeds_says_how_many_of_all_obey():
    all_ = AtLeast(0.0).judge([1.0, 2.0, 3.0], statistic="least")
    assert all_.holds and all_.measured == 1.0 and f"{100 * 0.05 ** (1 / 3):.0f} % of all seeds" in all_.reason
    assert AtLeast(1.5).judge([1.0, 2.0, 3.0], statistic="least").holds is False
    existence = AtMost(1.5).judge([1.0, 2.0, 3.0], statistic="least")
    assert existence.holds and "of all seeds" not in existence.reason  # one witness is enough
    assert AtMost(5.0).judge([1.0, 2.0, 3.0], statistic="median").holds
    assert AtMost(2.5).judge([1.0, 2.0, 3.0], statistic="median").holds is None


@pytest.mark.parametrize(("failures", "holds"), [(0, None), (1, None), (2, False)])
def test_few_seeds_can_refute_a_high_probability_and_not_confirm_it(failures, holds):
    judged = AtLeast(0.99).judge([0.0] * failures + [1.0] * (15 - failures), within=SHARE, statistic="share")
    assert judged.holds is holds
    assert ("368 of 368" in judged.reason) is (failures == 0)
    assert 0.99**368 <= 0.025 < 0.99**367  # as many as it takes, if the share were just below the bound


def test_a_bound_that_holds_by_far_says_little():
    for condition, value in ((AtMost(50.0), 0.4), (AtLeast(0.4), 50.0)):
        judged = condition.judge([value] * 2)
        claim = Claim("a", "text", holds=judged.holds, kind="bound", slack=judged.slack)
        assert judged.slack == pytest.approx(125.0) and claim.says_little and claim.source == "paper"
        assert not replace(claim, kind="control").says_little and replace(claim, kind="control").source == "ours"
    assert AtMost(0.0).judge([-1.0, -1.0]).slack is None  # no factor leads from a negative number to zero
