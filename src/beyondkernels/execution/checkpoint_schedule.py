"""When the members of a chunk save their states, and where they find them again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beyondkernels.core.contracts import Checkpoint, Saved
from beyondkernels.core.errors import require, shown
from beyondkernels.store.checkpoints import Checkpoints

SAVE_EVERY = 60.0
"""Seconds of work that a run may lose."""

_PAUSE = 50.0
"""Work between two rounds of saving, in units of what a round takes: saving costs at most a fiftieth."""


def require_save_every(value: float | None) -> None:
    """Ask for a number of seconds, or None."""
    fine = value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9)
    require(fine, f"save_every must be seconds, at least 0, or None to save nothing, got {shown(value)}")


class Saving:
    """The checkpoints of the members of one chunk, which are worked on together.

    Arguments:
        files: where they are kept.
        keys: the runs.
        provenance: with what they are being made.
        every: seconds of work after which a member saves; 0 saves whenever it can.
        warn: told in a sentence if a state cannot be saved, once.
    """

    def __init__(
        self,
        files: Checkpoints,
        keys: Sequence[str],
        provenance: Mapping[str, Any],
        every: float,
        warn: Callable[[str], None],
    ) -> None:
        self._files, self._provenance, self._every, self._warn = files, provenance, every, warn
        # The monotonic clock: setting the time of day must not make a state due, or never due.
        self._start, self._slowest, self._warned = time.monotonic(), 0.0, False
        self.members = [_Member(self, key) for key in keys]

    def seconds(self) -> float:
        """What each member has cost since work on the chunk began: its share."""
        # Members of a chunk take steps together, so nobody can tell their times apart.
        return (time.monotonic() - self._start) / len(self.members)

    def load(self, key: str) -> tuple[Saved, float] | None:
        """A member's state and the seconds that went into it."""
        return self._files.read(key, self._provenance)

    def period(self) -> float:
        """Seconds between two states of a member."""
        # Saving costs every member of a chunk its turn, so the pause grows with their number and with the slowest disk
        # so far.
        return max(self._every, _PAUSE * len(self.members) * self._slowest) if self._every else 0.0

    def save(self, key: str, state: Saved, seconds: float) -> None:
        """Write a member's state, or say why not and go on."""
        before = time.monotonic()
        try:
            self._files.write(key, state, self._provenance, seconds)
        # A checkpoint is a convenience: a full disk must not end a run that would still come to its end.
        except (OSError, MemoryError) as error:
            if not self._warned:
                reason = getattr(error, "strerror", None) or type(error).__name__
                self._warn(f"states of runs cannot be saved, the runs go on without: {reason.lower()}")
            self._warned = True
        self._slowest = max(self._slowest, time.monotonic() - before)

    def drop(self, key: str) -> None:
        """Remove a state that is not needed any more."""
        self._files.drop(key)


class _Member(Checkpoint):
    """The checkpoint of one run, which knows when it is that run's turn to save."""

    def __init__(self, saving: Saving, key: str) -> None:
        self.key, self._saving, self._last = key, saving, time.monotonic()
        self.earlier = 0.0
        self.resumed = False

    def load(self) -> Saved | None:
        found = self._saving.load(self.key)
        if found is None:
            return None
        state, self.earlier = found
        self.resumed = True  # until it has saved a newer one
        return state

    def due(self) -> bool:
        return time.monotonic() - self._last >= self._saving.period()

    def save(self, state: Saved) -> None:
        self._saving.save(self.key, state, self.seconds)
        self.resumed = False
        self._last = time.monotonic()

    def drop(self) -> None:
        """Remove the state: the run is over."""
        self._saving.drop(self.key)

    @property
    def seconds(self) -> float:
        """Total seconds of work, including those before an interruption."""
        return self.earlier + self._saving.seconds()
