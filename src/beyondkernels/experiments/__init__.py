"""The papers' figures, tables and theorems as declarations, and what runs them."""

from beyondkernels.experiments.as_stored import HOW_TO_SEE_ALL, is_known, page_as_stored
from beyondkernels.experiments.catalogue import CATALOGUE, find
from beyondkernels.experiments.foresight import Foresight, dry_run
from beyondkernels.experiments.progress import Display, Observer, duration
from beyondkernels.experiments.request import Request, ask
from beyondkernels.experiments.result import Result
from beyondkernels.experiments.runner import run, store_path, stored
from beyondkernels.frame import SCALES, Experiment, setting

__all__ = [
    "CATALOGUE",
    "HOW_TO_SEE_ALL",
    "SCALES",
    "Display",
    "Experiment",
    "Foresight",
    "Observer",
    "Request",
    "Result",
    "ask",
    "dry_run",
    "duration",
    "find",
    "is_known",
    "page_as_stored",
    "run",
    "setting",
    "store_path",
    "stored",
]
