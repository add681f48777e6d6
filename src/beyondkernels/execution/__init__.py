"""From specifications to outcomes: workers, executors, progress. Nothing imports torch before a run is performed."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.execution.chunks import chunks as chunks
from beyondkernels.execution.events import Event as Event
from beyondkernels.execution.executor import (
    Executor as Executor,
    LocalExecutor as LocalExecutor,
    SerialExecutor as SerialExecutor,
)
from beyondkernels.execution.outcomes import perform as perform
from beyondkernels.execution.pipeline import Gathered as Gathered, gather as gather
from beyondkernels.execution.progress_bars import duration as duration

_check_exports(globals())
