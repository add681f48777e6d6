"""From an experiment's name to its result: requests, rounds, estimates, progress, and what a store keeps of it."""

from beyondkernels.running.as_stored import HOW_TO_SEE_ALL, is_known, page_as_stored
from beyondkernels.running.foresight import Foresight, dry_run
from beyondkernels.running.keeping import kept_path, out_of_date, write_kept
from beyondkernels.running.progress import Display, Observer
from beyondkernels.running.request import Request, ask
from beyondkernels.running.result import Result
from beyondkernels.running.runner import run, store_path, stored
from beyondkernels.runs.bars import duration

__all__ = [
    "HOW_TO_SEE_ALL",
    "Display",
    "Foresight",
    "Observer",
    "Request",
    "Result",
    "ask",
    "dry_run",
    "duration",
    "is_known",
    "kept_path",
    "out_of_date",
    "page_as_stored",
    "run",
    "store_path",
    "stored",
    "write_kept",
]
