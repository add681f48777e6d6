"""Run keys, the store, executors. Nothing here imports torch before a run is performed."""

from beyondkernels.runs.chunks import chunks
from beyondkernels.runs.comparison import Comparison
from beyondkernels.runs.device import PROCESSOR, require_device, require_device_name
from beyondkernels.runs.errors import MissingRequestError, MissingRunError
from beyondkernels.runs.events import Event
from beyondkernels.runs.executor import Executor, LocalExecutor, SerialExecutor
from beyondkernels.runs.front import compare, fit
from beyondkernels.runs.keys import is_key, key_of
from beyondkernels.runs.perform import perform
from beyondkernels.runs.provenance import provenance
from beyondkernels.runs.road import Gathered, gather, run_all
from beyondkernels.runs.run import Run
from beyondkernels.runs.rundir import StoredRun
from beyondkernels.runs.spec import RunSpec
from beyondkernels.runs.store import Finding, Store, StoreSize
from beyondkernels.runs.sweep import Sweep, fit_many, grid, one_two_five

__all__ = [
    "PROCESSOR",
    "Comparison",
    "Event",
    "Executor",
    "Finding",
    "Gathered",
    "LocalExecutor",
    "MissingRequestError",
    "MissingRunError",
    "Run",
    "RunSpec",
    "SerialExecutor",
    "Store",
    "StoreSize",
    "StoredRun",
    "Sweep",
    "chunks",
    "compare",
    "fit",
    "fit_many",
    "gather",
    "grid",
    "is_key",
    "key_of",
    "one_two_five",
    "perform",
    "provenance",
    "require_device",
    "require_device_name",
    "run_all",
]
