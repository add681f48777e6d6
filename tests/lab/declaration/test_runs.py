import math
from typing import Any

import pytest

from beyondkernels.core import InputError, Outcome
from beyondkernels.lab.declaration.runs import Again, At, Runs, Searched, exact
from beyondkernels.lab.declaration.search_axes import Axis
from lab.declaration.toys import DIVERGED, finish, good, place

RATES = Axis((0.02, 0.05, 0.1), (1e-4, 1e2))


def errors(settings: Any, at: At, outcome: Outcome) -> dict[str, Any]:
    return {"error": outcome.scalars.get("test_loss")}


def searched(**changes: Any) -> Searched:
    given: dict[str, Any] = {
        "axes": lambda at: {"rate": RATES},
        "criteria": {"test": "test_loss", "validation": "validation_loss"},
        "search_seeds": 2,
    }
    return Searched(place, {"method": ["a", "b"]}, errors, **{**given, **changes})


def bowl(best: float, at: At) -> float:
    return math.log(at.rate / best) ** 2


def test_a_place_has_words_and_its_seed_last() -> None:
    at = At(method="a", width=20, beta=0.15).with_(seed=3)
    assert at.label == ("a", "width=20", "beta=0.15", 3)
    assert at.with_(width=50, searching=True).label == ("search", "a", "width=50", "beta=0.15", 3)
    assert (at.method, at.width, at.seed, at.searching) == ("a", 20, 3, False)
    with pytest.raises(AttributeError, match="no coordinate 'depth'; it has method, width, beta, seed"):
        _ = at.depth


def test_labels_tell_close_numbers_apart() -> None:
    assert len({At(beta=beta).label for beta in (0.15, 0.15000001, 0.1500000000000001)}) == 3
    assert exact(1e-9) == "1e-09" and exact(200.0) == "200" and exact("a") == "a" and exact(True) == "True"


def test_runs_are_all_combinations() -> None:
    runs = Runs(place, {"method": ["a", "b"], "width": (1, 2, 3)}, errors)
    finished, rounds = finish(runs, [4, 5], lambda at: good(test_loss=at.width + at.seed / 10))
    assert rounds == [12] and runs.expected([4, 5]) == (12, 0)
    rows = list(runs.records(None, [4, 5], finished))
    places = [(method, width, seed) for method in "ab" for width in (1, 2, 3) for seed in (4, 5)]
    assert [(row["method"], row["width"], row["seed"]) for row in rows] == places
    assert all(row["error"] == row["width"] + row["seed"] / 10 and row["status"] == "finished" for row in rows)


def test_some_runs_have_fewer_seeds() -> None:
    runs = Runs(place, {"method": ["a"]}, errors, seeds=1)
    assert [label[-1] for label in runs.specs(None, [7, 8], {})] == [7]
    assert runs.expected([7, 8]) == (1, 0)


def test_a_run_may_have_several_rows() -> None:
    runs = Runs(place, {"method": ["a"]}, lambda s, at, outcome: [{"choice": "x"}, {"choice": "y"}])
    finished, _ = finish(runs, [0], lambda at: good())
    assert [row["choice"] for row in runs.records(None, [0], finished)] == ["x", "y"]


def test_the_search_comes_first_and_has_seeds_of_its_own() -> None:
    runs = searched()
    asked = runs.specs(None, [0, 1], {})
    assert {label[0] for label in asked} == {"search"}
    assert {label[-1] for label in asked} == {1000, 1001}
    assert len(asked) == 2 * 3 * 2
    with pytest.raises(InputError, match=r"seeds must not be those of the search, got \[1001\]"):
        runs.specs(None, [0, 1001], {})


def test_the_mean_over_search_seeds_chooses_by_each_criterion() -> None:
    def outcome(at: At) -> Outcome:
        # alone, seed 1000 prefers 0.02 and seed 1001 prefers 0.1; their mean is least in between
        lean = {1000: 0.02, 1001: 0.1}.get(at.seed, 0.05)
        best = 0.05 if at.method == "a" else 0.02
        return good(test_loss=bowl(lean, at), validation_loss=bowl(best, at))

    runs = searched()
    finished, rounds = finish(runs, [0, 1, 2], outcome)
    rows = list(runs.records(None, [0, 1, 2], finished))
    chosen = {(row["method"], row["choice"]): row["rate"] for row in rows}
    assert chosen == {("a", "test"): 0.05, ("a", "validation"): 0.05, ("b", "test"): 0.05, ("b", "validation"): 0.02}
    mean = (bowl(0.02, At(rate=0.05)) + bowl(0.1, At(rate=0.05))) / 2
    assert all(row["search_error"] == pytest.approx(mean) for row in rows if row["choice"] == "test")
    assert [row["on_edge"] for row in rows if row["method"] == "b"] == [False] * 6  # the grid grew to 0.01
    assert {row["tried"] for row in rows if row["method"] == "b"} == {4}
    assert {row["seed"] for row in rows} == {0, 1, 2} and {row["role"] for row in rows} == {"chosen"}
    # a: 0.05 serves both criteria; b waits for the grid to grow
    assert rounds == [12, 3 + 2, 6]


def test_a_diverged_run_of_the_search_is_never_best() -> None:
    def outcome(at: At) -> Outcome:
        if at.rate == 0.1 and at.seed == 1001:
            return DIVERGED
        return good(test_loss=bowl(0.1, at), validation_loss=bowl(0.1, at))

    runs = searched()
    finished, _ = finish(runs, [0], outcome)
    assert {row["rate"] for row in runs.records(None, [0], finished)} == {0.05}


def test_the_best_of_further_coordinates_is_taken() -> None:
    def outcome(at: At) -> Outcome:
        loss = bowl(0.05, at) + {8: 1.0, 16: 0.5, 32: 2.0}[at.width]
        return good(test_loss=loss, validation_loss=-loss)

    runs = searched(best_of={"width": (8, 16, 32)}, axes=lambda at: {"rate": Axis((0.02, 0.05, 0.1), (0.02, 0.1))})
    finished, rounds = finish(runs, [0], outcome)
    rows = list(runs.records(None, [0], finished))
    assert {(row["choice"], row["width"]) for row in rows} == {("test", 16), ("validation", 32)}
    assert {row["tried"] for row in rows} == {9}
    assert rounds[0] == 2 * 3 * 3 * 2 and runs.expected([0]) == (rounds[0], 4)


def test_a_choice_is_trained_again_with_other_coordinates() -> None:
    runs = Searched(
        place,
        {"method": ["a"], "start": ["m"]},
        errors,
        axes=lambda at: {"rate": RATES},
        criteria={"test": "test_loss", "validation": lambda s, outcome: outcome.scalars["other"]},
        search_seeds=1,
        again=[Again("validation", {"start": "d"})],
        show_search=True,
    )

    def outcome(at: At) -> Outcome:
        return good(test_loss=bowl(0.05, at), other=bowl(0.05, at))

    finished, _ = finish(runs, [0], outcome)
    rows = list(runs.records(None, [0], finished))
    assert [(row["role"], row["choice"], row["start"], row["seed"]) for row in rows] == [
        *[("search", None, "m", 1000)] * 3,
        ("chosen", "test", "m", 0),
        ("chosen", "validation", "m", 0),
        ("again", "validation", "d", 0),
    ]


def test_nothing_is_chosen_while_the_search_lacks_a_run() -> None:
    runs = searched()
    finished, _ = finish(runs, [0], lambda at: good(test_loss=bowl(0.05, at), validation_loss=bowl(0.05, at)))
    label = next(label for label in finished if label[:2] == ("search", "a"))
    partly = {key: run for key, run in finished.items() if key != label}
    assert {row["method"] for row in runs.records(None, [0], partly)} == {"b"}
