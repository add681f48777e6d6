"""Sentences that can be said of every model, and turn out true or false of this one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from beyondkernels.auditing.ladder import KINDS, LAYERWISE, LINEARISED, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.auditing.where import corrected_blocks
from beyondkernels.frame import Frame, Statement, Value, claim, of
from beyondkernels.reports import AtLeast, AtMost, mean_interval

POINTS = "points"
"""The unit of scores: hundredths of the test points, or of the labels' variance."""


def error_of(rung: str) -> Value:
    """What a rung misses, in points."""
    return of("error", part="ladder", rung=rung)


def best_fixed() -> Value:
    """What the best learner with fixed features misses, in points: the one with the least mean over seeds."""
    fixed = of("error", "rung", part="ladder", kind=KINDS["fixed"])
    return fixed.at_least_mean(fixed)


def claims(subject: Subject, settings: AuditSettings, rungs: Collection[str]) -> list[Statement]:
    """The claims about the rungs that there are.

    Arguments:
        subject: what is audited.
        settings: how.
        rungs: the names of the rungs that are run.
    """
    model, tolerance = error_of(MODEL), settings.tolerance
    found = []
    if len(rungs) > 1:
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
                f"A kernel with the trained model's features comes within {points(tolerance)} of the model",
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
        text = "If the blocks up to any one are trained first, training them on is clearly better than fixing them"
        found.append(claim("correction", text, gain, AtLeast(0.0, "clearly"), unit=POINTS))
    return found


def interval_of(rows: Frame) -> str | None:
    """The 95 % interval of the mean score over seeds, in words."""
    values = [float(value) for value in rows["score"].dropna()] if "score" in rows else []
    _, low, high, _ = mean_interval(values, within=(float("-inf"), 100.0))
    return None if low is None else f"{low:.2f} to {high:.2f}"


def points(number: float) -> str:
    """A number of points, in words."""
    return f"{number:g} point{'' if number == 1 else 's'}"


def score_heading(subject: Subject) -> str:
    """What a score is."""
    return "Test accuracy (%)" if subject.classes else "Variance explained on test points (%)"


def means(rows: Frame, by: str, **where: Any) -> dict[Any, float]:
    """The mean score over seeds for each value of a column, in the rows' order.

    Arguments:
        rows: the rows.
        by: the column.
        where: conditions.
    """
    from beyondkernels.frame import select

    mine = select(rows, where)
    if mine.empty or "score" not in mine:
        return {}
    found = mine.groupby(by, sort=False)["score"].mean()
    return {place: float(value) for place, value in found.items() if value == value}


def _correction(below: str) -> Value:
    return of("error", "block", part="correction", below=below)
