"""Shared figure kinds: plain data that draws itself, the same on every machine."""

from beyondkernels.lab.report.figures.base import Figure as Figure
from beyondkernels.lab.report.figures.curves import Curves as Curves, Event as Event, Level as Level, Line as Line
from beyondkernels.lab.report.figures.directions import Directions as Directions, Panel as Panel
from beyondkernels.lab.report.figures.dots import Dot as Dot, DotColumn as DotColumn, Dots as Dots
from beyondkernels.lab.report.figures.histogram import Distribution as Distribution, Histogram as Histogram
from beyondkernels.lab.report.figures.matrix import Group as Group, Matrix as Matrix
from beyondkernels.lab.report.figures.pictures import PictureRow as PictureRow, Pictures as Pictures
from beyondkernels.lab.report.figures.render import render_png as render_png, render_svg as render_svg
from beyondkernels.lab.report.figures.scatter import Marks as Marks, Scatter as Scatter
