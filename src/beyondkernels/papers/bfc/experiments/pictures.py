"""Pictures of training in stages: courses of layers, and the steps at which layers join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from beyondkernels import lab
from beyondkernels.lab.declaration.rows import OUTCOME

LOW = "₀₁₂₃₄₅₆₇₈₉"


def runs_of(rows: lab.Rows, **where: Any) -> list[dict[str, Any]]:
    """The rows of finished runs that meet some conditions, as records."""
    return lab.select(rows, {"status": "finished", **where}).to_dict("records")


def course_lines(rows: lab.Rows, label: str, series: str, after: float = 0, **where: Any) -> list[lab.Line]:
    """A recorded series of all finished runs as one line, from a step on; one row for each run."""
    runs = [row[OUTCOME] for row in runs_of(rows, **where) if series in row[OUTCOME].series]
    if not runs:
        return []
    steps, _ = runs[0].over(series)
    return [lab.Line(label, steps[steps >= after], [run.series[series][steps >= after] for run in runs])]


def panel(picture: lab.Drawn, suffix: str, *words: str) -> lab.Drawn:
    """One of several figures of a picture: a longer name, and words for the braces in title and alternative text."""
    title, alt = picture.title.format(*words), picture.alt.format(*words)
    return replace(picture, name=f"{picture.name}{suffix}", title=title, alt=alt)


def over_steps(
    picture: lab.Drawn,
    lines: Sequence[lab.Line],
    y_label: str,
    events: Mapping[str, float] | None = None,
    levels: Mapping[str, float] | None = None,
    **more: Any,
) -> list[lab.Curves]:
    """Lines over training steps, on a logarithmic axis; vertical and horizontal lines by label; nothing without lines.

    What :class:`lab.Curves` takes besides may say otherwise, such as another label of the horizontal axis.
    """
    axes: dict[str, Any] = {"x_label": "training step", "y_label": y_label, "y_scale": "log"} | more
    axes["events"] = [lab.Event(label, step) for label, step in (events or {}).items()]
    axes["levels"] = [lab.Level(label, value) for label, value in (levels or {}).items()]
    return [lab.Curves(**picture.words, lines=lines, **axes)] if lines else []


def entries(scalars: Mapping[str, float], depth: int) -> dict[str, float]:
    """When W and K of each layer joined in a run, as far as they did; not before step 1, for logarithmic axes."""
    parts = {"W": "joined", "K": "distilled"}
    places = {f"{part}{LOW[i]}": f"layer{i}/{what}" for i in range(2, depth + 1) for part, what in parts.items()}
    return {label: max(scalars[name], 1.0) for label, name in places.items() if name in scalars}
