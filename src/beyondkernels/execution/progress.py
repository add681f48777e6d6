"""How far some runs are and how long the rest may take: a bar on a terminal and in a notebook, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

from beyondkernels.core.contracts import Progress
from beyondkernels.execution.costs import Round
from beyondkernels.execution.estimate import TimeEstimate
from beyondkernels.execution.events import Event
from beyondkernels.execution.progress_bars import SILENCE, TWINKLE, Bar, bar_on, duration

if TYPE_CHECKING:
    from rich.console import Console

Shown: TypeAlias = bool | Progress
"""Whether to show progress, or what to tell the fraction that is done."""

_PATIENCE = 1.0
"""Seconds before a bar without a name is shown, and the least that must be left then."""

_FIRST_LINE = 5.0
"""Seconds before the first line, where there is neither a terminal nor a notebook. Later lines come less often."""


class Watch:
    """Is told how runs go; by default does nothing with it."""

    def begin(self, planned: Round) -> None:
        """Told what is to be done, before it begins."""

    def happened(self, event: Event) -> None:
        """Told what an executor tells."""

    def close(self) -> None:
        """Told that everything is over."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Meter(Watch):
    """Knows the fraction that is done, and tells it.

    Arguments:
        tell: told the fraction after each event.
        clock: seconds, for tests.
    """

    def __init__(self, tell: Progress = lambda _: None, clock: Callable[[], float] = time.monotonic) -> None:
        self.tell, self.clock = tell, clock
        self.estimate = TimeEstimate(clock)
        self.fraction = 0.0

    def begin(self, planned: Round) -> None:
        self.estimate.begin(planned)
        self.fraction = 0.0

    def happened(self, event: Event) -> None:
        self.estimate.happened(event)
        # Never backwards: the runs of a chunk that failed are done again one by one, and begin from zero.
        self.fraction = max(self.fraction, min(1.0, self.estimate.done / max(1, len(self.estimate.round.names))))
        self.tell(self.fraction)


class Display(Meter):
    """Shows how far some runs are and how long the rest may take.

    A display with a name tells everything: its bar is there at once, and what is not a terminal gets a line for each
    finished run. One without a name shows nothing for what is nearly over.

    Arguments:
        out: where to, outside notebooks; by default standard error.
        clock: seconds, for tests.
        name: what stands beside the bar.
    """

    def __init__(self, out: Console | None = None, clock: Callable[[], float] = time.monotonic, name: str = "") -> None:
        super().__init__(clock=clock)
        self.name, self._out = name, out
        self.bar: Bar | None = None

    @property
    def out(self) -> Console:
        """Where to; made when it is needed, because many displays show nothing."""
        from rich.console import Console

        self._out = self._out or Console(stderr=True, highlight=False)
        return self._out

    def begin(self, planned: Round) -> None:
        self.close()
        super().begin(planned)
        self._begun = self._drawn = self._spoken = self.clock()
        self._wait = _FIRST_LINE
        self.bar = bar_on(self.out, self.name) if self.name and planned.names else None

    def happened(self, event: Event) -> None:
        super().happened(event)
        if self.name:
            self._tell(event)
        now = self.clock()
        if now - self._drawn < TWINKLE or not (self.name or self.bar or self._worth_showing(now)):
            return
        self._drawn = now
        if self.bar is None and not self.name:
            self.bar = bar_on(self.out)
        if self.bar is not None:
            self.bar.draw(self.fraction, self.state())
        elif now - self._spoken >= self._wait:
            # A log of a night should not be all progress: each silence is twice as long as the one before.
            self._wait = min(2 * self._wait, SILENCE)
            runs = len(self.estimate.round.names)
            # Runs of one ensemble end together, so without the percentage nothing would move until then.
            percent = "" if self.name or runs == 1 else f"{100 * self.fraction:.0f} %, "
            self.line(percent + self.state())

    def _tell(self, event: Event) -> None:
        if event.kind == "log":
            self.line(event.message, style="dim")
        # A bar shows that a run has finished; a line above it is for what it cannot show.
        elif event.kind == "run" and (self.bar is None or event.status != "finished"):
            name = self.estimate.round.names.get(event.key or "", event.key)
            why = f": {event.message}" if event.message else f" in {event.seconds:.1f} s"
            self.line(f"{self.state()}  {name} {event.status}{why}")

    def _worth_showing(self, now: float) -> bool:
        left = self.estimate.remaining()
        # A bar that appears and is gone at once only flickers.
        return now - self._begun >= _PATIENCE and (left is None or left >= _PATIENCE)

    def state(self) -> str:
        """How many runs are over, or how much of a single one, and how long the rest may take."""
        left, ended, runs = self.estimate.remaining(), len(self.estimate.ended), len(self.estimate.round.names)
        rest = "" if ended == runs else ", estimating" if left is None else f", about {duration(left)} left"
        return (f"{ended}/{runs} runs" if self.name or runs > 1 else f"{100 * self.fraction:.0f} %") + rest

    def line(self, text: str, style: str = "") -> None:
        """Print a line, above the bar if there is one."""
        from rich.text import Text

        self._spoken = self.clock()
        self.out.print(Text(text, style=style), soft_wrap=True)  # elsewhere than on a terminal a line stays a line

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def watch_of(shown: Shown) -> Watch:
    """What is to be told how some runs go.

    Arguments:
        shown: whether to show it, or what to tell the fraction that is done.
    """
    if isinstance(shown, bool):
        return Display() if shown else Watch()
    return Meter(shown)
