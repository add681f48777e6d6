from typing import Any

import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import NON_NEGATIVE, PERCENT, AtLeast, AtMost, Claim
from beyondkernels.lab.declaration.quantities import Quantities, Quantity
from beyondkernels.lab.declaration.rows import tabulate
from beyondkernels.lab.declaration.statements import Crossing, Provided, claim
from beyondkernels.lab.declaration.values import least, of
from beyondkernels.lab.report.claims import NOT_EVALUATED

QUANTITIES = Quantities(beta=Quantity("β"), error=Quantity("error", within=NON_NEGATIVE))


def rows(errors: dict[float, list[float | None]]) -> Any:
    return tabulate(
        {"beta": beta, "seed": seed, "status": "finished" if error is not None else "diverged", "error": error}
        for beta, values in errors.items()
        for seed, error in enumerate(values)
    )


def made(errors: dict[float, list[float | None]], test: Any, **more: Any) -> Claim:
    return claim("id", "The error is small", of("error", "beta"), test, **more).claim(rows(errors), True, QUANTITIES)


def test_a_free_coordinate_means_every_value() -> None:
    good = made({0.1: [1, 1.1], 0.2: [2, 2.1], 0.3: [1, 1.1]}, AtMost(3))
    assert good.holds and good.measured == pytest.approx(2.05)  # where it holds by the least
    assert good.reason.startswith("at β = 0.2: ") and good.values == (2, 2.1)
    bad = made({0.1: [1, 1.1], 0.2: [4, 4.1], 0.3: [9, 9]}, AtMost(3))
    assert bad.holds is False and bad.reason.startswith("at β = 0.2: ")  # the first where it fails


def test_a_run_without_a_number_leaves_it_open_unless_others_refute_it() -> None:
    open_ = made({0.1: [1, 1], 0.2: [1, None]}, AtMost(3))
    assert open_.holds is None and open_.reason == "at β = 0.2: 1 of 2 runs gave no value"
    refuted = made({0.1: [1, None], 0.2: [4, 4.1]}, AtMost(3))
    assert refuted.holds is False


def test_sets_of_seeds_are_judged_by_themselves() -> None:
    errors: dict[float, list[float | None]] = {0.1: [1.0, 1.1, 5.0, 5.1, 2.9, 3.0], 0.2: [1.0] * 6}
    sets, statement = [[0, 1], [2, 3], [4, 5], [6]], claim("id", "The error is small", of("error", "beta"), AtMost(3))
    found = statement.claim(rows(errors), True, QUANTITIES, sets)
    assert found.sets == (True, False, True, None)
    crossing = claim("id", "It is learnt", of("error", "beta"), Crossing(AtMost(3), 0.1, 0.2))
    assert crossing.claim(rows(errors), True, QUANTITIES, sets[:2]).sets == (False, True)


def test_a_cause_is_told_where_the_claim_does_not_hold() -> None:
    told: dict[str, Any] = {"cause": "size", "because": "β is too large"}
    for error, holds, cause in ((1.0, True, None), (9.0, False, "size")):
        found = made({0.1: [error, error]}, AtMost(3), **told)
        assert (found.holds, found.cause, found.because) == (holds, cause, told["because"] if cause else "")
    assert made({0.1: [9.0, 9.0]}, AtMost(3)).cause == "open"
    wrong: list[dict[str, Any]] = [{"cause": "size"}, {"kind": "bound"}, {"place": "Theorem 1"}]
    for each in wrong:
        with pytest.raises(InputError):
            claim("id", "…", of("error"), AtMost(3), **each)


def test_silence_keeps_what_was_measured() -> None:
    statement = claim("id", "The error is small", of("error", "beta"), AtMost(3), paper=2.5)
    silent = statement.claim(rows({0.1: [1, 2]}), False, QUANTITIES)
    assert (silent.holds, silent.reason, silent.measured, silent.paper) == (None, NOT_EVALUATED, 1.5, 2.5)
    before = statement.claim(None, True, QUANTITIES)
    assert (before.holds, before.measured, before.reason) == (None, None, "")


def test_nothing_is_said_of_nothing() -> None:
    empty = claim("id", "…", of("error", "beta"), AtMost(3), nowhere="it is learnt nowhere")
    assert empty.claim(rows({}), True, QUANTITIES).reason == "it is learnt nowhere"


@pytest.mark.parametrize("trained", [0.5, 0.1])
def test_a_claim_may_hold_only_provided_that(trained: float) -> None:
    table = rows({0.1: [5, 5.1]}).assign(train_error=trained)
    provided = Provided(least("train_error", per_seed=False), AtMost(0.12), "no run fits its sample; the least is {}")
    found = claim("id", "…", of("error", beta=0.1), AtLeast(3), provided=provided).claim(table, True, QUANTITIES)
    assert found.holds is (None if trained > 0.12 else True)
    assert (found.reason == "no run fits its sample; the least is 0.5") is (trained > 0.12)
    refuted = claim("id", "…", of("error", beta=0.1), AtLeast(9), provided=provided).claim(table, True, QUANTITIES)
    assert refuted.holds is False  # whatever the training was


def test_a_control_is_told_beside() -> None:
    table = rows({0.1: [1, 1.1], 0.2: [4, 8]})
    found = claim("id", "…", of("error", beta=0.1), AtMost(3), beside=("elsewhere", of("error", beta=0.2)))
    assert found.claim(table, True, QUANTITIES).reason.endswith("; elsewhere 6")
    lowest = claim("id", "…", of("error", beta=0.1), AtMost(3), beside=("at best", least("error", False, beta=0.2)))
    assert lowest.claim(table, True, QUANTITIES).reason.endswith("; at best 4")


def test_intervals_keep_within_what_can_be() -> None:
    wild = made({0.1: [0.1, 5.0]}, AtMost(9))
    assert wild.low is not None and wild.high is not None and 0 <= wild.low < 0.1 and wild.high > 5
    shares = tabulate({"seed": seed, "score": value} for seed, value in enumerate([60.0, 99.0]))
    known = Quantities(score=Quantity("score", within=PERCENT, unit="%"))
    found = claim("id", "…", of("score"), AtLeast(50)).claim(shares, True, known)
    assert found.low is not None and found.high is not None and 0 <= found.low < found.high <= 100
    assert found.unit == "%" and "%" in found.reason
    difference = claim("id", "…", of("error", beta=0.1) - of("error", beta=0.2), AtLeast(-9))
    low = difference.claim(rows({0.1: [1, 2], 0.2: [4, 8]}), True, QUANTITIES).low
    assert low is not None and low < 0  # a difference may be negative


LEARNT = AtMost(2)


@pytest.mark.parametrize(
    ("errors", "holds", "low", "high"),
    [
        ({0.1: 5, 0.2: 5, 0.3: 1, 0.4: 1}, True, 1.0, 1.5),
        ({0.1: 5, 0.2: 1, 0.3: 5, 0.4: 1}, True, 1.5, 2.0),  # what is learnt and lost again does not count
        ({0.1: 5, 0.2: 5, 0.3: 5, 0.4: 5, 0.5: 1}, None, 2.0, 2.5),  # somewhere between 0.4 and 0.5
        ({0.1: 5, 0.4: 5, 0.5: 5, 0.6: 1}, False, 2.5, 3.0),
        ({0.1: 1, 0.2: 1}, False, None, None),
        ({0.1: 5, 0.2: 5}, False, None, None),
    ],
)
def test_crossing(errors: dict[float, float], holds: bool | None, low: float | None, high: float | None) -> None:
    crossing = Crossing(LEARNT, 0.1, 0.4, (0.2, "α"))
    found = made({beta: [error, error + 0.01] for beta, error in errors.items()}, crossing)
    assert found.holds is holds
    assert found.low == (None if low is None else pytest.approx(low))
    assert found.high == (None if high is None else pytest.approx(high))


def test_a_crossing_lies_between_what_fails_and_what_holds_whatever_is_undecided_between() -> None:
    errors: dict[float, list[float | None]] = {0.1: [5, 5.1], 0.2: [1, 3], 0.3: [1, 1.1], 0.4: [1, 1.1]}
    found = made(errors, Crossing(LEARNT, 0.1, 0.3))
    assert (found.holds, found.low, found.high) == (True, 0.1, 0.3)
    assert made(errors, Crossing(LEARNT, 0.1, 0.2)).holds is None
    assert made(errors, Crossing(LEARNT, 0.4, 0.5)).holds is False
    assert made({0.1: [1, 3], 0.2: [1, 1.1]}, Crossing(LEARNT, 0.1, 0.3)).holds is None


def test_a_crossing_with_a_gap_is_not_located() -> None:
    found = made({0.1: [5, 5], 0.2: [1, None]}, Crossing(LEARNT, 0.1, 0.4))
    assert found.holds is None and found.reason.startswith("at β = 0.2: ")


def test_medians_and_least_numbers_have_intervals() -> None:
    table = rows({0.1: [1, 2, 9, 4, 3]})
    middle = claim("id", "…", of("error", beta=0.1).median(), AtMost(3)).claim(table, True, QUANTITIES)
    assert (middle.measured, middle.low, middle.high, middle.values) == (3, 1, 9, (1, 2, 9, 4, 3))
    lowest = claim("id", "…", least("error", per_seed=False), AtMost(3)).claim(table, True, QUANTITIES)
    assert (lowest.measured, lowest.low, lowest.high) == (1, 0, 4)
    number = claim("id", "…", least("error", per_seed=False).number(), AtMost(3)).claim(table, True, QUANTITIES)
    assert (number.measured, number.low, number.interval) == (1, None, "one number over all seeds")


def test_a_declaration_tells_the_range_of_its_value() -> None:
    ratio = claim("id", "…", of("error", beta=0.1) / of("error", beta=0.2), AtMost(1))
    assert ratio.declaration(QUANTITIES)["within"] == "(0.0, inf)"
    assert "within" not in claim("id", "…", of("margin"), AtMost(1)).declaration(QUANTITIES)
