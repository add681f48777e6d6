from dataclasses import replace
from typing import Any

import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.gap import ALONE, Gap, problem_at
from beyondkernels.papers.bfc.experiments.layers import TOGETHER
from papers.bfc.experiments.courses import run_with
from papers.judging import cases, check_figures, claims_in, failing, finish, refuse, refuted, undecided

EXPERIMENT = Gap()
SMOKE = EXPERIMENT.settings("smoke")
SETTINGS = replace(SMOKE, three_ratios=(0.1, 0.5, 1.0, 2.0))
SEEDS = (0, 1, 2)


def reading(**made: Any) -> Reading:
    """By (layers, ratio): what is left of the last layer, and errors of S₂ alone and at the end."""

    def outcome(at: At, _: Any) -> Outcome:
        given = {"left": 1e-4, "alone": at.ratio**2 / 3, "end": 1e-6 * at.ratio**3}
        given |= made.get(f"at{at.layers}_{at.ratio:g}".replace(".", "_"), {})
        if given["left"] is None:
            return Outcome("diverged", {"steps": 1.0})
        problem = problem_at(SETTINGS, at)
        variance, last = problem.target_std.value**2, (problem.scales[-1] * problem.layer_stds[at.layers].value) ** 2
        noise = 1 + 0.01 * at.seed
        ends = {"test": given["left"] * last / variance * noise, "S2": given["end"] * noise, "S3": 0.1}
        stages: Any = {top: {"test": 0.1, "S2": given["alone"] * noise} for top in range(2, at.layers)}
        return run_with(replace(SETTINGS, snapshots=1), at.layers, {**stages, at.layers: ends}, variance)

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_all_claims_hold_on_good_numbers() -> None:
    found = claims_in(reading())
    assert refuted(found) == []
    assert found["worse-3"].measured == pytest.approx(1000)


@cases(
    ({"at3_0_5": {"left": 0.2}}, ["learnt-3", "suffices-3"]),
    ({"at3_2": {"left": 1e-9}}, []),  # beyond 1 nothing is claimed
    ({"at4_1": {"left": 0.5}}, ["anyway-4"]),
    ({"at3_0_1": {"alone": 0.2}}, ["local-3"]),
    ({"at3_2": {"alone": 0.1}}, []),  # local and learnt
    ({"at3_2": {"alone": 0.1, "left": 0.2}}, ["suffices-3"]),
    ({"at4_1": {"alone": 0.05}}, ["nonlocal-4"]),
    ({"at3_1": {"end": 5e-9}}, ["worse-3"]),
)
def test_claims_can_fail(made: Any, wanted: list[str]) -> None:
    assert failing(reading(**made)) == wanted


def test_a_diverged_run_is_no_number() -> None:
    assert undecided(reading(at4_1={"left": None})) == ["suffices-4", "nonlocal-4", "anyway-4", "worse-4"]


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


def test_table_and_figures() -> None:
    read = reading()
    assert len(read.table[1]) == 2 * (4 + 2)
    check_figures(read, ["features", "left"])


def test_bad_settings() -> None:
    refuse(SMOKE, {"four_ratios": (1.0, 2.0)}, "ratios must hold 1 and a smaller number, got")
