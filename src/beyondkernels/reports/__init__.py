"""Claims, figure kinds, tables and static pages: plain data in, files out; nothing is trained here."""

from beyondkernels.reports.claims import AtLeast, AtMost, Between, Claim, Judged, Test, mean_interval
from beyondkernels.reports.figures import (
    Curves,
    Directions,
    Distribution,
    Dot,
    Dots,
    Event,
    Figure,
    Histogram,
    Level,
    Line,
    Marks,
    Panel,
    PictureRow,
    Pictures,
    Quantity,
    Scatter,
    render_png,
    render_svg,
)
from beyondkernels.reports.numbers import show_exactly, show_number
from beyondkernels.reports.pages import Difference, ExperimentPage, Setting
from beyondkernels.reports.prose import line_text, prose_text
from beyondkernels.reports.tables import Column, html_table, to_csv, to_json
from beyondkernels.reports.verdicts import STATES, State, count_verdicts, state_of, verdict_sentence
from beyondkernels.reports.write import write_report

__all__ = [
    "STATES",
    "AtLeast",
    "AtMost",
    "Between",
    "Claim",
    "Column",
    "Curves",
    "Difference",
    "Directions",
    "Distribution",
    "Dot",
    "Dots",
    "Event",
    "ExperimentPage",
    "Figure",
    "Histogram",
    "Judged",
    "Level",
    "Line",
    "Marks",
    "Panel",
    "PictureRow",
    "Pictures",
    "Quantity",
    "Scatter",
    "Setting",
    "State",
    "Test",
    "count_verdicts",
    "html_table",
    "line_text",
    "mean_interval",
    "prose_text",
    "render_png",
    "render_svg",
    "show_exactly",
    "show_number",
    "state_of",
    "to_csv",
    "to_json",
    "verdict_sentence",
    "write_report",
]
