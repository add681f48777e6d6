"""How numbers such as cosines are distributed, at several moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core import require, require_positive
from beyondkernels.lab.report.figures.axes import prepare_y, tick, write_y_label
from beyondkernels.lab.report.figures.base import NARROW, WIDE, Figure
from beyondkernels.lab.report.figures.legend import Entry, draw_legend, legend_height
from beyondkernels.lab.report.figures.style import INK, bare, look
from beyondkernels.lab.report.figures.text import fit, width_of
from beyondkernels.lab.report.numbers import show_number

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, eq=False)
class Distribution:
    """Numbers with a name; those that are not finite are left out."""

    label: str
    values: Any

    def finite(self) -> np.ndarray:
        """The finite values, (n,)."""
        import numpy as np

        values = np.asarray(self.values, dtype=float).ravel()
        return values[np.isfinite(values)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Histogram(Figure):
    """Shares of values in equal bins, in panels or laid over each other; the largest value is marked.

    Arguments:
        distributions: what to show, in order of time.
        x_label: what the values are.
        y_label: what is counted.
        limits: the ends of the horizontal axis; from the data unless given. Values beyond count in the last bin.
        bins: how many bins.
        layout: ``panels`` beneath each other on one axis, or ``overlaid``.
        y_scale: ``linear``, or ``log`` where a few values matter among many.
        mark_largest: whether the largest value is marked.
    """

    distributions: Sequence[Distribution]
    x_label: str
    y_label: str = "share"
    limits: tuple[float, float] | None = None
    bins: int = 40
    layout: Literal["panels", "overlaid"] = "panels"
    y_scale: Literal["linear", "log"] = "linear"
    mark_largest: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.distributions) > 0, "distributions must hold at least one distribution, got none")
        require_positive("bins", self.bins)
        if self.limits is not None:
            require(self.limits[0] < self.limits[1], f"limits must increase, got {self.limits}")

    def shares(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The edges of the bins, and for each distribution the share of its values in each bin."""
        import numpy as np

        values = [distribution.finite() for distribution in self.distributions]
        together = np.concatenate(values)
        low, high = self.limits or ((together.min(), together.max()) if len(together) else (0.0, 1.0))
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, self.bins + 1)
        counts = [np.histogram(np.clip(v, low, high), edges)[0] for v in values]
        return edges, [count / max(len(v), 1) for count, v in zip(counts, values, strict=True)]

    def size(self, narrow: bool = False) -> tuple[float, float]:
        width = NARROW if narrow else WIDE
        if self.layout == "panels":
            return width, 1.2 * len(self.distributions) + 0.68 + self._extra(width)
        return width, 3.2 + legend_height(self._entries(), width)

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        width, height = self.size(narrow)
        edges, shares = self.shares()
        overlaid = self.layout == "overlaid"
        n = 1 if overlaid else len(shares)
        bottom = 0.5 + (legend_height(self._entries(), width) if overlaid else 0)
        above, each = 0.33, (height - bottom - self._extra(width)) / n
        axes = []
        for i in range(n):
            y = bottom + (n - 1 - i) * each + (0.0 if i == n - 1 else 0.05)
            top = bottom + (n - i) * each - above
            axes.append(canvas.add_axes((0.6 / width, y / height, 1 - 0.8 / width, (top - y) / height)))
        positive = [share for share in map(float, (s for share in shares for s in share)) if share > 0]
        most, least = max(positive, default=1.0), min(positive, default=0.1)
        limits = (least / 2, most * 1.5) if self.y_scale == "log" else (0.0, most * 1.06)
        for i, (distribution, share) in enumerate(zip(self.distributions, shares, strict=True)):
            ax = axes[0 if overlaid else i]
            self._steps(ax, edges, share, limits[0] / 10 if self.y_scale == "log" else 0.0, i if overlaid else 0)
            self._mark(ax, distribution, i if overlaid else 1)
            if not overlaid:
                place = {"transform": ax.transAxes, "ha": "right", "va": "baseline", "color": INK}
                ax.text(1, 1 + 9 / (72 * (each - above)), self._name(distribution), **place)
        for ax in axes:
            self._finish(ax, edges, limits, few=not overlaid, last=ax is axes[-1])
        write_y_label(canvas, axes, self.y_label, raised=self._extra(width))
        if overlaid:
            draw_legend(canvas, self._entries())

    def _extra(self, width: float) -> float:
        """Inches for a line of its own when the axis label and the first panel's name do not fit on one line."""
        if self.layout == "overlaid":
            return 0.0
        first = width_of(self._name(self.distributions[0]))
        return 0.0 if width_of(fit(self.y_label, 260)) + first + 36 < width * 72 else 0.24

    def _name(self, distribution: Distribution) -> str:
        values = distribution.finite()
        largest = f"largest {show_number(float(values.max()))}" if self.mark_largest and len(values) else ""
        room = 150 if largest else 240
        return ", ".join(part for part in (fit(distribution.label, room), largest) if part)

    def _entries(self) -> list[Entry]:
        styles = [{**look(i), "marker": "v"} for i in range(len(self.distributions))]
        if not self.mark_largest:
            styles = [{**style, "marker": None} for style in styles]
        return [Entry(self._name(d), (style,)) for d, style in zip(self.distributions, styles, strict=True)]

    def _steps(self, ax: Axes, edges: np.ndarray, share: np.ndarray, floor: float, index: int) -> None:
        import numpy as np

        bare(ax)
        style = look(index)
        heights = np.maximum(share, floor)  # on a logarithmic axis an empty bin stands below its lower end
        ax.stairs(heights, edges, baseline=floor, fill=True, color=style["color"], alpha=0.2)
        ax.stairs(heights, edges, baseline=floor, color=style["color"], linestyle=style["linestyle"], linewidth=1.5)

    def _mark(self, ax: Axes, distribution: Distribution, index: int) -> None:
        values = distribution.finite()
        if self.mark_largest and len(values):
            style: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "zorder": 4}
            ax.plot([float(values.max())], [0.03], marker="v", color=look(index)["color"], markersize=6.5, **style)

    def _finish(self, ax: Axes, edges: np.ndarray, limits: tuple[float, float], few: bool, last: bool) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        prepare_y(ax, self.y_scale, limits)
        if few and self.y_scale == "linear":
            ax.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
        pad = 0.01 * float(edges[-1] - edges[0])
        ax.set_xlim(float(edges[0]) - pad, float(edges[-1]) + pad)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(tick))
        ax.tick_params(labelbottom=last)
        if last:
            ax.set_xlabel(fit(self.x_label, 240), labelpad=5)
