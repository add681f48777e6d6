"""A table as a picture: for each method the published value and the measured one with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beyondkernels.core import require
from beyondkernels.reports.figures.axes import tick
from beyondkernels.reports.figures.base import NARROW, WIDE, Figure
from beyondkernels.reports.figures.style import COLOURS, FAINT, INK, MUTED, SMALL, bare
from beyondkernels.reports.figures.text import fold, shorten, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Dot:
    """One value of one method; ``None`` where there is none."""

    measured: float | None = None
    low: float | None = None
    high: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Quantity:
    """A column of the table.

    Arguments:
        label: what it is, its unit included.
        dots: one for each method, in their order.
        limits: the ends of its axis; chosen unless given.
        chance: where a predictor that knows nothing stands, drawn as a thin line.
    """

    label: str
    dots: Sequence[Dot]
    limits: tuple[float, float] | None = None
    chance: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Dots(Figure):
    """One row a method, one panel a quantity, published and measured values on the same axis.

    Arguments:
        methods: the rows, first at the top.
        quantities: the panels.
        interval: what the bars are, for the legend.
    """

    methods: Sequence[str]
    quantities: Sequence[Quantity]
    interval: str = "interval"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.methods) > 0, "methods must hold at least one name, got none")
        require(len(self.quantities) > 0, "quantities must hold at least one quantity, got none")
        for quantity in self.quantities:
            n = len(quantity.dots)
            require(n == len(self.methods), f"{quantity.label!r} must hold {len(self.methods)} dots, got {n}")

    def size(self, narrow: bool = False) -> tuple[float, float]:
        """Width and height in inches."""
        rows = 0.27 * len(self.methods)
        panels = len(self.quantities) if narrow else 1
        return (NARROW if narrow else WIDE), panels * (rows + 0.78) + (0.62 if narrow else 0.4)

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw the panels side by side, or beneath each other when narrow."""
        width, height = self.size(narrow)
        names = [shorten(method, 30) for method in self.methods]
        left = min(max(map(width_of, names)) / 72 + 0.2, 0.45 * width)
        n, gap = len(self.quantities), 0.35
        rows = 0.27 * len(names)
        for i, quantity in enumerate(self.quantities):
            if narrow:
                x, wide, bottom = left, width - left - 0.2, height - 0.42 - rows - i * (rows + 0.78)
            else:
                wide = (width - left - 0.2 - (n - 1) * gap) / n
                x, bottom = left + i * (wide + gap), height - 0.42 - rows
            ax = canvas.add_axes((x / width, bottom / height, wide / width, rows / height))
            self._panel(ax, quantity, names if narrow or i == 0 else None)
            title = fold(shorten(quantity.label, 44), wide * 72)
            ax.text(0, 1 + 9 / (rows * 72), title, transform=ax.transAxes, color=INK, va="baseline", weight="bold")
        self._legend(canvas, left / width, narrow)

    def _panel(self, ax: Axes, quantity: Quantity, names: list[str] | None) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        bare(ax, "both")
        n = len(self.methods)
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_yticks(range(n), names if names is not None else [""] * n)
        ax.tick_params(axis="y", labelcolor=INK, labelsize=SMALL if max(map(len, names or [""])) > 26 else None, pad=6)
        if quantity.chance is not None:
            ax.axvline(quantity.chance, color=FAINT, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1)
        for y, dot in enumerate(quantity.dots):
            if dot.low is not None and dot.high is not None and math.isfinite(dot.low) and math.isfinite(dot.high):
                ax.plot([dot.low, dot.high], [y, y], color=COLOURS[0], linewidth=2.6, alpha=0.55, solid_capstyle="butt")
            if dot.measured is not None and math.isfinite(dot.measured):
                ax.plot([dot.measured], [y], "o", color=COLOURS[0], markersize=6, zorder=3, clip_on=False)
            if dot.published is not None and math.isfinite(dot.published):
                style = {"markerfacecolor": "none", "markeredgecolor": COLOURS[1], "markeredgewidth": 1.5}
                ax.plot([dot.published], [y], "D", markersize=8.5, zorder=4, clip_on=False, **style)
        if quantity.limits is not None:
            ax.set_xlim(*quantity.limits)
        else:
            ax.margins(x=0.06)
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(tick))

    def _legend(self, canvas: Canvas, left: float, narrow: bool) -> None:
        from matplotlib.lines import Line2D

        edge = {"markerfacecolor": "none", "markeredgecolor": COLOURS[1], "markeredgewidth": 1.5}
        bar = shorten(f"measured, {self.interval}" if self.interval else "measured", 44)
        handles = [
            Line2D([], [], marker="o", markersize=6, color=COLOURS[0], linewidth=2.6, label=bar),
            Line2D([], [], marker="D", markersize=8, linestyle="none", **edge, label="published"),
        ]
        if any(quantity.chance is not None for quantity in self.quantities):
            handles.append(Line2D([], [], color=FAINT, linestyle=(0, (2, 2)), linewidth=1.2, label="chance"))
        canvas.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0 if narrow else left, 0),
            ncols=1 if narrow else 3,
            borderaxespad=0.1,
            columnspacing=2.2,
            labelspacing=0.3,
            labelcolor=MUTED,
        )
