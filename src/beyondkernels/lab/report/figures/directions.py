"""Neurons as points in the plane, before and after training, with the ground truth as stars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core import require
from beyondkernels.lab.report.figures.base import NARROW, WIDE, Figure
from beyondkernels.lab.report.figures.legend import Entry, draw_legend, legend_height
from beyondkernels.lab.report.figures.style import COLOURS, INK, MUTED, SMALL
from beyondkernels.lab.report.figures.text import fit

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_STAR_COLOURS = (COLOURS[1], COLOURS[0], COLOURS[2], COLOURS[3])
_DOTS = ("o", "s", "^", "D")
_OTHERS = "#8b949e"
_GAP, _ABOVE = 0.15, 0.34
_SIZES = (34, 9, 34, 9)  # so that neurons of two stars at one place are both seen
_TOGETHER = 0.06  # of half a panel: neurons closer together than this look like one
_CROWD = 0.5  # of a star's neurons: so many at one place are counted


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
        star_labels: a name for each kind of star.
        star_kinds: for each star the index of its kind; empty where each star is a kind of its own.
        near: for each neuron the index of its kind of star, −1 for none, (neurons,); the caller decides it where
            closeness has a meaning, in the full space.
        near_label: what the coloured points are called.

    Reference: Shi, Wei & Liang (features), Figures 2 and 6.
    """

    panels: Sequence[Panel]
    star_labels: Sequence[str]
    star_kinds: Sequence[int] = ()
    near: Any = ()
    near_label: str = "nearest neurons"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.panels) > 0, "panels must hold at least one panel, got none")
        require(len(self.star_labels) <= 4, f"star_labels must hold at most 4 names, got {len(self.star_labels)}")
        wrong = [kind for kind in self.star_kinds if not 0 <= kind < len(self.star_labels)]
        require(
            not wrong, f"star_kinds must lie in [0, {len(self.star_labels) - 1}], the kinds of stars, got {wrong[:1]}"
        )
        for panel in self.panels:
            points, stars = panel.arrays()
            good = points.ndim == 2 and points.shape[1] == 2 and len(stars) == len(self._kinds)
            sizes = f"got {points.shape} and {stars.shape}"
            require(good, f"panel {panel.title!r} must hold points (n, 2) and {len(self._kinds)} stars, {sizes}")
            same = len(self.near) in (0, len(points))
            require(same, f"near must hold one index for each of the {len(points)} neurons, got {len(self.near)}")

    def size(self, narrow: bool = False) -> tuple[float, float]:
        width, side, rows, _ = self._layout(narrow)
        return width, rows * (side + _ABOVE + self._beneath) + legend_height(self._entries(), width) + 0.08

    @property
    def _kinds(self) -> Sequence[int]:
        return self.star_kinds or range(len(self.star_labels))

    @property
    def _sizes(self) -> Sequence[int]:
        return (9,) * len(_SIZES) if self.star_kinds else _SIZES

    @property
    def _beneath(self) -> float:
        return 0.32 if any(panel.note for panel in self.panels) else 0.08

    def _layout(self, narrow: bool) -> tuple[float, float, int, int]:
        """The figure's width, a panel's side, rows and columns of panels."""
        width, columns = (NARROW, 1) if narrow else (WIDE, 2 if len(self.panels) == 4 else min(len(self.panels), 3))
        side = min((width - _GAP * (columns - 1) - 0.17) / columns, 3.6)
        return width, side, -(-len(self.panels) // columns), columns

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        width, side, _, columns = self._layout(narrow)
        height = self.size(narrow)[1]
        start = (width - columns * side - (columns - 1) * _GAP) / 2
        for i, panel in enumerate(self.panels):
            row, column = divmod(i, columns)
            left = start + column * (side + _GAP)
            bottom = height - (row + 1) * (side + _ABOVE) - row * self._beneath
            ax = canvas.add_axes((left / width, bottom / height, side / width, side / height))
            middle, half = _frame(panel)
            ax.set_xlim(middle[0] - half, middle[0] + half)
            ax.set_ylim(middle[1] - half, middle[1] + half)
            ax.set_xticks([])
            ax.set_yticks([])
            for spine in ax.spines.values():
                spine.set_edgecolor("#d5dae0")
            ax.set_title(fit(panel.title, side * 72), color=INK, pad=6)
            ax.set_xlabel(fit(panel.note, side * 72, SMALL), color=MUTED, fontsize=SMALL, labelpad=4)
            self._points(ax, panel, half)
        draw_legend(canvas, self._entries())

    def _points(self, ax: Axes, panel: Panel, half: float) -> None:
        """Neurons, hollow stars that hide none of them, and a count where many neurons look like one."""
        import numpy as np

        points, stars = panel.arrays()
        near = np.asarray(self.near, dtype=int) if len(self.near) else np.full(len(points), -1)
        for (x, y), kind in zip(stars, self._kinds, strict=True):
            hollow: dict[str, Any] = {"s": 160 if self.star_kinds else 600, "marker": "*", "facecolors": "none"}
            ax.scatter([x], [y], **hollow, edgecolors="white", linewidths=2.8, zorder=4)
            ax.scatter([x], [y], **hollow, edgecolors=_STAR_COLOURS[kind], linewidths=1.6, zorder=5)
        rest = points[near < 0]
        ax.scatter(rest[:, 0], rest[:, 1], s=9, color=_OTHERS, alpha=0.45, linewidths=0, zorder=3)
        edge: dict[str, Any] = {"alpha": 0.85, "linewidths": 0}
        for kind in range(len(self.star_labels)):
            own = points[near == kind]
            look: dict[str, Any] = {"color": _STAR_COLOURS[kind], "marker": _DOTS[kind], "s": self._sizes[kind]}
            ax.scatter(own[:, 0], own[:, 1], **look, **edge, zorder=3 + kind / 10)
            if not len(own) or self.star_kinds:  # neurons of a kind of several stars are not expected at one place
                continue
            middle = np.median(own, axis=0)
            there = int((np.hypot(*(own - middle).T) < _TOGETHER * half).sum())
            if there >= _CROWD * len(own):
                place = (float(middle[0]), min(float(middle[1]), float(stars[kind, 1])))
                self._count(ax, there, place, _STAR_COLOURS[kind])

    def _count(self, ax: Axes, there: int, place: tuple[float, float], colour: str) -> None:
        """Write beneath a place how many neurons lie there, towards the middle of the panel."""
        left, right = ax.get_xlim()
        share = (place[0] - left) / (right - left)
        side: Any = "left" if share < 0.3 else "right" if share > 0.7 else "center"
        shift = {"left": -9, "right": 9, "center": 0}[side]
        text = f"{there} neurons"
        words: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "top", "annotation_clip": False}
        ax.annotate(text, place, (shift, -15), color=colour, fontsize=SMALL, weight="bold", **words)

    def _entries(self) -> list[Entry]:
        near = [int(index) for index in self.near]
        entries = []
        for i, label in enumerate(self.star_labels):
            mark: dict[str, Any] = {"color": _STAR_COLOURS[i], "linestyle": "none"}
            star = {**mark, "marker": "*", "markersize": 13, "markerfacecolor": "none", "markeredgewidth": 1.5}
            if near:
                dot = {**mark, "marker": _DOTS[i], "markersize": self._sizes[i] ** 0.5}
                its = "their" if self.star_kinds else "its"
                entries.append(Entry(f"{label} and {its} {near.count(i)} {self.near_label}", (star, dot)))
            else:
                entries.append(Entry(label, (star,)))
        other = {"color": _OTHERS, "marker": "o", "markersize": 4, "linestyle": "none"}
        if near and -1 not in near:
            return entries
        return [*entries, Entry("other neurons" if near else "neurons", (other,), MUTED)]


def _frame(panel: Panel) -> tuple[np.ndarray, float]:
    """The middle of a square that holds everything in a panel, with room for the stars, and half its side."""
    import numpy as np

    everything = np.concatenate(panel.arrays())
    finite = everything[np.isfinite(everything).all(1)]
    low, high = (finite.min(0), finite.max(0)) if len(finite) else (-np.ones(2), np.ones(2))
    return (low + high) / 2, 0.62 * max(float((high - low).max()), 1e-12)
