"""The numbers the papers print."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any


@functools.cache
def published(paper: str, name: str) -> dict[str, Any]:
    """What a paper prints in a table or figure.

    >>> published("features", "table1")["test_accuracy"][0]
    100.0
    """
    text = Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)[paper][name]


def by_method(paper: str, name: str, quantity: str, case: str = "") -> dict[str, float | None]:
    """A printed column by method; None where nothing is printed.

    Arguments:
        paper: its short name.
        name: of the table.
        quantity: which column.
        case: which part of a table that has several, such as ``d = 100``; no part of that name has no column.
    """
    table = published(paper, name)
    if case:
        table = table.get(case, {"methods": (), quantity: ()})
    return {
        method: None if value != value else value
        for method, value in zip(table["methods"], table[quantity], strict=True)
    }
