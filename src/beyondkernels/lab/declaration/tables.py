"""The table a reader sees, declared over the rows: one line by what, and which number in which column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import not_empty
from beyondkernels.lab.declaration.quantities import Quantities
from beyondkernels.lab.declaration.rows import Rows, Where, select
from beyondkernels.lab.declaration.runs import exact
from beyondkernels.lab.report.tables import Column

Line = dict[str, Any]


@dataclass(frozen=True)
class Shown(Checked):
    """A column of the table that is more than a quantity's mean over seeds.

    Arguments:
        column: the rows' column it is made from.
        heading: what is written above it; by default the quantity's.
        format: Python's format for its numbers; by default the quantity's.
        where: which rows of the line it looks at.
        show: the mean with its standard deviation over the rows, the first value, the largest, or a function of the
            line's rows.
        paper: the printed values, by the value of the table's first coordinate.
        tolerance: how far a printed value may be from the mean without being marked as a difference.
        why: what is known about the reason where ours differ, by the same value.
        about: a sentence on what the column holds, written beneath the table; by default the quantity's, unless it
            has another heading.
    """

    column: str
    heading: str = ""
    format: str = ""
    where: Where = field(default_factory=dict)
    show: Literal["mean", "first", "largest"] | Callable[[Rows], Any] = "mean"
    paper: Mapping[Any, float | None] | None = None
    tolerance: float = 0.0
    why: Mapping[Any, str] = field(default_factory=dict)
    about: str = ""

    def cells(self, key: str, mine: Rows, first: Any) -> Line:
        """What stands in one line."""
        there = select(mine, self.where)
        if callable(self.show):
            return {key: self.show(there)}
        values: Any = there[self.column].dropna() if self.column in there else []
        if not len(values):
            cells: Line = {key: None}
        elif self.show == "first":
            cells = {key: values.iloc[0]}
        elif self.show == "largest":
            cells = {key: values.max()}
        else:
            numbers = [float(value) for value in values]
            spread = values.astype(float).std() if len(numbers) > 1 else None
            cells = {key: sum(numbers) / len(numbers), f"{key}_sd": spread}
            cells |= {f"{key}_low": min(numbers), f"{key}_high": max(numbers), f"{key}_seeds": numbers}
        cells |= {} if self.paper is None else {f"{key}_paper": self.paper.get(first)}
        return cells | ({f"{key}_why": self.why[first]} if first in self.why else {})


@dataclass(frozen=True)
class Table(Checked):
    """A table over the rows.

    Arguments:
        by: the coordinates that make a line.
        columns: the numbers: quantities by their names, or what else is shown of them.
        where: which rows count.
        order: the coordinates by which lines are sorted; by default they keep the rows' order.
        remarks: whether a last column tells of runs that diverged and of searches that ended on an edge.
        more: further lines, made from all rows.
    """

    by: Annotated[Sequence[str], not_empty]
    columns: Sequence[str | Shown]
    where: Where = field(default_factory=dict)
    order: Sequence[str] = ()
    remarks: bool = True
    more: Callable[[Rows], list[Line]] | None = None

    def __post_init__(self) -> None:
        for name in self.order:
            require(name in self.by, f"order must name coordinates of by ({', '.join(self.by)}), got {name!r}")

    @property
    def shown(self) -> list[Shown]:
        return [Shown(each) if isinstance(each, str) else each for each in self.columns]

    def lines(self, rows: Rows) -> list[Line]:
        """The lines, each with the numbers of its columns by their keys."""
        lines: list[Line] = []
        mine = select(rows, self.where)
        mine = mine.assign(**{name: None for name in self.by if name not in mine})  # nothing has been chosen yet
        if len(mine):
            for place, part in mine.groupby(list(self.by), sort=False, dropna=False):
                line: Line = {name: exact(value) for name, value in zip(self.by, place, strict=True)}
                line["_order"] = tuple(dict(zip(self.by, place, strict=True))[name] for name in self.order)
                for key, shown in zip(self.keys, self.shown, strict=True):
                    line |= shown.cells(key, part, place[0])
                lines.append(line | ({"remark": remark(part)} if self.remarks else {}))
        lines.sort(key=lambda line: line["_order"])
        for line in lines:
            del line["_order"]
        return lines + (self.more(rows) if self.more else [])

    @property
    def keys(self) -> list[str]:
        """A key for each column: the rows' own name, numbered where it comes more than once."""
        names = [shown.column for shown in self.shown]
        return [
            name if names.index(name) == i else f"{name}_{names[: i + 1].count(name)}" for i, name in enumerate(names)
        ]

    def headed(self, lines: Sequence[Line], quantities: Quantities) -> list[Column]:
        """The columns as a page shows them.

        Arguments:
            lines: from :meth:`lines`.
            quantities: those of the experiment.
        """
        columns = [Column(name, quantities[name].column_heading) for name in self.by]
        for key, shown in zip(self.keys, self.shown, strict=True):
            quantity = quantities[shown.column]
            heading, form = shown.heading or quantity.column_heading, shown.format or quantity.format
            about = shown.about or (quantity.about if not shown.heading else "")
            spread, values = (f"{key}_sd", f"{key}_seeds") if shown.show == "mean" else ("", "")
            better = quantity.better if shown.show == "mean" else ""
            columns.append(Column(key, heading, form, spread, values, about=about, better=better))
            if shown.paper is not None:
                beside: dict[str, Any] = {"beside": key, "tolerance": shown.tolerance, "why": f"{key}_why"}
                columns.append(Column(f"{key}_paper", "paper", form, **beside))
        if any(line.get("remark") for line in lines):
            columns.append(Column("remark", "Remark"))
        return columns


def remark(rows: Rows) -> str:
    """What a reader of one line should know of its runs."""
    told = []
    if "on_edge" in rows and (edges := rows["on_edge"].fillna(False).astype(bool)).any():
        by = rows.assign(edge=edges).groupby("choice", sort=False)["edge"]
        parts = [f"{choice} {int(part.sum())}/{len(part)}" for choice, part in by if part.any()]
        told.append("on the grid's edge" if edges.all() else f"on the edge: {', '.join(parts)}")
    diverged = int((rows["status"] != "finished").sum()) if "status" in rows else 0
    told += [f"{diverged} of {len(rows)} diverged"] if diverged else []
    return "; ".join(told)
