"""Directions of the input as small pictures: images, patches or vectors, in rows."""

from __future__ import annotations

import itertools
import math
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

_GAP, _ABOVE, _BENEATH, _EDGE = 0.12, 0.3, 0.24, 0.05
_COLUMNS, _NARROW_COLUMNS = 8, 4
_LARGEST, _FLATTEST, _TALLEST = 1.5, 0.25, 4.0
_NEGATIVE, _POSITIVE = COLOURS[0], COLOURS[1]

_STEPS = 12
"""Shades of each colour: fewer would be seen as steps, more would make the file longer."""

_CELLS = 6000
"""Cells of one figure: each takes about a hundred bytes."""


@dataclass(frozen=True, eq=False)
class PictureRow:
    """Pictures that belong together.

    Arguments:
        title: what they have in common.
        images: (m, height, width), (m, channels, height, width), or vectors (m, d). Channels stand beneath each
            other, more than three of them in a square.
        labels: a word beneath each picture; none or m of them.
    """

    title: str
    images: Any
    labels: Sequence[str] = ()

    def arrays(self, factor: int = 1) -> list[np.ndarray]:
        """Each picture as a matrix of numbers; cells between two channels are NaN.

        Arguments:
            factor: how many cells a side of an image are drawn as one, with their mean.
        """
        import numpy as np

        images = np.asarray(self.images, dtype=float)
        if images.ndim == 2:
            return list(images[:, None])
        images = coarser(images, factor) if factor > 1 else images
        return [image if image.ndim == 2 else _together(image) for image in images]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pictures(Figure):
    """Rows of small pictures of numbers with a sign: one colour for positive, one for negative, white for zero.

    Each picture has a scale of its own, on which its largest number in size has the full colour. A row that
    has more cells than a page can hold is drawn coarser: a cell is then the mean of a square of cells.

    Arguments:
        rows: the pictures, first row at the top.
    """

    rows: Sequence[PictureRow]

    def __post_init__(self) -> None:
        import numpy as np

        super().__post_init__()
        require(len(self.rows) > 0, "rows must hold at least one row of pictures, got none")
        for row in self.rows:
            shape = np.shape(row.images)
            good = len(shape) in (2, 3, 4) and math.prod(shape) > 0
            require(good, f"images of {row.title!r} must have shape (m, height, width), got {shape}")
            fits = len(row.labels) in (0, shape[0])
            require(fits, f"labels of {row.title!r} must hold a word for each of {shape[0]} pictures, got {row.labels}")

    @property
    def description(self) -> str:
        """What is to be seen; without an ``alt`` of its own it lists the pictures with their labels."""
        if self.alt:
            return self.alt
        lists = []
        for row in self.rows:
            count = len(row.images)
            labels = f", labelled {', '.join(row.labels)}" if row.labels else ""
            lists.append(f"{row.title}: {count} {'picture' if count == 1 else 'pictures'}{labels}")
        return f"{self.title}. {'. '.join(lists)}."

    def size(self, narrow: bool = False) -> tuple[float, float]:
        width, side, columns = self._layout(narrow)
        height = sum(_ABOVE + self._lines(row, columns) * self._line(row, side) for row in self.rows)
        return width, height + legend_height(_entries(), width) + 0.08

    def draw(self, canvas: Canvas, narrow: bool = False) -> None:
        """Draw row after row; a row that is too long goes on in the next line."""
        width, side, columns = self._layout(narrow)
        height = self.size(narrow)[1]
        top = height
        for row in self.rows:
            title = fit(row.title, (width - 2 * _EDGE) * 72)
            canvas.text(_EDGE / width, (top - 0.2) / height, title, color=INK, weight="bold", va="baseline")
            top -= _ABOVE
            tall = self._tall(row, side)
            for i, image in enumerate(row.arrays(_factor(row, _CELLS // len(self.rows)))):
                line, column = divmod(i, columns)
                left, below = _EDGE + column * (side + _GAP), top - line * self._line(row, side) - tall
                ax = canvas.add_axes((left / width, below / height, side / width, tall / height))
                _show(ax, image)
                if row.labels:
                    label = fit(row.labels[i], (side + _GAP) * 72, SMALL)
                    ax.set_xlabel(label, color=MUTED, fontsize=SMALL, labelpad=3)
            top -= self._lines(row, columns) * self._line(row, side)
        draw_legend(canvas, _entries())

    def _layout(self, narrow: bool) -> tuple[float, float, int]:
        """The figure's width, a picture's width, and how many stand in a line."""
        width, most = (NARROW, _NARROW_COLUMNS) if narrow else (WIDE, _COLUMNS)
        longest = max(len(row.images) for row in self.rows)
        columns = min(most, longest)
        return width, min(_LARGEST, (width - 2 * _EDGE - (columns - 1) * _GAP) / columns), columns

    def _tall(self, row: PictureRow, side: float) -> float:
        """The height of a picture: cells are squares, unless it would be too flat or too tall to be seen."""
        rows, columns = row.arrays()[0].shape
        return min(max(side * rows / columns, _FLATTEST), _TALLEST * side)

    def _line(self, row: PictureRow, side: float) -> float:
        return self._tall(row, side) + (_BENEATH if row.labels else 0.0) + _GAP

    def _lines(self, row: PictureRow, columns: int) -> int:
        return -(-len(row.images) // columns)


def shades(image: np.ndarray) -> np.ndarray:
    """How deep the colour of each number is, in whole steps from −12 (largest negative) to 12; NaN counts as 0."""
    import numpy as np

    largest = np.nanmax(np.abs(image), initial=0.0)
    return np.rint(_STEPS * np.nan_to_num(image / largest if largest > 0 else image)).astype(int)


def colour_of(shade: int) -> tuple[float, ...]:
    """The colour of a shade: white for 0, full at both ends."""
    from matplotlib.colors import to_rgb

    return tuple(1 - abs(shade) / _STEPS * (1 - end) for end in to_rgb(_NEGATIVE if shade < 0 else _POSITIVE))


def strips(shade: np.ndarray) -> dict[int, list[tuple[int, int, int]]]:
    """Cells of one shade that lie side by side, for each shade but white: row, first column, column after the last."""
    import numpy as np

    found: dict[int, list[tuple[int, int, int]]] = {}
    for i, row in enumerate(shade):
        ends = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        for first, after in itertools.pairwise(ends):
            if row[first] != 0:
                found.setdefault(int(row[first]), []).append((i, first, after))
    return found


def coarser(image: np.ndarray, factor: int) -> np.ndarray:
    """Means over squares of ``factor`` cells a side, (…, height, width); the last ones may hold fewer cells."""
    import numpy as np

    for axis in (-1, -2):
        starts = range(0, image.shape[axis], factor)
        parts = [image.take(range(i, min(i + factor, image.shape[axis])), axis).mean(axis) for i in starts]
        image = np.stack(parts, axis)
    return image


def _show(ax: Axes, image: np.ndarray) -> None:
    """Draw all cells of one shade as one path: an SVG of ours holds no bitmap."""
    import numpy as np
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    for shade, runs in strips(shades(image)).items():
        corners = np.array([[(a, i), (b, i), (b, i + 1), (a, i + 1)] for i, a, b in runs], dtype=float)
        path = Path.make_compound_path_from_polys(corners)
        look: dict[str, Any] = {"linewidth": 0, "antialiased": False}  # smooth edges would show as seams
        ax.add_patch(PathPatch(path, facecolor=colour_of(shade), **look))
    ax.set_xlim(0, image.shape[1])
    ax.set_ylim(image.shape[0], 0)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_edgecolor("#d5dae0")


def _factor(row: PictureRow, most: int) -> int:
    """How many cells a side are drawn as one, so that a row has at most so many."""
    import numpy as np

    *counts, height, width = (1, *np.shape(row.images)) if np.ndim(row.images) > 2 else (0, 0)
    factor = 1
    while math.prod(counts) * math.ceil(height / factor) * math.ceil(width / factor) > most and factor < height + width:
        factor += 1
    return factor


def _together(channels: np.ndarray) -> np.ndarray:
    """Up to three channels beneath each other, more of them in a square, with an empty cell between them."""
    import numpy as np

    count, height, width = channels.shape
    columns = 1 if count <= 3 else math.ceil(math.sqrt(count))
    lines = -(-count // columns)
    out = np.full((lines * (height + 1) - 1, columns * (width + 1) - 1), np.nan)
    for i, channel in enumerate(channels):
        line, column = divmod(i, columns)
        top, left = line * (height + 1), column * (width + 1)
        out[top : top + height, left : left + width] = channel
    return out


def _entries() -> list[Entry]:
    look: dict[str, Any] = {"marker": "s", "markersize": 8, "linestyle": "none"}
    return [
        Entry("positive", ({**look, "color": _POSITIVE},)),
        Entry("negative", ({**look, "color": _NEGATIVE},)),
        Entry("zero", ({**look, "color": "white", "markeredgecolor": "#9aa3ad"},), MUTED),
    ]
