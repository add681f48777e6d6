"""The one tidy table of an experiment: coordinates, numbers, status, and how each run was chosen.

A run that diverged has a row without numbers. One rule serves claims, tables and figures: means and ranges are over
the runs that have a number, and it is said how many have none; a claim that rests on a run without a number is
undecided, unless other runs refute it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from beyondkernels.lab.declaration.runs import Record

Rows: TypeAlias = Any
"""A pandas DataFrame; pandas' own types do not follow selections, and are not waited for."""

Series: TypeAlias = Any
"""A pandas Series."""

OUTCOME = "outcome"
"""The column that holds each row's run, for figures that look at more than its numbers."""

Where = Mapping[str, Any]
"""Which rows: for each column a value, a list of values, or a function that says yes or no."""


def tabulate(records: Iterable[Record]) -> Rows:
    """Records as a table; numbers that are missing are NaN, anything else that is missing is None."""
    import pandas as pd

    listed = list(records)
    names = list(dict.fromkeys(name for record in listed for name in record))
    return pd.DataFrame({name: _column([record.get(name) for record in listed]) for name in names})


def tidy(rows: Rows) -> Rows:
    """The table as people get it: without the runs themselves."""
    return rows.drop(columns=OUTCOME, errors="ignore").reset_index(drop=True)


def select(rows: Rows, where: Where) -> Rows:
    """The rows that meet every condition; none where a column is not there."""
    for name, wanted in where.items():
        if name not in rows:
            return rows.iloc[:0]
        rows = rows[rows[name].map(_test(wanted)).astype(bool)] if len(rows) else rows
    return rows


def lost(rows: Rows, column: str, by: Iterable[str]) -> list[tuple[dict[str, Any], int, int]]:
    """Where runs have no number: the coordinates, how many have none, and how many there are."""
    names = [name for name in by if name in rows]
    if rows.empty or column not in rows or not names:
        return []
    found = []
    for place, mine in rows.groupby(names, sort=False, dropna=False):
        if missing := int(mine[column].isna().sum()):
            found.append((dict(zip(names, place, strict=True)), missing, len(mine)))
    return found


def _test(wanted: Any) -> Callable[[Any], bool]:
    if callable(wanted):
        return lambda value: value == value and value is not None and bool(wanted(value))
    if isinstance(wanted, list | tuple | set | frozenset | range):
        return lambda value: value in wanted
    if wanted is None:
        return lambda value: value is None or value != value
    return lambda value: bool(value == wanted)


def _column(values: list[Any]) -> Any:
    import pandas as pd

    there = [value for value in values if value is not None]
    floats = bool(there) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in there)
    if floats and (len(there) == len(values) or any(isinstance(value, float) for value in there)):
        return pd.Series(values, dtype=float if len(there) < len(values) else None)
    same = len(there) == len(values) and len({type(value) for value in values}) == 1
    plain = same and isinstance(values[0], bool)
    return pd.Series(values, dtype=None if plain else object)  # as given: no 3 becomes 3.0 beside a gap
