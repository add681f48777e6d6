"""Figures as declarations over the rows: what is on x and y, one line by what, one panel by what."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from beyondkernels.core import Checked
from beyondkernels.lab.declaration.quantities import Quantities
from beyondkernels.lab.declaration.rows import OUTCOME, Rows, Where, lost, select
from beyondkernels.lab.declaration.runs import exact
from beyondkernels.lab.declaration.tables import Table
from beyondkernels.lab.report.figures import Curves, Dot, DotColumn, Dots, Event, Figure, Level, Line
from beyondkernels.lab.report.figures.curves import Middle

Scale = Literal["linear", "log", "steps"]

SPREAD = "{} over seeds, shaded from the lowest to the highest."


@dataclass(frozen=True)
class Picture(Checked):
    """A figure of the experiment, before anything is measured.

    Arguments:
        name: its short name.
        title: what is written above it; of a quantity over a coordinate it can be made from their labels.
        caption: what a reader should know.
        alt: what it shows, for those who cannot see it; of curves it can be made from their labels.
    """

    name: str
    title: str = ""
    caption: str = ""
    alt: str = ""

    @property
    def words(self) -> dict[str, Any]:
        """Name, title, caption and alternative text, as a figure takes them."""
        return {"name": self.name, "title": self.title, "caption": self.caption, "alt": self.alt}

    def draw(self, rows: Rows, quantities: Quantities) -> list[Figure]:
        """The figures, none where there is nothing to show.

        Arguments:
            rows: the rows.
            quantities: those of the experiment.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Drawn(Picture):
    """A picture that needs its own code.

    Arguments:
        by: from the picture and the rows to figures; the column ``outcome`` holds the runs.
    """

    by: Callable[[Drawn, Rows], Sequence[Figure]] = field(default=lambda picture, rows: ())

    def draw(self, rows: Rows, quantities: Quantities) -> list[Figure]:
        return list(self.by(self, rows))


@dataclass(frozen=True)
class Over(Picture):
    """A quantity over a coordinate.

    Arguments:
        x: the coordinate on the horizontal axis.
        y: the column on the vertical axis.
        line: one line for each value of this column, or for each selection, by label; a selection may name its own
            column under ``"y"``.
        panel: one figure for each value of this column, which stands in the title in place of ``{}``.
        where: which rows count.
        x_label: what is written below; by default, and so for the next three, as the quantity says.
        y_label: what is written beside.
        x_scale: how x is drawn.
        y_scale: how y is drawn.
        y_limits: the ends of the vertical axis.
        levels: horizontal lines, by label.
        more: further lines, made from the rows.
        middle: what a line shows of several seeds.
        events: vertical lines, by label.
    """

    x: str = ""
    y: str = ""
    line: str | Mapping[str, Where] = ""
    panel: str = ""
    where: Where = field(default_factory=dict)
    x_label: str = ""
    y_label: str = ""
    x_scale: Scale | None = None
    y_scale: Literal["linear", "log"] | None = None
    y_limits: tuple[float, float] | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    more: Callable[[Rows], Sequence[Line]] | None = None
    middle: Middle = "mean"
    events: Mapping[str, float] = field(default_factory=dict)

    def draw(self, rows: Rows, quantities: Quantities) -> list[Figure]:
        if not self.panel:
            return self._draw(select(rows, self.where), rows, self.name, self.title, quantities)
        mine = select(rows, self.where)
        panels = list(dict.fromkeys(mine[self.panel])) if self.panel in mine else []
        return [
            figure
            for value in panels
            for figure in self._draw(
                select(mine, {self.panel: value}),
                rows,
                f"{self.name}-{_in_a_name(exact(value))}",
                self.title.format(exact(value)),
                quantities,
            )
        ]

    def lines(self, rows: Rows) -> list[Line]:
        found = []
        for label, where in self._selections(rows).items():
            conditions = dict(where)
            y = conditions.pop("y", self.y)
            x, values = self._seeds(select(rows, conditions), y)
            if len(x):
                found.append(Line(label, x, values))
        return found

    def _seeds(self, rows: Rows, y: str) -> tuple[list[float], Any]:
        return by_seed(rows, self.x, y)

    def _lost(self, rows: Rows) -> list[tuple[str, dict[str, Any], int, int]]:
        """Where runs of the drawn lines have no number: which line, the place, how many, and of how many."""
        column = self.line if isinstance(self.line, str) else ""
        return [
            (f"at {column} = {label}," if column else f"of {label} at", *found)
            for label, where in self._selections(rows).items()
            for found in lost(
                select(rows, {name: value for name, value in where.items() if name != "y"}),
                where.get("y", self.y),
                [self.x],
            )
        ]

    def _selections(self, rows: Rows) -> Mapping[str, Where]:
        if not isinstance(self.line, str):
            return self.line
        values = dict.fromkeys(rows[self.line]) if self.line in rows else ()
        return {exact(value): {self.line: value} for value in values}

    def _draw(self, rows: Rows, all_rows: Rows, name: str, title: str, quantities: Quantities) -> list[Figure]:
        lines = self.lines(rows)
        if not lines:
            return []
        x, y = quantities[self.x], quantities[self.y]
        lines = [*lines, *(self.more(all_rows) if self.more else ())]
        x_label, y_label = self.x_label or x.axis_label, self.y_label or y.axis_label
        alt = self.alt or f"{y_label} over {x_label}: {_listed([line.label for line in lines])}"
        left_out = _left_out(self._lost(rows))
        seeds = [SPREAD.format(self.middle.capitalize())] if any(len(line.arrays()[1]) > 1 for line in lines) else []
        return [
            Curves(
                name=name,
                title=title or f"{y.column_heading} over {x.label}",
                caption=" ".join(filter(None, [*seeds, y.told, self.caption, *left_out])),
                alt=alt,
                lines=lines,
                x_label=x_label,
                y_label=y_label,
                x_scale=self.x_scale or x.scale,
                y_scale=self.y_scale or y.scale,
                y_limits=self.y_limits,
                levels=[Level(f"{label} ({value:.4g})", value) for label, value in self.levels.items()],
                middle=self.middle,
                events=[Event(label, x) for label, x in self.events.items()],
            )
        ]


@dataclass(frozen=True)
class OverTime(Over):
    """A recorded series over training: ``y`` is the name of a series, ``x`` that of its time axis.

    Arguments:
        factor: what the series is multiplied by, such as 100 for percentages.
    """

    x: str = "step"
    factor: float = 1.0

    def _seeds(self, rows: Rows, y: str) -> tuple[list[float], Any]:
        outcomes = [run for run in rows.get(OUTCOME, ()) if run.status == "finished" and y in run.series]
        if not outcomes:
            return [], []
        return list(outcomes[0].series[self.x]), [self.factor * run.series[y] for run in outcomes]


@dataclass(frozen=True)
class Scope:
    """The axis of a quantity that is shown as dots.

    Arguments:
        limits: its ends.
        chance: what guessing would reach, drawn as a line.
        label: what it is; by default the quantity's.
    """

    limits: tuple[float, float]
    chance: float | None = None
    label: str = ""


@dataclass(frozen=True)
class Dotted(Picture):
    """A table as a picture: the numbers of each line from the lowest to the highest seed, beside the printed ones.

    Arguments:
        table: the table.
        axes: which of its columns are shown, each on its own axis.
    """

    table: Table = field(default_factory=lambda: Table([], []))
    axes: Mapping[str, Scope] = field(default_factory=dict)

    def draw(self, rows: Rows, quantities: Quantities) -> list[Figure]:
        lines = self.table.lines(rows)
        if not lines:
            return []
        columns = dict(zip(self.table.keys, (shown.column for shown in self.table.shown), strict=True))
        shown = [
            DotColumn(
                scope.label or quantities[columns[key]].column_heading,
                [Dot(line[key], *(line.get(f"{key}_{part}") for part in ("low", "high", "paper"))) for line in lines],
                scope.limits,
                chance=scope.chance,
            )
            for key, scope in self.axes.items()
        ]
        methods = [line[self.table.by[0]] for line in lines]
        return [Dots(**self.words, methods=methods, quantities=shown, interval="from the lowest to the highest seed")]


def _listed(labels: Sequence[str]) -> str:
    """Which lines there are, in words."""
    return f"a line for each of {'; '.join(labels)}" if len(labels) > 1 else "one line"


def by_seed(rows: Rows, x: str, y: str) -> tuple[list[float], list[list[float]]]:
    """The places on an axis, from the least on, and the numbers of each seed there.

    In place of a run without a number stands the mean of those that have one, which changes neither their mean nor
    their range; where there is none, NaN.
    """
    if rows.empty or x not in rows or y not in rows:
        return [], []
    wide = rows.pivot(index="seed", columns=x, values=y).astype(float)
    places = sorted({place for place in rows[x] if math.isfinite(place)})
    wide = wide.reindex(columns=places, index=list(dict.fromkeys(rows["seed"])))
    if wide.isna().to_numpy().all():
        return [], []
    return [float(place) for place in wide.columns], wide.fillna(wide.mean()).to_numpy().tolist()


def _left_out(missing: Sequence[tuple[str, dict[str, Any], int, int]]) -> list[str]:
    """A sentence about the runs that have no number, if there are any."""
    if not missing:
        return []
    places = [
        f"{count} of {all_} {which} {', '.join(f'{name} = {exact(value)}' for name, value in place.items())}"
        for which, place, count, all_ in missing
    ]
    return [f"Diverged and left out: {'; '.join(places)}."]


def _in_a_name(value: str) -> str:
    """A value in the form that names of figures have.

    >>> _in_a_name("Staircase, leap 1")
    'staircase-leap-1'
    """
    return re.sub(r"[^a-z0-9_]+", "-", value.lower()).strip("-")
