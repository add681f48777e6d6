"""What tests hand to a learner: problems whose sizes are plain attributes, cases of a seed, and an ear for progress."""

from __future__ import annotations

from typing import Any

from beyondkernels.core import Case, Problem, Stream


class Sized(Problem):
    """A problem that says its sizes as attributes or fields, one number each unless it says otherwise."""

    in_dim = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    out_dim = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


def case_of(problem: Problem, n: int, test: int, seed: int = 0, **more: Any) -> Case:
    """The samples and the stream that a run with this seed gives to its learner."""
    stream = Stream(seed)
    train, held = problem.sample(n, stream.child("train")), problem.sample(test, stream.child("test"))
    return Case(problem, train, held, stream.child("learner"), **more)


def quiet(fraction: float) -> None:
    assert 0 <= fraction <= 1
