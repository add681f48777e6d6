"""Executors: specifications in, events out, runs in the store."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from beyondkernels.core.components import canonical_json, describe, foreign
from beyondkernels.core.errors import InputError, StoreError, require, shown
from beyondkernels.execution.checkpoint_schedule import SAVE_EVERY, require_save_every
from beyondkernels.execution.chunk_worker import Keep, work
from beyondkernels.execution.chunks import chunks
from beyondkernels.execution.events import Event
from beyondkernels.execution.worker_process import Task, WorkerProcess
from beyondkernels.store.provenance import provenance
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store

_FAILED_STARTS = 3


class Executor(Protocol):
    """Whatever performs runs and puts them into a store."""

    def execute(self, specs: Sequence[RunSpec], store: Store) -> Generator[Event]:
        """Perform the runs and tell how it goes; each run ends with one event of kind ``run``."""
        ...


@dataclass(frozen=True)
class SerialExecutor:
    """Performs runs in the current process, one chunk after the other: for tests and debugging.

    Arguments:
        command: the command line that asked for the runs, kept with them.
        save_every: seconds of work after which a run saves its state, so that it can go on; None saves nothing.
        keep: given the key and the outcome of each run that is done, with the predictor that no store holds.
    """

    command: str | None = None
    save_every: float | None = SAVE_EVERY
    keep: Keep = lambda _key, _outcome: None

    def __post_init__(self) -> None:
        require_save_every(self.save_every)

    def execute(self, specs: Sequence[RunSpec], store: Store) -> Generator[Event]:
        """Perform the runs and tell how it goes; bad specifications are refused at once."""
        _require_storable(specs)
        _require_possible(specs)
        return self._events(chunks(specs, 1), store)

    def _events(self, tasks: list[list[RunSpec]], store: Store) -> Generator[Event]:
        # Once for all chunks: it asks git and reads the versions of libraries.
        made_with = provenance(self.command)
        for chunk in tasks:
            yield Event("progress", chunk=tuple(spec.key for spec in chunk))
            events: list[Event] = []
            work(chunk, store, made_with, events.append, self.save_every, self.keep)
            yield from (event for event in events if event.kind != "progress")  # progress that is over says nothing


@dataclass(frozen=True)
class LocalExecutor:
    """Performs runs in worker processes of one thread each.

    Workers write to the store themselves and end with this process, whatever ends it. If one is killed, each run it
    had is tried once more, alone in a fresh worker, and then counts as crashed; all others go on. A saved state with
    which that happened is removed. Closing the iterator ends the workers; finished runs stay.

    Arguments:
        workers: how many processes; by default as many as this process may use processors.
        load: Python files that define components, loaded by each worker with ``core.load_file``.
        command: the command line that asked for the runs, kept with them.
        save_every: seconds of work after which a run saves its state, so that it can go on; None saves nothing.
    """

    workers: int | None = None
    load: Sequence[str | Path] = ()
    command: str | None = None
    save_every: float | None = SAVE_EVERY

    def __post_init__(self) -> None:
        require_save_every(self.save_every)
        whole = self.workers is None or (isinstance(self.workers, int) and self.workers > 0)
        require(whole, f"workers must be a positive whole number, got {shown(self.workers)}")
        object.__setattr__(self, "load", tuple(str(Path(file).resolve()) for file in self.load))

    def execute(self, specs: Sequence[RunSpec], store: Store) -> Generator[Event]:
        """Perform the runs and tell how it goes; bad specifications are refused at once."""
        _require_storable(specs)
        _require_importable(specs)
        _require_possible(specs)
        workers = self.workers or processors()
        tasks = [Task({spec.key: _told(spec) for spec in chunk}) for chunk in chunks(specs, workers)]
        return _Local(self, workers, store, deque(tasks)).events()


@dataclass
class _Local:
    """One call of :meth:`LocalExecutor.execute` while it lasts."""

    executor: LocalExecutor
    workers: int
    store: Store
    tasks: deque[Task]
    pool: list[WorkerProcess] = field(default_factory=list)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    failed_starts: int = 0
    start: dict[str, Any] = field(default_factory=dict)

    def events(self) -> Generator[Event]:
        self.start = {
            # A worker finds users' modules where this process does, which may have changed its path since it began.
            "path": [str(entry) for entry in sys.path],
            "load": list(self.executor.load),
            # A worker builds only classes it has been told of: a description is data and may not name just any
            # function.
            "admit": sorted(set().union(*(foreign(run) for task in self.tasks for run in task.open.values()))),
            "store": str(self.store.path.resolve()),
            "provenance": provenance(self.executor.command),
            "save_every": self.executor.save_every,
        }
        try:
            while True:
                self._hand_out()
                if not self.pool:
                    return
                # One thread hears all workers, so that events come in one order and nothing needs a lock.
                for ready, _ in self.selector.select():
                    worker, pipe = ready.data
                    if worker in self.pool:  # it may have been let go a moment ago
                        yield from self._hear(worker, pipe)
        finally:
            for worker in list(self.pool):
                self._let_go(worker)
            self.selector.close()

    def _hand_out(self) -> None:
        while self.tasks:
            worker = next((worker for worker in self.pool if worker.task is None), None)
            if worker is None and len(self.pool) >= self.workers:
                return
            task = self.tasks.popleft()
            # A second attempt gets a process of its own history: if it dies as well, nothing that ran before can be to
            # blame.
            if worker is not None and task.alone and worker.used:
                self._let_go(worker)
                worker = None
            if task.alone:
                # To tell later whether this attempt got beyond the state it began from.
                task.saved = {key: self.store.checkpoints.written(key) for key in task.open}
            (worker or self._hire()).give(task)
        for worker in [worker for worker in self.pool if worker.task is None]:
            self._let_go(worker)  # its memory may be welcome elsewhere

    def _hire(self) -> WorkerProcess:
        worker = WorkerProcess(self.start)
        self.pool.append(worker)
        for pipe, descriptor in worker.pipes().items():
            self.selector.register(descriptor, selectors.EVENT_READ, (worker, pipe))
        return worker

    def _let_go(self, worker: WorkerProcess) -> str:
        self.pool.remove(worker)
        # Standard error may have ended before and is not registered any more.
        listening = {key.fd for key in self.selector.get_map().values()}
        for descriptor in listening & set(worker.pipes().values()):
            self.selector.unregister(descriptor)
        how = worker.end()
        with contextlib.suppress(OSError):  # what it left half written is in nobody's way
            self.store.sweep(worker.owner)
        return how

    def _hear(self, worker: WorkerProcess, pipe: str) -> Iterator[Event]:
        lines = worker.lines(pipe)
        if lines is None and pipe == "stdout":
            yield from self._lost(worker)
        elif lines is None:
            self.selector.unregister(worker.pipes()[pipe])
        elif pipe == "stderr":
            for line in lines:
                yield Event("log", message=line)
        else:
            for line in lines:
                yield from self._understand(worker, json.loads(line))

    def _understand(self, worker: WorkerProcess, message: dict[str, Any]) -> Iterator[Event]:
        task = worker.task
        match message["kind"]:
            case "ready":
                # Failures count only in a row, so that one bad start among many does not end a long call.
                worker.ready, self.failed_starts = True, 0
            case "event" if task is not None:
                event = Event(**{**message["event"], "chunk": tuple(message["event"]["chunk"])})
                if event.kind == "run" and event.key is not None:
                    task.open.pop(event.key, None)
                yield event
            case "done":
                worker.task = None
            case "error":
                raise {"store": StoreError, "input": InputError}[message["error"]](message["message"])

    def _lost(self, worker: WorkerProcess) -> Iterator[Event]:
        yield from [Event("log", message=line) for line in worker.last_lines()]
        how = self._let_go(worker)
        task = worker.task
        if not worker.ready:
            self.failed_starts += 1
            if self.failed_starts >= _FAILED_STARTS:
                raise RuntimeError(f"workers do not start: the last one {how}: {worker.last_log}")
            if task is not None:
                # Its task was never begun and is not to blame, so it keeps its turn and is no second attempt.
                self.tasks.appendleft(task)
        elif task is not None and task.alone:
            for key in task.open:
                if self.store.checkpoints.written(key) == task.saved[key]:  # it never got further than this state
                    self.store.checkpoints.drop(key)
                yield Event("run", key, "crashed", fraction=1.0, message=f"its worker {how}, twice")
        # One member may have killed the worker. Alone, each shows whether it was the one, and the others are safe from
        # it.
        elif task is not None and task.open:
            yield Event("log", message=f"a worker {how}; its {len(task.open)} runs are tried again, one at a time")
            self.tasks.extend(Task({key: description}, alone=True) for key, description in task.open.items())


def _told(spec: RunSpec) -> dict[str, Any]:
    """What a worker has to know of a run."""
    # remarks are no part of a run's identity, but a worker has to know them: how much memory it may use
    return {**spec.description, **describe(spec, remarks=True)}


def _require_storable(specs: Sequence[RunSpec]) -> None:
    for spec in specs:
        _ = spec.key  # an UncacheableError says what has no stable identity


def _require_possible(specs: Sequence[RunSpec]) -> None:
    for spec in specs:
        spec.learner.check(spec.problem, spec.samples, spec.fresh_samples)
        # Here, once, before workers exist: they would otherwise all compile the same step at the same time.
        spec.learner.prepare()


def _require_importable(specs: Sequence[RunSpec]) -> None:
    for spec in specs:
        text = canonical_json(spec)
        # A worker imports modules by name. Its own __main__ is the worker, and a function's locals have no address.
        for where in ('"__main__:', "<locals>"):
            require(
                where not in text,
                "a component defined in the main script or inside a function is not found by workers; put it into a "
                "file and give that with load=, or use SerialExecutor",
            )


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        # In a container or a batch job this may be far less than the machine has.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
