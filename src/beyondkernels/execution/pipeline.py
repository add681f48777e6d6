"""From specifications to runs: what is stored is read, the rest is performed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from beyondkernels.execution.chunk_worker import Tell
from beyondkernels.execution.events import Event
from beyondkernels.execution.executor import Executor
from beyondkernels.store.run_directory import StoredRun
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store


@dataclass(frozen=True)
class Gathered:
    """What came of some runs, by their keys.

    Arguments:
        runs: those that are there.
        missing: why the others are not.
        crashes: the last event of each run that crashed, with its traceback; of runs of this process the first alone
            has its exception.
    """

    runs: dict[str, StoredRun]
    missing: dict[str, str]
    crashes: dict[str, Event] = field(default_factory=dict)


def gather(
    specs: Iterable[RunSpec],
    store: Store,
    executor: Executor,
    planned: Callable[[Sequence[RunSpec], int], None] = lambda _todo, _stored: None,
    watch: Tell = lambda _: None,
) -> Gathered:
    """Read what is stored, perform what is not, and read that too.

    Arguments:
        specs: the runs; one that comes twice is done once.
        store: where they are and where they go.
        executor: what performs them.
        planned: told what is to be done, and how many are stored already.
        watch: told what the executor tells.
    """
    wanted = {spec.key: spec for spec in specs}
    runs = _readable(wanted, store)
    todo = {key: spec for key, spec in wanted.items() if key not in runs}
    planned(list(todo.values()), len(runs))
    crashes: dict[str, Event] = {}
    for event in executor.execute(list(todo.values()), store) if todo else ():
        watch(event)
        # By its key, so the last event counts: a run that is tried twice is told twice.
        if event.kind == "run" and event.key is not None and event.status == "crashed":
            crashes[event.key] = replace(event, error=None) if crashes else event  # one run's memory is enough
    # From the store and not from the executor: what a caller gets was written, verified and read back.
    runs |= _readable(todo, store)
    missing = [key for key in todo if key not in runs]
    return Gathered(runs, {key: _reason(crashes.get(key)) for key in missing}, crashes)


def _reason(crash: Event | None) -> str:
    if crash is None:
        return "not in the store"
    return f"crashed: {crash.message}" if crash.message else "crashed"


def _readable(specs: dict[str, RunSpec], store: Store) -> dict[str, StoredRun]:
    return {key: run for key, spec in specs.items() if (run := store.find(spec)) is not None}
