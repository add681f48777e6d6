"""``bk bench``."""

from __future__ import annotations

import itertools
import shlex
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from beyondkernels.bench import BENCHMARKS, bench, document
from beyondkernels.cli.display import console, tables_of
from beyondkernels.cli.guard import INTERRUPTED, say_error
from beyondkernels.cli.output import is_standard_output, require_writable, write_document
from beyondkernels.core import InputError
from beyondkernels.lab import Column
from beyondkernels.store.provenance import provenance


def run_benchmark(name: str | None, json_file: Path | None) -> None:
    """Measure; say and write down every row as soon as it is measured, and print them all as a table at the end."""
    if name is None:
        known = "; ".join(f"bk bench {one}: {what}" for one, what in BENCHMARKS.items())
        raise InputError(f"no benchmark is named; {known}")
    measure = bench(name)
    if json_file is not None:
        require_writable(json_file)
    start, where = time.monotonic(), provenance(shlex.join(["bk", *sys.argv[1:]]))
    rows: list[Any] = []
    shown = console(stderr=is_standard_output(json_file))

    def write(complete: bool) -> None:
        if json_file is not None and (complete or not is_standard_output(json_file)):
            facts = where | {"seconds": time.monotonic() - start}
            write_document(
                json_file, document(name, rows, facts, complete=complete), "the rows printed are all there is"
            )

    try:
        for row in measure():
            rows.append(row)
            print(f"{_sentence(row)}, after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            write(complete=False)
    except KeyboardInterrupt:
        _show(rows, shown)
        say_error(f"interrupted after {len(rows)} rows" + (f", which {json_file} holds" if json_file and rows else ""))
        raise typer.Exit(INTERRUPTED) from None
    write(complete=True)
    _show(rows, shown)


def _sentence(row: Any) -> str:
    """A row of a benchmark for those who see no table: its name and what was measured."""
    numbers = [f"{name} {_short(getattr(row, name))}" for name in _measured(row) if getattr(row, name) is not None]
    return f"{_name(row)}: {', '.join(numbers)}"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _measured(row: Any) -> list[str]:
    """The fields that hold measured numbers."""
    return [field.name for field in fields(row) if isinstance(getattr(row, field.name), float | None)]


def _name(row: Any) -> str:
    """Its words and whole numbers until the first measured one."""
    values = [getattr(row, field.name) for field in fields(row)]
    known = itertools.takewhile(lambda value: isinstance(value, str | int), values)
    return row.name if hasattr(row, "name") else " ".join(str(value) for value in known)


def _show(rows: list[Any], out: Console) -> None:
    """The numbers as a table; what they were measured against beneath it."""
    if not rows:
        return
    words = ("against", "remark")
    measured = _measured(rows[0])
    columns = [Column("measured"), *map(Column, measured)]
    values = [{"measured": _name(row)} | {name: getattr(row, name) for name in measured} for row in rows]
    out.print(*tables_of(columns, values, out.width), sep="\n")
    for row in rows:
        remarks = [getattr(row, word) for word in words if getattr(row, word, "")]
        if remarks:
            out.print(Text(f"{_name(row)}: against {'; '.join(remarks)}", style="dim"))
