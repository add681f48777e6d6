"""How much of a coordinate a run needs, with answers that are known."""

import math
from typing import Any

import pytest

from beyondkernels.core import InputError, Outcome
from beyondkernels.lab.declaration.bisection import Bisection, Needed
from beyondkernels.lab.declaration.runs import At
from lab.declaration.toys import DIVERGED, finish, good, place


def walked(search: Bisection, threshold: float) -> dict[int, bool]:
    tried: dict[int, bool] = {}
    while (n := search.next(tried)) is not None:
        assert n not in tried and search.least <= n <= search.most
        tried[n] = n >= threshold
    return tried


@pytest.mark.parametrize("start", [1, 7, 50, 64, 1000])
def test_without_a_resolution_the_least_number_is_found_wherever_it_lies(start: int) -> None:
    for factor in (1.1, 2.0, 10.0):
        search = Bisection(start, most=1000, factor=factor, resolution=0)
        for threshold in (1, 2, 3, 10, 63, 64, 65, 511, 999, 1000):
            below = threshold - 1 if threshold > 1 else None
            assert search.ends(walked(search, threshold)) == (below, threshold)
        assert search.ends(walked(search, 1001)) == (1000, None)


def test_a_resolution_bounds_the_error_and_saves_runs() -> None:
    search = Bisection(64, most=4000, resolution=0.05)
    for threshold in range(2, 4001, 37):
        tried = walked(search, threshold)
        low, high = search.ends(tried)
        assert low is not None and high is not None and low < threshold <= high
        assert high <= 1.05 * low or high == low + 1
        assert len(tried) <= 2 + math.ceil(math.log2(64)) + math.ceil(math.log2(math.log(2) / math.log(1.05)))


def test_luck_at_a_small_number_counts() -> None:
    search = Bisection(10, most=100)
    assert search.ends({10: True, 20: False}) == (None, 10) and search.next({10: True, 20: False}) == 5
    assert search.ends({5: False, 10: True, 20: False}) == (5, 10)


def test_bad_searches_are_refused() -> None:
    with pytest.raises(InputError, match=r"start must lie in \[1, 10\], got 20"):
        Bisection(20, most=10)
    with pytest.raises(InputError, match=r"factor"):
        Bisection(2, most=10, factor=1.0)
    with pytest.raises(InputError, match=r"resolution"):
        Bisection(2, most=10, resolution=math.nan)
    with pytest.raises(InputError, match="most must be at least 5, got 4"):
        Bisection(5, most=4, least=5)


def needed(**changes: Any) -> Needed:
    given: dict[str, Any] = {
        "coordinate": "samples",
        "bisection": lambda at: Bisection(8, most=100, least=2, resolution=0),
        "enough": lambda settings, at, outcome: outcome.scalars["risk"] <= 1.0,
    }
    return Needed(place, {"method": ["a", "b"]}, read, **{**given, **changes})


def read(settings: Any, at: At, outcome: Outcome) -> dict[str, Any]:
    return {"risk": outcome.scalars.get("risk")}


LIMITS = {("a", 0): 33, ("a", 1): 5, ("b", 0): 500, ("b", 1): 1}


def risk(at: At) -> Outcome:
    return good(risk=LIMITS[at.method, at.seed] / at.samples)


def test_every_place_and_seed_has_its_own_search() -> None:
    finished, rounds = finish(needed(), [0, 1], risk)
    rows = {(row["method"], row["seed"]): row for row in needed().records(None, [0, 1], finished)}
    assert rounds[0] == 4 and len(rounds) > 5 and needed().expected([0, 1])[0] == 4
    assert (rows["a", 0]["needed"], rows["a", 0]["not_enough"], rows["a", 0]["samples"]) == (33, 32, 33)
    assert (rows["a", 1]["needed"], rows["a", 1]["risk"]) == (5, 1.0)
    assert (rows["b", 0]["not_enough"], rows["b", 0]["risk"], rows["b", 1]["samples"]) == (100, 5.0, 2)
    assert all(math.isnan(rows["b", seed]["needed"]) for seed in (0, 1)) and math.isnan(rows["b", 1]["not_enough"])
    assert {"status", "risk", "tried", "outcome"} <= set(rows["a", 0])


def test_a_search_that_is_not_over_has_no_row_and_goes_on_from_what_is_there() -> None:
    finished, _ = finish(needed(), [0], risk)
    for label in list(finished)[::2]:
        left = {name: run for name, run in finished.items() if name != label}
        plan = needed().specs(None, [0], left)
        assert label in plan and set(plan) <= set(finished)
        assert len(list(needed().records(None, [0], left))) < 2


def test_runs_that_diverge_do_not_suffice() -> None:
    runs = needed(enough=lambda *_: True)
    finished, _ = finish(runs, [0], lambda at: DIVERGED if at.samples < 20 else good(risk=0.0))
    assert [row["needed"] for row in runs.records(None, [0], finished)] == [20, 20]


def test_searches_may_differ_from_place_to_place() -> None:
    runs = needed(bisection=lambda at: Bisection(4 if at.method == "a" else 16, most=20))
    plan = runs.specs(None, [0], {})
    assert sorted(label[1] for label in plan) == ["samples=16", "samples=4"]
