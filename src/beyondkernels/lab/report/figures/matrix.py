"""Many numbers at a glance: a coloured cell for each row and column, in groups of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core import require
from beyondkernels.lab.report.figures.base import NARROW, WIDE, Figure
from beyondkernels.lab.report.figures.style import COLOURS, INK, MUTED, SMALL
from beyondkernels.lab.report.figures.text import fit, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_ROW, _HEAD, _GAP = 0.28, 0.72, 0.18
_DARK = 0.6  # from this shade on, a cell's number is white


@dataclass(frozen=True)
class Group:
    """Columns that belong together.

    Arguments:
        title: what they have in common.
        columns: their names; each word has a line of its own.
        values: a number for each row and column, None where there is none.
    """

    title: str
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Matrix(Figure):
    """One row a setting, one column a method, the number in a cell whose colour deepens with it.

    Arguments:
        rows: the names of the rows, first at the top.
        groups: the columns.
        limits: the numbers of the palest and of the deepest colour.
        format: Python's format for the numbers.
    """

    rows: Sequence[str]
    groups: Sequence[Group]
    limits: tuple[float, float]
    format: str = ".0f"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.rows) > 0, "rows must hold at least one name, got none")
        require(len(self.groups) > 0, "groups must hold at least one group, got none")
        require(self.limits[0] < self.limits[1], f"limits must increase, got {self.limits}")
        for group in self.groups:
            sizes = {len(values) for values in group.values}
            require(
                len(group.values) == len(self.rows) and sizes == {len(group.columns)},
                f"{group.title!r} must hold {len(self.rows)} rows of {len(group.columns)} numbers",
            )

    def size(self, narrow: bool = False) -> tuple[float, float]:
        blocks = len(self.groups) if narrow else 1
        return (NARROW if narrow else WIDE), blocks * (_ROW * len(self.rows) + _HEAD) + 0.1

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        width, height = self.size(narrow)
        names = [fit(name, 0.4 * width * 72) for name in self.rows]
        left, tall = max(map(width_of, names)) / 72 + 0.15, _ROW * len(names)
        count = sum(len(group.columns) for group in self.groups)
        most = max(len(group.columns) for group in self.groups)
        gaps = 0 if narrow else (len(self.groups) - 1) * _GAP
        cell = (width - left - 0.1 - gaps) / (most if narrow else count)
        x = left
        for i, group in enumerate(self.groups):
            below = height - (i + 1 if narrow else 1) * (tall + _HEAD)
            ax = canvas.add_axes((x / width, below / height, cell * len(group.columns) / width, tall / height))
            self._group(ax, group, names if narrow or i == 0 else None, cell)
            x += 0 if narrow else cell * len(group.columns) + _GAP

    def shade(self, value: float) -> float:
        """How deep the colour of a number is, from 0 to 1."""
        low, high = self.limits
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def _group(self, ax: Axes, group: Group, names: list[str] | None, cell: float) -> None:
        from matplotlib.patches import Rectangle

        ax.set_xlim(0, len(group.columns))
        ax.set_ylim(len(self.rows), 0)
        ax.set_xticks([])
        ax.set_yticks([i + 0.5 for i in range(len(self.rows))], names or [""] * len(self.rows))
        ax.tick_params(length=0, labelcolor=INK)
        for spine in ax.spines.values():
            spine.set_visible(False)
        for row, values in enumerate(group.values):
            for column, value in enumerate(values):
                if value is None or not math.isfinite(value):
                    continue
                shade = self.shade(value)
                box: Any = {"facecolor": COLOURS[0], "alpha": 0.06 + 0.84 * shade, "linewidth": 0}
                ax.add_patch(Rectangle((column + 0.03, row + 0.06), 0.94, 0.88, **box))
                look: Any = {"ha": "center", "va": "center", "fontsize": SMALL}
                colour = "white" if shade >= _DARK else INK
                ax.text(column + 0.5, row + 0.5, format(value, self.format), color=colour, **look)
        above = {"transform": ax.get_xaxis_transform(), "va": "bottom"}
        points = _ROW * len(self.rows) * 72
        for column, name in enumerate(group.columns):
            text = "\n".join(fit(part, cell * 72 + 4, SMALL) for part in name.split())
            ax.text(column + 0.5, 1 + 4 / points, text, ha="center", **above, fontsize=SMALL, color=MUTED)
        title = fit(group.title, 0.88 * cell * len(group.columns) * 72)
        ax.text(0, 1 + 31 / points, title, **above, color=INK, weight="bold")
