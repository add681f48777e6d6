"""How far some runs are and how long the rest may take: a bar on a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from beyondkernels.core.contracts import Progress
from beyondkernels.runs.bars import SILENCE, TWINKLE, Bar, bar_on, duration
from beyondkernels.runs.events import Event

Shown: TypeAlias = bool | Progress
"""Whether to show progress, or what to tell the fraction that is done."""

_PATIENCE = 0.5
"""Seconds before anything is shown: what is over by then needs no bar."""


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
            after = 1.0 if event.kind == "run" else max(before, min(told, 1.0))
            self._fractions[key or ""] = after
            self._done += after - before  # a sum over all runs at every event would cost more than small runs do
            self._ended += event.kind == "run"
        now = self._clock()
        if now - self._begun >= _PATIENCE and now - self._drawn >= TWINKLE:
            self._bar = self._bar or self._make()
            self._bar.draw(self.fraction, self.state())
            self._drawn = now

    @property
    def fraction(self) -> float:
        """How much is done, runs counted in parts."""
        return min(1.0, self._done / self.runs) if self.runs else 1.0

    def remaining(self) -> float | None:
        """Seconds left at the rate so far; None while there is nothing to tell it by."""
        elapsed = self._clock() - self._begun
        return elapsed * (1 / self.fraction - 1) if self.fraction > 0.01 and elapsed > 1 else None

    def state(self) -> str:
        """How many runs are over, and how long the rest may take."""
        left = self.remaining()
        return f"{self._ended}/{self.runs} runs, " + ("estimating" if left is None else f"about {duration(left)} left")

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
    """A line now and then."""

    def __init__(self) -> None:
        self._spoken = time.monotonic()

    def draw(self, fraction: float, state: str) -> None:
        if time.monotonic() - self._spoken > SILENCE:
            self._spoken = time.monotonic()
            print(f"{100 * fraction:.0f} %, {state}", file=sys.stderr)


def _bar() -> Bar:
    from rich.console import Console

    return bar_on(Console(stderr=True, highlight=False)) or _Lines()
