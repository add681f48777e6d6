"""How far some runs are and how long the rest may take: a bar on a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from beyondkernels.core.contracts import Progress
from beyondkernels.execution.events import Event
from beyondkernels.execution.progress_bars import SILENCE, TWINKLE, Bar, bar_on, duration

Shown: TypeAlias = bool | Progress
"""Whether to show progress, or what to tell the fraction that is done."""

_PATIENCE = 1.0
"""Seconds before anything is shown, and the least that must be left then: what is nearly over needs no bar."""

_FIRST_LINE = 5.0
"""Seconds before the first line, where there is neither a terminal nor a notebook. Later lines come less often."""


class Meter:
    """Adds up what executors tell, and shows it.

    Arguments:
        runs: how many there are.
        bar: makes the bar, once there is something to show.
        clock: seconds, for tests.
    """

    def __init__(self, runs: int, bar: Callable[[], Bar], clock: Callable[[], float] = time.monotonic) -> None:
        self.runs, self._make, self._clock = runs, bar, clock
        self._begun = self._drawn = clock()
        self._bar: Bar | None = None
        self._fractions: dict[str, float] = {}
        self._done, self._ended = 0.0, 0

    def __call__(self, event: Event) -> None:
        """Count what happened."""
        keys = event.chunk if event.kind == "progress" else (event.key,) if event.kind == "run" else ()
        for key in keys:
            before = self._fractions.get(key or "", 0.0)
            told = event.fraction if math.isfinite(event.fraction) else 0.0
            # Never backwards: a chunk that is done again one by one tells small fractions anew.
            after = 1.0 if event.kind == "run" else max(before, min(told, 1.0))
            self._fractions[key or ""] = after
            self._done += after - before  # a sum over all runs at every event would cost more than small runs do
            self._ended += event.kind == "run"
        now = self._clock()
        if now - self._drawn >= TWINKLE and (self._bar is not None or self._worth_showing(now)):
            self._bar = self._bar or self._make()
            self._bar.draw(self.fraction, self.state())
            self._drawn = now

    def _worth_showing(self, now: float) -> bool:
        left = self.remaining()
        return now - self._begun >= _PATIENCE and (left is None or left >= _PATIENCE)

    @property
    def fraction(self) -> float:
        """How much is done, runs counted in parts."""
        return min(1.0, self._done / self.runs) if self.runs else 1.0

    def remaining(self) -> float | None:
        """Seconds left at the rate so far; None while there is nothing to tell it by."""
        elapsed = self._clock() - self._begun
        # Sooner the estimate would jump about, because starting workers and importing torch take most of the first
        # second.
        return elapsed * (1 / self.fraction - 1) if self.fraction > 0.01 and elapsed > 1 else None

    def state(self) -> str:
        """How many runs are over, or how much of a single one, and how long the rest may take."""
        left = self.remaining()
        done = f"{self._ended}/{self.runs} runs" if self.runs > 1 else f"{100 * self.fraction:.0f} %"
        return f"{done}, " + ("estimating" if left is None else f"about {duration(left)} left")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def watching(shown: Shown, runs: int) -> Iterator[Callable[[Event], None]]:
    """What is to be told the events of some runs.

    Arguments:
        shown: whether to show them, or what to tell the fraction that is done.
        runs: how many there are.
    """
    if shown is False:
        yield lambda _: None
        return
    meter = Meter(runs, _bar if shown is True else Bar)
    if shown is True:
        try:
            yield meter
        finally:
            meter.close()
        return

    def tell(event: Event) -> None:
        meter(event)
        shown(meter.fraction)

    yield tell


class _Lines(Bar):
    """A line now and then: the first after five seconds, later ones at most every thirty."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._wait = clock, _FIRST_LINE
        self._spoken = clock() - _PATIENCE  # the bar is made when the patience is over

    def draw(self, fraction: float, state: str) -> None:
        now = self._clock()
        if now - self._spoken >= self._wait:
            self._spoken, self._wait = now, min(2 * self._wait, SILENCE)
            percent = f"{100 * fraction:.0f} %"
            print(state if state.startswith(percent) else f"{percent}, {state}", file=sys.stderr)


def _bar() -> Bar:
    from rich.console import Console

    return bar_on(Console(stderr=True, highlight=False)) or _Lines()
