"""Lines over steps, sizes or any other axis: the mean or median over seeds with its spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core import require
from beyondkernels.lab.report.figures.axes import prepare_x, prepare_y, write_y_label
from beyondkernels.lab.report.figures.base import NARROW, WIDE, Figure
from beyondkernels.lab.report.figures.legend import Entry, draw_legend, legend_height
from beyondkernels.lab.report.figures.style import FAINT, MUTED, SIZE, SMALL, bare, in_points, look
from beyondkernels.lab.report.figures.text import fit, raised, shorten, spread, width_of

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_DASHES: tuple[Any, ...] = ((0, (6, 3)), (0, (2, 2)), (0, (6, 2, 1, 2)), (0, (1, 3)))
_WIDEST = 200.0  # points a label may take from the lines

Middle = Literal["mean", "median"]
"""What a line shows of several seeds."""


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a figure.

    Arguments:
        label: its name.
        x: where it was measured, (points,).
        y: what was measured, (points,) or (seeds, points); where a value is not finite the line is broken.
    """

    label: str
    x: Any
    y: Any

    def __post_init__(self) -> None:
        x, y = self.arrays()
        good = x.ndim == 1 and y.ndim == 2 and y.shape[1] == len(x)
        shapes = f"got {y.shape} for x of shape {x.shape}"
        require(good, f"y of line {self.label!r} must be (points,) or (seeds, points), {shapes}")

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The axis as (points,) and the values as (seeds, points)."""
        import numpy as np

        x, y = np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)
        return x, y[None] if y.ndim == 1 else y

    def summary(self, band: str, middle: Middle = "mean") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The axis, the mean or median over seeds, and the lower and upper edge of the band."""
        import numpy as np

        x, y = self.arrays()
        of = np.median if middle == "median" else np.mean
        mean = of(y, 0) if len(y) else np.full(len(x), np.nan)
        if band == "range" and len(y) > 1:
            return x, mean, y.min(0), y.max(0)
        if band == "deviation" and len(y) > 1:
            s = y.std(0, ddof=1)
            return x, mean, mean - s, mean + s
        return x, mean, mean, mean

    def end(self, middle: Middle = "mean") -> tuple[float, float] | None:
        """The last point whose mean or median is finite."""
        import numpy as np

        x, mean, _, _ = self.summary("none", middle)
        there = np.flatnonzero(np.isfinite(mean))
        return (float(x[there[-1]]), float(mean[there[-1]])) if len(there) else None

    @property
    def name(self) -> str:
        """Its label as it is drawn."""
        return self.label if self.end() else f"{shorten(self.label, 20)} (not finite)"


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: a bound, chance, a published value."""

    label: str
    value: float


@dataclass(frozen=True)
class Event:
    """A vertical line: what happens at this place of the horizontal axis."""

    label: str
    x: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves(Figure):
    """Lines with direct labels at their ends, so that no one has to look up a legend.

    Arguments:
        lines: the lines; the first have the strongest colours.
        x_label: what is on the horizontal axis.
        y_label: what is on the vertical axis, its unit included.
        x_scale: ``linear``, ``log``, or ``steps`` (logarithmic, with 0 at its left end).
        y_scale: ``linear`` or ``log``.
        y_limits: the ends of the vertical axis; chosen unless given.
        band: the shading around a line with several seeds: least to greatest, ± one standard deviation, or none.
        levels: horizontal lines to compare with.
        middle: what a line shows of several seeds. The median suits a logarithmic axis, where one seed can decide the
            mean.
        events: vertical lines, their labels at the top.
    """

    lines: Sequence[Line]
    x_label: str = "step"
    y_label: str = ""
    x_scale: Literal["linear", "log", "steps"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    y_limits: tuple[float, float] | None = None
    band: Literal["range", "deviation", "none"] = "range"
    levels: Sequence[Level] = ()
    middle: Middle = "mean"
    events: Sequence[Event] = ()

    def size(self, narrow: bool = False) -> tuple[float, float]:
        if narrow:
            return NARROW, 3.2 + legend_height(self._entries(), NARROW)
        return WIDE, max(3.9, 1.0 + 0.22 * (len(self.lines) + len(self.levels)))

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw lines, bands and levels, then the labels: beside the line ends, or beneath when narrow."""
        import numpy as np

        width, height = self.size(narrow)
        entries = self._entries()
        names = [fit(entry.label, _WIDEST) for entry in entries]
        right = 0.2 if narrow else max(map(width_of, names), default=0) / 72 + 0.68
        bottom = 0.5 + (legend_height(entries, width) if narrow else 0)
        ax = canvas.add_axes((0.6 / width, bottom / height, 1 - (0.6 + right) / width, 1 - (bottom + 0.34) / height))
        bare(ax)
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.6}
        for i, line in enumerate(self.lines):
            x, mean, low, high = (
                np.where(np.isfinite(part), part, np.nan) for part in line.summary(self.band, self.middle)
            )
            if self.x_scale == "log":
                x[x <= 0] = np.nan
            if self.y_scale == "log":
                for part in (mean, low, high):
                    part[part <= 0] = np.nan
            ax.fill_between(x, low, high, color=look(i)["color"], alpha=0.16, linewidth=0)
            # marks stand at different places on different lines, so that lines on top of each other stay visible
            if np.isfinite(x).any() and np.isfinite(mean).any():
                ax.plot(x, mean, **look(i), **edge, markevery=(0.03 + 0.025 * (i % 5), 0.17))
        for i, level in enumerate(self.levels):
            ax.axhline(level.value, **_level_look(i), zorder=1)
        for event in self.events:
            ax.axvline(event.x, color=FAINT, linewidth=0.9, zorder=1)
        prepare_x(ax, self.x_scale, self.x_label)
        prepare_y(ax, self.y_scale, self.y_limits)
        write_y_label(canvas, [ax], self.y_label)
        for event in self.events:
            _name_event(ax, event)
        if narrow:
            draw_legend(canvas, entries)
        else:
            self._labels(canvas, ax, entries, names)

    def _entries(self) -> list[Entry]:
        lines = [Entry(line.name, (look(i),)) for i, line in enumerate(self.lines)]
        return lines + [Entry(level.label, (_level_look(i),), MUTED) for i, level in enumerate(self.levels)]

    def _labels(self, canvas: Canvas, ax: Axes, entries: list[Entry], names: list[str]) -> None:
        """Each name at the height where its line ends, pushed apart, joined to the line's end by a thin leader."""
        from matplotlib.lines import Line2D

        plain: dict[str, Any] = {"transform": in_points(canvas)}
        box = ax.get_window_extent()  # in points, as everything here
        points = []
        for end in [*(line.end(self.middle) for line in self.lines), *((None, level.value) for level in self.levels)]:
            px, py = ax.transData.transform((end[0] or 0.0, end[1])) if end else (box.x1, box.y0)
            height = float(min(max(py, box.y0), box.y1)) if math.isfinite(py) else box.y0
            points.append((box.x1 if end and end[0] is None else float(px), height))
        heights = spread([py for _, py in points], SIZE * 1.42, box.y0 - 4, box.y1 + 4)
        for i, (entry, (px, py), y) in enumerate(zip(entries, points, heights, strict=True)):
            style = entry.styles[0]
            thin = {"color": style["color"], "linewidth": 0.7, **plain}
            if i >= len(self.lines) or self.lines[i].end():
                if px < box.x1 - 8:  # the line ends early: a dotted way to the edge
                    canvas.add_artist(Line2D([px + 4, box.x1], [py, py], linestyle=":", **thin))
                canvas.add_artist(Line2D([box.x1 + 2, box.x1 + 15], [py, y], **thin))
            sample = {**style, "linewidth": 1.6, "markevery": [1]}
            canvas.add_artist(Line2D([box.x1 + 15, box.x1 + 25, box.x1 + 35], [y] * 3, **sample, **plain))
            canvas.text(box.x1 + 40, y, names[i], color=entry.colour, va="center_baseline", **plain)


def _name_event(ax: Axes, event: Event) -> None:
    """Write the label at the top, on the right of the line, readable where lines cross it."""
    from matplotlib.patheffects import withStroke

    ax.annotate(
        raised(event.label),
        (event.x, 1),
        (4, -3),
        xycoords=ax.get_xaxis_transform(),
        textcoords="offset points",
        color=MUTED,
        size=SMALL,
        va="top",
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )


def _level_look(index: int) -> dict[str, Any]:
    return {"color": FAINT, "linestyle": _DASHES[index % len(_DASHES)], "linewidth": 1.2}
