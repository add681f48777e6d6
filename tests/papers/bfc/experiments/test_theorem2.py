import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beyondkernels as bk
from beyondkernels.execution import perform
from beyondkernels.lab import At, specs_of
from beyondkernels.papers.bfc.experiments.common import UNIFORM
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER
from beyondkernels.papers.bfc.experiments.theorem2 import Theorem2
from papers.judging import check_figures, finish, refuse

EXPERIMENT = Theorem2()
SMOKE = EXPERIMENT.settings("smoke")
USUAL = "alpha=0.2", "fourth=0.05"


def test_specs() -> None:
    settings = replace(SMOKE, samples=5000, batch=200, steps=4000, snapshots=25)
    specs: dict[Any, Any] = dict(specs_of(EXPERIMENT, settings, (3,), {}))
    together, layerwise = (specs["layers=4", *USUAL, way, UNIFORM, 3] for way in (TOGETHER, LAYERWISE))
    problem = together.problem
    assert (problem.alphas, problem.relative, problem.instance) == ((1.0, 0.2, 0.05), True, 3)
    assert problem.graph == ((1,), (2, 0), (3, 1)) and problem.widths == (2, 2, 1)
    assert (together.samples, together.seed) == (5000, 3)
    network, rule = together.learner.network, together.learner.algorithm
    assert network == bk.bfc.QuadraticDenseNet(problem.graph, (3, 3, 3), problem.scales, scale=0.3)
    assert (rule.steps, rule.batch, rule.frozen, layerwise.learner.algorithm.frozen) == ((4000,) * 3, 200, False, True)
    rates = rule.hyper_of(rule.stages()[1], range(4001, 8001))["rate"]
    assert rates[0] == 0.01 and rates[-1] < 1e-8  # a stage ends converged
    assert set(rule.stage_ends) <= set(together.learner.snapshot_at) and len(together.learner.snapshot_at) == 78
    three = specs["layers=3", "alpha=0.1", TOGETHER, UNIFORM, 3]
    assert three.problem.alphas == (1.0, 0.1) and three.learner.snapshot_at == (3999, 8000)


def test_a_run_gives_what_the_rows_need() -> None:
    at = At(layers=4, alpha=0.2, fourth=0.05, method=TOGETHER, inputs=UNIFORM, seed=0)
    runs = EXPERIMENT.runs(SMOKE)[1]
    spec: Any = runs.spec(SMOKE, at)
    (outcome,) = perform([spec])
    rows: Any = runs.read(SMOKE, at, outcome)
    assert [row["top"] for row in rows] == [2, 3, 4] and [row["trained"] for row in rows] == ["2", "2 to 3", "2 to 4"]
    assert all(math.isfinite(value) for row in rows for value in row.values() if not isinstance(value, str))
    variance = float(np.asarray(spec.problem.target(spec.problem.sample(20_000, bk.core.Stream(5)).x)).var())
    assert rows[0]["variance"] == pytest.approx(variance, rel=0.1)
    assert rows[-1]["test"] == pytest.approx(outcome.scalars["test_loss"] / rows[-1]["variance"])
    assert rows[-1]["S3"] == outcome.scalars["features/distilled3"]


def test_figures_of_runs() -> None:
    read = finish(EXPERIMENT, SMOKE, (0,), lambda _, spec: perform([spec])[0])
    check_figures(read, ["course", "alpha"])
    course: Any = read.figures[0]
    starts = [line.arrays()[0][0] for line in course.lines]
    assert starts == [0, SMOKE.steps, 2 * SMOKE.steps] * 2  # a layer has features once it has joined
    assert [event.x for event in course.events] == [0, SMOKE.steps, 2 * SMOKE.steps]
    alpha: Any = read.figures[1]
    heights = alpha.lines[-1].arrays()[1][0]
    assert heights[0] / heights[-1] == pytest.approx((min(SMOKE.alphas) / max(SMOKE.alphas)) ** 2)


def test_bad_settings() -> None:
    refuse(SMOKE, {"four_alphas": (1.0, 0.2)}, "four_alphas must hold 3 numbers")
