"""What is printed at 80 columns, and the progress display."""

import io
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console

from beyondkernels.cli.display import show_claims, show_result, tables_of
from beyondkernels.core import Outcome
from beyondkernels.execution import Event
from beyondkernels.execution.costs import Round
from beyondkernels.lab import Claim, Column, Display, Result, ask
from beyondkernels.papers.features.experiments.tables import METHODS
from beyondkernels.store import StoredRun


def paper_result(missing: Any = ()) -> Result:
    """Table 1 with five seeds of hand-made numbers, as wide as they get."""
    finished: Any = {}
    for method in METHODS:
        for seed in range(5):
            share = 1.0 if seed else 0.7
            scalars = {"train_accuracy": share, "test_accuracy": share}
            series = {
                "alignment/step": np.array([2.0, 600.0]),
                "alignment/cosine": np.array([share, share]),
                "alignment/cosine_either": np.array([0.999, 0.999]),
            }
            finished[method, seed] = StoredRun("0" * 32, {}, Outcome("finished", scalars, series), {})
    return Result(ask("features/table1", "paper"), finished, dict(missing))


def printed(result: Result, width: int = 80) -> list[str]:
    out = Console(file=io.StringIO(), width=width, highlight=False)
    show_result(result, out)
    return [line.rstrip() for line in cast(io.StringIO, out.file).getvalue().splitlines()]


def test_no_cell_is_wrapped_at_80_columns() -> None:
    lines = printed(paper_result())
    assert max(map(len, lines)) <= 80
    start = next(i for i, line in enumerate(lines) if line.startswith("Method"))
    table = lines[start : start + 2 + len(METHODS)]
    assert [line.split("  ")[0] for line in table[2:]] == list(METHODS)
    assert "94.0±13.4" in table[2]
    assert lines[1] == "features/table1 · paper scale · 5 seeds"
    assert lines[start + 2 + len(METHODS)] == "± standard deviation over seeds"


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_what_does_not_fit_beside_each_other_stands_below(width: int) -> None:
    names = [f"column {i}" for i in range(12)]
    columns = [Column("m"), *(Column(name, name, ".3f", spread="sd") for name in names)]
    rows = [{"m": 10**i, "sd": 0.01} | {name: i + j / 8 for j, name in enumerate(names)} for i in range(3)]
    tables = tables_of(columns, rows, width)
    out = Console(file=io.StringIO(), width=width, highlight=False)
    out.print(*tables, sep="\n")
    text = cast(io.StringIO, out.file).getvalue()
    assert all(f"{i + j / 8:.3f}" in text for i in range(3) for j in range(12))
    assert all([str(cell) for cell in table.columns[0].cells] == ["1", "10", "100"] for table in tables)
    assert len(tables) == {30: 6, 50: 4, 80: 3, 200: 1}[width]
    assert "±" in text


def test_claims_hang_beneath_their_mark() -> None:
    claims = [
        Claim("a", "A long sentence " * 8, paper=1.0, measured=0.5, holds=True, reason="because " * 20),
        Claim("b", "Short", holds=False, reason="no", kind="bound", place="§2", cause="open", because="no idea"),
        Claim("c", "Unsaid", paper="about 3", reason="nothing to say"),
    ]
    out = Console(file=io.StringIO(), width=80, highlight=False)
    show_claims(claims, out)
    lines = [line.rstrip() for line in cast(io.StringIO, out.file).getvalue().splitlines()]
    assert lines[1] == "The paper’s claims: its one fails; ours: 1 of 2 holds, 1 is undecided"
    assert max(map(len, lines)) <= 80
    assert [line[0] for line in lines[2:] if line[0] != " "] == ["W", "✗", "W", "✓", "–"]  # by who says it
    assert lines[2:7] == ["What the paper says", "✗ Short", "  §2 · a bound", "  no", "  Open: no idea"]
    assert lines[-3:] == ["– Unsaid (paper about 3)", "  our expectation", "  nothing to say"]


def test_missing_runs_are_listed_by_reason() -> None:
    missing = {("Network", 1): "crashed: no luck", ("RF", 0): "crashed: no luck", ("NTK", 0): "not in the store"}
    lines = printed(paper_result(missing))
    assert lines[-2:] == ["missing: Network 1, RF 0 (crashed: no luck)", "missing: NTK 0 (not in the store)"]
    assert any("is decided" in line and line.endswith("(3 of 58 runs are missing)") for line in lines)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


NAMES = {"a": "Network 0", "b": "Network 1", "c": "RF 0", "d": "RF 1"}


def tell(display: Display, clock: Clock) -> None:
    display.planned(ask("features/table1", "smoke"), Round(NAMES, 3))
    clock.now = 1.0
    display.happened(Event("progress", chunk=("a", "b"), fraction=0.5))
    clock.now = 11.0
    display.happened(Event("run", "a", "finished", 1.0, 4.0))
    display.happened(Event("log", message="[bold]a learner's line[/bold] " + "x" * 100))
    clock.now = 15.0
    display.happened(Event("run", "b", "crashed", 1.0, 4.0, "no luck"))
    clock.now = 50.0
    display.happened(Event("progress", chunk=("c",), fraction=0.5))
    display.planned(ask("features/table1", "smoke"), Round({"e": "RF 2"}))


@pytest.mark.parametrize("terminal", [False, True])
def test_progress(terminal: bool) -> None:
    out = Console(file=io.StringIO(), width=80, force_terminal=terminal, highlight=False)
    clock = Clock()
    with Display(out, clock) as display:
        tell(display, clock)
    text = cast(io.StringIO, out.file).getvalue()
    assert "features/table1: 4 runs to do, 3 stored already" in text
    assert "features/table1, round 2: 1 run to do, 0 stored already" in text
    assert "2/4 runs, about 8 s left  Network 1 crashed: no luck" in text
    assert "[bold]a learner's line[/bold] " + "x" * 100 in text.replace("\n", "")
    if terminal:
        assert "\x1b[" in text
        assert "Network 0" not in text  # the bar says it
    else:
        assert "\x1b" not in text
        assert text.splitlines()[1:3] == [
            "1/4 runs, about 18 s left  Network 0 finished in 4.0 s",
            "[bold]a learner's line[/bold] " + "x" * 100,
        ]
        assert text.splitlines()[-2] == "2/4 runs, about 4 s left"  # half a minute without a word is too long
