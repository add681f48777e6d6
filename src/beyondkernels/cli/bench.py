"""``bk bench``."""

from __future__ import annotations

import itertools
import shlex
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.text import Text

from beyondkernels.bench import BENCHMARKS, bench
from beyondkernels.cli.display import console, tables_of
from beyondkernels.cli.output import require_writable, write_document
from beyondkernels.core import InputError
from beyondkernels.reports import Column
from beyondkernels.runs.provenance import provenance


def run_benchmark(name: str | None, json_file: Path | None) -> None:
    """Measure, print the table, and write it down."""
    if name is None:
        known = "; ".join(f"bk bench {one}: {what}" for one, what in BENCHMARKS.items())
        raise InputError(f"no benchmark is named; {known}")
    measure = bench(name)
    if json_file is not None:
        require_writable(json_file)
    start = time.monotonic()
    rows: list[Any] = []
    for row in measure():
        rows.append(row)
        print(f"{_name(row)} done after {time.monotonic() - start:.0f} s", file=sys.stderr)
    _show(rows)
    if json_file is not None:
        document = {
            "rows": [row.as_json() for row in rows],
            "provenance": provenance(shlex.join(["bk", *sys.argv[1:]])) | {"seconds": time.monotonic() - start},
        }
        write_document(json_file, document, "the table above is all there is")


def _name(row: Any) -> str:
    """Its words and whole numbers until the first measured one."""
    values = [getattr(row, field.name) for field in fields(row)]
    known = itertools.takewhile(lambda value: isinstance(value, str | int), values)
    return row.name if hasattr(row, "name") else " ".join(str(value) for value in known)


def _show(rows: list[Any]) -> None:
    """The numbers as a table; what they were measured against beneath it."""
    words = ("against", "remark")
    measured = [field.name for field in fields(rows[0]) if isinstance(getattr(rows[0], field.name), float | None)]
    columns = [Column("measured"), *map(Column, measured)]
    values = [{"measured": _name(row)} | {name: getattr(row, name) for name in measured} for row in rows]
    out = console()
    out.print(*tables_of(columns, values, out.width), sep="\n")
    for row in rows:
        remarks = [getattr(row, word) for word in words if getattr(row, word, "")]
        if remarks:
            out.print(Text(f"{_name(row)}: against {'; '.join(remarks)}", style="dim"))
