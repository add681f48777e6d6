"""Bars: on a terminal and in a notebook, drawn again and again in one place."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

TWINKLE = 0.1
"""Seconds between two pictures of a bar: more often than that nobody sees."""

SILENCE = 30.0
"""Seconds between two lines, where there is neither a terminal nor a notebook."""


class Bar:
    """A bar that can be drawn again and is gone in the end."""

    def draw(self, fraction: float, state: str) -> None:
        """Draw the bar again.

        Arguments:
            fraction: how much of the work is done, from 0 to 1.
            state: what is written behind the bar.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Remove the bar, so that what is printed next stands in its place."""


class TerminalBar(Bar):
    """A bar on a terminal.

    Arguments:
        out: the terminal.
        name: what is written before the bar.
    """

    def __init__(self, out: Console, name: str = "") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        before = [TextColumn("{task.description}")] if name else []
        state = TextColumn("{task.fields[state]}")
        # Transient: the results that are printed next say what the bar said, so it leaves no trace.
        self._bar = Progress(*before, BarColumn(), state, TimeElapsedColumn(), console=out, transient=True)
        self._bar.start()
        self._task = self._bar.add_task(name, total=1.0, state="estimating")

    def draw(self, fraction: float, state: str) -> None:
        self._bar.update(self._task, completed=fraction, state=state)

    def close(self) -> None:
        self._bar.stop()


class NotebookBar(Bar):
    """A bar of the browser's own, drawn in one place of the cell's output.

    Arguments:
        show: what shows things in a notebook.
        name: what is written behind the bar.
    """

    def __init__(self, show: Callable[..., Any], name: str = "") -> None:
        self._name = name
        self._handle = show(self._picture(0.0, "estimating"), raw=True, display_id=True)

    def draw(self, fraction: float, state: str) -> None:
        self._handle.update(self._picture(fraction, state), raw=True)

    def close(self) -> None:
        self._handle.update({"text/html": "", "text/plain": ""}, raw=True)

    def _picture(self, fraction: float, state: str) -> dict[str, str]:
        words = f"{self._name} {state}".strip()
        picture = f'<progress value="{fraction:.4f}" max="1"></progress> {html.escape(words)}'
        # Editors that show no HTML, and files of notebooks that are read as text, take the words.
        return {"text/html": picture, "text/plain": words}


def bar_on(out: Console, name: str = "") -> Bar | None:
    """A bar in the notebook, if this is one, or on the terminal; None where there is neither.

    Arguments:
        out: where to, outside notebooks.
        name: what the bar is about.
    """
    # Not imported: where nobody has loaded it, this is no notebook, and looking must cost nothing.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is not None and hasattr(shell, "kernel"):  # a notebook, not IPython on a terminal
        return NotebookBar(ipython.display.display, name)
    return TerminalBar(out, name) if out.is_terminal else None


def duration(seconds: float) -> str:
    """Seconds in words a person would use.

    >>> duration(42.3), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
