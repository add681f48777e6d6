"""The pictures of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from beyondkernels.auditing import block_learners as where
from beyondkernels.auditing.claims import quantities
from beyondkernels.auditing.ladder import MODEL
from beyondkernels.auditing.scores import scores_of
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Outcome
from beyondkernels.lab import Dot, DotColumn, Dots, Drawn, Figure, OverTime, Picture, Rows, Table, select
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.lab.report.figures import PictureRow, Pictures

_MODEL = {"part": "ladder", "rung": MODEL}

_LOWEST = -100.0
"""The lowest score that is drawn. A learner of numbers that all but diverged would press all others into one dot."""


def pictures(subject: Subject, settings: AuditSettings, table: Table) -> list[Picture]:
    """The pictures of the parts that are asked for.

    Arguments:
        subject: what is audited.
        settings: how.
        table: the ladder.
    """
    found: list[Picture] = []
    if "ladder" in settings.parts:
        found.append(_ladder(subject, table))
    if "when" in settings.parts:
        found += _when(subject)
    if "where" in settings.parts:
        found += _where(subject)
    if "what" in settings.parts:
        found.append(
            Drawn(
                "what",
                "What the model looks at",
                "Directions of the input in which the output changes most: eigenvectors of the average gradient outer "
                "product, and of the first layer's weights. Under each its share of the whole.",
                "Small pictures of the leading directions, before and after training",
                _directions,
            )
        )
    return found


def _ladder(subject: Subject, table: Table) -> Picture:
    return Drawn(
        "ladder",
        "The ladder",
        "From a constant to the model. The lines reach from the lowest seed to the highest.",
        "A dot for each learner of the ladder, from the constant at the top to the model at the bottom",
        lambda picture, rows: _dots(subject, picture, table, rows),
    )


def _dots(subject: Subject, picture: Drawn, table: Table, rows: Rows) -> Sequence[Figure]:
    """The scores of all rungs, and enlarged those of the better half where they lie close together."""
    lines = table.lines(rows)
    found = [Dot(line["score"], line.get("score_low"), line.get("score_high")) for line in lines]
    dots = [Dot() if dot.measured is not None and dot.measured < _LOWEST else dot for dot in found]
    scores = sorted(dot.measured for dot in dots if dot.measured is not None)
    if not scores:
        return ()
    if dots != found:
        picture = replace(picture, caption=f"{picture.caption} Scores below −{-_LOWEST:.0f} % are in the table alone.")
    panels = [DotColumn(quantities(subject)["score"].column_heading, dots)]
    middle, best = scores[len(scores) // 2], scores[-1]
    if best > middle and best - scores[0] > 5 * (best - middle):
        low = middle - 0.5 * (best - middle)
        close = [
            dot if dot.measured is not None and min(dot.measured, dot.low or low) >= low else Dot() for dot in dots
        ]
        panels.append(DotColumn("the better half, enlarged", close))
    names = [line["rung"] for line in lines]
    return [Dots(**picture.words, methods=names, quantities=panels, interval=_INTERVAL)]


def _when(subject: Subject) -> list[Picture]:
    score = "accuracy" if subject.classes else "loss"
    factor = 100.0 if subject.classes else 1.0
    names = {"model": "the model", "tangent": "tangent kernel, frozen", "conjugate": "conjugate kernel, frozen"}
    alike = {
        "with the labels": {"y": "tangent/labels"},
        "with its start": {"y": "tangent/start"},
        "with its end": {"y": "tangent/end"},
    }
    return [
        OverTime(
            "when",
            "When the features appear",
            "At each step the kernel is frozen and fitted by ridge regression. The model is as it is at that step.",
            f"Test {score} over training of the model and of kernels frozen at each step",
            x="tangent/step",
            line={label: {"y": f"{name}/{score}", **_MODEL} for name, label in names.items()},
            x_label="Step",
            y_label="Test accuracy (%)" if subject.classes else "Test loss",
            x_scale="steps",
            factor=factor,
        ),
        OverTime(
            "drift",
            "How the tangent kernel moves",
            "Centred alignment of the tangent kernel at each step. A lazy model keeps the kernel of its start.",
            "Centred alignment over training",
            x="tangent/step",
            line={label: {**where_, **_MODEL} for label, where_ in alike.items()},
            x_label="Step",
            y_label="Centred alignment",
            x_scale="steps",
            y_limits=(0.0, 1.02),
        ),
    ]


def _where(subject: Subject) -> list[Picture]:
    return [
        Drawn(
            "where",
            "Which blocks learn",
            "From input to output: what freezing a block at its start costs, the correlation of its weights with their "
            "start, and how similar its features on test points stay to those at the start (linear CKA).",
            "A row for each block: cost of freezing it, weight correlation and feature similarity with the start",
            lambda picture, rows: _layers(subject, picture, rows),
        ),
        Drawn(
            "correction",
            "Backward feature correction",
            "Scores on test points, in per cent. The blocks up to each one are trained first, with a linear head "
            "(alone). Then they are fixed while the rest is trained, or they are trained on with another head before "
            "that (longer, fixed), or all blocks are trained together (released).",
            "A row for each block: score of the lower blocks alone, fixed, fixed after longer training, and released",
            lambda picture, rows: _corrections(subject, picture, rows),
        ),
    ]


def _layers(subject: Subject, picture: Drawn, rows: Rows) -> Sequence[Figure]:
    runs = [run for run in select(rows, _MODEL).get(OUTCOME, ()) if run.status == "finished"]
    if not runs:
        return ()
    model, names = scores_of(rows, **_MODEL), subject.block_names

    def cost(name: str) -> Dot:
        frozen = scores_of(rows, part="frozen", block=name)
        return _dot([model[seed] - score for seed, score in frozen.items() if seed in model])

    def seen(name: str, what: str) -> Dot:
        return _dot([run.scalars[key] for run in runs if (key := f"layer/{name}/{what}") in run.scalars])

    quantities = [
        DotColumn("Points lost if frozen", [cost(name) for name in names]),
        DotColumn("Weight correlation", [seen(name, "correlation") for name in names], (-0.05, 1.05)),
        DotColumn("Feature similarity", [seen(name, "similarity") for name in names], (-0.05, 1.05)),
    ]
    shown = [quantity for quantity in quantities if any(dot.measured is not None for dot in quantity.dots)]
    labels = [f"block {name}" for name in names]
    return [Dots(**picture.words, methods=labels, quantities=shown, interval=_INTERVAL)] if shown else []


def _corrections(subject: Subject, picture: Drawn, rows: Rows) -> Sequence[Figure]:
    mine = select(rows, {"part": "correction"})
    if mine.empty:
        return ()
    names = [name for name in subject.block_names if name in set(mine["block"])]
    scores = {
        (name, below): [float(v) for v in select(mine, {"block": name, "below": below})["score"].dropna()]
        for name in names
        for below in where.BELOW
    }
    values = [value for many in scores.values() for value in many]
    margin = 0.05 * (max(values) - min(values) or 1.0) if values else 1.0
    limits = (min(values) - margin, max(values) + margin) if values else None
    quantities = [
        DotColumn(label.capitalize(), [_dot(scores[name, below]) for name in names], limits)
        for below, label in where.BELOW.items()
    ]
    return [
        Dots(**picture.words, methods=[f"up to {name}" for name in names], quantities=quantities, interval=_INTERVAL)
    ]


def _directions(picture: Drawn, rows: Rows) -> Sequence[Figure]:
    runs = [run for run in select(rows, _MODEL).get(OUTCOME, ()) if run.status == "finished"]
    if not runs or "ansatz/end/directions" not in runs[0].arrays:
        return ()
    titles = {
        "end/directions": "Gradients, trained",
        "end/weight_directions": "First layer, trained",
        "start/directions": "Gradients, at the start",
        "start/weight_directions": "First layer, at the start",
    }
    found = []
    for name, title in titles.items():
        images = runs[0].arrays.get(f"ansatz/{name}")
        shares = runs[0].arrays.get(f"ansatz/{name.replace('directions', 'shares')}")
        if images is not None and shares is not None:
            found.append(PictureRow(title, images, [f"{100 * share:.0f} %" for share in shares]))
    words = picture.words
    if any(row.images.ndim == 4 and row.images.shape[1] > 1 for row in found):
        words["caption"] += " The channels of a direction stand one below the other."
    before, after = (runs[0].scalars.get(f"ansatz/root_correlation_{name}") for name in ("start", "end"))
    if before is not None and after is not None:
        words["caption"] += (
            f" The neural feature ansatz says that training makes both agree: the square root of the first matrix and "
            f"the second have the cosine {before:.2f} at the start and {after:.2f} after training."
        )
    if why := no_weight_directions(runs[0]):
        words["caption"] += f" The directions of the first layer's weights are left out: {why}."
    return [Pictures(**words, rows=found)]


def no_weight_directions(run: Outcome) -> str:
    """Why a run of the model has directions, but none of its first layer's weights; nothing otherwise."""
    if "ansatz/end/directions" not in run.arrays or "ansatz/end/weight_directions" in run.arrays:
        return ""
    if "ansatz/elsewhere" in run.scalars:
        return "the input does not reach the output through the first layer alone, or is changed before that layer"
    return "the first layer is not linear"


_INTERVAL = "from the lowest to the highest seed"


def _dot(values: Sequence[float]) -> Dot:
    return Dot(sum(values) / len(values), min(values), max(values)) if values else Dot()
