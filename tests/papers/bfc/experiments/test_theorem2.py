import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.execution import perform
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.bfc.experiments.common import UNIFORM
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER, problem_at
from beyondkernels.papers.bfc.experiments.theorem2 import Theorem2
from papers.bfc.experiments.courses import run_with
from papers.judging import cases, check_figures, claims_in, failing, finish, refuse, refuted, undecided

EXPERIMENT = Theorem2()
SMOKE = EXPERIMENT.settings("smoke")
SETTINGS = replace(SMOKE, alphas=(0.05, 0.1, 0.2), seeds=3)
USUAL = "alpha=0.2", "fourth=0.05"
SEEDS = (0, 1, 2)
FOUR: dict[str, Any] = {
    TOGETHER: {
        2: {"test": 2e-2, "S2": 6e-3},
        3: {"test": 5e-4, "S2": 3e-4, "S3": 2e-2},
        4: {"test": 1e-7, "S2": 4e-8, "S3": 5e-6, "S4": 1e-4},
    },
    LAYERWISE: {
        2: {"test": 2e-2, "S2": 6e-3},
        3: {"test": 1.3e-2, "S2": 6e-3, "S3": 0.2},
        4: {"test": 1.2e-2, "S2": 6e-3, "S3": 0.2, "S4": 0.5},
    },
}


def reading(corrected: Any = 1e-3, layerwise: float = 1.0, four: Any = None, **powers: float) -> Reading:
    """Errors follow powers of α₃ and α₄; those of layer 2 alone are then multiplied by ``corrected``.

    Arguments:
        corrected: one factor, or one for each seed.
        layerwise: the factor in layerwise training.
        four: the stages with four layers at the usual α.
        powers: ``alone`` of α₃ with three layers; ``second`` and ``third`` of α₄ in S₂ and S₃; ``over`` of α₃ in S₃.
    """
    power = {"alone": 2.0, "second": 2.0, "third": 2.0, "over": -2.0} | powers

    def outcome(at: At, _: Any) -> Outcome:
        variance = problem_at(SETTINGS, at).target_std.value ** 2
        noise = 1 + 0.01 * at.seed
        if at.layers == 4:
            stages = (four or FOUR)[at.method]
            if stages is None:
                return Outcome("diverged", {"steps": 1.0})
            small, third = at.fourth / 0.05, at.alpha / 0.2
            before = stages[3] | {"S2": stages[3]["S2"] * small ** power["second"]}
            before["S3"] = before["S3"] * small ** power["third"] * third ** power["over"]
            stages = {**stages, 3: before}
            jitter = {top: {name: v * noise**top for name, v in row.items()} for top, row in stages.items()}
            return run_with(SETTINGS, 4, FOUR[LAYERWISE] if at.method == LAYERWISE else jitter, variance)
        alone = noise * at.alpha ** power["alone"] / 10
        factor = layerwise if at.method == LAYERWISE else corrected
        factor = factor[at.seed] if isinstance(factor, list) else factor
        stages = {
            2: {"test": 0.01, "S2": alone, "all2": 2 * noise * at.alpha / 10},
            3: {"test": alone * factor, "S2": alone * factor, "S3": alone * factor},
        }
        return run_with(SETTINGS, 3, stages, variance)

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


def test_all_claims_hold_on_good_numbers() -> None:
    found = claims_in(reading())
    assert refuted(found) == []
    assert [found[name].measured for name in ("alone", "fourth-2", "third")] == pytest.approx([2, 2, -2])
    assert found["step-2-3"].low is not None and found["step-2-3"].low >= 0
    assert found["together"].measured == pytest.approx(1000)


def four(method: str = TOGETHER, top: int = 4, **numbers: float) -> dict[str, Any]:
    return {**FOUR, method: {**FOUR[method], top: {**FOUR[method][top], **numbers}}}


@cases(
    ({"alone": 1.9}, ["alone"]),  # 7 % of error/α² between neighbours
    ({"alone": 2.05}, []),
    ({"second": 2.1}, ["fourth-2"]),
    ({"third": 1.9}, ["fourth-3"]),
    ({"over": -1.7}, ["third"]),
    ({"layerwise": 0.9}, ["layerwise"]),
    ({"layerwise": 1.1}, ["layerwise"]),
    ({"corrected": 1 / 19}, ["together"]),
    ({"corrected": [1e-3, 1e-3, 1.0]}, []),
    ({"four": four(top=3, S2=7e-3)}, ["step-2-3"]),
    ({"four": four(top=4, S2=4e-4)}, ["constant", "step-2-4"]),
    ({"four": four(top=4, S3=3e-2)}, ["constant", "step-3-4"]),
    ({"four": four(top=4, S4=5e-3)}, ["constant"]),
    ({"four": four(top=4, test=1e-3)}, ["test"]),
)
def test_claims_can_fail(made: dict[str, Any], wanted: list[str]) -> None:
    assert failing(reading(**made)) == wanted


def test_a_diverged_run_is_no_number() -> None:
    found = undecided(reading(four=FOUR | {TOGETHER: None}))
    assert found == ["fourth-2", "fourth-3", "third", "constant", "step-2-3", "step-2-4", "step-3-4", "test"]


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


def test_table_and_figures() -> None:
    read = reading()
    assert len(read.table[1]) == 3 * 2 * 2 + (2 + 2 + 2) * 3
    check_figures(read, ["course", "alpha"])
    course: Any = read.figures[0]
    starts = [line.arrays()[0][0] for line in course.lines]
    assert starts == [0, SETTINGS.steps, 2 * SETTINGS.steps] * 2  # a layer has features once it has joined
    assert [event.x for event in course.events] == [0, 20, 40]
    alpha: Any = read.figures[1]
    heights = alpha.lines[-1].arrays()[1][0]
    assert heights[0] / heights[-1] == pytest.approx((0.05 / 0.2) ** 2)


def test_bad_settings() -> None:
    refuse(SETTINGS, {"alphas": (0.1,)}, "alphas must hold at least two numbers")
    refuse(SETTINGS, {"four_alphas": (1.0, 0.2)}, "four_alphas must hold 3 numbers")
    refuse(SETTINGS, {"steps": 1}, "steps must be at least 2")
    refuse(SETTINGS, {"square": 1.0}, "square must")
