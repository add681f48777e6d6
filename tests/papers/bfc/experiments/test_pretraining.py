from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.common import UNIFORM
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER, problem_at
from beyondkernels.papers.bfc.experiments.pretraining import START, Pretraining
from papers.judging import check_figures, finish, refuted

EXPERIMENT = Pretraining()
SMOKE = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)


def reading() -> Reading:
    """Layerwise training leaves most of the last layer; S₂ is known before S₃."""
    left = {TOGETHER: 1e-4, START: 2e-4, LAYERWISE: 0.8}

    def outcome(at: At, _: Any) -> Outcome:
        problem, steps = problem_at(SMOKE, at), np.array(SMOKE.times(at.layers), dtype=float)
        added = (problem.scales[-1] * problem.layer_stds[at.layers].value) ** 2
        test = np.linspace(5, 1, len(steps)) * left[at.method] * (1 + 0.01 * at.seed) * added
        series = {"step": steps, "features/step": steps, "test_loss": test}
        for layer in range(2, at.layers + 1):
            first = 1 if layer == 2 else 3
            series[f"features/distilled{layer}"] = np.where(np.arange(len(steps)) < first, 0.5, 1e-4)
        return Outcome("finished", {"steps": steps[-1]}, series)

    return finish(EXPERIMENT, SMOKE, SEEDS, outcome)


def test_ways_of_training() -> None:
    specs: dict[Any, Any] = dict(specs_of(EXPERIMENT, SMOKE, (0,), {}))
    ways = {way: specs["layers=4", "alpha=0.1", UNIFORM, way, 0] for way in (TOGETHER, START, LAYERWISE)}
    rules = {way: spec.learner.algorithm for way, spec in ways.items()}
    assert rules[TOGETHER].steps == rules[LAYERWISE].steps == (10, 10, 10) and rules[START].steps == (30,)
    assert [rules[way].frozen for way in rules] == [False, False, True]
    assert len({spec.problem for spec in ways.values()}) == len({spec.learner.network for spec in ways.values()}) == 1
    joining, start = perform([ways[TOGETHER], ways[START]])
    assert not joining.arrays["snapshot/0/M3.2"].any() and start.arrays["snapshot/0/M3.2"].any()
    assert np.array_equal(joining.arrays["snapshot/0/M2.1"], start.arrays["snapshot/0/M2.1"])
    row: Any = EXPERIMENT.runs(SMOKE)[1].read(
        SMOKE, At(layers=4, alpha=0.1, inputs=UNIFORM, method=START, seed=0), start
    )
    assert row["S4"] == start.scalars["features/distilled4"] and row["way"] == "from the start"
    assert row["test"] == pytest.approx(start.scalars["test_loss"] / ways[START].problem.target_std.value ** 2)


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == []
    assert [line["way"] for line in read.table[1]] == ["joining", "from the start", "layerwise"] * 2
    check_figures(read, ["course4", "course3"])
