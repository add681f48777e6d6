"""Worker processes seen from the parent."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from beyondkernels.store.files import unique_name

_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_LOG_LENGTH = 500


@dataclass
class Task:
    """A chunk on its way through a worker.

    Arguments:
        open: the descriptions of the members that have not ended yet, by key.
        alone: it is a second attempt and wants a fresh worker.
        saved: when each member had saved its state last, as the second attempt began.
    """

    open: dict[str, Any]
    alone: bool = False
    saved: dict[str, int | None] = field(default_factory=dict)


class WorkerProcess:
    """A running worker, the task it has, and its two pipes."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.task: Task | None = None
        self.used = False
        self.ready = False
        self.last_log = ""
        self._rests = {"stdout": b"", "stderr": b""}
        self._process = subprocess.Popen(
            # -P: the parent's module path is told later, the current directory is not on it by itself
            [sys.executable, "-P", "-m", "beyondkernels.execution.worker", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            # By the environment, because these libraries read it once, when they are loaded.
            env={**os.environ, **dict.fromkeys(_THREADS, "1")},
        )
        self.pid = self._process.pid
        self.owner = unique_name()
        for descriptor in self.pipes().values():
            # One thread listens to all workers, so it must never wait for one of them.
            os.set_blocking(descriptor, False)
        self._send({**start, "owner": self.owner})

    def pipes(self) -> dict[str, int]:
        """The file descriptors to listen to, by name."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        return {"stdout": self._process.stdout.fileno(), "stderr": self._process.stderr.fileno()}

    def give(self, task: Task) -> None:
        self.task, self.used = task, True
        self._send({"chunk": list(task.open.items())})

    def lines(self, pipe: str) -> list[str] | None:
        """The whole lines that have come through a pipe, or None at its end."""
        try:
            data = os.read(self.pipes()[pipe], 1 << 16)
        except BlockingIOError:
            return []
        if not data:
            return None
        # A read ends anywhere, also within a line or a letter: lines are decoded only when they are whole.
        *whole, rest = (self._rests[pipe] + data).split(b"\n")
        if pipe == "stderr" and len(rest) > _LOG_LENGTH:  # a learner that prints dots
            whole, rest = [*whole, rest], b""
        self._rests[pipe] = rest
        texts = [text for line in whole if (text := line.decode(errors="replace").rstrip())]
        if pipe == "stderr" and texts:
            self.last_log = texts[-1]
        return texts

    def last_lines(self) -> list[str]:
        """Wait a moment for a process that has closed its output to end in its own way; what it said last."""
        # A process that crashes closes its output a little before it ends, and how it ends is worth knowing.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        result = []
        while lines := self.lines("stderr"):
            result += lines
        return result

    def end(self) -> str:
        """Make sure that the process has ended, and say how it did."""
        if self._process.poll() is None:
            # Not asked politely: runs are either stored whole or not at all, so there is nothing a worker could tidy
            # up.
            self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return f"was ended by {name}" + (" (often a lack of memory)" if name == "SIGKILL" else "")
        return f"ended by itself with exit code {code}"

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        rest = memoryview(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):  # it is dead, which its output will tell
            while rest:
                rest = rest[self._process.stdin.write(rest) or 0 :]
