"""Lines over steps, sizes or any other axis: the mean over seeds with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core import require
from beyondkernels.reports.figures.axes import prepare_x, prepare_y, write_y_label
from beyondkernels.reports.figures.base import NARROW, WIDE, Figure
from beyondkernels.reports.figures.style import FAINT, INK, MUTED, SIZE, bare, look
from beyondkernels.reports.figures.text import shorten, spread, width_of

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Scale = Literal["linear", "log", "steps"]
_REFERENCE_DASHES: tuple[Any, ...] = ((0, (6, 3)), (0, (2, 2)), (0, (6, 2, 1, 2)), (0, (1, 3)))


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
        require(
            good, f"y of line {self.label!r} must be (points,) or (seeds, points) for {len(x)} points, got {y.shape}"
        )

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """x as (points,) and y as (seeds, points)."""
        import numpy as np

        x, y = np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)
        return x, y[None] if y.ndim == 1 else y

    def summary(self, band: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """x, the mean over seeds, and the lower and upper edge of the band."""
        import numpy as np

        x, y = self.arrays()
        mean = y.mean(0) if len(y) else np.full(len(x), np.nan)
        if band == "range" and len(y) > 1:
            return x, mean, y.min(0), y.max(0)
        if band == "deviation" and len(y) > 1:
            s = y.std(0, ddof=1)
            return x, mean, mean - s, mean + s
        return x, mean, mean, mean


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: a bound, chance, a published value."""

    label: str
    value: float


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
    """

    lines: Sequence[Line]
    x_label: str = "step"
    y_label: str = ""
    x_scale: Scale = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    y_limits: tuple[float, float] | None = None
    band: Literal["range", "deviation", "none"] = "range"
    levels: Sequence[Level] = ()

    def size(self, narrow: bool = False) -> tuple[float, float]:
        """Width and height in inches."""
        labels = len(self.lines) + len(self.levels)
        if narrow:
            return NARROW, 3.1 + 0.21 * labels
        return WIDE, max(3.9, 1.0 + 0.22 * labels)

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw lines, bands and levels, then the labels: beside the line ends, or beneath when narrow."""
        width, height = self.size(narrow)
        names = [shorten(thing.label) for thing in (*self.lines, *self.levels)]
        right = 0.2 if narrow else min(max(map(width_of, names), default=0) / 72 + 0.68, 0.48 * width)
        bottom = 0.6 + (0.15 + 0.21 * len(names) if narrow else 0)
        ax = canvas.add_axes((0.6 / width, bottom / height, 1 - (0.6 + right) / width, 1 - (bottom + 0.42) / height))
        bare(ax)
        for i, line in enumerate(self.lines):
            x, mean, low, high = line.summary(self.band)
            ax.fill_between(x, low, high, color=look(i)["color"], alpha=0.16, linewidth=0)
            ax.plot(
                x,
                mean,
                **look(i),
                markevery=(0.03 + 0.025 * (i % 5), 0.17),
                markeredgecolor="white",
                markeredgewidth=0.6,
            )
        for i, level in enumerate(self.levels):
            ax.axhline(level.value, color=FAINT, linewidth=1.2, linestyle=_REFERENCE_DASHES[i % 4], zorder=1)
        prepare_x(ax, self.x_scale, self.x_label)
        prepare_y(ax, self.y_scale, self.y_limits)
        left = write_y_label(canvas, ax, self.y_label)
        if narrow:
            _labels_beneath(canvas, self.lines, self.levels, names, left)
        else:
            _labels_beside(ax, self.lines, self.levels, names, self.band)


def _labels_beside(ax: Axes, lines: Sequence[Line], levels: Sequence[Level], names: list[str], band: str) -> None:
    """Each name at the height where its line ends, pushed apart, joined to the line's end by a thin leader."""
    import numpy as np
    from matplotlib.transforms import IdentityTransform

    box = ax.get_window_extent()
    ends = []
    for line in lines:
        x, mean, _, _ = line.summary(band)
        there = np.flatnonzero(np.isfinite(mean))
        ends.append((x[there[-1]], mean[there[-1]]) if len(there) else None)
    points = [ax.transData.transform(end) if end else (box.x1, box.y0) for end in ends]
    points += [(box.x1, ax.transData.transform((0, level.value))[1]) for level in levels]
    points = [(float(px), float(min(max(py, box.y0), box.y1))) for px, py in points]
    heights = spread([py for _, py in points], SIZE * 1.42, box.y0 - 4, box.y1 + 4)
    plain: dict[str, Any] = {"transform": IdentityTransform(), "clip_on": False}
    for i, ((px, py), y) in enumerate(zip(points, heights, strict=True)):
        is_line = i < len(lines)
        style = look(i) if is_line else {"color": FAINT, "linestyle": _REFERENCE_DASHES[(i - len(lines)) % 4]}
        if not is_line or ends[i]:
            ax.plot([max(px + 3, box.x1 + 1), box.x1 + 15], [py, y], color=style["color"], linewidth=0.7, **plain)
        ax.plot([box.x1 + 15, box.x1 + 25, box.x1 + 35], [y] * 3, **style, markevery=[1], linewidth=1.6, **plain)
        name = names[i] if not is_line or ends[i] else f"{names[i]} (no finite value)"
        ax.text(box.x1 + 40, y, name, color=INK if is_line else MUTED, va="center_baseline", **plain)


def _labels_beneath(
    canvas: Canvas, lines: Sequence[Line], levels: Sequence[Level], names: list[str], left: float
) -> None:
    """The names as a list under the axis, where there is no room beside it."""
    from matplotlib.lines import Line2D

    styles = [look(i) for i in range(len(lines))]
    styles += [{"color": FAINT, "linestyle": _REFERENCE_DASHES[i % 4]} for i in range(len(levels))]
    handles = [Line2D([], [], **style, label=name) for style, name in zip(styles, names, strict=True)]
    canvas.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(left, 0),
        borderaxespad=0.2,
        labelspacing=0.28,
        handlelength=2.6,
        borderpad=0.2,
    )
