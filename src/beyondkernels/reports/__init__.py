"""Claims, figure kinds, tables and static pages: plain data in, files out; nothing is trained here."""

from beyondkernels.reports.claims import AtLeast, AtMost, Between, Claim, Judged, Test, mean_interval
from beyondkernels.reports.figures import (
    Curves,
    Directions,
    Distribution,
    Dot,
    Dots,
    Figure,
    Histogram,
    Level,
    Line,
    Marks,
    Panel,
    Quantity,
    Scatter,
    render_png,
    render_svg,
)
from beyondkernels.reports.numbers import show_exactly, show_number
from beyondkernels.reports.pages import ExperimentPage, Setting
from beyondkernels.reports.tables import Column, html_table, to_csv, to_json
from beyondkernels.reports.write import write_report

__all__ = [
    "AtLeast",
    "AtMost",
    "Between",
    "Claim",
    "Column",
    "Curves",
    "Directions",
    "Distribution",
    "Dot",
    "Dots",
    "ExperimentPage",
    "Figure",
    "Histogram",
    "Judged",
    "Level",
    "Line",
    "Marks",
    "Panel",
    "Quantity",
    "Scatter",
    "Setting",
    "Test",
    "html_table",
    "mean_interval",
    "render_png",
    "render_svg",
    "show_exactly",
    "show_number",
    "to_csv",
    "to_json",
    "write_report",
]
