from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.core import Outcome
from beyondkernels.lab import At, specs_of
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.layerwise import (
    NETWORKS,
    POLYNOMIAL,
    SEQUENTIAL,
    TANGENT,
    TOGETHER,
    TWO_LAYER,
    Layerwise,
)
from papers.judging import check_figures, finish, refuse, undecided

EXPERIMENT = Layerwise()
LAPTOP, SMOKE = EXPERIMENT.settings("laptop"), EXPERIMENT.settings("smoke")


def test_specs() -> None:
    specs: dict[Any, Any] = dict(specs_of(EXPERIMENT, LAPTOP, (0, 3), {}))
    together, joining, layerwise, readout = (specs[method, "samples=100", 3].learner for method in NETWORKS)
    assert together.network == joining.network == layerwise.network  # one number of neurons, the α of the target
    assert (together.algorithm.steps, joining.algorithm.steps) == ((8000,), (1000, 2000, 5000))
    assert (joining.algorithm.frozen, layerwise.algorithm.frozen) == (False, True)
    assert readout == replace(layerwise, network=replace(layerwise.network, readout=True))
    assert (layerwise.algorithm.batch, specs[TOGETHER, "samples=2000", 0].learner.algorithm.batch) == (100, 200)
    first = specs[TOGETHER, "samples=100", 0]
    assert together.network.alphas == specs[TOGETHER, "samples=100", 3].problem.scales != first.problem.scales
    assert together.ensemble_key() == first.learner.ensemble_key()
    kernel = specs["search", POLYNOMIAL, "samples=200", "kernel_scale=0.01", 1000].learner.kernel
    assert (kernel.degree, kernel.scale) == (16, 0.01 / 8)
    shallow = specs["search", TWO_LAYER, "samples=200", "learning_rate=0.02", 1000].learner
    assert (shallow.network.degree, shallow.algorithm.steps) == (8, 8000)
    assert (SEQUENTIAL, "samples=2000", 0) in specs and (TANGENT, "samples=2000", 0) not in specs


def test_errors_are_relative_to_the_target() -> None:
    problem = common.target_of(4, (1.0, 0.2, 0.05), 0)
    x = problem.sample(200_000, bk.core.Stream(7)).x
    parts = problem.contributions(x)
    assert problem == SMOKE.target(0)
    row = common.errors(SMOKE, At(seed=0), Outcome("finished", {"test_loss": parts[4].var().item()}))
    assert row["of_last_layer"] == pytest.approx(1.0, rel=0.05)  # as if layer 4 were left out, but for its mean
    assert row["test_error"] == pytest.approx((parts[4].var() / problem.target(x).var()).item(), rel=0.05)


def test_table_and_figures() -> None:
    def outcome(at: At, spec: Any) -> Outcome:
        names: list[str] = ["train_loss", "test_loss", "validation_loss", "leave_one_out_loss"]
        return Outcome("finished", dict.fromkeys(names, 0.1 + float(at.seed % 3)))

    read = finish(EXPERIMENT, SMOKE, (0, 1, 2), outcome)
    check_figures(read, ["error"])
    assert undecided(read) == []
    figure: Any = read.figures[0]
    assert len(figure.lines) == 9
    constant, bar = figure.levels
    variance, last = common.variances_of(common.target_of(4, SMOKE.alphas, 0))
    assert (constant.value, bar.value) == (1.0, pytest.approx(0.1 * last / variance))
    _, lines = read.table
    assert len(lines) == len(SMOKE.samples) * (len(NETWORKS) + 4) + 1


def test_bad_settings() -> None:
    refuse(LAPTOP, {"alphas": (1.0, 0.2)}, "steps must hold a number for each of the 2 alphas")
    refuse(LAPTOP, {"alphas": (1.0,)}, "alphas must hold 2 or 3 numbers")
    refuse(LAPTOP, {"kernel_scales": (0.3,)}, "1, 2 or 5 times a power of ten")
    assert replace(LAPTOP, alphas=(1.0, 0.2), steps=(10, 20)).degree == 8
