"""Rehearsals on the training points alone: other training rules, tried before the test."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

from beyondkernels.algorithms import Descent
from beyondkernels.algorithms.optimisers import Adam, Decay, adam, chain
from beyondkernels.algorithms.recipe import RATES
from beyondkernels.auditing.ladder import LAST, LINEARISED, MODEL
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import InputError, Outcome
from beyondkernels.data import GivenData, hold_out
from beyondkernels.lab import Axis

FACTORS = (0.2, 1.0, 5.0)
"""What the learning rate is multiplied with: the least steps that change what training reaches on most problems."""

LIMITS = (0.01, 100.0)
"""How far a search may go. With steps of 4 or 5 it tries at most seven values: 0.01, 0.05, 0.2, 1, 5, 20 and 100."""

TUNED = (MODEL, LAST, LINEARISED)
"""The rungs whose learning rate is searched, each by itself. Kernels search what they have in every audit."""

FOLLOWING = ("layer by layer", "early features", "trained tangent kernel")
"""The rungs that take the model's learning rate, because they say something about the model as it is trained."""

Change = Literal["no weight decay", "Adam"]

CHANGES: tuple[Change, ...] = ("no weight decay", "Adam")
"""What else is tried where it changes something: the rule without its weight decay, and Adam with its usual rate."""

_HELD_OUT, _MOST_HELD_OUT = 0.2, 2000

_REPEATS, _FEW = 5, 500
"""Up to so many training points everything is tried so many times, each time with another split and another start."""


def rehearsals(subject: Subject) -> tuple[Subject, ...]:
    """The same model on training points alone: a fifth of them, at most 2000, take the place of the test points.

    So what is tried never sees a test point. Few points are split several times, because a fifth of them says little.
    A distribution draws other points for the seeds of the search. None if the rule has no learning rate that can be
    multiplied, or if there are too few points.

    Arguments:
        subject: what is audited.
    """
    found = [_rehearsal(subject, split) for split in range(_REPEATS if subject.samples <= _FEW else 1)]
    return tuple(each for each in found if each is not None)


def _rehearsal(subject: Subject, split: int) -> Subject | None:
    rule = subject.own_rule
    if why_not(subject) or rule is None:
        return None
    problem, samples, test = subject.problem, subject.samples, min(subject.test, _MOST_HELD_OUT)
    if isinstance(problem, GivenData):
        whole = problem.size("train")
        try:
            problem = hold_out(problem, min(_HELD_OUT, _MOST_HELD_OUT / whole), split)
        except InputError:  # too few points of a class
            return None
        samples, test = min(samples, problem.size("train")), problem.size("test")
    batch = None if rule.batch is None else min(rule.batch, samples)
    capped = dataclasses.replace(rule, batch=batch)  # pyright: ignore[reportArgumentType]
    return dataclasses.replace(subject, problem=problem, samples=samples, test=test, rule=capped)


def why_not(subject: Subject) -> str:
    """Why no other learning rate can be tried; nothing if one can.

    Arguments:
        subject: what is audited.
    """
    rule = subject.own_rule
    if rule is None or rule.with_rate_times(1.0) is None:
        return f"{type(subject.rule).__name__} has no single learning rate"
    return ""


def scaled(subject: Subject, factor: float) -> Subject:
    """The same subject with its learning rate multiplied.

    Arguments:
        subject: what is audited.
        factor: by which.
    """
    if factor == 1:
        return subject
    rule = subject.own_rule
    other = None if rule is None else rule.with_rate_times(factor)
    assert other is not None, "only rules that say how are tried with another rate"
    return dataclasses.replace(subject, rule=other)


def changes(subject: Subject) -> list[Change]:
    """The changes that make another rule of the model's own.

    Arguments:
        subject: what is audited.
    """
    return [change for change in CHANGES if _changed(subject, change) is not None]


def changed(subject: Subject, change: Change | None) -> Subject:
    """The same subject with another rule.

    Arguments:
        subject: what is audited.
        change: how; None leaves it as it is.
    """
    rule = None if change is None else _changed(subject, change)
    return subject if rule is None else dataclasses.replace(subject, rule=rule)


def _changed(subject: Subject, change: Change) -> Descent | None:
    """The changed rule; None where nothing would change, or where it is not known how."""
    rule = subject.own_rule
    if not isinstance(rule, Descent):
        return None
    parts = rule.rule.parts
    pulls = [part for part in parts if isinstance(part, Decay) and part.hyper_of(range(1, 2))["decay"] != [0.0]]
    if change == "no weight decay":
        kept: list[Any] = [part for part in parts if part not in pulls]
        return dataclasses.replace(rule, optimiser=chain(*kept)) if pulls else None
    if any(isinstance(part, Adam) for part in parts):
        return None
    return dataclasses.replace(rule, optimiser=chain(*pulls, adam(RATES["adam"])))


def axis(settings: AuditSettings) -> Axis:
    """The factors that are tried: three of them, and more beyond the best one if rates are tuned.

    Arguments:
        settings: how.
    """
    return Axis(FACTORS, LIMITS if settings.tune else (FACTORS[0], FACTORS[-1]))


def missed(subject: Subject, outcome: Outcome, seed: int) -> float:
    """What a try misses on the points put aside, in points; the smaller loss decides between equal ones.

    Arguments:
        subject: the rehearsal.
        outcome: of the try.
        seed: of the try.
    """
    error, loss = subject.score(outcome.scalars, seed)["error"], outcome.scalars["test_loss"]
    # Accuracies are often equal. A thousandth of a point is less than one point among 100,000 is worth.
    return error + 1e-3 * loss / (1 + loss) if math.isfinite(error) else math.inf
