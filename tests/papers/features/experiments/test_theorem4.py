import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import InputError, Outcome
from beyondkernels.lab import At, Reading, changed
from beyondkernels.papers.features.experiments.queried import (
    DESCENT,
    GUESS,
    SEARCH,
    WITH,
    WITHOUT,
    rows,
    small_spec,
    spec,
)
from beyondkernels.papers.features.experiments.theorem4 import Theorem4
from beyondkernels.papers.features.measurements import chance_deviation
from beyondkernels.papers.features.statistical_queries import guess_advantage, theorem4
from beyondkernels.store import RunSpec
from papers.judging import check_figures, finish, refuse, refuted

EXPERIMENT = Theorem4()
SETTINGS = EXPERIMENT.settings("smoke")
BOUND = theorem4(SETTINGS.patterns, SETTINGS.relevant)


def outcome_of(score: float, asked: float) -> Outcome:
    series = {"step": np.array([0.0, 10.0]), "test_accuracy": np.array([0.5, score])}
    return Outcome("finished", {"queries": asked, "sample_size": 100.0, "exact_accuracy": score}, series)


def reading() -> Reading:
    """Everything as promised."""

    def outcome(at: At, run: RunSpec) -> Outcome:
        if "relevant" in at and at.method == GUESS:
            return outcome_of(0.5 + guess_advantage(SETTINGS.small_patterns, at.relevant), 0)
        if "relevant" in at:
            return outcome_of(1.0, 30)
        if at.inputs == WITH:
            return outcome_of(1.0 if at.method == SEARCH else 0.7, 31)
        return outcome_of(0.51, 400)

    return finish(EXPERIMENT, SETTINGS, (0, 1), outcome)


def test_hypotheses_count_from_the_query_on_at_which_they_came() -> None:
    found = rows(SETTINGS, At(inputs=WITH, method=SEARCH, oracle="sampled", seed=0), outcome_of(0.9, 20))
    for row in found:
        assert row["queries"] == pytest.approx(row["share"] * BOUND, rel=1e-3)
        assert row["test_accuracy"] == (0.9 if row["share"] * BOUND >= 10 else 0.5)
    assert {row["test_accuracy"] for row in found} == {0.5, 0.9}


def test_no_hypothesis_up_to_the_bound_is_left_out() -> None:
    steps = np.array([0.0, 0.3 * BOUND, 0.31 * BOUND, 0.9 * BOUND, 1.2 * BOUND])
    series = {"step": steps, "test_accuracy": np.array([0.5, 0.2, 0.52, 0.51, 0.9])}
    outcome = Outcome("finished", {"queries": 400.0, "sample_size": 100.0}, series)
    found = rows(SETTINGS, At(inputs=WITHOUT, method=DESCENT, oracle="sampled", seed=0), outcome)
    last = {row["share"]: row for row in found}[1.0]
    assert last["farthest"] == pytest.approx(
        0.3 / chance_deviation(SETTINGS.test_samples, 4 * SETTINGS.seeds)
    )  # at a number that is not drawn
    assert last["test_accuracy"] == 0.51


def test_a_run_that_diverged_has_no_numbers() -> None:
    found = rows(SETTINGS, At(inputs=WITH, method=DESCENT, oracle="sampled", seed=0), Outcome("diverged"))
    assert all("test_accuracy" not in row and row["queries"] > 0 for row in found)


def test_runs_have_the_bounds_budget() -> None:
    for method in (SEARCH, DESCENT):
        learner: Any = spec(SETTINGS, At(inputs=WITH, method=method, oracle="adversarial", seed=1)).learner
        assert learner.budget == math.ceil(SETTINGS.beyond * BOUND)
        assert (learner.oracle, learner.tolerance) == ("adversarial", SETTINGS.tolerance)
    small: Any = small_spec(SETTINGS, At(method=SEARCH, relevant=3, seed=1))
    assert small.learner.budget == SETTINGS.small_patterns + 1 + math.comb(SETTINGS.small_patterns, 3)
    assert small.problem.instance == 1


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == ["printed-threshold"]  # fails on exact numbers
    assert len(read.table[1]) == 8
    check_figures(read, ["accuracy-with", "accuracy-without", "cost"])
    accuracy, *_ = read.figures
    assert [event.x for event in accuracy.events] == [pytest.approx(BOUND)]  # pyright: ignore[reportAttributeAccessIssue]


def test_bad_settings() -> None:
    refuse(SETTINGS, {"relevant": 31}, r"relevant must not exceed the number of patterns \(30\), got 31")
    refuse(SETTINGS, {"small_relevants": (1, 8)}, r"small_relevants must not exceed the number of patterns \(7\)")


def test_a_bound_that_cannot_be_reached_is_refused() -> None:
    huge = changed(SETTINGS, {"patterns": 200, "relevant": 51})
    with pytest.raises(InputError, match=r"must give a bound of at most \S+ queries, got \S+ for 51 of 200"):
        spec(huge, At(inputs=WITH, method=SEARCH, oracle="sampled", seed=0))
