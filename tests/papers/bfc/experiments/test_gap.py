from typing import Any

import pytest

from beyondkernels.execution import perform
from beyondkernels.lab import At, specs_of
from beyondkernels.papers.bfc.experiments.gap import ALONE, Gap, problem_at
from beyondkernels.papers.bfc.experiments.layers import TOGETHER
from papers.judging import refuse

EXPERIMENT = Gap()
SMOKE = EXPERIMENT.settings("smoke")


def test_targets() -> None:
    specs: dict[Any, Any] = dict(specs_of(EXPERIMENT, SMOKE, (0, 1), {}))
    four = specs["layers=4", "ratio=0.2", 1]
    assert four.problem.alphas == pytest.approx((1, 0.2, 0.04)) and four.problem.in_class
    stds = [scale * std.value for scale, std in zip(four.problem.scales, four.problem.layer_stds.values(), strict=True)]
    assert [std / stds[0] for std in stds] == pytest.approx([1, 0.2, 0.04])  # ratios of what the layers add
    assert not specs["layers=3", "ratio=1", 0].problem.in_class
    assert four.learner.algorithm.steps == (10, 10, 10) and four.learner.network.alphas == four.problem.scales


def test_rows_of_a_run() -> None:
    at = At(layers=3, ratio=1.0, seed=0)
    outcome = perform([dict(specs_of(EXPERIMENT, SMOKE, (0,), {}))[at.label]])[0]
    rows: Any = EXPERIMENT.runs(SMOKE)[0].read(SMOKE, at, outcome)
    alone, together = rows
    assert (alone["moment"], together["moment"]) == (ALONE, TOGETHER) and "S3" not in alone
    assert together["S2"] == outcome.scalars["features/distilled2"] != alone["S2"]
    problem = problem_at(SMOKE, at)
    assert together["test"] == pytest.approx(outcome.scalars["test_loss"] / problem.target_std.value**2)
    # with ratio 1 both layers add the same variance, and in all more, by their covariance
    assert together["left"] == pytest.approx(outcome.scalars["test_loss"] / problem.layer_stds[2].value ** 2)


def test_bad_settings() -> None:
    refuse(SMOKE, {"four_ratios": (1.0, 2.0)}, "ratios must hold 1 and a smaller number, got")
