import math
from typing import Any

import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import At, changed, specs_of
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.search import FACTOR, FOUND, GRAPHS, KNOWN, WITHOUT, Search
from beyondkernels.papers.bfc.theory import allowed_graphs
from papers.judging import check_figures, finish, refuse, refuted

EXPERIMENT = Search()
LAPTOP, SMOKE = EXPERIMENT.settings("laptop"), EXPERIMENT.settings("smoke")
WIDE = changed(SMOKE, {"third": (0.001, 0.01, 0.1, 1.0)})


def test_graphs_are_those_that_the_paper_allows() -> None:
    graph = common.target_of(SMOKE.dim, SMOKE.alphas, 0).graph
    assert graph[-1] in GRAPHS.values()
    assert sorted(each[-1] for each in allowed_graphs(4) if each[:-1] == graph[:-1]) == sorted(GRAPHS.values())


def test_specs() -> None:
    specs: dict[Any, Any] = dict(specs_of(EXPERIMENT, LAPTOP, (0,), {}))
    found = specs["search", FOUND, "{3,0}", "third=0.01", "fourth=0.001", 2000].learner.network
    assert (found.graph[-1], found.alphas) == ((3, 0), (1.0, 0.01, 0.001))
    known, factor = (specs[label].learner.network for label in ((KNOWN, 0), (FACTOR, "factor=10", 0)))
    assert known.alphas == common.target_of(8, LAPTOP.alphas, 0).scales
    assert factor.alphas == (1.0, *(pytest.approx(10 * alpha) for alpha in known.alphas[1:]))
    assert specs[KNOWN, 0].validation_samples == LAPTOP.validation_samples
    without = specs[WITHOUT, 0].learner
    assert (without.network.graph, without.algorithm.steps) == (known.graph[:2], (1000, 7000))


def test_a_run_gives_what_the_rows_need() -> None:
    runs = EXPERIMENT.runs(SMOKE)[0]
    at = At(method=FOUND, graph="{3,1,0}", third=0.01, fourth=0.001, seed=0)
    (outcome,) = perform([runs.spec(SMOKE, at)])
    row: Any = runs.read(SMOKE, at, outcome)
    variance = common.target_of(4, SMOKE.alphas, 0).target_std.value ** 2
    assert row["validation_error"] == pytest.approx(outcome.scalars["validation_loss"] / variance)
    (level,) = common.bar(SMOKE).values()  # where the test error is a tenth of the last layer's variance
    assert row["of_last_layer"] * level == pytest.approx(0.1 * row["test_error"])


def test_claims_table_and_figures() -> None:
    """On runs whose validation errors are least at one graph and α′₃."""

    def outcome(at: At, spec: Any) -> Outcome:
        _, last = common.variances_of(common.target_of(SMOKE.dim, SMOKE.alphas, at.seed))
        error = 0.3 if at.method == WITHOUT else 0.01
        if at.searching:
            error *= 1 + abs(math.log(at.third / 0.1)) + abs(math.log(at.fourth / 0.001)) + 9 * (at.graph != "{3,1}")
        return Outcome("finished", {"test_loss": error * last, "validation_loss": error * last, "train_loss": 0.0})

    read = finish(EXPERIMENT, WIDE, (0, 1, 2), outcome)
    assert refuted(read) == []
    check_figures(read, ["search", "factor"])
    assert read.table[1]


def test_bad_settings() -> None:
    refuse(LAPTOP, {"alphas": (1.0, 0.1), "steps": (1, 1)}, "alphas must hold 3 numbers here")
    refuse(LAPTOP, {"third": (0.3, 0.1)}, "third must hold increasing numbers")
