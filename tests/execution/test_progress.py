"""A meter with a clock of its own."""

from __future__ import annotations

import sys
import types

from beyondkernels.execution import Event
from beyondkernels.execution.progress import Meter, watching
from beyondkernels.execution.progress_bars import Bar


class Seen(Bar):
    def __init__(self) -> None:
        self.drawn: list[tuple[float, str]] = []
        self.closed = False

    def draw(self, fraction: float, state: str) -> None:
        self.drawn.append((fraction, state))

    def close(self) -> None:
        self.closed = True


def test_the_rest_is_estimated_from_what_is_done():
    now, seen = [0.0], Seen()
    meter = Meter(4, lambda: seen, lambda: now[0])
    meter(Event("progress", fraction=0.5, chunk=("a", "b")))
    assert (meter.fraction, meter.remaining(), seen.drawn) == (0.25, None, [])  # too early to say anything
    now[0] = 10.0
    meter(Event("run", "a", "finished", fraction=1.0))
    assert meter.fraction == 0.375
    assert meter.remaining() == 10.0 * (1 / 0.375 - 1)
    assert seen.drawn == [(0.375, "1/4 runs, about 17 s left")]
    meter(Event("progress", fraction=0.4, chunk=("b",)))  # a step back changes nothing, and nothing is drawn so soon
    assert (meter.fraction, len(seen.drawn)) == (0.375, 1)
    meter(Event("progress", fraction=float("nan"), chunk=("c",)))
    assert meter.fraction == 0.375
    meter.close()
    assert seen.closed


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
    with watching(True, 2) as watch:
        watch(Event("run", "a", "finished", fraction=1.0))
    assert shown[1]["text/html"] == '<progress value="0.5000" max="1"></progress> 1/2 runs, estimating'
    assert shown[-1] == {"text/html": "", "text/plain": ""}


def test_elsewhere_there_is_silence_at_first(capsys):
    with watching(True, 1) as watch:
        watch(Event("run", "a", "finished", fraction=1.0))
    assert capsys.readouterr() == ("", "")


def test_what_is_over_soon_shows_nothing():
    now, made = [0.0], []

    def make() -> Bar:
        made.append(Seen())
        return made[-1]

    meter = Meter(1, make, lambda: now[0])
    for second in (0.9, 1.5, 1.9):
        now[0] = second
        meter(Event("progress", fraction=second / 2, chunk=("a",)))
    assert made == []
    meter = Meter(1, make, lambda: now[0])
    now[0] += 1.5
    meter(Event("progress", fraction=0.1, chunk=("a",)))
    assert made[0].drawn == [(0.1, "10 %, about 14 s left")]  # a single run has no number of runs


def test_silence_when_asked(capsys):
    told = []
    with watching(False, 1) as watch:
        watch(Event("progress", fraction=0.5, chunk=("a",)))
    with watching(told.append, 1) as watch:
        watch(Event("progress", fraction=0.5, chunk=("a",)))
    assert told == [0.5]
    assert capsys.readouterr() == ("", "")
