"""One progress display: a bar on a terminal and in a notebook, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from beyondkernels.execution import Event
from beyondkernels.execution.progress_bars import SILENCE, TWINKLE, Bar, bar_on, duration
from beyondkernels.lab.request.costs import Round
from beyondkernels.lab.request.estimate import Estimate
from beyondkernels.lab.request.request import Request

if TYPE_CHECKING:
    from rich.console import Console


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
        self.bar: Bar | None = None
        self.rounds = 0

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def planned(self, request: Request, planned: Round) -> None:
        self._close()
        self.estimate.begin(planned)
        self.rounds += 1
        runs = f"{len(planned.names)} run{'' if len(planned.names) == 1 else 's'}"
        which = f"{request.experiment.id}{f', round {self.rounds}' if self.rounds > 1 else ''}"
        self._line(f"{which}: {runs} to do, {planned.stored} stored already")
        if planned.names:
            self.bar = bar_on(self.out, request.experiment.id)

    def happened(self, event: Event) -> None:
        self.estimate.happened(event)
        if event.kind == "log":
            self._line(event.message, style="dim")
        elif event.kind == "run" and (self.bar is None or event.status != "finished"):
            name = self.estimate.round.names.get(event.key or "", event.key)
            why = f": {event.message}" if event.message else f" in {event.seconds:.1f} s"
            self._line(f"{self.state()}  {name} {event.status}{why}")
        now = self.clock()
        if self.bar is not None and now - self.drawn >= TWINKLE:
            self.drawn = now
            self.bar.draw(self.estimate.done / len(self.estimate.round.names), self.state())
        elif self.bar is None and now - self.spoken > SILENCE:
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
