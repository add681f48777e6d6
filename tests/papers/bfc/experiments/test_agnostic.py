from typing import Any

import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import At, Reading
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.agnostic import JOINING, LAYERWISE, NOISE, WAVE, Agnostic
from papers.judging import check_figures, finish, refuted

EXPERIMENT = Agnostic()
SMOKE = EXPERIMENT.settings("smoke")
SEEDS = tuple(range(18))  # so many of so many confirm four of five


def reading() -> Reading:
    """Runs whose test errors exceed OPT by a share, by perturbation; layerwise training has a floor."""

    def outcome(at: At, spec: Any) -> Outcome:
        variance, _ = common.variances_of(common.target_of(SMOKE.dim, SMOKE.alphas, at.seed))
        if at.method == LAYERWISE:
            return Outcome("finished", {"test_loss": variance * (at.optimum + 0.02), "features/distilled2": 1e-3})
        error = variance * at.optimum * (1 + {NOISE: 0.02, WAVE: 0.05}[at.labels])
        return Outcome("finished", {"test_loss": error, "features/distilled2": 1e-5})

    return finish(EXPERIMENT, SMOKE, SEEDS, outcome)


def test_the_bound_is_the_theorems() -> None:
    assert SMOKE.bound(0.01) == pytest.approx(1.1 * 0.01 + 1e-4)
    row = EXPERIMENT.runs(SMOKE)[0].read(SMOKE, At(method=JOINING, labels=NOISE, optimum=0.01, seed=0), Outcome())
    assert isinstance(row, dict)
    assert row.pop("kept") == 0  # a run without numbers has not kept the bound
    assert all(value != value for value in row.values())


def test_a_run_has_the_labels_it_names() -> None:
    at = At(method=JOINING, labels=WAVE, optimum=0.1, seed=1)
    runs = EXPERIMENT.runs(SMOKE)[0]
    spec: Any = runs.spec(SMOKE, at)
    variance, _ = common.variances_of(spec.problem.teacher)
    assert (spec.problem.perturbation, spec.problem.optimal_risk) == ("wave", pytest.approx(0.1 * variance))
    assert not spec.learner.algorithm.frozen
    (outcome,) = perform([spec])
    row: Any = runs.read(SMOKE, at, outcome)
    assert row["test_error"] == pytest.approx(outcome.scalars["test_loss"] / variance)
    assert row["ratio"] == pytest.approx(10 * row["test_error"])
    assert row["S2"] == outcome.scalars["features/distilled2"] > 0


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == []
    check_figures(read, ["error", "features"])
    figure: Any = read.figures[0]
    assert list(figure.lines[-1].y) == pytest.approx([1.11, 1.101])
    _, lines = read.table
    assert len(lines) == 3 * len(SMOKE.optima)
