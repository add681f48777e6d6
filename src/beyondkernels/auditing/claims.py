"""Sentences that can be said of every model, and turn out true or false of this one."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from beyondkernels.auditing.ladder import ABOUT, KINDS, LAYERWISE, LINEARISED, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.auditing.where import corrected_blocks
from beyondkernels.frame import Frame, Statement, Value, claim, of, select
from beyondkernels.reports import AtLeast, AtMost, mean_interval

FIXED = [KINDS["floor"], KINDS["fixed"]]
"""The kinds of learners that learn no features."""

POINTS = "points"
"""The unit of scores: hundredths of the test points, or of the labels' variance."""


def error_of(rung: str) -> Value:
    """What a rung misses, in points."""
    return of("error", part="ladder", rung=rung)


def best_fixed_name(rows: Frame) -> str | None:
    """The learner with fixed features that has the best mean over seeds; None if there is none.

    The constant is one of them: a model that only finds the largest class has learnt no features. Means are over the
    seeds with which the model ends. A learner that diverged with one of these counts as none, because the others may be
    its lucky ones.

    Arguments:
        rows: the rows.
    """
    seeds = by_seed(rows, part="ladder", rung=MODEL)
    fixed = select(rows, {"part": "ladder", "kind": FIXED})
    found = {name: by_seed(fixed, rung=name) for name in dict.fromkeys(fixed.get("rung", ()))}
    means = {
        name: sum(scores[seed] for seed in seeds) / len(seeds)
        for name, scores in found.items()
        if seeds and seeds.keys() <= scores.keys()
    }
    return max(means, key=lambda name: means[name], default=None)


def best_fixed() -> Value:
    """What the best learner with fixed features misses, in points."""

    def compute(rows: Frame) -> Any:
        return error_of(best_fixed_name(rows) or "").compute(rows)

    return Value(compute, None, error_of("").within, "best_fixed()")


def claims(subject: Subject, settings: AuditSettings, rungs: Collection[str]) -> list[Statement]:
    """The claims about the rungs that there are.

    Arguments:
        subject: what is audited.
        settings: how.
        rungs: the names of the rungs that are run.
    """
    model, tolerance = error_of(MODEL), settings.tolerance
    found = []
    if any(KINDS[ABOUT[name][0]] in FIXED for name in rungs):
        found.append(
            claim(
                "features",
                "The model is clearly better than every learner with fixed features",
                best_fixed() - model,
                AtLeast(0.0, "clearly"),
                unit=POINTS,
            )
        )
    if TRAINED_KERNEL in rungs:
        found.append(
            claim(
                "carried",
                f"A kernel with the trained model's features is at most {points(tolerance)} worse than the model",
                error_of(TRAINED_KERNEL) - model,
                AtMost(tolerance),
                unit=POINTS,
            )
        )
    for name, id_, text in (
        (LINEARISED, "nonlinear", "The model is clearly better than its linearisation"),
        (LAYERWISE, "together", "Training all layers together is clearly better than layer by layer"),
    ):
        if name in rungs:
            found.append(claim(id_, text, error_of(name) - model, AtLeast(0.0, "clearly"), unit=POINTS))
    if "where" in settings.parts and corrected_blocks(subject, settings):
        gain = _correction("fixed") - _correction("released")
        text = (
            "For every block: once the blocks up to it are trained, training them on is clearly better than fixing them"
        )
        found.append(claim("correction", text, gain, AtLeast(0.0, "clearly"), unit=POINTS))
    return found


def interval_of(subject: Subject, rows: Frame) -> str | None:
    """The 95 % interval of the mean score over seeds, in words; None where all seeds have the same score.

    Learners that draw nothing have one run for all seeds of a finite data set. An interval without width would look
    like a certainty that they do not have.

    Arguments:
        subject: what is audited.
        rows: of one learner.
    """
    values = [float(value) for value in rows["score"].dropna()] if "score" in rows else []
    _, low, high, _ = mean_interval(values, within=(0.0 if subject.classes else -math.inf, 100.0))
    return None if low is None or low == high else f"{low:.2f} to {high:.2f}"


def points(number: float) -> str:
    """A number of points, in words."""
    return f"{number:g} point{'' if number == 1 else 's'}"


def score_heading(subject: Subject) -> str:
    """What a score is."""
    return "Test accuracy (%)" if subject.classes else "Variance explained on test points (%)"


def by_seed(rows: Frame, **where: Any) -> dict[int, float]:
    """The score of each seed that has one, from rows of which there is one for each seed.

    Arguments:
        rows: the rows.
        where: conditions.
    """
    mine = select(rows, where)
    if mine.empty or "score" not in mine:
        return {}
    pairs = zip(mine["seed"], mine["score"], strict=True)
    return {int(seed): float(score) for seed, score in pairs if math.isfinite(score)}


def _correction(below: str) -> Value:
    return of("error", "block", part="correction", below=below)
