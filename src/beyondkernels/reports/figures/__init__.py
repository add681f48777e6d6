"""Shared figure kinds: plain data that draws itself, the same on every machine."""

from beyondkernels.reports.figures.base import Figure
from beyondkernels.reports.figures.curves import Curves, Event, Level, Line
from beyondkernels.reports.figures.directions import Directions, Panel
from beyondkernels.reports.figures.dots import Dot, Dots, Quantity
from beyondkernels.reports.figures.histogram import Distribution, Histogram
from beyondkernels.reports.figures.matrix import Group, Matrix
from beyondkernels.reports.figures.pictures import PictureRow, Pictures
from beyondkernels.reports.figures.render import render_png, render_svg
from beyondkernels.reports.figures.scatter import Marks, Scatter

__all__ = [
    "Curves",
    "Directions",
    "Distribution",
    "Dot",
    "Dots",
    "Event",
    "Figure",
    "Group",
    "Histogram",
    "Level",
    "Line",
    "Marks",
    "Matrix",
    "Panel",
    "PictureRow",
    "Pictures",
    "Quantity",
    "Scatter",
    "render_png",
    "render_svg",
]
