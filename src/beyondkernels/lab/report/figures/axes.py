"""Axes with few, plain ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from beyondkernels.lab.report.figures.base import NARROW
from beyondkernels.lab.report.figures.legend import MARGIN
from beyondkernels.lab.report.figures.style import INK
from beyondkernels.lab.report.figures.text import fit
from beyondkernels.lab.report.numbers import power_of_ten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


def tick(value: float, _position: int | None = None) -> str:
    """A tick's number as it is written.

    >>> [tick(v) for v in (0, 1, 0.05, 600, 50_000, 2_000_000, 1e-6, -0.5)]
    ['0', '1', '0.05', '600', '50,000', '2 × 10⁶', '10⁻⁶', '−0.5']
    """
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        text = f"{value:,.10g}"
        return (text if "e" not in text else f"{value:,.0f}").replace("-", "−")
    return power_of_ten(f"{value:.3g}" if "e" in f"{value:.3g}" else f"{value:.0e}").replace("-", "−")


def steps_ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis between two positive ends: powers of ten, with digits between when there are few.

    >>> steps_ticks(1, 600), steps_ticks(1, 1e5)
    ([1.0, 10.0, 100.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])
    >>> steps_ticks(200, 3000), steps_ticks(3, 8)
    ([200.0, 500.0, 1000.0, 2000.0], [3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside = [10.0**e for e in range(first, last + 1) if low * 0.999 <= 10.0**e <= high * 1.001]
    if len(inside) < 3:
        for digits in ((1, 2, 5), range(1, 10)):
            fine = [m * 10.0**e for e in range(first, last + 1) for m in digits]
            inside = [value for value in fine if low * 0.999 <= value <= high * 1.001]
            if len(inside) > 1:
                break
        return inside
    stride = -(-len(inside) // 7)
    return inside[::stride]


def prepare_x(ax: Axes, scale: str, label: str) -> None:
    """Scale, ticks and label of the horizontal axis, with no empty room at its ends."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    low, high = (float(end) for end in ax.dataLim.intervalx)
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    positive = float(ax.dataLim.minposx)
    positive = positive if math.isfinite(positive) and positive > 0 else 1.0
    if scale == "linear":
        ax.set_xlim(low, high if high > low else low + 1)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=high - low >= 4))
    else:
        if scale == "steps" and low <= 0:
            ax.set_xscale("symlog", linthresh=positive, linscale=0.35)
            ends, extra = (0.0, max(high, positive * 1.01)), [0.0]
        else:
            ax.set_xscale("log")
            ends, extra = (positive, max(high, positive * 1.01)), []
        ax.set_xlim(*ends)
        ticks = [*extra, *(steps_ticks(positive, ends[1]) or [positive])]  # none, if all points have one place
        narrow = ax.figure.bbox.width <= 1.001 * NARROW * ax.figure.dpi
        if ends[1] >= (5 if narrow else 2.5) * ticks[-1]:  # where the axis ends is worth knowing: how long it trained
            ticks.append(ends[1])
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        if narrow and ticks[-1] >= max(
            10_000, 0.9 * ends[1]
        ):  # half of a long number would stand beyond the picture's edge
            ax.xaxis.get_major_ticks(len(ticks))[-1].label1.set_horizontalalignment("right")
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(tick))
    ax.set_xlabel(fit(label, 240), labelpad=5)


def prepare_y(ax: Axes, scale: str, limits: tuple[float, float] | None) -> None:
    """Scale, ticks and ends of the vertical axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    if scale == "log":
        ax.set_yscale("log", nonpositive="mask")
    if limits is not None:
        ax.set_ylim(*limits)
    else:
        low, high = (float(end) for end in ax.dataLim.intervaly)
        if math.isfinite(low) and low == high:  # a flat line: some room around it
            ax.set_ylim((low / 2, 2 * low) if scale == "log" else (low - 1, low + 1))
    if scale == "log":
        ax.yaxis.set_major_locator(FixedLocator(steps_ticks(*sorted(ax.get_ylim()))))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(tick))


def write_y_label(canvas: Canvas, axes: Sequence[Axes], label: str, raised: float = 0.0) -> None:
    """Move axes that stand beneath each other to where their tick labels fit, and write the label above the first.

    Upright text above an axis is read without turning one's head.

    Arguments:
        canvas: the figure they are on.
        axes: from the top down.
        label: what is on their vertical axis.
        raised: by how many inches the label stands higher than usual.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(canvas).get_renderer()
    starts = [(ax.yaxis.get_tightbbox(renderer) or ax.get_window_extent()).x0 for ax in axes]
    shift = (MARGIN - min(starts)) / canvas.bbox.width
    for ax in axes:
        box = ax.get_position()
        ax.set_position((box.x0 + shift, box.y0, box.width - shift, box.height))
    top = axes[0].get_position().y1 + (9 + 72 * raised) / canvas.bbox.height
    canvas.text(MARGIN / canvas.bbox.width, top, fit(label, 260), color=INK, va="baseline", ha="left")
