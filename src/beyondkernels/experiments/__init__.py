"""The papers' figures, tables and theorems as declarations, and what runs them."""

from beyondkernels.experiments.base import SCALES, Experiment, Finished, Label, Rows
from beyondkernels.experiments.catalogue import CATALOGUE, find
from beyondkernels.experiments.runner import Observer, Request, Result, ask, dry_run, run, store_path, stored
from beyondkernels.experiments.settings import changed, described, setting

__all__ = [
    "CATALOGUE",
    "SCALES",
    "Experiment",
    "Finished",
    "Label",
    "Observer",
    "Request",
    "Result",
    "Rows",
    "ask",
    "changed",
    "described",
    "dry_run",
    "find",
    "run",
    "setting",
    "store_path",
    "stored",
]
