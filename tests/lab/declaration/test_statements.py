from typing import Any

import pytest

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


def test_clearly_is_a_field() -> None:
    spread: dict[float, list[float | None]] = {0.1: [1.0, 2.9, 1.0]}
    assert made(spread, AtMost(3)).holds is True
    assert made(spread, AtMost(3, "clearly")).holds is False
    assert made({0.1: [1.0, 1.1, 1.0]}, AtMost(3, "clearly")).holds is True
    assert made({0.1: [1.0]}, AtMost(3, "clearly")).holds is None  # one seed has no interval
    above: dict[float, list[float | None]] = {0.1: [2.0, 4.0]}
    assert made(above, AtMost(2.9)).holds is False
    assert made(above, AtMost(2.9, "unless clearly not")).holds is True
    assert made({0.1: [3.0, 3.01]}, AtMost(2.9, "unless clearly not")).holds is False
    assert made({0.1: [3.0]}, AtMost(2.9, "unless clearly not")).holds is None


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
    table = rows({0.1: [5, 6]}).assign(train_error=trained)
    provided = Provided(least("train_error", per_seed=False), AtMost(0.12), "no run fits its sample; the least is {}")
    found = claim("id", "…", of("error", beta=0.1), AtLeast(3), provided=provided).claim(table, True, QUANTITIES)
    assert found.holds is (None if trained > 0.12 else True)
    assert (found.reason == "no run fits its sample; the least is 0.5") is (trained > 0.12)
    refuted = claim("id", "…", of("error", beta=0.1), AtLeast(9), provided=provided).claim(table, True, QUANTITIES)
    assert refuted.holds is False  # whatever the training was


def test_a_control_is_told_beside() -> None:
    table = rows({0.1: [1, 2], 0.2: [4, 8]})
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


LEARNT = AtMost(2, "clearly")


@pytest.mark.parametrize(
    ("errors", "holds", "low", "high"),
    [
        ({0.1: 5, 0.2: 5, 0.3: 1, 0.4: 1}, True, 1.0, 1.5),
        ({0.1: 5, 0.2: 1, 0.3: 5, 0.4: 1}, True, 1.5, 2.0),  # what is learnt and lost again does not count
        ({0.1: 5, 0.2: 5, 0.3: 5, 0.4: 5, 0.5: 1}, False, 2.0, 2.5),
        ({0.1: 1, 0.2: 1}, False, None, None),
        ({0.1: 5, 0.2: 5}, False, None, None),
    ],
)
def test_crossing(errors: dict[float, float], holds: bool, low: float | None, high: float | None) -> None:
    crossing = Crossing(LEARNT, 0.1, 0.4, (0.2, "α"))
    found = made({beta: [error, error + 0.01] for beta, error in errors.items()}, crossing)
    assert found.holds is holds and found.strength == "clearly"
    assert found.low == (None if low is None else pytest.approx(low))
    assert found.high == (None if high is None else pytest.approx(high))


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
