"""A table as a picture: for each method the published value and the measured one with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeGuard

from beyondkernels.core import require
from beyondkernels.lab.report.figures.axes import tick
from beyondkernels.lab.report.figures.base import NARROW, WIDE, Figure
from beyondkernels.lab.report.figures.legend import Entry, draw_legend, legend_height
from beyondkernels.lab.report.figures.style import COLOURS, FAINT, INK, SIZE, bare
from beyondkernels.lab.report.figures.text import fit, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_ROW, _AROUND = 0.27, 0.8
_PUBLISHED: dict[str, Any] = {
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgecolor": COLOURS[1],
    "markeredgewidth": 1.5,
}
_CHANCE: dict[str, Any] = {"color": FAINT, "linewidth": 1.2, "linestyle": (0, (2, 2))}


@dataclass(frozen=True)
class Dot:
    """One value of one method; ``None`` where there is none."""

    measured: float | None = None
    low: float | None = None
    high: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class DotColumn:
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
    quantities: Sequence[DotColumn]
    interval: str = "interval"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.methods) > 0, "methods must hold at least one name, got none")
        require(len(self.quantities) > 0, "quantities must hold at least one quantity, got none")
        for quantity in self.quantities:
            n = len(quantity.dots)
            require(n == len(self.methods), f"{quantity.label!r} must hold {len(self.methods)} dots, got {n}")

    def without_published(self) -> Self:
        quantities = [replace(q, dots=[replace(dot, published=None) for dot in q.dots]) for q in self.quantities]
        return replace(self, quantities=quantities)

    def size(self, narrow: bool = False) -> tuple[float, float]:
        width, panels = (NARROW, len(self.quantities)) if narrow else (WIDE, 1)
        return width, panels * (_ROW * len(self.methods) + _AROUND) + legend_height(self._entries(), width)

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        width, height = self.size(narrow)
        names = [fit(method, 0.42 * width * 72) for method in self.methods]
        left = max(map(width_of, names)) / 72 + 0.2
        n, gap = len(self.quantities), 0.35
        rows = _ROW * len(names)
        for i, quantity in enumerate(self.quantities):
            if narrow:
                x, wide, bottom = left, width - left - 0.2, height - 0.4 - rows - i * (rows + _AROUND)
            else:
                wide = (width - left - 0.2 - (n - 1) * gap) / n
                x, bottom = left + i * (wide + gap), height - 0.4 - rows
            ax = canvas.add_axes((x / width, bottom / height, wide / width, rows / height))
            self._panel(ax, quantity, names if narrow or i == 0 else None)
            title = fit(quantity.label, 0.88 * wide * 72)  # bold letters are wider
            ax.text(0, 1 + 9 / (rows * 72), title, transform=ax.transAxes, color=INK, va="baseline", weight="bold")
        draw_legend(canvas, self._entries())

    def _panel(self, ax: Axes, quantity: DotColumn, names: list[str] | None) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        bare(ax, "both")
        n = len(self.methods)
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_yticks(range(n), names if names is not None else [""] * n)
        ax.tick_params(axis="y", labelcolor=INK, labelsize=SIZE, pad=6)
        if quantity.chance is not None:
            ax.axvline(quantity.chance, **_CHANCE, zorder=1)
        for y, dot in enumerate(quantity.dots):
            if _there(dot.low) and _there(dot.high):
                ax.plot([dot.low, dot.high], [y, y], color=COLOURS[0], linewidth=2.6, alpha=0.55, solid_capstyle="butt")
            if _there(dot.measured):
                ax.plot([dot.measured], [y], "o", color=COLOURS[0], markersize=6, zorder=3, clip_on=False)
            if _there(dot.published):
                ax.plot([dot.published], [y], **_PUBLISHED, linestyle="none", markersize=8.5, zorder=4, clip_on=False)
        if quantity.limits is not None:
            ax.set_xlim(*quantity.limits)
        else:
            ax.margins(x=0.06)
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(tick))

    def _entries(self) -> list[Entry]:
        measured = {"color": COLOURS[0], "marker": "o", "markersize": 6, "linewidth": 2.6}
        entries = [Entry(f"measured, {self.interval}" if self.interval else "measured", (measured,))]
        if any(_there(dot.published) for quantity in self.quantities for dot in quantity.dots):
            entries.append(Entry("published", ({**_PUBLISHED, "linestyle": "none", "markersize": 8},)))
        if any(quantity.chance is not None for quantity in self.quantities):
            entries.append(Entry("chance", (_CHANCE,)))
        return entries


def _there(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
