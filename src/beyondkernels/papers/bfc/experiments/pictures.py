"""Pictures of training in stages: thresholds that are crossed, the course of every seed, layers that join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from beyondkernels.lab import Curves, Drawn, Event, Level, Line, Rows, select
from beyondkernels.lab.declaration.rows import OUTCOME

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.theory import DenseNetSettings

LOW = "₀₁₂₃₄₅₆₇₈₉"


def runs_of(rows: Rows, **where: Any) -> list[dict[str, Any]]:
    """The rows of finished runs that meet some conditions, as records."""
    return select(rows, {"status": "finished", **where}).to_dict("records")


def course_lines(rows: Rows, label: str, series: str, after: float = 0, **where: Any) -> list[Line]:
    """A recorded series of all finished runs as one line, from a step on.

    Arguments:
        rows: the experiment's rows.
        label: the line's name.
        series: the name of the series.
        after: the first step that is shown.
        where: which rows; one for each run.
    """
    runs = [row[OUTCOME] for row in runs_of(rows, **where) if series in row[OUTCOME].series]
    if not runs:
        return []
    steps, _ = runs[0].over(series)
    return [Line(label, steps[steps >= after], [run.series[series][steps >= after] for run in runs])]


def staircase(picture: Drawn, rows: Rows, joins: Mapping[str, float], methods: Sequence[str]) -> list[Curves]:
    """Feature errors of every layer over training time with four layers, from when the layer joins.

    Arguments:
        picture: words.
        rows: the experiment's rows.
        joins: when layers 2, 3 and 4 begin to train, by label.
        methods: the ways of training.
    """
    lines = [
        line
        for method in methods
        for layer, start in zip((2, 3, 4), joins.values(), strict=True)
        for line in course_lines(
            rows, f"layer {layer}, {method}", f"features/distilled{layer}", start, layers=4, method=method, top=4
        )
    ]
    if not lines:
        return []
    return [
        Curves(
            **picture.words,
            lines=lines,
            x_label="training step",
            y_label="error of a layer's features, relative",
            y_scale="log",
            middle="median",
            events=[Event(label, step) for label, step in joins.items()],
        )
    ]


def seed_curves(picture: Drawn, rows: Rows, joins: Mapping[str, float], bar: str, **where: Any) -> list[Curves]:
    """The relative test error of every seed over training, with the bar.

    Arguments:
        picture: words.
        rows: the experiment's rows; their column ``variance`` is what errors are relative to, ``bar`` the bar.
        joins: when layers join, by label.
        bar: what the bar is called.
        where: which rows; one for each run.
    """
    found = [row for row in runs_of(rows, **where) if "test_loss" in row[OUTCOME].series]
    if not found:
        return []
    lines = []
    for row in found:
        steps, errors = row[OUTCOME].over("test_loss")
        lines.append(Line(f"seed {row['seed']}", steps, errors / row["variance"]))
    return [
        Curves(
            **picture.words,
            lines=lines,
            x_label="training step",
            y_label="test error, relative to Var(G*)",
            y_scale="log",
            levels=[Level(bar, min(row["bar"] for row in found))],
            events=[Event(label, step) for label, step in joins.items()],
        )
    ]


def stage_curves(picture: Drawn, run: Outcome, settings: DenseNetSettings) -> list[Curves]:
    """The objective of Algorithm 1 over its stages, with the thresholds that it crosses and ε₀².

    Arguments:
        picture: words.
        run: a run that recorded its objective.
        settings: the thresholds.
    """
    if "rule/objective" not in run.series:
        return []
    steps, objective = run.over("rule/objective")
    later = steps >= 1  # ε₀ is set by a look at the objective, in the first step
    target = run.series["rule/target_error"][later] ** 2
    return [
        Curves(
            **picture.words,
            lines=[Line("objective", steps[later], objective[later]), Line("ε₀²", steps[later], target)],
            x_label="training step",
            y_label="objective",
            x_scale="log",
            y_scale="log",
            levels=[Level(label, value) for label, value in thresholds(settings)],
            events=[Event(label, max(step, 1.0)) for label, step in entries(run.scalars, settings.depth)],
        )
    ]


def size_curves(picture: Drawn, run: Outcome, depth: int, bound: float) -> list[Curves]:
    """E‖S‖² of every layer over the stages of Algorithm 1, relative to the target's, and the ranks that were found.

    Arguments:
        picture: words.
        run: a run that measured its hidden norms.
        depth: L.
        bound: a level.
    """
    lines = []
    for i in range(2, depth + 1):
        if f"norms/relative{i}" not in run.series:
            continue
        steps, sizes = run.over(f"norms/relative{i}")
        there = sizes > 0  # a layer has no features before it is distilled
        if there.any():
            label = f"S{LOW[i]}, rank {run.scalars[f'layer{i}/rank']:.0f}"
            lines.append(Line(label, steps[there], sizes[there]))
    if not lines:
        return []
    return [
        Curves(
            **picture.words,
            lines=lines,
            x_label="training step",
            y_label="E‖S‖² / E‖S*‖²",
            x_scale="log",
            levels=[Level(f"{bound:g}", bound)],
            events=[Event(label, max(step, 1.0)) for label, step in entries(run.scalars, depth)],
        )
    ]


def thresholds(settings: DenseNetSettings) -> list[tuple[str, float]]:
    """Every threshold that lets a stage begin, with its symbol, in the order of the stages.

    The first layer joins at once, so it has no threshold for joining.
    """
    found = []
    for i, (join, distill) in enumerate(zip(settings.join_at, settings.distill_at, strict=True), 2):
        found += [] if i == 2 else [(f"Thres{LOW[i]},Δ: W{LOW[i]} joins", join)]
        found += [(f"Thres{LOW[i]},∇: K{LOW[i]} joins", distill)]
    return found


def entries(scalars: Mapping[str, float], depth: int) -> Sequence[tuple[str, float]]:
    """When W and K of each layer joined in a run, as far as they did."""
    places = [(f"{part}{LOW[i]}", f"layer{i}/{what}") for i in range(2, depth + 1) for part, what in _PARTS]
    return [(label, scalars[name]) for label, name in places if name in scalars]


_PARTS = (("W", "joined"), ("K", "distilled"))
