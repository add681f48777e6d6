"""Neurons as points in the plane, before and after training, with the ground truth as stars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core import require
from beyondkernels.reports.figures.base import NARROW, WIDE, Figure
from beyondkernels.reports.figures.style import COLOURS, FAINT, INK, MARKERS, MUTED, SMALL
from beyondkernels.reports.figures.text import clean, fold, shorten

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_STAR_COLOURS = (COLOURS[1], COLOURS[0], COLOURS[2], COLOURS[3])
_DOTS = ("o", "s", "^", "D")


@dataclass(frozen=True, eq=False)
class Panel:
    """The neurons at one moment.

    Arguments:
        title: which moment.
        points: the neurons, (neurons, 2).
        stars: the ground truth in the same plane, (stars, 2).
        note: a line beneath, such as the largest cosine.
    """

    title: str
    points: Any
    stars: Any
    note: str = ""

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and stars as arrays of shape (·, 2)."""
        import numpy as np

        return np.asarray(self.points, dtype=float), np.asarray(self.stars, dtype=float).reshape(-1, 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Directions(Figure):
    """Panels side by side, one for each moment; neurons that belong to a star have its colour throughout.

    Arguments:
        panels: the moments, with the same neurons in the same order.
        star_labels: a name for each star.
        near: for each neuron the index of its star, −1 for none, (neurons,); the caller decides it where closeness
            has a meaning, in the full space.
        near_label: what the coloured points are called.

    Reference: Shi, Wei & Liang (features), Figures 2 and 6.
    """

    panels: Sequence[Panel]
    star_labels: Sequence[str]
    near: Any = ()
    near_label: str = "neurons nearest to it"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.panels) > 0, "panels must hold at least one panel, got none")
        require(len(self.star_labels) <= 4, f"star_labels must hold at most 4 names, got {len(self.star_labels)}")
        for panel in self.panels:
            points, stars = panel.arrays()
            good = points.ndim == 2 and points.shape[1] == 2 and len(stars) == len(self.star_labels)
            sizes = f"got {points.shape} and {stars.shape}"
            require(good, f"panel {panel.title!r} must hold points (n, 2) and {len(self.star_labels)} stars, {sizes}")
            same = len(self.near) in (0, len(points))
            require(same, f"near must hold one index for each of the {len(points)} neurons, got {len(self.near)}")

    def size(self, narrow: bool = False) -> tuple[float, float]:
        """Width and height in inches."""
        legend = 0.28 * (2 * len(self.star_labels) + 1 if narrow else 2) + 0.1
        rows, columns = self._grid(narrow)
        width = NARROW if narrow else WIDE
        side = min((width - 0.15 * (columns - 1) - 0.1) / columns, 3.6)
        return width, rows * (side + self._above + self._beneath) + legend + 0.05

    @property
    def _above(self) -> float:
        return 0.34

    @property
    def _beneath(self) -> float:
        return 0.32 if any(panel.note for panel in self.panels) else 0.08

    def _grid(self, narrow: bool) -> tuple[int, int]:
        columns = 1 if narrow else min(len(self.panels), 3)
        return -(-len(self.panels) // columns), columns

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw the panels on one scale, so that distances can be compared, and one legend for all."""
        import numpy as np

        width, height = self.size(narrow)
        rows, columns = self._grid(narrow)
        side = min((width - 0.15 * (columns - 1) - 0.1) / columns, 3.6)
        everything = np.concatenate([part for panel in self.panels for part in panel.arrays()])
        finite = everything[np.isfinite(everything).all(1)]
        low, high = (finite.min(0), finite.max(0)) if len(finite) else (-np.ones(2), np.ones(2))
        middle, half = (low + high) / 2, 0.56 * max(float((high - low).max()), 1e-12)
        start = (width - columns * side - (columns - 1) * 0.15) / 2
        for i, panel in enumerate(self.panels):
            row, column = divmod(i, columns)
            left = start + column * (side + 0.15)
            bottom = height - (row + 1) * (side + self._above) - row * self._beneath
            ax = canvas.add_axes((left / width, bottom / height, side / width, side / height))
            ax.set_xlim(middle[0] - half, middle[0] + half)
            ax.set_ylim(middle[1] - half, middle[1] + half)
            ax.set_xticks([])
            ax.set_yticks([])
            for spine in ax.spines.values():
                spine.set_edgecolor("#d5dae0")
            ax.set_title(fold(shorten(panel.title, 40), side * 72), color=INK, pad=6)
            ax.set_xlabel(shorten(panel.note, 44), color=MUTED, fontsize=SMALL, labelpad=4)
            self._points(ax, panel)
        self._legend(canvas, narrow)

    def _points(self, ax: Axes, panel: Panel) -> None:
        import numpy as np

        points, stars = panel.arrays()
        near = np.asarray(self.near, dtype=int) if len(self.near) else np.full(len(points), -1)
        rest = points[near < 0]
        ax.scatter(rest[:, 0], rest[:, 1], s=9, color="#8b949e", alpha=0.45, linewidths=0)
        for star, colour, dot in zip(range(len(stars)), _STAR_COLOURS, _DOTS, strict=False):
            own = points[near == star]
            ax.scatter(
                own[:, 0], own[:, 1], s=18, color=colour, marker=dot, alpha=0.85, linewidths=0.4, edgecolors="white"
            )
        for (x, y), colour in zip(stars, _STAR_COLOURS, strict=False):
            ax.scatter([x], [y], s=230, marker="*", color=colour, edgecolors=INK, linewidths=0.9, zorder=5)

    def _legend(self, canvas: Canvas, narrow: bool) -> None:
        from matplotlib.lines import Line2D

        def entry(label: str, **style: Any) -> Line2D:
            return Line2D([], [], linestyle="none", label=shorten(label, 44), **style)

        stars, dots = [], []
        near = [int(index) for index in self.near]
        for i, (label, colour, dot) in enumerate(zip(self.star_labels, _STAR_COLOURS, _DOTS, strict=False)):
            stars.append(
                entry(label, marker="*", markersize=13, color=colour, markeredgecolor=INK, markeredgewidth=0.8)
            )
            if near:
                dots.append(entry(f"{self.near_label} ({near.count(i)})", marker=dot, markersize=5, color=colour))
        dots = dots or []
        if narrow:
            handles = [handle for pair in zip(stars, dots, strict=False) for handle in pair] if dots else stars
        else:  # filled by columns: a star above its own points
            handles = [handle for pair in zip(stars, dots, strict=True) for handle in pair] if dots else stars
        handles.append(entry("other neurons" if dots else "neurons", marker="o", markersize=4, color="#8b949e"))
        canvas.legend(
            handles=handles,
            loc="lower left" if narrow else "lower center",
            ncols=1 if narrow else len(self.star_labels) + 1,
            borderaxespad=0.1,
            handletextpad=0.4,
            columnspacing=2.4,
            labelspacing=0.45,
        )
