from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.features.experiments.fig15 import METHODS, NETWORK, Fig15, problem_of, process_of
from papers.judging import check_figures, finish, refuse, refuted

FIG15 = Fig15()
PAPER, SMOKE = FIG15.settings("paper"), FIG15.settings("smoke")
SEEDS = (0, 1, 2)
GOOD = (0.035, 0.92, 0.994)
"""The mean |cosine| after no, one and two steps."""


def reading() -> Reading:
    """Hand-made runs at smoke size: neurons with these cosines, half of them with a minus sign."""
    draw = np.random.default_rng(0)

    def outcome(at: At, _: Any) -> Outcome:
        scores = {"train_accuracy": 0.7, "test_accuracy": 0.7}
        if at.method != NETWORK:
            return Outcome("finished", scores)
        signs = np.array([1.0, -1.0] * 5)
        series = {
            "step": np.array([1.0, 2.0, 20.0]),
            "test_accuracy": np.array([0.5, 0.6, 0.7]),
            "alignment/step": np.array([0.0, 1.0, 2.0]),
            "alignment/cosines": np.array([(mean + 0.001 * at.seed * step) * signs for step, mean in enumerate(GOOD)]),
            "directions/step": np.array([0.0, 1.0, 2.0]),
            "directions/points": draw.normal(size=(3, 12, 2)),
        }
        return Outcome("finished", scores, series)

    return finish(FIG15, SMOKE, SEEDS, outcome)


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == []
    _, lines = read.table
    assert [line["method"] for line in lines] == list(METHODS)
    assert lines[0]["together_1"] == pytest.approx(0.921)
    exact = [100 * problem_of(SMOKE, seed).direction_accuracy for seed in SEEDS]
    assert lines[0]["along_means_seeds"] == pytest.approx(exact)
    check_figures(read, ["directions", "accuracy"])
    directions: Any = read.figures[0]
    assert list(directions.near) == [0, 1] * 5


def test_plan() -> None:
    specs = specs_of(FIG15, SMOKE, (0, 1), {})
    assert list(specs) == [(method, seed) for method in METHODS for seed in (0, 1)]
    spec = specs[NETWORK, 1]
    problem, learner = spec.problem, spec.learner
    assert (problem.instance, problem.per_label, problem.relevant) == (1, 4, 8)  # type: ignore[attr-defined]
    assert learner.snapshot_at == (0, 1, 2)  # type: ignore[attr-defined]
    assert learner.algorithm.settings == process_of(SMOKE, 1)  # type: ignore[attr-defined]
    later = process_of(SMOKE, 1).later
    assert (later.output_rate, later.hidden_rate) == pytest.approx((SMOKE.readout_rate, SMOKE.later_rate), rel=1e-12)


def test_bad_settings() -> None:
    refuse(PAPER, {"per_label": 30_000}, "samples must be at least the number of vectors, 60000, got 50000")
    refuse(PAPER, {"steps": 1}, "steps must be at least 2, the steps that the figure shows, got 1")
    refuse(PAPER, {"batch": 60_000}, "batch must not exceed samples")
