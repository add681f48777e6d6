"""One look for all figures: colours, dashes and markers that differ from each other in grey as well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.transforms import Transform

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Okabe and Ito's colours, safe for colour-blind readers, the strongest first; grey in place of their yellow."""

DASHES: tuple[Any, ...] = (
    "solid",
    (0, (5, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (1.2, 1.2)),
    (0, (8, 2)),
    (0, (3, 1.2, 1, 1.2, 1, 1.2)),
    (0, (12, 2, 2, 2)),
    (0, (2.5, 1.5)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

INK = "#1f2328"
MUTED = "#59636e"
GRID = "#e4e7eb"
FAINT = "#9aa3ad"

FONT = "DejaVu Sans"
"""Comes with Matplotlib, so it is the same on every machine."""

SIZE = 10.5
"""Points of ordinary text in a figure; nothing is smaller than SMALL."""
SMALL = 9.5

_RC: dict[str, Any] = {
    "font.family": FONT,
    "font.size": SIZE,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "text.color": INK,
    "text.hinting": "none",  # letters keep their widths, so that PNG and SVG agree
    "text.parse_math": False,  # labels are shown as they are: a stray $ is a dollar
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.size": 3.5,
    "xtick.minor.size": 2.0,
    "ytick.major.size": 0.0,
    "ytick.minor.size": 0.0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": SIZE,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "figure.dpi": 72,
    "svg.fonttype": "path",
    "svg.hashsalt": "beyondkernels",
}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's defaults with ours on top, whatever the user's own settings; theirs come back afterwards."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        for name, value in _RC.items():
            mpl.rcParams[name] = value  # pyright: ignore[reportArgumentType]
        yield


def look(index: int) -> dict[str, Any]:
    """Colour, dashes and marker of the index-th line; they repeat in a different pairing after eight."""
    n = len(COLOURS)
    turn = index // n
    return {
        "color": COLOURS[index % n],
        "linestyle": DASHES[(index + turn) % n],
        "marker": MARKERS[(index + 3 * turn) % n],
    }


def bare(ax: Axes, grid: str = "y") -> None:
    """Take away all that is not needed: only the lower edge and a light grid stay."""
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.grid(visible=True, axis=grid)  # pyright: ignore[reportArgumentType]


def in_points(canvas: Canvas) -> Transform:
    """The transform from points, counted from the lower left corner, that is right at every resolution."""
    from matplotlib.transforms import Affine2D

    return Affine2D().scale(1 / 72) + canvas.dpi_scale_trans
