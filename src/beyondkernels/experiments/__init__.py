"""The papers' figures, tables and theorems as declarations, and what runs them."""

from beyondkernels.experiments.catalogue import CATALOGUE, find
from beyondkernels.experiments.runner import Observer, Request, Result, ask, dry_run, run, store_path, stored
from beyondkernels.frame import SCALES, Experiment, setting

__all__ = [
    "CATALOGUE",
    "SCALES",
    "Experiment",
    "Observer",
    "Request",
    "Result",
    "ask",
    "dry_run",
    "find",
    "run",
    "setting",
    "store_path",
    "stored",
]
