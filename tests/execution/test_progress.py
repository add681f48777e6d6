"""A display with a clock of its own."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from beyondkernels.execution import Event
from beyondkernels.execution.costs import Round
from beyondkernels.execution.progress import Display, Meter, watch_of
from beyondkernels.execution.progress_bars import Bar


class Seen(Bar):
    def __init__(self) -> None:
        self.drawn: list[tuple[float, str]] = []
        self.closed = False

    def draw(self, fraction: float, state: str) -> None:
        self.drawn.append((fraction, state))

    def close(self) -> None:
        self.closed = True


def begun(keys: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Display, list[float], list[Seen]]:
    """A display without a name, its clock, and the bars that it makes."""
    now, bars = [0.0], list[Seen]()

    def bar_on(*_: Any) -> Bar:
        bars.append(Seen())
        return bars[-1]

    monkeypatch.setattr("beyondkernels.execution.progress.bar_on", bar_on)
    display = Display(clock=lambda: now[0])
    display.begin(Round(dict.fromkeys(keys, "")))
    return display, now, bars


def test_the_rest_is_estimated_from_what_is_done(monkeypatch):
    display, now, bars = begun("abcd", monkeypatch)
    display.happened(Event("progress", fraction=0.5, chunk=("a", "b")))
    assert (display.fraction, bars) == (0.25, [])  # too early to say anything
    now[0] = 10.0
    display.happened(Event("run", "a", "finished", fraction=1.0, seconds=10.0))
    assert display.fraction == 0.375
    assert bars[0].drawn == [(0.375, "1/4 runs, about 30 s left")]  # half of b, and two like a
    display.happened(Event("progress", fraction=0.4, chunk=("b",)))  # done again alone: not shown as a step back
    display.happened(Event("progress", fraction=float("nan"), chunk=("c",)))
    assert (display.fraction, len(bars[0].drawn)) == (0.375, 1)  # nothing is drawn so soon
    display.close()
    assert bars[0].closed


def test_a_notebook_shows_a_bar_and_takes_it_away(monkeypatch):
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, picture: dict[str, str], raw: bool) -> None:
            assert raw
            shown.append(picture)

    def display(picture: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        shown.append(picture)
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    notebook = types.SimpleNamespace(get_ipython=lambda: shell, display=types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr("beyondkernels.execution.progress._PATIENCE", -1.0)
    monkeypatch.setattr("beyondkernels.execution.progress.TWINKLE", -1.0)
    with watch_of(True) as watch:
        watch.begin(Round({"a": "", "b": ""}))
        watch.happened(Event("run", "a", "finished", fraction=1.0))
    assert shown[1]["text/html"] == '<progress value="0.5000" max="1"></progress> 1/2 runs, estimating'
    assert shown[-1] == {"text/html": "", "text/plain": ""}
    del shell.kernel  # IPython in a terminal is no notebook
    shown.clear()
    with watch_of(True) as watch:
        watch.begin(Round({"a": ""}))
        watch.happened(Event("run", "a", "finished", fraction=1.0))
    assert shown == []


def test_elsewhere_there_is_silence_at_first_and_then_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr("beyondkernels.execution.progress.bar_on", lambda *_: None)
    now = [0.0]
    display = Display(clock=lambda: now[0])
    display.begin(Round({"a": "", "b": ""}))
    for second in range(100):
        now[0] = float(second)
        display.happened(Event("progress", fraction=second / 1000, chunk=("a", "b")))
    assert capsys.readouterr().err.splitlines() == [
        "0 %, 0/2 runs, estimating",  # after 5, 15 and 35 seconds
        "2 %, 0/2 runs, estimating",
        "4 %, 0/2 runs, estimating",
        "6 %, 0/2 runs, about 16 min left",  # then each half minute
        "10 %, 0/2 runs, about 15 min left",
    ]


def test_what_is_over_soon_shows_nothing(monkeypatch):
    display, now, bars = begun("a", monkeypatch)
    display.happened(Event("progress", chunk=("a",)))
    for second in (0.9, 1.5, 1.9):
        now[0] = second
        display.happened(Event("progress", fraction=second / 2, chunk=("a",)))
    assert bars == []
    now[0] = 0.0
    display.begin(Round({"a": ""}))
    display.happened(Event("progress", chunk=("a",)))
    now[0] = 1.5
    display.happened(Event("progress", fraction=0.1, chunk=("a",)))
    assert bars[0].drawn == [(0.1, "10 %, about 14 s left")]  # a single run has no number of runs


def test_silence_when_asked_and_a_function_is_told_the_fraction(capsys):
    now, told = [0.0], []
    with watch_of(False) as silent, watch_of(told.append) as watch:
        assert isinstance(watch, Meter)
        watch.estimate.clock = lambda: now[0]
        for each in (silent, watch):
            each.begin(Round({"a": ""}))
            for now[0] in (0.0, 20.0):  # also when there is long enough to go for a bar
                each.happened(Event("progress", fraction=0.1 + now[0] / 50, chunk=("a",)))
    assert told == [0.1, 0.5]
    assert capsys.readouterr() == ("", "")
