"""Performs specifications and hands the runs back, from this process or from workers, with or without a store."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import textwrap
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from beyondkernels.core.contracts import Outcome
from beyondkernels.core.errors import InputError, require, shown
from beyondkernels.execution.checkpoint_schedule import SAVE_EVERY
from beyondkernels.execution.chunk_worker import Tell, crashed, one_sentence
from beyondkernels.execution.chunks import chunks, identity
from beyondkernels.execution.costs import Round
from beyondkernels.execution.events import Event
from beyondkernels.execution.executor import LocalExecutor, SerialExecutor
from beyondkernels.execution.outcomes import perform
from beyondkernels.execution.pipeline import gather
from beyondkernels.execution.progress import Shown, watch_of
from beyondkernels.learning.run import Run
from beyondkernels.learning.stored_predictor import keep_predictor, recalling
from beyondkernels.store.device import require_device
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store
from beyondkernels.store.witness import forget_witnesses


def run_specs(
    specs: Sequence[RunSpec],
    *,
    store: str | Path | Store | None = None,
    workers: int = 1,
    progress: Shown = True,
    forgiving: bool = False,
    predictors: bool = True,
) -> list[Run]:
    """The runs of some specifications, in their order.

    Without a store and with one worker they are performed in this process, as many at once as their learners want.
    Otherwise an executor performs them and they are read from the store. What was performed in this process predicts.

    Arguments:
        specs: the runs.
        store: where they are kept; None keeps nothing.
        workers: worker processes; 1 is this process.
        progress: whether to show how far it is, or what to tell the fraction that is done.
        forgiving: whether a run that raises an exception is a run that crashed; otherwise the exception is raised.
        predictors: whether runs of this process keep what they have learnt, which takes memory.
    """
    require(
        isinstance(progress, bool) or callable(progress),
        f"progress must be True, False or a function that is told the fraction, got {shown(progress)}",
    )
    require(
        store is None or isinstance(store, str | os.PathLike | Store),
        f"store must be the path of a directory, or None, got {shown(store)}",
    )
    for device in {spec.device for spec in specs}:
        require_device(device)
    for spec in specs:
        spec.learner.check(spec.problem, spec.samples, spec.fresh_samples)
    if store is None and workers == 1:
        for spec in specs:
            spec.learner.prepare()
        with watch_of(progress) as watch:
            watch.begin(_round(map(identity, specs)))
            return _here(specs, watch.happened, forgiving, predictors)
    forget_witnesses()
    _ = [spec.key for spec in specs]  # what cannot be stored says so before a store is made
    with tempfile.TemporaryDirectory() as folder, watch_of(progress) as watch:
        if workers > 1:
            shared = {id(spec.problem): spec.problem.shared(Path(folder)) for spec in specs}
            specs = [dataclasses.replace(spec, problem=shared[id(spec.problem)]) for spec in specs]
        opened = store if isinstance(store, Store) else Store.open(Path(folder) / "store" if store is None else store)
        save_every = SAVE_EVERY if store is not None else None
        learnt: dict[str, Any] = {}
        lasting = opened if store is not None else None
        by_key = {spec.key: spec for spec in specs}

        def keep(key: str, outcome: Outcome) -> None:
            if predictors:
                learnt[key] = outcome.predictor
                if lasting is not None:
                    keep_predictor(lasting, by_key[key], outcome)

        here = workers == 1
        executor = SerialExecutor(None, save_every, keep) if here else LocalExecutor(workers, save_every=save_every)

        def planned(todo: Sequence[RunSpec], stored: int) -> None:
            watch.begin(_round((spec.key for spec in todo), stored))

        found = gather(specs, opened, executor, planned, watch.happened)
        lost = {key: reason.removeprefix("crashed: ") for key, reason in found.missing.items()}
        if lost and not forgiving:
            _raise(lost, found.crashes, len(specs))
        frames = {key: event.frames for key, event in found.crashes.items()}
        outcomes = {key: dataclasses.replace(run.outcome, predictor=learnt.get(key)) for key, run in found.runs.items()}
        return [
            Run(spec, outcomes[spec.key], recall=recalling(spec, outcomes[spec.key], lasting, found.runs[spec.key].key))
            if spec.key in outcomes
            else Run(spec, Outcome(), lost.get(spec.key, ""), frames=frames.get(spec.key, ""))
            for spec in specs
        ]


def said(reason: str, frames: str) -> str:
    """Why a run crashed, and below it the lines of the user's code."""
    return f"{reason}\n{textwrap.indent(frames, '  ')}" if frames else reason


def _raise(lost: dict[str, str], crashes: dict[str, Event], planned: int) -> NoReturn:
    key, reason = next(iter(lost.items()))
    how_many = f"{len(lost)} of {planned} runs crashed"
    crash = crashes.get(key)
    if crash is None or crash.error is None:  # another process raised it, or none
        raise RuntimeError(f"{how_many}; the first: {said(reason, crash.frames if crash else '')}")
    if planned > 1:
        crash.error.add_note(f"{how_many}; this is the first")
    _raise_for_the_user(crash.error)


def _raise_for_the_user(error: BaseException) -> NoReturn:
    """Raise a sentence that names the model, if a user's module raised or exited; any other exception as it is."""
    model = getattr(error, "raised_by_model", None)
    if isinstance(error, SystemExit):
        raise InputError(f"a model must not end the process, got sys.exit({error.code})") from error
    if model is None or isinstance(error, InputError):
        raise error
    raise InputError(f"{model} must give outputs each time it is called, got {one_sentence(error)}") from error


def _round(keys: Iterable[str], stored: int = 0) -> Round:
    return Round(dict.fromkeys(keys, ""), stored)


def _here(specs: Sequence[RunSpec], watch: Tell, forgiving: bool, predictors: bool) -> list[Run]:
    runs: dict[str, Run] = {}
    for chunk in chunks(specs, 1):
        names = tuple(identity(spec) for spec in chunk)
        started = time.monotonic()
        for name, run in zip(names, _together(chunk, names, watch, forgiving), strict=True):
            if not (predictors or run.reason):
                kept = dataclasses.replace(run.outcome, predictor=None)
                run = Run(run.spec, kept, recall=recalling(run.spec, kept))
            runs[name] = run
            status = "crashed" if run.reason else run.outcome.status
            watch(Event("run", name, status, fraction=1.0, seconds=(time.monotonic() - started) / len(chunk)))
    return [runs[identity(spec)] for spec in specs]


def _together(chunk: Sequence[RunSpec], names: tuple[str, ...], watch: Tell, forgiving: bool) -> list[Run]:
    def tell(fraction: float) -> None:
        watch(Event("progress", fraction=fraction, chunk=names))

    tell(0.0)
    try:
        return [Run(spec, outcome) for spec, outcome in zip(chunk, perform(chunk, tell), strict=True)]
    except (Exception, SystemExit) as error:  # a learner is a user's code: it may raise anything, even exit
        if not forgiving:
            _raise_for_the_user(error)
        if len(chunk) > 1:
            alone = [_together([spec], (name,), watch, True) for spec, name in zip(chunk, names, strict=True)]
            return [run for runs in alone for run in runs]
        crash = crashed(names[0], error, 0.0)
        return [Run(chunk[0], Outcome(), crash.message, frames=crash.frames)]
