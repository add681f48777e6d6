"""One progress display: a bar on a terminal and in a notebook, plain lines elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from beyondkernels.running.costs import Round
from beyondkernels.running.estimate import Estimate
from beyondkernels.running.request import Request
from beyondkernels.runs import Event

if TYPE_CHECKING:
    from rich.console import Console

_SILENCE = 30.0
_TWINKLE = 0.1
"""Seconds between two pictures of a bar: more often than that nobody sees."""


class Observer:
    """Is told how a request goes; by default says nothing."""

    def planned(self, request: Request, planned: Round) -> None:
        """A round begins."""

    def happened(self, event: Event) -> None:
        """An executor told something."""


class Display(Observer):
    """Shows how far a request is and how long the rest may take.

    Arguments:
        out: where to; what is not a terminal gets a line for each finished run, and one every half minute.
        clock: seconds, for tests.
    """

    def __init__(self, out: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        self.out, self.clock = out or Console(stderr=True, highlight=False), clock
        self.estimate = Estimate(clock)
        self.spoken = self.drawn = clock()
        self.bar: _Bar | None = None
        self.rounds = 0

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def planned(self, request: Request, planned: Round) -> None:
        """A round begins."""
        self._close()
        self.estimate.begin(planned)
        self.rounds += 1
        runs = f"{len(planned.names)} run{'' if len(planned.names) == 1 else 's'}"
        which = f"{request.experiment.id}{f', round {self.rounds}' if self.rounds > 1 else ''}"
        self._line(f"{which}: {runs} to do, {planned.stored} stored already")
        if planned.names:
            self.bar = _bar(self.out, request.experiment.id, len(planned.names))

    def happened(self, event: Event) -> None:
        """An executor told something."""
        self.estimate.happened(event)
        if event.kind == "log":
            self._line(event.message, style="dim")
        elif event.kind == "run" and (self.bar is None or event.status != "finished"):
            name = self.estimate.round.names.get(event.key or "", event.key)
            why = f": {event.message}" if event.message else f" in {event.seconds:.1f} s"
            self._line(f"{self.state()}  {name} {event.status}{why}")
        now = self.clock()
        if self.bar is not None and now - self.drawn >= _TWINKLE:
            self.drawn = now
            self.bar.draw(self.estimate.done, self.state())
        elif self.bar is None and now - self.spoken > _SILENCE:
            self._line(self.state())

    def state(self) -> str:
        """How many runs are over, and how long the rest may take."""
        left, ended, all_runs = self.estimate.remaining(), len(self.estimate.ended), len(self.estimate.round.names)
        rest = "" if ended == all_runs else ", estimating" if left is None else f", about {duration(left)} left"
        return f"{ended}/{all_runs} runs{rest}"

    def _line(self, text: str, style: str = "") -> None:
        from rich.text import Text

        self.spoken = self.clock()
        self.out.print(Text(text, style=style), soft_wrap=True)  # elsewhere than on a terminal a line stays a line

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class _Bar:
    """A bar that can be drawn again and is gone in the end."""

    def draw(self, done: float, state: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class _TerminalBar(_Bar):
    def __init__(self, out: Console, name: str, runs: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        state = TextColumn("{task.fields[state]}")
        self.bar = Progress(TextColumn("{task.description}"), BarColumn(), state, TimeElapsedColumn(), console=out,
                            transient=True)  # fmt: skip
        self.bar.start()
        self.task = self.bar.add_task(name, total=runs, state="estimating")

    def draw(self, done: float, state: str) -> None:
        self.bar.update(self.task, completed=done, state=state)

    def close(self) -> None:
        self.bar.stop()


class _NotebookBar(_Bar):
    """A bar of the browser's own, drawn in one place of the cell's output."""

    def __init__(self, show: Callable[..., Any], name: str, runs: int) -> None:
        self.name, self.runs = name, runs
        self.handle = show(self._html(0.0, "estimating"), raw=True, display_id=True)

    def draw(self, done: float, state: str) -> None:
        self.handle.update(self._html(done, state), raw=True)

    def close(self) -> None:
        self.handle.update({"text/html": "", "text/plain": ""}, raw=True)

    def _html(self, done: float, state: str) -> dict[str, str]:
        words = f"{self.name} {state}"
        bar = f'<progress value="{done:.4f}" max="{self.runs}"></progress>'
        return {"text/html": f"{bar} {html.escape(words)}", "text/plain": words}


def _bar(out: Console, name: str, runs: int) -> _Bar | None:
    if (show := _notebook()) is not None:
        return _NotebookBar(show, name, runs)
    return _TerminalBar(out, name, runs) if out.is_terminal else None


def _notebook() -> Callable[..., Any] | None:
    """What shows things in a notebook, if this is one: IPython with a kernel, not IPython in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is None or shell is None or not hasattr(shell, "kernel"):
        return None
    return ipython.display.display


def duration(seconds: float) -> str:
    """Seconds in words a person would use.

    >>> duration(42.3), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
