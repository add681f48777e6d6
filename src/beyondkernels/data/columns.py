"""Columns of tables: those of test points and of new points go by their names, as the training points had them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from beyondkernels.core import require


def is_frame(data: Any) -> bool:
    """Whether this is a table with named columns."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def column_names(data: Any) -> tuple[str, ...]:
    """The names of a table's columns; none for what is no table."""
    return tuple(str(name) for name in data.columns) if is_frame(data) else ()


def in_order(data: Any, columns: tuple[str, ...], name: str, target: str | None = None) -> Any:
    """A table with its columns in the order of the training points; what has no names stays as it is.

    Arguments:
        data: a table; an array, and a table whose columns are only numbered, are read by position.
        columns: the columns of the training points; none where these had no names.
        name: what to call the table in error messages.
        target: the column of the labels, which is left out.

    >>> import pandas
    >>> in_order(pandas.DataFrame({"y": [0], "b": [1], "a": [2]}), ("a", "b"), "x", "y").columns.tolist()
    ['a', 'b']
    """
    if not is_frame(data):
        return data
    if target is not None and target not in columns:
        data = data.iloc[:, [i for i, each in enumerate(column_names(data)) if each != target]]
    came = column_names(data)
    by_position = not columns or (set(came) != set(columns) and (_only_numbered(came) or _only_numbered(columns)))
    if came == columns or by_position:
        return data
    missing = [each for each in columns if each not in came]
    require(not missing, f"{name} must have the columns of the training points, got none called {_some(missing)}")
    unknown = [each for each in came if each not in columns]
    require(
        not unknown,
        f"{name} must have the columns of the training points alone, {_some(columns)}, got {_some(unknown)} besides",
    )
    several = [each for each in dict.fromkeys(came) if came.count(each) > 1]
    require(not several, f"{name} must have each column once, got several called {_some(several)}")
    return data.iloc[:, [came.index(each) for each in columns]]


def _only_numbered(columns: tuple[str, ...]) -> bool:
    """Whether these are the names that pandas gives to columns without any."""
    return columns == tuple(str(i) for i in range(len(columns)))


def _some(names: Iterable[str]) -> str:
    first = [repr(each) for each in names]
    return ", ".join(first[:5]) + (f" and {len(first) - 5} more" if len(first) > 5 else "")
