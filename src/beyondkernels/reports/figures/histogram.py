"""How numbers such as cosines are distributed, at several moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core import require, require_positive
from beyondkernels.reports.figures.axes import prepare_y, tick, write_y_label
from beyondkernels.reports.figures.base import NARROW, WIDE, Figure
from beyondkernels.reports.figures.style import INK, MUTED, SMALL, bare, look
from beyondkernels.reports.figures.text import shorten
from beyondkernels.reports.numbers import show_number

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
        limits: the ends of the horizontal axis; from the data unless given.
        bins: how many bins.
        layout: ``panels`` beneath each other on one axis, or ``overlaid``.
        y_scale: ``linear``, or ``log`` where a few values matter among many.
        mark_largest: whether the largest value is marked in each panel.
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
        filled = [v for v in values if len(v)]
        limits = self.limits
        if limits is None:
            limits = (
                (min(float(v.min()) for v in filled), max(float(v.max()) for v in filled)) if filled else (0.0, 1.0)
            )
            limits = limits if limits[0] < limits[1] else (limits[0] - 0.5, limits[1] + 0.5)
        edges = np.linspace(*limits, self.bins + 1)
        counts = [np.histogram(np.clip(v, *limits), edges)[0] for v in values]
        return edges, [count / max(len(v), 1) for count, v in zip(counts, values, strict=True)]

    def size(self, narrow: bool = False) -> tuple[float, float]:
        """Width and height in inches."""
        n = len(self.distributions)
        height = 1.15 * n + 0.9 if self.layout == "panels" else 3.2 + (0.24 * n if narrow else 0.3)
        return (NARROW if narrow else WIDE), height

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw the panels beneath each other on one axis, or all steps in one."""
        edges, shares = self.shares()
        if self.layout == "panels":
            self._panels(canvas, edges, shares)
        else:
            self._overlaid(canvas, edges, shares, narrow)

    def _panels(self, canvas: Canvas, edges: np.ndarray, shares: list[np.ndarray]) -> None:
        width, height = canvas.get_size_inches()
        n = len(shares)
        bottom, top = 0.55, 0.35
        each = (height - bottom - top) / n
        axes = []
        for i, (distribution, share) in enumerate(zip(self.distributions, shares, strict=True)):
            y = height - top - (i + 1) * each
            ax = canvas.add_axes((0.6 / width, y / height, 1 - 0.75 / width, (each - 0.17) / height))
            axes.append(ax)
            bare(ax)
            ax.stairs(share, edges, fill=True, color=look(0)["color"], alpha=0.28)
            ax.stairs(share, edges, color=look(0)["color"], linewidth=1.3)
            name = shorten(distribution.label, 40)
            ax.text(0.5, 0.97, name, transform=ax.transAxes, ha="center", va="top", color=INK, weight="bold")
            self._mark(ax, distribution)
        most = max(float(share.max()) for share in shares) or 1.0
        least = min([float(share[share > 0].min()) for share in shares if share.any()], default=0.1)
        for ax in axes:
            prepare_y(ax, self.y_scale, (least / 2, most * 3) if self.y_scale == "log" else (0.0, most * 1.15))
            if self.y_scale == "linear":
                ax.yaxis.get_major_locator().set_params(nbins=3)
            self._x_axis(ax, edges)
        for ax in axes[:-1]:
            ax.tick_params(labelbottom=False)
        axes[-1].set_xlabel(shorten(self.x_label, 60), labelpad=5)
        left = min(ax.get_position().x0 for ax in axes)
        for i, ax in enumerate(axes):
            write_y_label(canvas, ax, self.y_label if i == 0 else "")
        left = max(ax.get_position().x0 for ax in axes)
        for ax in axes:
            box = ax.get_position()
            ax.set_position((left, box.y0, box.x1 - left, box.height))

    def _overlaid(self, canvas: Canvas, edges: np.ndarray, shares: list[np.ndarray], narrow: bool) -> None:
        width, height = canvas.get_size_inches()
        legend = 0.24 * len(shares) if narrow else 0.3
        bottom = 0.6 + legend
        ax = canvas.add_axes((0.6 / width, bottom / height, 1 - 0.75 / width, 1 - (bottom + 0.42) / height))
        bare(ax)
        for i, (distribution, share) in enumerate(zip(self.distributions, shares, strict=True)):
            style = look(i)
            ax.stairs(share, edges, fill=True, color=style["color"], alpha=0.12)
            label = shorten(distribution.label, 40 if narrow else 26)
            ax.stairs(share, edges, color=style["color"], linestyle=style["linestyle"], linewidth=1.7, label=label)
        most = max(float(share.max()) for share in shares) or 1.0
        least = min([float(share[share > 0].min()) for share in shares if share.any()], default=0.1)
        prepare_y(ax, self.y_scale, (least / 2, most * 2) if self.y_scale == "log" else (0.0, most * 1.08))
        self._x_axis(ax, edges)
        ax.set_xlabel(shorten(self.x_label, 60), labelpad=5)
        left = write_y_label(canvas, ax, self.y_label)
        canvas.legend(
            loc="lower left",
            bbox_to_anchor=(left, 0),
            ncols=1 if narrow else min(len(shares), 4),
            borderaxespad=0.2,
            handlelength=2.4,
            columnspacing=2.0,
            labelspacing=0.3,
        )

    def _x_axis(self, ax: Axes, edges: np.ndarray) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        pad = 0.01 * float(edges[-1] - edges[0])
        ax.set_xlim(float(edges[0]) - pad, float(edges[-1]) + pad)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(tick))

    def _mark(self, ax: Axes, distribution: Distribution) -> None:
        values = distribution.finite()
        if not self.mark_largest or not len(values):
            return
        largest = float(values.max())
        shown = dict(transform=ax.get_xaxis_transform(), clip_on=False)
        ax.plot([largest], [0.04], marker="v", color=look(1)["color"], markersize=6.5, zorder=4, **shown)
        low, high = ax.dataLim.intervalx
        side = "right" if largest > (low + high) / 2 else "left"
        text = f"largest {show_number(largest)}"
        ax.text(largest, 0.17, text, ha=side, va="bottom", color=MUTED, fontsize=SMALL, **shown)
