import math
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.execution.outcomes import perform
from beyondkernels.lab import At
from beyondkernels.papers.bfc.experiments.classification import Classification
from beyondkernels.papers.bfc.experiments.classified import (
    ALGORITHMS,
    LITERAL,
    NETWORKS,
    OTHER,
    PRACTICAL,
    problem_of,
    row,
    spec,
)
from beyondkernels.papers.bfc.theory import cross_entropy_of_target, layer_shares
from papers.judging import check_figures, finish, refuse

EXPERIMENT = Classification()
LAPTOP, SMOKE = EXPERIMENT.settings("laptop"), EXPERIMENT.settings("smoke")


def test_v_is_that_of_footnote_47() -> None:
    assert LAPTOP.v == pytest.approx(math.log(2000) / 0.05)
    networks: Any = [spec(LAPTOP, At(method=NETWORKS[top], size=0.2, seed=1)).learner for top in (2, 3, 4)]
    assert [learner.algorithm.loss.scale for learner in networks] == [LAPTOP.v] * 3
    assert [learner.algorithm.steps for learner in networks] == [(8000,), (1000, 7000), (1000, 2000, 5000)]
    assert [learner.network.depth for learner in networks] == [2, 3, 4]
    assert all(learner.network.leading for learner in networks)
    problem = problem_of(LAPTOP.dim, 0.2, 1)
    assert networks[1].network.alphas == problem.scales[:2]
    for method, constant, power in ((PRACTICAL, 0.3, 1), (LITERAL, 100.0, 1), (OTHER, 0.01, 2)):
        learner: Any = spec(LAPTOP, At(method=method, size=0.4, seed=1)).learner
        rule = learner.algorithm
        assert (rule.target, rule.constant, rule.power) == ("classification", constant, power)
        assert spec(LAPTOP, At(method=method, size=0.4, seed=1)).samples == LAPTOP.algorithm_samples
        assert learner.network.leading and learner.network.alphas == problem_of(LAPTOP.dim, 0.4, 1).scales
        stds = [part["alpha"] for part in layer_shares(problem_of(LAPTOP.dim, 0.4, 1)).values()]
        assert learner.algorithm.settings.distill_at[-1] == pytest.approx(LAPTOP.last_distill * stds[-1] ** 2)


def test_rows() -> None:
    at = At(method=NETWORKS[3], size=0.4, seed=0)
    said = Outcome("finished", {"test_accuracy": 0.75, "train_accuracy": 1.0})
    found, known = row(SMOKE, at, said), layer_shares(problem_of(SMOKE.dim, 0.4, 0))
    assert (found["test_error"], found["train_error"]) == (0.25, 0.0)
    assert found["decided"] == found["decided3"] == known[3]["decided"] and found["alpha4"] == known[4]["alpha"]
    assert "decided" not in row(SMOKE, at.with_(method=NETWORKS[1]), said) and "least" not in found
    said.scalars.update({"target_error": 0.125, "layer2/rank": 2.0})
    log = math.log(8)
    for method, v in {PRACTICAL: log / SMOKE.constant, LITERAL: log / 100, OTHER: 100 * log**2}.items():
        found = row(SMOKE, at.with_(method=method), said)
        v *= 8
        least = cross_entropy_of_target(problem_of(SMOKE.dim, 0.4, 0), v)
        assert found["least"] == pytest.approx(least / 0.0625) and found["ranks"] == "2"


def test_table_and_figures() -> None:
    errors = {name: 0.4 / 3**top for top, name in NETWORKS.items()} | {PRACTICAL: 0.001, LITERAL: 0.4, OTHER: 0.001}

    def outcome(at: At, spec: Any) -> Outcome:
        said = {"test_accuracy": 1 - errors[at.method] + 0.001 * at.seed, "train_accuracy": 1.0}
        if at.method not in ALGORITHMS:
            return Outcome("finished", said)
        steps = np.array([0.0, 5.0, 10.0])
        series = {"rule/step": steps, "rule/objective": 1 / (1 + steps), "rule/target_error": np.array([0.5, 0.5, 0.1])}
        return Outcome("finished", said | {"target_error": 0.1}, series)

    read = finish(EXPERIMENT, SMOKE, (0, 1), outcome)
    check_figures(read, ["increments", "error", "halving"])
    _, lines = read.table
    assert [line["method"] for line in lines[:4]] == list(NETWORKS.values())
    figures: Any = read.figures
    shares, _, halving = figures
    drawn: Any = {line.label: line.arrays() for line in shares.lines}
    assert drawn["layer 4, learnt"][0].tolist() == [0.1, 0.2]
    assert drawn["layer 4, learnt"][1] == pytest.approx(0.4 / 27 - 0.4 / 81)
    assert drawn["layer 3, computed"][1][1, 0] == layer_shares(problem_of(SMOKE.dim, 0.2, 1))[3]["decided"]
    assert halving.lines[1].arrays()[1][0].tolist() == [0.5, 0.1]


def test_runs_give_accuracies() -> None:
    for methods in ([NETWORKS[2], NETWORKS[4]], ALGORITHMS):
        ats = [At(method=method, size=0.4, seed=0) for method in methods]
        for at, outcome in zip(ats, perform([spec(SMOKE, at) for at in ats]), strict=True):
            found: Any = row(SMOKE, at, outcome)
            assert 0 < found["test_error"] < 0.6
            assert ("least" in found) == (at.method in ALGORITHMS)


def test_bad_settings() -> None:
    refuse(LAPTOP, {"steps": (1, 1)}, "steps must hold 3 numbers")
    refuse(LAPTOP, {"algorithm_size": 0.3}, "algorithm_size must be one of")
