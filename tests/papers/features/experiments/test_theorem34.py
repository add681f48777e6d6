import math
from dataclasses import replace
from typing import Any

import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.features.experiments.theorem34 import (
    ALL,
    EQUAL,
    KINDS,
    NOISE,
    RANDOM,
    Theorem34,
    problem_of as problem_at,
    spec,
)
from beyondkernels.papers.features.problems import DictionaryProblem, coherence
from beyondkernels.store import RunSpec
from papers.judging import check_figures, finish, refuse, refuted

EXPERIMENT = Theorem34()
SETTINGS = EXPERIMENT.settings("smoke")


def reading() -> Reading:
    """Everything learnt at 1/16, nothing beyond."""

    def outcome(at: At, _: RunSpec) -> Outcome:
        accuracy = 0.99 if at.share <= 1 / 16 else 0.6
        return Outcome("finished", {"train_accuracy": 1.0, "test_accuracy": accuracy})

    return finish(EXPERIMENT, SETTINGS, (0, 1), outcome)


def test_problems_stand_where_they_should() -> None:
    """µ over √d/D and σ_ζ over its bound, measured on the problems themselves."""
    d, D = SETTINGS.dim, SETTINGS.patterns
    for share in (1 / 16, 2.0):
        problems = {kind: problem_at(SETTINGS, At(kind=kind, share=share, seed=1)) for kind in KINDS}
        for kind in (EQUAL, ALL):
            assert coherence(problems[kind].matrix) * D / math.sqrt(d) == pytest.approx(share)
        assert coherence(problems[RANDOM].matrix) * D / math.sqrt(d) <= share
        assert coherence(problems[NOISE].matrix) < 1e-12
        scale = problems[NOISE].moments.scale
        assert problems[NOISE].noise_std * scale <= share * (1 + 1e-9)
        assert problems[EQUAL].noise_std == problems[RANDOM].noise_std == 0
        assert (problems[ALL].noise_std > 0, problems[ALL].moments.negative) == (True, pytest.approx(SETTINGS.ratio))
        assert {problem.instance for problem in problems.values()} == {1}


def test_specs_have_the_theorems_settings() -> None:
    (runs,) = EXPERIMENT.runs(SETTINGS)
    spec: Any = runs.spec(SETTINGS, At(kind=ALL, share=1 / 16, seed=0))
    process = spec.learner.algorithm.settings
    assert process.first.class_weights == pytest.approx((1 / 1.6, 1 / 0.4))
    assert process.first.noise_std == pytest.approx(SETTINGS.relevant**-1.5)
    assert process.later.output_rate == SETTINGS.readout_rate
    row: Any = runs.read(SETTINGS, At(kind=ALL, share=1 / 16, seed=0), Outcome("finished", {"test_accuracy": 0.5}))
    assert row["test_accuracy"] == 50
    assert row["noise_std"] == spec.problem.noise_std


def test_claims_table_and_figures() -> None:
    read = reading()
    assert refuted(read) == []
    assert len(read.table[1]) == 2 * len(KINDS)
    check_figures(read, ["accuracy"])
    accuracy: Any = read.figures[0]
    assert [event.x for event in accuracy.events] == [1 / 16, 1.0]


def test_bad_settings() -> None:
    refuse(SETTINGS, {"shares": (1 / 16, 12.0)}, r"shares must be below patterns \(12\), got 12.0")
    refuse(SETTINGS, {"shares": (0.5, 1.0)}, "shares must begin at 1/16 or below, where claims speak, got 0.5")
    refuse(SETTINGS, {"batch": 301}, r"batch must not exceed samples \(300\), got 301")


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_digits_of_the_scale_do_not_enter_a_runs_identity(kind, monkeypatch):
    # with two threads a sum of products ends in other digits than with one
    at = At(kind=kind, share=1 / 16, seed=0)
    key = spec(SETTINGS, at).key
    exact: Any = DictionaryProblem.moments.fget
    monkeypatch.setattr(
        DictionaryProblem, "moments", property(lambda p: replace(exact(p), variance=exact(p).variance * (1 + 1e-14)))
    )
    assert spec(SETTINGS, at).key == key


@pytest.mark.parametrize("share", [1 / 16, 1 / 4, 2.0])
def test_noise_is_its_share_of_the_condition_whatever_the_dictionary(share):
    problem = problem_at(SETTINGS, At(kind=ALL, share=share, seed=0))
    scale = problem.moments.scale
    assert problem.noise_std / min(1 / scale, scale / math.sqrt(problem.dim)) == pytest.approx(share, rel=1e-6)
