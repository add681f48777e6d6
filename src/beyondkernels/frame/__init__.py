"""The frame for experiments: coordinates, searches, one tidy table, and claims, tables and figures over it."""

from beyondkernels.frame.axes import Axis
from beyondkernels.frame.claims import Crossing, Provided, Statement, claim
from beyondkernels.frame.experiment import SCALES, Experiment, Scale, scale
from beyondkernels.frame.figures import Dotted, Drawn, Over, OverTime, Picture, Scope, by_seed
from beyondkernels.frame.needed import Bisection, Needed
from beyondkernels.frame.notes import fill, read_notes
from beyondkernels.frame.reading import Reading, expected, plan, stated
from beyondkernels.frame.rows import Frame, Series, Where, select, tabulate, tidy
from beyondkernels.frame.runs import Again, At, Finished, Label, Runs, Searched, exact
from beyondkernels.frame.settings import (
    Backend,
    Count,
    Counts,
    Seeds,
    Size,
    Sizes,
    as_word,
    changed,
    departures,
    described,
    setting,
)
from beyondkernels.frame.tables import Shown, Table
from beyondkernels.frame.values import Value, least, of

__all__ = [
    "SCALES",
    "Again",
    "At",
    "Axis",
    "Backend",
    "Bisection",
    "Count",
    "Counts",
    "Crossing",
    "Dotted",
    "Drawn",
    "Experiment",
    "Finished",
    "Frame",
    "Label",
    "Needed",
    "Over",
    "OverTime",
    "Picture",
    "Provided",
    "Reading",
    "Runs",
    "Scale",
    "Scope",
    "Searched",
    "Seeds",
    "Series",
    "Shown",
    "Size",
    "Sizes",
    "Statement",
    "Table",
    "Value",
    "Where",
    "as_word",
    "by_seed",
    "changed",
    "claim",
    "departures",
    "described",
    "exact",
    "expected",
    "fill",
    "least",
    "of",
    "plan",
    "read_notes",
    "scale",
    "select",
    "setting",
    "stated",
    "tabulate",
    "tidy",
]
