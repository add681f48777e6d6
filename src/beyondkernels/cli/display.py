"""What a result looks like in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beyondkernels.execution import Event
from beyondkernels.lab import Claim, Column, Result, show_number
from beyondkernels.lab.report.tables import columns_of
from beyondkernels.lab.report.verdicts import count_verdicts, verdict_sentence
from beyondkernels.lab.report.views import SOURCES, claim_view

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}
_GAP = 2


def console(stderr: bool = False) -> Console:
    """A console that neither guesses at links nor colours numbers."""
    return Console(stderr=stderr, highlight=False)


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "seed"), count(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def show_result(result: Result, out: Console, *, debug: bool = False) -> None:
    """The table, then the claims, then what is missing, and where in whose code it crashed.

    Arguments:
        result: what came of a request.
        out: where to.
        debug: whether to show whole tracebacks.
    """
    request = result.request
    columns, rows = result.table
    out.print(Text(f"\n{request.words()}", style="bold"))
    if rows:
        tables = tables_of(columns_of(rows, columns), rows, out.width)
        for i, table in enumerate(tables):
            out.print(*([""] if i else []), table, sep="\n")
        if len(request.seeds) > 1 and any(column.spread.endswith("_sd") for column in columns):
            shown = any("±" in str(cell) for table in tables for column in table.columns for cell in column.cells)
            left_out = "standard deviations over seeds are left out: a wider window shows them"
            out.print(Text("± standard deviation over seeds" if shown else left_out, style="dim"))
    show_claims(result.claims, out)
    reasons: dict[str, list[str]] = {}
    for label, reason in result.missing.items():
        reasons.setdefault(reason, []).append(" ".join(map(str, label)))
    for reason, labels in reasons.items():
        out.print(Text(f"missing: {', '.join(labels)} ({reason})", style="red"))
    same: dict[str, list[Event]] = {}
    for event in result.crashes.values():
        same.setdefault(event.frames, []).append(event)
    for frames, events in same.items():
        if frames:
            whole = "" if debug else "; --debug shows all of it"
            out.print(Text(f"\ntraceback of {count(len(events), 'run')}{whole}:", style="red"))
            # a line of code stays one line
            out.print(Text(textwrap.indent(events[0].traceback if debug else frames, "  ")), soft_wrap=True)


def tables_of(columns: Sequence[Column], rows: Sequence[Any], width: int) -> list[Table]:
    """A table whose cells stay on one line; if it is too wide it becomes several, one below the other.

    Spreads are left out only where a single column with its spread is wider than the window.

    Arguments:
        columns: the columns; those first ones that tell the rows apart stand in every table, if there is room.
        rows: the rows.
        width: how wide a table may be.
    """
    whole = [[column.cell(row) for column in columns] for row in rows]
    close = [[cell.replace(" ± ", "±") for cell in line] for line in whole]
    bare = [[cell.partition("±")[0].rstrip() for cell in line] for line in whole]
    cells = whole if sum(_widths(columns, whole)) - _GAP <= width else close
    if max(_widths(columns, cells)[1:], default=0) + _widths(columns, cells)[0] - _GAP > width:
        cells = bare
    widths = _widths(columns, cells)
    lead = _telling(cells)
    if sum(widths[: len(lead)]) + max(widths[len(lead) :], default=0) - _GAP > width:
        lead = [0]
    groups = [[*lead]]
    for i in range(len(lead), len(columns)):
        if len(groups[-1]) > len(lead) and sum(widths[j] for j in (*groups[-1], i)) - _GAP > width:
            groups.append([*lead])
        groups[-1].append(i)
    tables = [_table(group, len(lead), columns, rows, cells, widths) for group in groups]
    return [table for i, table in enumerate(tables) if i == 0 or table.row_count > 0]


def _telling(cells: Sequence[list[str]]) -> list[int]:
    """The fewest first columns in which no two rows are the same; the first alone where all columns are needed."""
    count = len(cells[0]) if cells else 1
    fewest = next((n for n in range(1, count) if len({tuple(line[:n]) for line in cells}) == len(cells)), 1)
    return list(range(fewest))


def _table(
    which: Sequence[int],
    lead: int,
    columns: Sequence[Column],
    rows: Sequence[Any],
    cells: Sequence[list[str]],
    widths: list[int],
) -> Table:
    """Some of the columns; rows that say nothing in them are left out."""
    table = plain_table()
    for i in which:
        title = "\n".join(textwrap.wrap(columns[i].title, max(widths[i] - _GAP, 1), break_long_words=False))
        table.add_column(Text(title), justify="right" if columns[i].numeric(rows) else "left", overflow="fold")
    for line in cells:
        if len(which) == lead or any(line[i] not in ("", "–") for i in which[lead:]):
            table.add_row(*(Text(line[i]) for i in which))
    return table


def plain_table() -> Table:
    """A table with a line under its head and nothing else to take up room."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold")


def show_claims(claims: Sequence[Claim], out: Console) -> None:
    """How many hold; then each claim by who says it, its reason beneath unless all have the same."""
    if not claims:
        return
    reasons = {claim.reason for claim in claims}
    common = len(claims) > 1 and len(reasons) == 1
    told = verdict_sentence(count_verdicts(claims))
    out.print(Text(f"\n{told}" + (f" ({reasons.pop()})" if common else ""), style="bold"))
    for source, heading in SOURCES.items():
        theirs = [claim for claim in claims if claim.source == source]
        if not theirs:
            continue
        lines = Table.grid(padding=(0, 1))
        for claim in theirs:
            mark, style = _MARKS[claim.holds]
            measured = "" if claim.measured is None else f": {show_number(claim.measured, claim.unit)}"
            printed = "" if claim.paper is None else f" (paper {_paper(claim)})"
            lines.add_row(Text(mark, style), Text(f"{claim.text}{measured}{printed}"))
            view = claim_view(claim)
            why = "" if common else "; ".join(filter(None, (claim.reason, view["sets"])))
            for words in filter(None, (view["where"], why, view["cause"])):
                lines.add_row("", Text(words, style="dim"))
        out.print(Text(heading))
        out.print(lines)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    """What each column takes, the gap after it too; a title may break between its words."""
    words = [max(map(len, column.title.split()), default=0) for column in columns]
    texts = zip(*cells, strict=True)
    return [max(word, *map(len, column)) + _GAP for word, column in zip(words, texts, strict=True)]


def _paper(claim: Claim) -> str:
    return claim.paper if isinstance(claim.paper, str) else show_number(claim.paper, claim.unit)
