"""Run keys, the store, executors. Nothing here imports torch before a run is performed."""

from beyondkernels.runs.chunks import chunks
from beyondkernels.runs.errors import MissingRequestError, MissingRunError
from beyondkernels.runs.events import Event
from beyondkernels.runs.executor import Executor, LocalExecutor, SerialExecutor
from beyondkernels.runs.index import Entry
from beyondkernels.runs.keys import is_key, key_of
from beyondkernels.runs.perform import perform
from beyondkernels.runs.provenance import provenance
from beyondkernels.runs.rundir import StoredRun
from beyondkernels.runs.spec import RunSpec
from beyondkernels.runs.store import Finding, Store, StoreSize
from beyondkernels.runs.sweep import Sweep, fit_many, grid, one_two_five

__all__ = [
    "Entry",
    "Event",
    "Executor",
    "Finding",
    "LocalExecutor",
    "MissingRequestError",
    "MissingRunError",
    "RunSpec",
    "SerialExecutor",
    "Store",
    "StoreSize",
    "StoredRun",
    "Sweep",
    "chunks",
    "fit_many",
    "grid",
    "is_key",
    "key_of",
    "one_two_five",
    "perform",
    "provenance",
]
