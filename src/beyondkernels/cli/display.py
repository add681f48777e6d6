"""What a result looks like in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beyondkernels.experiments import Result
from beyondkernels.reports import Claim, Column, show_number
from beyondkernels.reports.tables import columns_of

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}
_GAP = 2


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console that neither guesses at links nor colours numbers."""
    return _Console(stderr=stderr, highlight=False)


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "seed"), count(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def show_result(result: Result, out: Console) -> None:
    """The table, then the claims, then what is missing."""
    request = result.request
    columns, rows = request.experiment.table(request.settings, result.rows)
    out.print(
        Text(f"\n{request.experiment.id} · {request.scale} scale · {count(len(request.seeds), 'seed')}", style="bold")
    )
    if rows:
        out.print(table_of(columns_of(rows, columns), rows, out.width))
        if len(request.seeds) > 1 and any(column.spread.endswith("_sd") for column in columns):
            out.print(Text("± standard deviation over seeds", style="dim"))
    show_claims(result.claims, out)
    reasons: dict[str, list[str]] = {}
    for label, reason in result.missing.items():
        reasons.setdefault(reason, []).append(" ".join(map(str, label)))
    for reason, labels in reasons.items():
        out.print(Text(f"missing: {', '.join(labels)} ({reason})", style="red"))


def table_of(columns: Sequence[Column], rows: Sequence[Any], width: int) -> Table:
    """A table whose cells stay on one line if the width allows it at all."""
    cells = [[column.cell(row) for column in columns] for row in rows]
    if _width(columns, cells) > width:
        cells = [[cell.replace(" ± ", "±") for cell in line] for line in cells]
    table = plain_table()
    for column in columns:
        side = "right" if column.numeric(rows) else "left"
        fits = _width(columns, cells) <= width
        table.add_column(Text(column.title), justify=side, no_wrap=fits, overflow="fold")
    for line in cells:
        table.add_row(*map(Text, line))
    return table


def plain_table() -> Table:
    """A table with a line under its head and nothing else to take up room."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold")


def show_claims(claims: Sequence[Claim], out: Console) -> None:
    """How many hold; then each claim, its reason beneath unless all have the same."""
    if not claims:
        return
    verdicts = [claim.holds for claim in claims]
    words = {True: ("holds", "hold"), False: ("fails", "fail"), None: ("undecided", "undecided")}
    parts = [f"{n} {words[v][n > 1]}" for v in words if (n := verdicts.count(v))]
    reasons = {claim.reason for claim in claims}
    common = len(claims) > 1 and len(reasons) == 1
    out.print(Text(f"\nClaims: {', '.join(parts)}" + (f" ({reasons.pop()})" if common else ""), style="bold"))
    lines = Table.grid(padding=(0, 1))
    for claim in claims:
        mark, style = _MARKS[claim.holds]
        measured = "" if claim.measured is None else f": {show_number(claim.measured, claim.unit)}"
        printed = "" if claim.paper is None else f" (paper {_paper(claim)})"
        lines.add_row(Text(mark, style), Text(f"{claim.text}{measured}{printed}"))
        if claim.reason and not common:
            lines.add_row("", Text(claim.reason, style="dim"))
    out.print(lines)


def _width(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> int:
    lines = [[column.title for column in columns], *cells]
    return sum(max(map(len, texts)) for texts in zip(*lines, strict=True)) + _GAP * (len(columns) - 1)


def _paper(claim: Claim) -> str:
    return claim.paper if isinstance(claim.paper, str) else show_number(claim.paper, claim.unit)
