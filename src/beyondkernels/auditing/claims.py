"""Sentences that can be said of every model, and turn out true or false of this one."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from beyondkernels.auditing.block_learners import corrected_blocks
from beyondkernels.auditing.ladder import ABOUT, KINDS, LAYERWISE, LINEARISED, MODEL, TRAINED_KERNEL
from beyondkernels.auditing.scores import error_of_test_points, scores_of
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.lab import Above, AtMost, Quantity, Rows, Statement, Value, claim, mean_interval, of, select

FIXED = [KINDS["floor"], KINDS["fixed"]]
"""The kinds of learners that learn no features."""


def error_of(rung: str) -> Value:
    """What a rung misses, in points."""
    return of("error", part="ladder", rung=rung)


def best_fixed_name(rows: Rows) -> str | None:
    """The learner with fixed features that has the best mean over seeds; None if there is none.

    The constant is one of them: a model that only finds the largest class has learnt no features. Means are over the
    seeds with which the model ends. A learner that diverged with one of these counts as none, because the others may be
    its lucky ones.

    Arguments:
        rows: the rows.
    """
    means = counted(rows)
    return max(means, key=lambda name: means[name], default=None)


def counted(rows: Rows) -> dict[str, float]:
    """The learners with fixed features that count, and their mean scores over the seeds with which the model ends.

    Arguments:
        rows: the rows.
    """
    seeds = scores_of(rows, part="ladder", rung=MODEL)
    fixed = select(rows, {"part": "ladder", "kind": FIXED})
    found = {name: scores_of(fixed, rung=name) for name in dict.fromkeys(fixed.get("rung", ()))}
    return {name: scores.among(seeds).mean for name, scores in found.items() if seeds and seeds.keys() <= scores.keys()}


def best_fixed() -> Value:
    """What the best learner with fixed features misses, in points."""

    def compute(rows: Rows) -> Any:
        return error_of(best_fixed_name(rows) or "").compute(rows)

    return Value(compute, quantity="error", name="best_fixed()")


def claims(subject: Subject, settings: AuditSettings, rungs: Collection[str]) -> list[Statement]:
    """The claims about the rungs that there are.

    Arguments:
        subject: what is audited.
        settings: how.
        rungs: the names of the rungs that are run.
    """
    model, tolerance = error_of(MODEL), settings.tolerance
    found = []

    def noise(rows: Rows, rung: str) -> float:
        return error_of_test_points(subject, *(scores_of(rows, part="ladder", rung=name) for name in (MODEL, rung)))

    if any(KINDS[ABOUT[name][0]] in FIXED for name in rungs):
        found.append(
            claim(
                "features",
                "The model is clearly better than every learner with fixed features",
                best_fixed() - model,
                Above(0.0),
                beside_seeds=lambda rows, _: noise(rows, best_fixed_name(rows) or ""),
                kind="question",
            )
        )
    if TRAINED_KERNEL in rungs:
        found.append(
            claim(
                "carried",
                f"A kernel with the trained model's features is at most {points(tolerance)} worse than the model",
                error_of(TRAINED_KERNEL) - model,
                AtMost(tolerance),
                beside_seeds=lambda rows, _: noise(rows, TRAINED_KERNEL),
                kind="question",
            )
        )
    for name, id_, text in (
        (LINEARISED, "nonlinear", "The model is clearly better than its linearisation"),
        (LAYERWISE, "together", "Training all layers together is clearly better than layer by layer"),
    ):
        if name in rungs:
            found.append(
                claim(
                    id_,
                    text,
                    error_of(name) - model,
                    Above(0.0),
                    beside_seeds=lambda rows, _, name=name: noise(rows, name),
                    kind="question",
                )
            )
    if "where" in settings.parts and corrected_blocks(subject, settings):
        gain = _correction("longer") - _correction("released")
        text = (
            "For every block: once the blocks up to it are trained, training them on with those above is clearly "
            "better than training them on without"
        )

        def between(rows: Rows, block: Any) -> float:
            ways = (scores_of(rows, part="correction", block=block, below=way) for way in ("longer", "released"))
            return error_of_test_points(subject, *ways)

        test = Above(0.0)
        found.append(claim("correction", text, gain, test, beside_seeds=between, kind="question"))
    return found


def interval_of(subject: Subject, rows: Rows) -> str | None:
    """The 95 % interval of the mean score over seeds and test points, in words; None if it would have no width.

    An interval without width would look like a certainty that a learner does not have.

    Arguments:
        subject: what is audited.
        rows: of one learner.
    """
    scores, within = scores_of(rows), quantities(subject)["score"].within
    _, low, high, _ = mean_interval(list(scores.values()), within=within, beside=error_of_test_points(subject, scores))
    if low is None or high is None or high - low <= 1e-9 * max(1.0, abs(high)):
        return None
    return f"{low:.2f} to {high:.2f}"


def points(number: float) -> str:
    """A number of points, in words."""
    return f"{number:g} point{'' if number == 1 else 's'}"


def quantities(subject: Subject) -> dict[str, Quantity]:
    """What the columns of an audit are; scores and errors are in hundredths of the points, or of the variance."""
    score = "test accuracy" if subject.classes else "variance explained on test points"
    least = 0.0 if subject.classes else -math.inf
    return {
        "score": Quantity(score, ".2f", (least, 100.0), "%", better="more"),
        "train_score": Quantity("on training points", ".2f", (least, 100.0)),
        "error": Quantity("error", within=(0.0, 100.0 - least), unit="points", better="less"),
        "interval": Quantity("95 % interval"),
        "seconds": Quantity("seconds", about="What a run took on this machine, the mean over seeds."),
        "rung": Quantity("learner"),
        "kind": Quantity("may use"),
    }


def _correction(below: str) -> Value:
    return of("error", "block", part="correction", below=below)
