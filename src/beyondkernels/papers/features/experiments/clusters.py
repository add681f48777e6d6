"""Pictures of App. E.3: neurons as directions beside what they gather at, and curves over epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beyondkernels.core import Outcome
from beyondkernels.lab import Curves, Directions, Level, Line, Panel, Rows, select


def finished(rows: Rows, **where: Any) -> list[Outcome]:
    """The finished runs at a place."""
    return list(select(rows, {**where, "status": "finished"}).get("outcome", ()))


def neuron_map(
    words: Mapping[str, Any],
    run: Outcome,
    points: str,
    moments: Mapping[int, str],
    notes: Mapping[int, str],
    star_labels: Sequence[str],
    near: Sequence[int],
    near_label: str,
    star_kinds: Sequence[int] = (),
) -> Directions:
    """Neurons at several moments of a run.

    Arguments:
        words: name, title, caption and alternative text.
        run: the run.
        points: the series that holds the places of neurons, and of stars after them.
        moments: the title of each step.
        notes: what is written beneath each step.
        star_labels: a name for each kind of star.
        near: for each neuron the index of its kind of star, −1 for none.
        near_label: what these neurons are called.
        star_kinds: for each star the index of its kind; empty where each star is a kind of its own.
    """
    stars = len(star_kinds) or len(star_labels)
    panels = []
    for step, title in moments.items():
        places = run.at(points, step)
        panels.append(Panel(title, places[:-stars], places[-stars:], note=notes[step]))
    return Directions(
        **words,
        panels=panels,
        star_labels=star_labels,
        star_kinds=star_kinds,
        near=near,
        near_label=near_label,
    )


def over_epochs(
    words: Mapping[str, Any],
    runs: Mapping[str, Sequence[Outcome]],
    series: str,
    steps_per_epoch: int,
    y_label: str,
    levels: Mapping[str, float],
    factor: float = 1.0,
) -> list[Curves]:
    """A recorded series over epochs, a line for each group of runs that has any; nothing where none has.

    Arguments:
        words: name, title, caption and alternative text.
        runs: the runs of each line.
        series: which series.
        steps_per_epoch: by which steps are divided.
        y_label: what is written beside.
        levels: horizontal lines, by label.
        factor: what the series is multiplied by.
    """
    lines = []
    for label, group in runs.items():
        found = [run.over(series) for run in group]
        if found:
            epochs = [step / steps_per_epoch for step in found[0][0]]
            lines.append(Line(label, epochs, [factor * values for _, values in found]))
    if not lines:
        return []
    drawn = [Level(f"{label} ({value:.3g})", value) for label, value in levels.items()]
    return [Curves(**words, lines=lines, x_label="epoch", y_label=y_label, levels=drawn)]
