"""One progress display: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from beyondkernels.cli.display import count
from beyondkernels.experiments import Observer, Request
from beyondkernels.runs import Event

_SILENCE = 30.0


class Display(Observer):
    """Shows how far a request is and how long the rest may take.

    Arguments:
        out: where to; what is not a terminal gets a line for each finished run, and one every half minute.
        clock: seconds, for tests.
    """

    def __init__(self, out: Console, clock=time.monotonic) -> None:
        self.out, self.clock = out, clock
        self.names: Mapping[str, str] = {}
        self.fractions: dict[str, float] = {}
        self.ended: set[str] = set()
        self.started = self.spoken = clock()
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def planned(self, request: Request, todo: Mapping[str, str], stored: int) -> None:
        """A round begins."""
        self._close()
        self.names, self.fractions, self.ended, self.started = todo, {}, set(), self.clock()
        self._line(f"{request.experiment.id}: {count(len(todo), 'run')} to do, {stored} stored already")
        if todo and self.out.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[state]}"),
                TimeElapsedColumn(),
            )
            self.bar = Progress(*columns, console=self.out, transient=True)
            self.bar.start()
            self.task = self.bar.add_task(request.experiment.id, total=len(todo), state=self._state())

    def happened(self, event: Event) -> None:
        """An executor told something."""
        if event.kind == "log":
            self._line(event.message, style="dim")
        for key in event.chunk if event.kind == "progress" else ():
            self.fractions[key] = max(event.fraction, self.fractions.get(key, 0.0))
        if event.kind == "run" and event.key is not None:
            self.fractions[event.key] = 1.0
            self.ended.add(event.key)
            if self.bar is None or event.status != "finished":
                name = self.names.get(event.key, event.key)
                why = f": {event.message}" if event.message else f" in {event.seconds:.1f} s"
                self._line(f"{self._state()}  {name} {event.status}{why}")
        if self.bar is None and self.clock() - self.spoken > _SILENCE:
            self._line(self._state())
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self.done, state=self._state())

    @property
    def done(self) -> float:
        """How many runs are done, parts counted."""
        return sum(self.fractions.get(key, 0.0) for key in self.names)

    def remaining(self) -> float | None:
        """Seconds left at the rate so far."""
        elapsed = self.clock() - self.started
        return elapsed / self.done * (len(self.names) - self.done) if self.done > 0 and elapsed > 2 else None

    def _state(self) -> str:
        left = self.remaining()
        ended = f"{len(self.ended)}/{len(self.names)} runs"
        return ended if left is None else f"{ended}, about {duration(left)} left"

    def _line(self, text: str, style: str = "") -> None:
        self.spoken = self.clock()
        self.out.print(Text(text, style=style), soft_wrap=True)  # elsewhere than on a terminal a line stays a line

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def duration(seconds: float) -> str:
    """Seconds in words a person would use.

    >>> duration(42.3), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
