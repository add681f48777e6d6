"""Theorem 1's experiment: its numbers typed by hand, its slopes with runs made by hand, and the algorithm itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import torch
from beyondkernels.experiments.resnet.theorem1.experiment import Theorem1, Theorem1ExperimentSettings
from beyondkernels.experiments.resnet.theorem1.methods import (
    FROZEN,
    KERNEL,
    METHODS,
    NETWORK,
    SAME,
    spec_of,
    theorem_of,
)

import beyondkernels as bk
from beyondkernels.core import InputError, Outcome, Stream
from beyondkernels.experiments.resnet.theorem1 import tables
from beyondkernels.reports import render_svg
from beyondkernels.runs import StoredRun
from beyondkernels.runs.perform import perform

torch.set_num_threads(1)

EXPERIMENT = Theorem1()
LAPTOP, SMOKE = EXPERIMENT.settings("laptop"), EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)


def network_run(tail: float | None, average: float = 1.0, end: float = 1.0) -> StoredRun:
    scalars = {"steps": 1.0} if tail is None else {"test_loss": end, "online_loss": average, "online_loss_tail": tail}
    return StoredRun("0" * 32, {}, Outcome("diverged" if tail is None else "finished", scalars), {})


def finished_runs(powers: dict[str, float], factors: dict[str, float], settings: Any = LAPTOP) -> dict[Any, StoredRun]:
    """Runs whose tails are powers of α exactly, times a factor of the seed; averages are twice, ends half of that."""
    finished: dict[Any, StoredRun] = {}
    for label in EXPERIMENT.plan(settings, SEEDS, {}):
        name, alpha, seed = str(label[0]), float(str(label[1]).partition("=")[2]), int(label[2])
        risk = factors[name] * (1 + 0.1 * seed) * alpha ** powers[name]
        if name == KERNEL.name:
            finished[label] = StoredRun("0" * 32, {}, Outcome("finished", {"test_loss": risk}), {})
        else:
            finished[label] = network_run(risk, 2 * risk, risk / 2)
    return finished


POWERS = {NETWORK.name: 5.0, FROZEN.name: 2.5, SAME.name: 0.0, KERNEL.name: 4.0}
FACTORS = {NETWORK.name: 4.0, FROZEN.name: 4.0, SAME.name: 1e-3, KERNEL.name: 0.1}


def claims(powers: dict[str, float], factors: dict[str, float], scale: str = "laptop") -> dict[str, Any]:
    rows = EXPERIMENT.rows(LAPTOP, finished_runs(powers, factors))
    return {claim.id: claim for claim in EXPERIMENT.claims(LAPTOP, rows, scale)}


@pytest.mark.parametrize("settings", [LAPTOP, SMOKE, EXPERIMENT.settings("paper")])
def test_the_numbers_are_theorem_1s(settings: Theorem1ExperimentSettings) -> None:
    d, k = settings.dim, settings.outputs
    for alpha in settings.alphas:
        specs: dict[str, Any] = {method.name: spec_of(method, settings, alpha, 0) for method in METHODS}
        delta = (alpha / 0.5) ** 4
        rule = specs[NETWORK.name].learner.algorithm
        # k p_F C_s(F) = 2k √(2d/k), squared; then rounded up
        assert -1e-6 <= rule.steps - 8 * d * k / delta**2 <= 1 + 1e-6
        assert rule.first_rate == pytest.approx(delta, rel=1e-12)
        assert rule.second_rate == pytest.approx(0.1 * delta * (alpha / 0.5) ** 2, rel=1e-12)
        assert specs[NETWORK.name].samples == rule.steps
        assert specs[FROZEN.name].learner.algorithm == replace(rule, second_rate=0.0)
        smallest: Any = spec_of(NETWORK, settings, settings.alphas[0], 0).learner
        assert specs[SAME.name].learner == smallest
        assert specs[SAME.name].problem.alpha == alpha
        network = specs[NETWORK.name].learner.network
        assert bk.networks.initial_stds(network, d, k) == pytest.approx((0.5, 1.0))
        assert specs[KERNEL.name].samples == settings.kernel_samples


def test_beyond_the_unit_nothing_grows() -> None:
    """min{1, δ} is one above α = unit_alpha."""
    numbers = [spec_of(NETWORK, replace(LAPTOP, unit_alpha=0.3), alpha, 0).learner for alpha in (0.3, 0.5)]
    rules: Any = [learner.algorithm for learner in numbers if isinstance(learner, bk.engine.TrainedNetwork)]
    assert (rules[0].steps, rules[0].first_rate) == (rules[1].steps, rules[1].first_rate) == (960, 1.0)
    assert rules[1].second_rate == pytest.approx(rules[0].second_rate * (0.5 / 0.3) ** 2)


def test_hypotheses_on_the_second_radius_have_constant_one() -> None:
    """τ_v = α k p_G C_s(G) as it is, whatever constant η_v has: no choice of ours makes a hypothesis look better."""
    for ratio in (0.1, 0.2):
        found = theorem_of(replace(LAPTOP, ratio=ratio), 0.2)
        sizes = bk.theory.concept_complexity(bk.problems.HardInstance(30, 4, 0.2), star=1.0).sizes
        assert found.second_radius == 0.2 * sizes.composite_size
        asked = next(each for each in found.missed if str(each).partition(": ")[2].startswith("τ_v ≤ 1/polylog(m)"))
        assert str(asked).startswith("misses by a factor 511")
        assert found.second_rate == pytest.approx(ratio * 0.4**6, rel=1e-12)


def test_plans_share_the_run_of_the_smallest_alpha() -> None:
    plan = EXPERIMENT.plan(LAPTOP, SEEDS, {})
    assert len(plan) == 4 * 7 * 3
    assert plan[SAME.name, "α=0.2", 1].key == plan[NETWORK.name, "α=0.2", 1].key
    assert len({spec.key for spec in plan.values()}) == 4 * 7 * 3 - 3


def test_slopes_against_the_normal_equations() -> None:
    x, y = np.array([0.2, 0.3, 0.45, 0.5]), np.array([0.3, 0.1, 2.0, 0.7])
    design = np.stack([np.log(x), np.ones(4)], 1)
    expected = np.linalg.solve(design.T @ design, design.T @ np.log(y))[0]
    assert tables.slope(list(zip(x, y, strict=True))) == pytest.approx(expected, rel=1e-12)
    assert tables.slope([(0.2, 1.0), (0.3, None)]) is None
    assert tables.slope([(0.2, 1.0), (0.3, 0.0), (0.4, 2.0)]) is None
    assert tables.slope([(0.2, 1.0)]) is None


def test_claims_on_powers() -> None:
    found = claims(POWERS, FACTORS)
    assert {name: claim.holds for name, claim in found.items()} == {
        "slope": True,
        "slope-average": True,
        "second-layer": True,
        "below-floor": True,
        "fourth-power": True,
        "slope-same-t": False,
    }
    assert found["slope"].measured == pytest.approx(5)
    assert found["slope-same-t"].measured == pytest.approx(0, abs=1e-12)
    assert found["slope"].reason.endswith("; with V frozen it is 2.50")
    assert {name for name, claim in found.items() if claim.paper is None} == {
        "second-layer",
        "below-floor",
        "slope-same-t",
    }
    # seeds have the same factor with V frozen, which leaves α⁵⁻²·⁵
    assert found["second-layer"].measured == pytest.approx(0.5**2.5)
    # the largest ratios: at α = 0.5 of 4 · 1.1 · α⁵ to 4α², and at α = 0.2 of 10⁻³ · 1.1 to 4α⁴
    assert found["below-floor"].measured == pytest.approx(1.1 * 0.5**3)
    assert found["fourth-power"].measured == pytest.approx(1.1e-3 / (4 * 0.2**4))


def test_claims_fail() -> None:
    assert not claims(POWERS | {NETWORK.name: 3.4}, FACTORS)["slope"].holds
    assert not claims(POWERS | {NETWORK.name: 3.4}, FACTORS)["slope-average"].holds
    assert not claims(POWERS, FACTORS | {FROZEN.name: 1.2})["second-layer"].holds
    assert claims(POWERS, FACTORS | {FROZEN.name: 1.5})["second-layer"].holds
    assert not claims(POWERS, FACTORS | {NETWORK.name: 40.0})["below-floor"].holds
    assert not claims(POWERS, FACTORS | {SAME.name: 1e-2})["fourth-power"].holds
    assert claims(POWERS | {SAME.name: 4.0}, FACTORS)["slope-same-t"].holds


def test_claims_are_silent_at_smoke_scale() -> None:
    assert {claim.holds for claim in claims(POWERS, FACTORS, "smoke").values()} == {None}


def test_a_diverged_run_leaves_claims_undecided_and_the_line_broken() -> None:
    finished = finished_runs(POWERS, FACTORS)
    finished[NETWORK.name, "α=0.3", 1] = network_run(None)
    rows = EXPERIMENT.rows(LAPTOP, finished)
    decided = {claim.id: claim.holds for claim in EXPERIMENT.claims(LAPTOP, rows, "laptop")}
    assert decided["slope"] is decided["below-floor"] is None
    assert decided["fourth-power"] is True
    figure: Any = EXPERIMENT.figures(LAPTOP, finished)[0]
    tail = next(line for line in figure.lines if line.label == "last half")
    assert np.isnan(tail.y).sum() == 1


@pytest.mark.parametrize("seeds", [[1], [0, 1, 2]])
def test_a_run_that_is_not_there_is_no_smaller_range(seeds: list[int]) -> None:
    """The slope over the other α would be another slope, so there is none, even if no seed has that α."""
    finished = finished_runs(POWERS, FACTORS)
    for seed in seeds:
        del finished[NETWORK.name, "α=0.5", seed]
    rows = EXPERIMENT.rows(LAPTOP, finished)
    for found in (tables.slopes(rows, NETWORK, "tail", LAPTOP.alphas), _ratios(rows)):
        assert [value is None for value in found] == [seed in seeds for seed in SEEDS]
    decided = {claim.id: claim.holds for claim in EXPERIMENT.claims(LAPTOP, rows, "laptop")}
    silent = {"slope", "slope-average", "second-layer", "below-floor"}
    assert {name for name, holds in decided.items() if holds is None} == silent
    assert [value is None for value in tables.slopes(rows, FROZEN, "tail", LAPTOP.alphas)] == [False] * 3


def _ratios(rows: Any) -> list[float | None]:
    tails, frozen = (tables.by_seed(rows, method, "tail", LAPTOP.alphas) for method in (NETWORK, FROZEN))
    return tables.largest_ratios(tails, frozen)


def test_largest_ratios_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    risks, levels = rng.uniform(0.1, 1, (4, 7)).tolist(), rng.uniform(0.1, 1, (4, 7)).tolist()
    for i, found in enumerate(tables.largest_ratios(risks, levels)):
        largest = 0.0
        for j in range(7):
            largest = max(largest, risks[i][j] / levels[i][j])
        assert found == largest
    levels[2][3] = None
    assert [found is None for found in tables.largest_ratios(risks, levels)] == [False, False, True, False]


def test_the_table_ends_with_slopes() -> None:
    columns, lines = EXPERIMENT.table(LAPTOP, EXPERIMENT.rows(LAPTOP, finished_runs(POWERS, FACTORS)))
    assert [line["alpha_shown"] for line in lines] == ["0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5", "slope"]
    first, last = lines[0], lines[-1]
    assert first["steps"] == math.ceil(960 * 2.5**8)
    assert first["network_end"] == pytest.approx(first["network_tail"] / 2)
    assert first["floor"] == pytest.approx(4 * 0.2**2)
    assert last["floor"] == pytest.approx(2, rel=1e-12)
    wanted = {"network_tail": 5, "network_end": 5, "frozen_tail": 2.5, "same_tail": 0, "kernel_end": 4}
    assert {name: last[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)
    assert all(column.key in line for column in columns for line in lines)


def test_figures_are_drawn() -> None:
    for figure in EXPERIMENT.figures(LAPTOP, finished_runs(POWERS, FACTORS)):
        assert ET.fromstring(render_svg(figure)) is not None
    assert EXPERIMENT.figures(LAPTOP, {}) == []


def test_remarks_count_the_hypotheses() -> None:
    levels, _, low, high = EXPERIMENT.remarks(LAPTOP)
    assert "4.16, 5 " in levels.replace(";", " ") and "0.16, 1." in levels
    for remark, steps in ((low, "1,464,844"), (high, "960")):
        assert f"T = {steps}" in remark
        assert "of 23 hypotheses hold" in remark
        held = int(remark.partition(" of 23")[0].rpartition(" ")[2])
        assert remark.count("misses by") + remark.count("fails:") == 23 - held
        assert remark.count("holds by") + remark.count("holds:") == (held if remark is low else 0)
        assert "α ≤ Θ̃(1/(k p_G C_s(G)))" in remark.partition("Those that hold")[0]


def test_the_levels_are_the_problems() -> None:
    """kα² is the exact risk of F and of the best linear predictor; so the floor's slope is two."""
    problem = bk.problems.HardInstance(SMOKE.dim, SMOKE.outputs, 0.4)
    assert problem.base_only_risk == pytest.approx(problem.polynomial_risk(1)) == pytest.approx(2 * 0.4**2)
    assert problem.risk(problem.base_signal, dtype=torch.float64).value == pytest.approx(2 * 0.4**2)


def test_a_run_is_algorithm_1() -> None:
    """A short run of the plan, against gradients by autograd, one point after the other."""
    spec = spec_of(NETWORK, SMOKE, 0.5, 3)
    (outcome,) = perform([spec])
    learner: Any = spec.learner
    rule, network = learner.algorithm, learner.network
    problem, stream = spec.problem, Stream(3)
    train = problem.sample(rule.steps, stream.child("train"))
    params, buffers = network.init(problem.in_dim, problem.out_dim, stream.child("learner").child("initial"))
    losses = []
    for x, y in zip(train.x, train.y, strict=True):
        at = {name: value.clone().requires_grad_(name[0] in "WV") for name, value in params.items()}
        loss = (network.apply(at, buffers, x[None])[0] - y).square().sum()
        (loss / 2).backward()
        for name, value in at.items():
            if value.grad is not None:
                rate = rule.first_rate if name.startswith("W") else rule.second_rate
                params[name] = (value - rate * value.grad).detach()
        losses.append(float(loss.detach()))
    assert outcome.scalars["online_loss"] == pytest.approx(np.mean(losses), rel=1e-3)
    assert outcome.scalars["online_loss_tail"] == pytest.approx(np.mean(losses[len(losses) // 2 :]), rel=1e-2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alphas": (0.3,)}, "alphas must hold at least two increasing numbers"),
        ({"alphas": (0.3, 0.2)}, "increasing"),
        ({"alphas": (-0.1, 0.2)}, "alphas must be positive"),
        ({"rate": 0.0}, "rate must be positive"),
        ({"unit_alpha": -1.0}, "unit_alpha must be positive"),
    ],
)
def test_bad_settings(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        replace(LAPTOP, **change)
