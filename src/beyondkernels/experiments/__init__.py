"""The papers' figures, tables and theorems as declarations, and what runs them."""

from beyondkernels.experiments.as_stored import HOW_TO_SEE_ALL, is_known, page_as_stored
from beyondkernels.experiments.catalogue import CATALOGUE, find
from beyondkernels.experiments.runner import Observer, Request, Result, ask, dry_run, run, store_path, stored
from beyondkernels.frame import SCALES, Experiment, setting

__all__ = [
    "CATALOGUE",
    "HOW_TO_SEE_ALL",
    "SCALES",
    "Experiment",
    "Observer",
    "Request",
    "Result",
    "ask",
    "dry_run",
    "find",
    "is_known",
    "page_as_stored",
    "run",
    "setting",
    "store_path",
    "stored",
]
