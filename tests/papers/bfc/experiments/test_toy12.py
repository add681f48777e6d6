from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.toy12 import FORM, POLYNOMIAL, TERMS, Toy12
from beyondkernels.papers.bfc.experiments.toys import ALONE, LAYERWISE, TOGETHER, UNIT, first_toy
from beyondkernels.papers.bfc.theory import best_terms
from papers.judging import check_figures, claims_in, finish, refuted

EXPERIMENT = Toy12()
SMOKE = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)
TRUTH = {"1-1": 1.0, "2-2": 2.0, "1-2": 0.0, "1-3": 0.0, "2-3": 0.0, "3-3": 0.0}


def reading() -> Reading:
    """Layer 2 alone has the best form; together it has the target's."""

    def outcome(at: At, _: Any) -> Outcome:
        first, last = SMOKE.ends.values()
        steps = np.array([0.0, first, last])
        problem = first_toy(SMOKE.alpha, at.inputs)
        (_, best), variance = best_terms(problem, (*TERMS,)), problem.target_std.value**2
        jitter = 1e-3 * at.seed
        truth = best if at.method == LAYERWISE else TRUTH
        end = 1e-3 if at.method == LAYERWISE else 1e-7
        series = {f"second/{name}": np.array([0.1, best[name] + jitter, truth[name] + jitter]) for name in TERMS}
        series |= {"features/distilled2": np.array([1.0, 1e-2, 1e-6]), "test_loss": np.array([1, 1e-2, end]) * variance}
        groups = {f"{group}step": steps for group in ("", "second/", "features/")}
        return Outcome("finished", {"steps": float(last)}, series | groups)

    return finish(EXPERIMENT, SMOKE, SEEDS, outcome)


def test_rows_of_a_run() -> None:
    at = At(inputs=UNIT, method=TOGETHER, seed=0)
    spec: Any = dict(specs_of(EXPERIMENT, SMOKE, (0,), {}))[at.label]
    assert spec.learner.network.widths == (3, 1) and spec.learner.network.second_moments == 0.0
    assert spec.learner.algorithm.steps == (4, 6) and not spec.learner.algorithm.frozen
    outcome = perform([spec])[0]
    (runs,) = EXPERIMENT.runs(SMOKE)
    rows: Any = runs.read(SMOKE, at, outcome)
    assert [row["moment"] for row in rows] == ["target", POLYNOMIAL, FORM, ALONE, TOGETHER]
    M = outcome.arrays["snapshot/3/M2.1"]
    form = M.T @ M
    assert rows[3]["2-3"] == pytest.approx(2 * form[1, 2]) and rows[3]["1-1"] == pytest.approx(form[0, 0])
    assert rows[4]["test"] == pytest.approx(outcome.scalars["test_loss"] / spec.problem.target_std.value**2)
    assert rows[3]["overfit"] == pytest.approx(max(abs(2 * form[0, 2]), abs(2 * form[1, 2]), abs(form[2, 2])))


def test_claims_table_and_figures() -> None:
    read = reading()
    found = claims_in(read)
    assert refuted(found) == []
    assert found["layerwise-uniform"].measured == pytest.approx(1e4)
    _, lines = read.table
    assert len(lines) == 3 * 6 and {line["moment"] for line in lines} >= {"target", ALONE, TOGETHER, LAYERWISE}
    check_figures(read, ["course"])
