"""From specifications to runs: what is stored is read, the rest is performed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from beyondkernels.execution.chunk_worker import Tell
from beyondkernels.execution.executor import Executor
from beyondkernels.store.run_directory import StoredRun
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store


@dataclass(frozen=True)
class Gathered:
    """What came of some runs, by their keys: those that are there, and why the others are not."""

    runs: dict[str, StoredRun]
    missing: dict[str, str]


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
    crashed: dict[str, str] = {}
    for event in executor.execute(list(todo.values()), store) if todo else ():
        watch(event)
        if event.kind == "run" and event.key is not None and event.status == "crashed":
            crashed[event.key] = f"crashed: {event.message}" if event.message else "crashed"
    # From the store and not from the executor: what a caller gets was written, verified and read back.
    runs |= _readable(todo, store)
    return Gathered(runs, {key: crashed.get(key, "not in the store") for key in todo if key not in runs})


def _readable(specs: dict[str, RunSpec], store: Store) -> dict[str, StoredRun]:
    return {key: run for key, spec in specs.items() if (run := store.find(spec)) is not None}
