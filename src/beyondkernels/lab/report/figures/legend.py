"""A legend that flows like text: entry after entry, a new row where the width ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.lab.report.figures.style import INK, SIZE, in_points
from beyondkernels.lab.report.figures.text import fold, shorten, width_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

MARGIN = 6.0
"""Points between the edge of a figure and what stands in it."""

_SAMPLE, _GAP, _BETWEEN = 28.0, 6.0, 20.0
_ROW, _LINE = 18.0, 14.0


@dataclass(frozen=True, eq=False)
class Entry:
    """A label with its sample: one style drawn as a short line, or marks beside each other.

    Arguments:
        label: the words.
        styles: how the sample is drawn; several styles stand side by side as marks.
        colour: of the words.
    """

    label: str
    styles: Sequence[dict[str, Any]]
    colour: str = INK

    @property
    def text(self) -> str:
        """The words as they are drawn, on one line."""
        return shorten(self.label, 64)

    def folded(self, width: float) -> list[str]:
        """The words broken into lines that fit beside the sample in a legend of ``width`` points."""
        return fold(self.text, width - _SAMPLE - _GAP)

    def width(self, width: float) -> float:
        """Points from the sample's left end to the last letter in a legend of ``width`` points."""
        return _SAMPLE + _GAP + max(map(width_of, self.folded(width)))


def rows_of(entries: Sequence[Entry], width: float) -> list[list[Entry]]:
    """The entries in rows of at most ``width`` points; an entry wider than that has a row of its own."""
    rows: list[list[Entry]] = []
    used = 0.0
    for entry in entries:
        needed = entry.width(width)
        if rows and used + _BETWEEN + needed <= width:
            rows[-1].append(entry)
            used += _BETWEEN + needed
        else:
            rows.append([entry])
            used = needed
    return rows


def legend_height(entries: Sequence[Entry], inches: float) -> float:
    """Inches the legend needs at the bottom of a figure that many inches wide."""
    width = inches * 72 - 2 * MARGIN
    return sum(_row_height(row, width) for row in rows_of(entries, width)) / 72 + 0.05


def _row_height(row: Sequence[Entry], width: float) -> float:
    lines = max(len(entry.folded(width)) for entry in row)
    return _ROW + (lines - 1) * _LINE


def draw_legend(canvas: Canvas, entries: Sequence[Entry]) -> None:
    """Draw the legend along the bottom of a figure, flush left."""
    from matplotlib.lines import Line2D

    plain: dict[str, Any] = {"transform": in_points(canvas)}
    inches = float(canvas.get_size_inches()[0])
    width, top = inches * 72 - 2 * MARGIN, 72 * legend_height(entries, inches)
    for row in rows_of(entries, width):
        x, y = MARGIN, top - _ROW / 2
        for entry in row:
            n = len(entry.styles)
            for j, style in enumerate(entry.styles):
                if n == 1 and style.get("linestyle") != "none":
                    at, every = [x, x + _SAMPLE / 2, x + _SAMPLE], [1]
                else:
                    at, every = [x + _SAMPLE * (j + 0.5) / n], None
                canvas.add_artist(Line2D(at, [y] * len(at), markevery=every, **style, **plain))
            for line, words in enumerate(entry.folded(width)):
                place = (x + _SAMPLE + _GAP, y - line * _LINE)
                canvas.text(*place, words, color=entry.colour, fontsize=SIZE, va="center_baseline", **plain)
            x += entry.width(width) + _BETWEEN
        top -= _row_height(row, width)
