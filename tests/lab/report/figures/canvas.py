"""A figure as it is drawn, for tests that look at its parts."""

from matplotlib.figure import Figure as Canvas

from beyondkernels.lab import Figure
from beyondkernels.lab.report.figures.style import house_style


def drawn(figure: Figure, narrow: bool = False) -> Canvas:
    with house_style():
        canvas = Canvas(figsize=figure.size(narrow), dpi=72)
        figure.draw(canvas, narrow)
    return canvas
