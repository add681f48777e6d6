"""Runs as marks between two measured quantities, with curves to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core import require
from beyondkernels.lab.report.figures.axes import prepare_x, prepare_y, write_y_label
from beyondkernels.lab.report.figures.base import NARROW, WIDE, Figure
from beyondkernels.lab.report.figures.curves import Line
from beyondkernels.lab.report.figures.legend import Entry, draw_legend, legend_height
from beyondkernels.lab.report.figures.style import COLOURS, DASHES, INK, MARKERS, bare

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_ROOM = 0.04  # of the horizontal axis at either end, so that no mark is cut


@dataclass(frozen=True, eq=False)
class Marks:
    """Runs that are drawn alike.

    Arguments:
        label: what they have in common.
        x: one number a run.
        y: another; where either is not finite there is no mark.
        hollow: whether marks are drawn as outlines.
    """

    label: str
    x: Any
    y: Any
    hollow: bool = False

    def __post_init__(self) -> None:
        x, y = self.arrays()
        good = x.ndim == 1 and x.shape == y.shape
        require(good, f"x and y of marks {self.label!r} must be one number a run, got {x.shape} and {y.shape}")

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Both quantities, (runs,)."""
        import numpy as np

        return np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scatter(Figure):
    """Marks over two quantities, and curves in ink, with a legend beneath.

    Arguments:
        marks: groups of runs; the first have the strongest colours.
        lines: curves to compare with, such as a bound; of several seeds the mean is drawn.
        x_label: what is on the horizontal axis.
        y_label: what is on the vertical axis, its unit included.
        x_scale: ``linear`` or ``log``.
        y_scale: ``linear`` or ``log``.
        y_limits: the ends of the vertical axis; chosen unless given.
    """

    marks: Sequence[Marks]
    lines: Sequence[Line] = ()
    x_label: str = ""
    y_label: str = ""
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    y_limits: tuple[float, float] | None = None

    def size(self, narrow: bool = False) -> tuple[float, float]:
        width, height = (NARROW, 3.2) if narrow else (WIDE, 3.9)
        return width, height + legend_height(self._entries(), width)

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        import numpy as np

        width, height = self.size(narrow)
        entries = self._entries()
        bottom = 0.5 + legend_height(entries, width)
        ax = canvas.add_axes((0.6 / width, bottom / height, 1 - 0.8 / width, 1 - (bottom + 0.34) / height))
        bare(ax, "both")
        for i, line in enumerate(self.lines):
            x, mean, _, _ = line.summary("none")
            self._plot(ax, x, mean, _line_look(i))
        for i, marks in enumerate(self.marks):
            self._plot(ax, *marks.arrays(), {**_look(i, marks.hollow), "zorder": 3 + i})
        prepare_x(ax, self.x_scale, self.x_label)
        to_axis, back = (np.log, np.exp) if self.x_scale == "log" else (np.array, np.array)
        low, high = to_axis(ax.get_xlim())
        ax.set_xlim(*back([low - _ROOM * (high - low), high + _ROOM * (high - low)]))
        prepare_y(ax, self.y_scale, self.y_limits)
        write_y_label(canvas, [ax], self.y_label)
        draw_legend(canvas, entries)

    def _plot(self, ax: Axes, x: np.ndarray, y: np.ndarray, style: dict[str, Any]) -> None:
        """What can be shown on these axes; nothing where nothing can."""
        import numpy as np

        there = np.isfinite(x) & np.isfinite(y)
        there &= (x > 0) if self.x_scale == "log" else True
        there &= (y > 0) if self.y_scale == "log" else True
        if there.any():
            ax.plot(x[there], y[there], **style)

    def _entries(self) -> list[Entry]:
        marks = [Entry(marks.label, (_look(i, marks.hollow),)) for i, marks in enumerate(self.marks)]
        return marks + [Entry(line.label, (_line_look(i),)) for i, line in enumerate(self.lines)]


def _look(index: int, hollow: bool) -> dict[str, Any]:
    colour = COLOURS[index % len(COLOURS)]
    fill = {"markerfacecolor": "none", "markeredgewidth": 1.2} if hollow else {"markeredgecolor": "white"}
    return {
        "linestyle": "none",
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 6,
        "color": colour,
        "markeredgewidth": 0.6,
        **({"markeredgecolor": colour} | fill),
    }


def _line_look(index: int) -> dict[str, Any]:
    return {"color": INK, "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.4, "zorder": 2}
