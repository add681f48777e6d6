"""How far some runs are and how long the rest may take: a bar on a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import html
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from beyondkernels.core.contracts import Progress
from beyondkernels.runs.events import Event

if TYPE_CHECKING:
    from rich.console import Console

Shown: TypeAlias = bool | Progress
"""Whether to show progress, or what to tell the fraction that is done."""

_PATIENCE = 0.5
"""Seconds before anything is shown: what is over by then needs no bar."""

_TWINKLE = 0.1
"""Seconds between two pictures of a bar: more often than that nobody sees."""

_SILENCE = 30.0
"""Seconds between two lines, where there is neither a terminal nor a notebook."""


class Bar:
    """A bar that can be drawn again and is gone in the end."""

    def draw(self, fraction: float, state: str) -> None:
        """Show how far it is."""
        raise NotImplementedError

    def close(self) -> None:
        """Take it away."""


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
        if now - self._begun >= _PATIENCE and now - self._drawn >= _TWINKLE:
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


def duration(seconds: float) -> str:
    """Seconds in words a person would use.

    >>> duration(42.3), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Lines(Bar):
    """A line now and then."""

    def __init__(self) -> None:
        self._spoken = time.monotonic()

    def draw(self, fraction: float, state: str) -> None:
        if time.monotonic() - self._spoken > _SILENCE:
            self._spoken = time.monotonic()
            print(f"{100 * fraction:.0f} %, {state}", file=sys.stderr)


class _TerminalBar(Bar):
    def __init__(self, out: Console) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=out, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0, state="")

    def draw(self, fraction: float, state: str) -> None:
        self._bar.update(self._task, completed=fraction, state=state)

    def close(self) -> None:
        self._bar.stop()


class _NotebookBar(Bar):
    """A bar of the browser's own, drawn in one place of the cell's output."""

    def __init__(self, show: Callable[..., Any]) -> None:
        self._handle = show(self._picture(0.0, ""), raw=True, display_id=True)

    def draw(self, fraction: float, state: str) -> None:
        self._handle.update(self._picture(fraction, state), raw=True)

    def close(self) -> None:
        self._handle.update({"text/html": "", "text/plain": ""}, raw=True)

    def _picture(self, fraction: float, state: str) -> dict[str, str]:
        picture = f'<progress value="{fraction:.4f}" max="1"></progress> {html.escape(state)}'
        return {"text/html": picture, "text/plain": state}


def _bar() -> Bar:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is not None and hasattr(shell, "kernel"):  # a notebook, not IPython on a terminal
        return _NotebookBar(ipython.display.display)
    if not sys.stderr.isatty():
        return _Lines()
    from rich.console import Console

    return _TerminalBar(Console(stderr=True, highlight=False))
