"""The work on one chunk, in a worker or in the current process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from beyondkernels.core.contracts import Outcome, Progress
from beyondkernels.core.errors import StoreError
from beyondkernels.core.tracebacks import users_frames, whole_traceback
from beyondkernels.execution.checkpoint_schedule import SAVE_EVERY, Saving
from beyondkernels.execution.events import Event
from beyondkernels.execution.outcomes import perform
from beyondkernels.store.provenance import scrub_text
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store

Tell = Callable[[Event], None]
Keep = Callable[[str, Outcome], None]

_PROGRESS_SECONDS = 0.2
_MESSAGE_LENGTH = 300


def work(
    specs: Sequence[RunSpec],
    store: Store,
    provenance: dict[str, Any],
    tell: Tell,
    save_every: float | None = SAVE_EVERY,
    keep: Keep = lambda _key, _outcome: None,
) -> None:
    """Perform a chunk and store each of its runs.

    A run that is stored already is not done again. If the chunk raises an exception its members are done one by one:
    the one that raises again has crashed, the others lose nothing. A :class:`StoreError` ends the work. A run that was
    ended before goes on from the state it saved last; if that raises an exception at once it begins anew.

    Arguments:
        specs: the runs of the chunk.
        store: where they go.
        provenance: kept with each run, with its seconds filled in.
        tell: told the progress, and the end of each run.
        save_every: seconds of work after which a run saves its state; None saves nothing.
        keep: given the outcome of each run that is done here, with what the store does not hold: its predictor.
    """
    missing = []
    for spec in specs:
        stored = store.find(spec)
        if stored is None:
            missing.append(spec)
        else:
            # It may have been stored by a process that was killed before it could remove the checkpoint.
            store.checkpoints.drop(spec.key)
            tell(Event("run", spec.key, stored.outcome.status, fraction=1.0, message="stored already"))
    if missing:
        _attempt(missing, store, provenance, tell, save_every, keep)


def _attempt(
    specs: Sequence[RunSpec],
    store: Store,
    provenance: dict[str, Any],
    tell: Tell,
    save_every: float | None,
    keep: Keep,
    *,
    anew: bool = False,
) -> None:
    keys = tuple(spec.key for spec in specs)

    def warn(what: str) -> None:
        tell(Event("log", message=what))

    saving = Saving(store.checkpoints, keys, provenance, save_every or 0.0, warn)
    try:
        outcomes = perform(specs, _throttled(tell, keys), None if save_every is None else saving.members)
    except (Exception, SystemExit) as error:  # a learner is a user's code: it may raise anything, even exit
        # Nobody knows which member raised it. What all of them computed is lost, except the states they saved.
        if len(specs) > 1:
            for spec in specs:
                _attempt([spec], store, provenance, tell, save_every, keep)
            return
        (member,) = saving.members
        if member.resumed:  # perhaps it is the state that is wrong
            member.drop()
        # Once only: a state that was saved since then shows that the old one was sound.
        if member.resumed and not anew:
            warn(f"a run failed after it went on from a saved state ({one_sentence(error)}); it begins anew")
            _attempt(specs, store, provenance, tell, save_every, keep, anew=True)
        else:
            tell(crashed(specs[0].key, error, member.seconds))
        return
    # Before the first is written, so that writing does not count as work on the later ones.
    costs = [member.seconds for member in saving.members]
    for spec, outcome, member, seconds in zip(specs, outcomes, saving.members, costs, strict=True):
        try:
            # One run at a time and at once: what is stored survives whatever happens to its neighbours.
            store.write(spec.key, spec.description, outcome, {**provenance, "seconds": seconds})
        except StoreError:
            raise
        except Exception as error:  # an outcome that cannot be stored
            tell(crashed(spec.key, error, seconds))
        else:
            member.drop()
            keep(spec.key, outcome)
            tell(Event("run", spec.key, outcome.status, fraction=1.0, seconds=seconds))


def one_sentence(error: BaseException) -> str:
    """An exception as one short line without absolute paths."""
    text = " ".join(str(error).split())
    sentence = scrub_text(f"{type(error).__name__}: {text}" if text else type(error).__name__)
    return sentence if len(sentence) <= _MESSAGE_LENGTH else f"{sentence[:_MESSAGE_LENGTH]}…"


def crashed(key: str, error: BaseException, seconds: float) -> Event:
    """The event of a run that an exception ended."""
    event = Event("run", key, "crashed", fraction=1.0, seconds=seconds, message=one_sentence(error))
    return replace(event, frames=users_frames(error), traceback=whole_traceback(error), error=error)


def _throttled(tell: Tell, keys: tuple[str, ...]) -> Progress:
    last = -math.inf

    def progress(fraction: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_SECONDS:
            last = now
            # Fractions come from learners of users, who may tell anything.
            known = fraction if math.isfinite(fraction) else 0.0
            tell(Event("progress", fraction=float(min(max(known, 0.0), 1.0)), chunk=keys))

    return progress
