"""Figures to SVG and PNG: the same bytes every time, no date, no path, no name in them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from beyondkernels.core import InputError
from beyondkernels.lab.report.figures.base import Figure
from beyondkernels.lab.report.figures.style import house_style
from beyondkernels.lab.report.figures.text import clean, letters_may_miss
from beyondkernels.lab.report.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def render_svg(figure: Figure, narrow: bool = False) -> str:
    """A figure as SVG text: letters as paths, title and description inside for screen readers.

    Arguments:
        figure: what to draw.
        narrow: arranged for a telephone.
    """
    with _drawn(figure, narrow) as canvas:
        out = io.StringIO()
        words = {"Title": clean(figure.title), "Description": clean(figure.description)}
        canvas.savefig(out, format="svg", metadata={**words, "Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def render_png(figure: Figure, path: str | Path, narrow: bool = False, dots_per_inch: int = 200) -> Path:
    """A figure as a PNG file, for slides and messages.

    Arguments:
        figure: what to draw.
        path: where to; the file is replaced in one go.
        narrow: arranged for a telephone.
        dots_per_inch: how fine.
    """
    with _drawn(figure, narrow) as canvas:
        out = io.BytesIO()
        words = {"Title": clean(figure.title), "Description": clean(figure.description)}
        canvas.savefig(out, format="png", dpi=dots_per_inch, metadata={**words, "Software": None})
    path = Path(path)
    try:
        write_atomically(path, out.getvalue())
    except OSError as error:
        raise InputError(f"the figure cannot be written to {path}: {error.strerror or error}") from error
    return path


@contextmanager
def _drawn(figure: Figure, narrow: bool) -> Iterator[Canvas]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with house_style(), letters_may_miss():
        canvas = Canvas(figsize=figure.size(narrow), facecolor="white")
        FigureCanvasAgg(canvas)
        figure.draw(canvas, narrow)
        yield canvas
