import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.features.experiments.gaussians import METHODS, SMALL, USUAL, Table6Settings, problem_of
from beyondkernels.papers.features.experiments.table6 import Table6
from beyondkernels.papers.features.paper import PAPER as FEATURES
from papers.judging import check_figures, finish, refuse, refuted

TABLE6 = Table6()
PAPER, SMOKE = TABLE6.settings("paper"), TABLE6.settings("smoke")
SEEDS = (0, 1, 2)
GOOD = {1: (0.25, 0.98), 2: (0.5, 0.99), 3: (0.26, 0.95)}
"""The least cosine at the start and at the end, by experiment."""


def reading() -> Reading:
    """Hand-made runs."""
    draw = np.random.default_rng(0)

    def outcome(at: At, _: Any) -> Outcome:
        start, end = GOOD[at.experiment]
        # the seeds differ a little, so that there is an interval
        start, end = start + 0.001 * at.seed, end + 0.001 * at.seed
        steps = np.array([PAPER.steps_per_epoch * epoch for epoch in PAPER.shown(at.experiment)], dtype=float)
        centres = 2 ** PAPER.patterns[at.experiment - 1]
        by_centre = np.linspace(end, 1, centres)
        series = {
            "step": steps,
            "test_accuracy": np.array([0.5, 0.999, 0.999]),
            "coverage/step": steps,
            "coverage/least": np.array([start, (start + end) / 2, end]),
            "coverage/by_centre": np.array([by_centre, by_centre, by_centre]),
            "coverage/by_neuron": np.tile(np.linspace(0.2, 0.99, 12), (3, 1)),
            "coverage/nearest": np.tile(np.arange(12), (3, 1)),
        }
        if at.method == SMALL:
            series |= {"centre_directions/step": steps}
            series["centre_directions/points"] = draw.normal(size=(3, 12 + centres, 2))
        score = 0.999 + 0.0001 * at.seed
        return Outcome("finished", {"train_accuracy": 1.0, "test_accuracy": score}, series)

    return finish(TABLE6, PAPER, SEEDS, outcome)


def test_the_bar_lies_halfway_between_neighbouring_centres() -> None:
    for i in PAPER.numbered:
        centres = problem_of(PAPER, i, 0).centres.numpy()
        k = PAPER.patterns[i - 1]
        neighbour = max((c for c in centres[1:]), key=lambda c: float(c @ centres[0]))
        assert float(neighbour @ centres[0]) / k == pytest.approx((k - 2) / k)
        halfway = centres[0] + neighbour
        assert PAPER.bar(i) == pytest.approx(float(halfway @ centres[0]) / math.sqrt(k) / np.linalg.norm(halfway))


def test_settings_are_the_printed_ones() -> None:
    printed = FEATURES.printed("table6")
    assert (list(PAPER.dims), list(PAPER.patterns), list(PAPER.noises)) == (
        printed["dim"],
        printed["patterns"],
        printed["relative_noise"],
    )
    assert [list(PAPER.shown(i)) for i in PAPER.numbered] == printed["epochs_shown"]
    assert [2**k for k in PAPER.patterns] == printed["clusters"]


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == []
    _, lines = read.table
    assert [(line["experiment"], line["method"]) for line in lines] == [
        (str(i), method) for i in PAPER.numbered for method in METHODS
    ]
    assert lines[0]["least_start"] == pytest.approx(0.251)
    assert lines[0]["near"] == pytest.approx(100 * 2 / 12)
    exact = problem_of(PAPER, 1, 0)
    assert (lines[0]["linear_diagonal"], lines[0]["linear_bound"], lines[0]["bayes"]) == pytest.approx(
        (100 * exact.symmetric_linear_accuracy, 68.75, 100 * exact.bayes_accuracy)
    )
    check_figures(read, ["coverage", "neurons-1", "neurons-2", "neurons-3", "accuracy"])
    coverage, first, *_, accuracy = (figure for figure in read.figures)
    assert [level.value for level in accuracy.levels] == [68.75]  # type: ignore[attr-defined]
    assert len(coverage.lines) == 6  # type: ignore[attr-defined]
    epochs, values = coverage.lines[0].arrays()  # type: ignore[attr-defined]
    assert epochs.tolist() == [0, 50, 80] and values[0].tolist() == pytest.approx([0.25, 0.615, 0.98])
    assert len(first.panels) == 3 and first.star_kinds.count(0) == first.star_kinds.count(1) == 8  # type: ignore[attr-defined]


def test_neurons_are_coloured_by_the_class_of_their_centre() -> None:
    figure: Any = reading().figures[1]
    labels = problem_of(PAPER, 1, 0).centre_labels.tolist()
    bar = PAPER.bar(1)
    expected = [
        (0 if labels[i] > 0 else 1) if cosine >= bar else -1 for i, cosine in enumerate(np.linspace(0.2, 0.99, 12))
    ]
    assert list(figure.near) == expected and 0 in expected and 1 in expected


def test_plan() -> None:
    specs = specs_of(TABLE6, SMOKE, (0, 1), {})
    assert len({spec.key for spec in specs.values()}) == len(specs) == 2 * 2 * 2
    learners: dict[Any, Any] = {label: spec.learner for label, spec in specs.items()}
    small, usual = learners["experiment=2", SMALL, 1], learners["experiment=2", USUAL, 1]
    assert (small.algorithm.steps, small.algorithm.momentum, small.network.width) == (3 * 10, 0.95, 20)
    assert small.snapshot_at == small.record_at == (0, 10, 20, 30)
    assert small.network.parameterisation.weight_variance == pytest.approx(0.01)
    assert usual.network.parameterisation.weight_variance == pytest.approx(2.0)
    problem: Any = specs["experiment=2", SMALL, 1].problem
    assert (problem.dim, problem.patterns, problem.relative_noise, problem.instance) == (8, 3, 0.5, 1)


def test_relu_networks_without_biases_cannot_learn_odd_parities() -> None:
    """The paper's network over all centres vanishes for odd k; for even k its sign is the label."""
    for k in (3, 4, 5):
        problem = problem_of(Table6Settings(dims=(9,), patterns=(k,), noises=(0.3,), middles=(1,), epochs=(2,)), 1, 0)
        centres, labels = problem.centres.numpy(), problem.centre_labels.numpy()
        out = np.maximum(centres @ centres.T, 0) @ labels
        if k % 2:
            assert np.abs(out).max() < 1e-9
        else:
            assert (np.sign(out) == labels * np.sign(out[0] * labels[0])).all() and np.abs(out).min() > 0.1


def test_bad_settings() -> None:
    refuse(PAPER, {"samples": 20, "batch": 10}, r"samples must be at least the number of centres, 2\^5 = 32, got 20")
    refuse(PAPER, {"batch": 6000}, r"batch must not exceed samples \(5000\), got 6000")
    refuse(PAPER, {"dims": (100, 25)}, "must hold an entry for each experiment, got 2, 3, 3, 3, 3 entries")
    refuse(PAPER, {"middles": (90, 30, 50)}, "middles must not exceed epochs, got 90 of 80")
