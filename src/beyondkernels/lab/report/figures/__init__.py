"""Shared figure kinds: plain data that draws itself, the same on every machine."""

from beyondkernels.lab.report.figures.base import Figure as Figure
from beyondkernels.lab.report.figures.curves import Curves as Curves
from beyondkernels.lab.report.figures.curves import Event as Event
from beyondkernels.lab.report.figures.curves import Level as Level
from beyondkernels.lab.report.figures.curves import Line as Line
from beyondkernels.lab.report.figures.directions import Directions as Directions
from beyondkernels.lab.report.figures.directions import Panel as Panel
from beyondkernels.lab.report.figures.dots import Dot as Dot
from beyondkernels.lab.report.figures.dots import Dots as Dots
from beyondkernels.lab.report.figures.dots import Quantity as Quantity
from beyondkernels.lab.report.figures.histogram import Distribution as Distribution
from beyondkernels.lab.report.figures.histogram import Histogram as Histogram
from beyondkernels.lab.report.figures.matrix import Group as Group
from beyondkernels.lab.report.figures.matrix import Matrix as Matrix
from beyondkernels.lab.report.figures.pictures import PictureRow as PictureRow
from beyondkernels.lab.report.figures.pictures import Pictures as Pictures
from beyondkernels.lab.report.figures.render import render_png as render_png
from beyondkernels.lab.report.figures.render import render_svg as render_svg
from beyondkernels.lab.report.figures.scatter import Marks as Marks
from beyondkernels.lab.report.figures.scatter import Scatter as Scatter
