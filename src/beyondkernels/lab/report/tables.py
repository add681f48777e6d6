"""Rows as HTML, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beyondkernels.core import InputError
from beyondkernels.lab.report.numbers import MISSING, is_number, plain, show_exactly, show_number

Row = Mapping[str, Any]

FEW = 4
"""From this many seeds on an interval or a spread says more than the seeds themselves."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Arguments:
        key: where its values stand in a row.
        heading: what is written above it; the key unless given.
        format: Python's format for its numbers, such as ``.1f``; chosen by size unless given.
        spread: the key of a second number that follows a ±.
        values: the key of the numbers of the single seeds; a page shows fewer than four of them in place of the
            spread.
        beside: for a column of published values, the key of the measured ones it stands beside.
        tolerance: how far a published value may be from the measured one without being marked as a difference.
        why: for a column of published values, the key of a sentence on why ours differ.
        about: a sentence on what the column holds, written beneath the table.
        better: which way is better, ``less`` or ``more``, where one is.

    >>> Column("test", "Test accuracy (%)", ".1f", spread="test_sd").cell({"test": 86.42, "test_sd": 0.31})
    '86.4 ± 0.3'
    """

    key: str
    heading: str = ""
    format: str = ""
    spread: str = ""
    values: str = ""
    beside: str = ""
    tolerance: float = 0.0
    why: str = ""
    about: str = ""
    better: str = ""

    @property
    def published(self) -> bool:
        """Whether it holds the paper's values."""
        return bool(self.beside)

    @property
    def title(self) -> str:
        """What is written above the column."""
        return self.heading or self.key.replace("_", " ")

    def cell(self, row: Row) -> str:
        """What is written in a row."""
        return f"{self.write(row.get(self.key))} {self._spread(row)}".rstrip()

    def spread_or_seeds(self, row: Row) -> str:
        """What stands behind the number on a page: the single seeds where they are few, else the spread."""
        seeds = self.seeds(row)
        if 1 < len(seeds) < FEW and self.write(row.get(self.key)) != MISSING:
            return f"({', '.join(map(self.write, seeds))})"
        return self._spread(row)

    def _spread(self, row: Row) -> str:
        spread = self.write(row.get(self.spread)) if self.spread else MISSING
        return "" if MISSING in (spread, self.write(row.get(self.key))) else f"± {spread}"

    def seeds(self, row: Row) -> list[float]:
        """The numbers of the single seeds, where the row has them."""
        given = row.get(self.values) if self.values else None
        return [] if given is None else [float(value) for value in given if is_number(value) and math.isfinite(value)]

    def numeric(self, rows: Sequence[Row]) -> bool:
        """Whether the column holds numbers, which are set flush right."""
        values = [row[self.key] for row in rows if row.get(self.key) is not None]
        return bool(values) and all(map(is_number, values))

    def write(self, value: Any) -> str:
        """A value of this column in its format."""
        if value is None:
            return MISSING
        if not is_number(value):
            return show_exactly(value)
        if not self.format:
            return show_number(float(value))
        if not math.isfinite(value):
            return MISSING
        number = value.item() if hasattr(value, "item") else value
        try:
            text = format(number, self.format)
        except ValueError as error:
            raise InputError(
                f"format of column {self.key!r} must be a number format such as .1f, got {self.format!r}"
            ) from error
        if not text.strip("-0.,%"):  # "-0.00" is a rounding error, not a sign
            text = text.lstrip("-")
        return text.replace("-", "−")


def columns_of(rows: Sequence[Row], columns: Sequence[Column] = ()) -> tuple[Column, ...]:
    """The columns of a table: the given ones, or one for each key in order of appearance."""
    return tuple(columns) or tuple(Column(key) for key in keys_of(rows))


def keys_of(rows: Sequence[Row], columns: Sequence[Column] = ()) -> list[str]:
    """Every key of the rows: those of the columns first, the rest in order of appearance."""
    first = [key for column in columns for key in (column.key, column.spread, column.values) if key]
    return list(dict.fromkeys([*first, *(key for row in rows for key in row)]))


def html_table(rows: Sequence[Row], columns: Sequence[Column] = ()) -> str:
    """An HTML table; every text is escaped.

    >>> print(html_table([{"method": "a < b", "test": 86.4}]))
    <table class="rows">
    ...
    <td>a &lt; b</td>
    <td class="number">86.4</td>
    ...
    """
    from beyondkernels.lab.report.html import render
    from beyondkernels.lab.report.table_view import table_view

    return render("table.html", table=table_view(rows, columns))


def to_csv(rows: Sequence[Row], columns: Sequence[Column] = ()) -> str:
    r"""Rows as CSV at full precision, every key a column; what is missing or not finite is empty.

    A text that a spreadsheet would take for a formula is given a leading apostrophe.

    >>> to_csv([{"method": "=A1", "test": 0.1}])
    "method,test\r\n'=A1,0.1\r\n"
    """
    keys = keys_of(rows, columns)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([_inert(key) for key in keys])
    writer.writerows([_inert(plain(row.get(key))) for key in keys] for row in rows)
    return text.getvalue()


def to_json(rows: Sequence[Row], **facts: Any) -> str:
    """Rows as a JSON document beside the facts it is given; what is not finite is null.

    >>> print(to_json([{"test": float("nan")}], experiment="features/table1"))
    {
     "schema": 1,
     "experiment": "features/table1",
     "rows": [
      {
       "test": null
      }
     ]
    }
    """
    document = {"schema": 1, **facts, "rows": [dict(row) for row in rows]}
    return json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False)


def _inert(value: Any) -> Any:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
