"""What executors tell while they work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["finished", "diverged", "crashed"]


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Arguments:
        kind: ``progress`` of a chunk, the end of a ``run``, or a line of a worker's ``log``.
        key: the run that ended.
        status: how it ended; a crashed run has left nothing in the store.
        fraction: how much of the chunk is done.
        seconds: a run's share of its chunk's time.
        message: why it crashed, or the line of the log: one sentence.
        chunk: the keys of the runs that are being worked on together.
        frames: where in a user's code a run crashed: file, line, function and code of each frame.
        traceback: all of the traceback of a run that crashed.
        error: what was raised, in the process that raised it. It holds what that run had in memory.
    """

    kind: Literal["progress", "run", "log"]
    key: str | None = None
    status: Status | None = None
    fraction: float = 0.0
    seconds: float = 0.0
    message: str = ""
    chunk: tuple[str, ...] = ()
    frames: str = ""
    traceback: str = ""
    error: BaseException | None = field(default=None, repr=False, compare=False)
