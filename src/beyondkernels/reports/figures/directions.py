"""Neurons as points in the plane, before and after training, with the ground truth as stars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core import require
from beyondkernels.reports.figures.base import NARROW, WIDE, Figure
from beyondkernels.reports.figures.legend import Entry, draw_legend, legend_height
from beyondkernels.reports.figures.style import COLOURS, INK, MUTED, SMALL
from beyondkernels.reports.figures.text import fit

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_STAR_COLOURS = (COLOURS[1], COLOURS[0], COLOURS[2], COLOURS[3])
_DOTS = ("o", "s", "^", "D")
_OTHERS = "#8b949e"
_GAP, _ABOVE = 0.15, 0.34


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
    near_label: str = "nearest neurons"

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
        width, side, rows, _ = self._layout(narrow)
        return width, rows * (side + _ABOVE + self._beneath) + legend_height(self._entries(), width) + 0.08

    @property
    def _beneath(self) -> float:
        return 0.32 if any(panel.note for panel in self.panels) else 0.08

    def _layout(self, narrow: bool) -> tuple[float, float, int, int]:
        """The figure's width, a panel's side, rows and columns of panels."""
        width, columns = (NARROW, 1) if narrow else (WIDE, 2 if len(self.panels) == 4 else min(len(self.panels), 3))
        side = min((width - _GAP * (columns - 1) - 0.17) / columns, 3.6)
        return width, side, -(-len(self.panels) // columns), columns

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw the panels on one scale, so that distances can be compared, and one legend for all."""
        import numpy as np

        width, side, _, columns = self._layout(narrow)
        height = self.size(narrow)[1]
        everything = np.concatenate([part for panel in self.panels for part in panel.arrays()])
        finite = everything[np.isfinite(everything).all(1)]
        low, high = (finite.min(0), finite.max(0)) if len(finite) else (-np.ones(2), np.ones(2))
        middle, half = (low + high) / 2, 0.56 * max(float((high - low).max()), 1e-12)
        start = (width - columns * side - (columns - 1) * _GAP) / 2
        for i, panel in enumerate(self.panels):
            row, column = divmod(i, columns)
            left = start + column * (side + _GAP)
            bottom = height - (row + 1) * (side + _ABOVE) - row * self._beneath
            ax = canvas.add_axes((left / width, bottom / height, side / width, side / height))
            ax.set_xlim(middle[0] - half, middle[0] + half)
            ax.set_ylim(middle[1] - half, middle[1] + half)
            ax.set_xticks([])
            ax.set_yticks([])
            for spine in ax.spines.values():
                spine.set_edgecolor("#d5dae0")
            ax.set_title(fit(panel.title, side * 72), color=INK, pad=6)
            ax.set_xlabel(fit(panel.note, side * 72, SMALL), color=MUTED, fontsize=SMALL, labelpad=4)
            self._points(ax, panel)
        draw_legend(canvas, self._entries())

    def _points(self, ax: Axes, panel: Panel) -> None:
        import numpy as np

        points, stars = panel.arrays()
        near = np.asarray(self.near, dtype=int) if len(self.near) else np.full(len(points), -1)
        rest = points[near < 0]
        ax.scatter(rest[:, 0], rest[:, 1], s=9, color=_OTHERS, alpha=0.45, linewidths=0)
        edge: dict[str, Any] = {"alpha": 0.85, "linewidths": 0.4, "edgecolors": "white"}
        for star in range(len(stars)):
            own = points[near == star]
            ax.scatter(own[:, 0], own[:, 1], s=18, color=_STAR_COLOURS[star], marker=_DOTS[star], **edge)
        for (x, y), colour in zip(stars, _STAR_COLOURS, strict=False):
            ax.scatter([x], [y], s=230, marker="*", color=colour, edgecolors=INK, linewidths=0.9, zorder=5)

    def _entries(self) -> list[Entry]:
        near = [int(index) for index in self.near]
        entries = []
        for i, label in enumerate(self.star_labels):
            mark: dict[str, Any] = {"color": _STAR_COLOURS[i], "linestyle": "none"}
            star = {**mark, "marker": "*", "markersize": 12, "markeredgecolor": INK, "markeredgewidth": 0.8}
            if near:
                dot = {**mark, "marker": _DOTS[i], "markersize": 5}
                entries.append(Entry(f"{label} and its {near.count(i)} {self.near_label}", (star, dot)))
            else:
                entries.append(Entry(label, (star,)))
        other = {"color": _OTHERS, "marker": "o", "markersize": 4, "linestyle": "none"}
        return [*entries, Entry("other neurons" if near else "neurons", (other,), MUTED)]
