"""What a result looks like in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from beyondkernels.experiments import Result
from beyondkernels.reports import Claim, show_number

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}


def console(stderr: bool = False) -> Console:
    """A console that neither guesses at links nor colours numbers."""
    return Console(stderr=stderr, highlight=False)


def show_result(result: Result, out: Console) -> None:
    """The table, then the claims."""
    experiment, settings = result.request.experiment, result.request.settings
    columns, rows = experiment.table(settings, result.rows)
    seeds = len(result.request.seeds)
    table = Table(
        title=f"{experiment.id} · {result.request.scale} · {seeds} {'seed' if seeds == 1 else 'seeds'}",
        title_justify="left",
        header_style="bold",
    )
    for column in columns:
        table.add_column(Text(column.title), justify="right" if column.numeric(rows) else "left")
    for row in rows:
        table.add_row(*(Text(column.cell(row)) for column in columns))
    if columns and rows:
        out.print(table)
    show_claims(result.claims, out)
    for label, status in result.missing.items():
        out.print(Text(f"missing: {' '.join(map(str, label))} ({status})", style="red"))


def show_claims(claims: list[Claim], out: Console) -> None:
    """A line for each claim, its reason beneath."""
    for claim in claims:
        mark, style = _MARKS[claim.holds]
        measured = "" if claim.measured is None else f": {show_number(claim.measured, claim.unit)}"
        printed = "" if claim.paper is None else f" (paper {_paper(claim)})"
        out.print(Text.assemble((mark, style), f" {claim.text}{measured}{printed}"))
        out.print(Text(f"    {claim.reason}", style="dim"))


def _paper(claim: Claim) -> str:
    return claim.paper if isinstance(claim.paper, str) else show_number(claim.paper, claim.unit)
