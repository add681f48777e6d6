"""A table as its template is given it, and where its published values differ from ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from beyondkernels.reports.numbers import MISSING, is_number
from beyondkernels.reports.pages import Difference
from beyondkernels.reports.tables import FEW, Column, Row, columns_of

_WIDE = 11  # with more columns than this, spreads counted, a table is set more tightly to fit a desk


def table_view(rows: Sequence[Row], columns: Sequence[Column] = (), published: bool = True) -> dict[str, Any]:
    """What the template of a table is given: headings and cells, numbers and spreads apart so that both align.

    Arguments:
        rows: the rows.
        columns: what is shown of them.
        published: whether published values stand beside ours.
    """
    shown = columns_of(rows, columns)
    numeric = [column.numeric(rows) for column in shown]
    head: list[dict[str, Any]] = []
    body: list[list[dict[str, Any]]] = [[] for _ in rows]
    for column, number in zip(shown, numeric, strict=True):
        beside = [column.beside(row) for row in rows]
        wide = number and any(beside)
        head.append({"text": column.title, "number": number, "span": 2 if wide else 1, "paper": False})
        with_paper = published and bool(column.paper)
        if with_paper:
            head.append({"text": "paper", "number": True, "span": 1, "paper": True})
        for line, row, spread in zip(body, rows, beside, strict=True):
            text = column.write(row.get(column.key)) if wide else column.cell(row)
            line.append({"text": text, "kind": "number" if number else "", "differs": False})
            if wide:
                line.append({"text": spread, "kind": "spread", "differs": False})
            if with_paper:
                value, differs = column.write(row.get(column.paper)), differs_from_paper(column, row)
                line.append({"text": value, "kind": "number published", "differs": differs})
    about = [{"text": column.title, "about": column.about} for column in shown if column.about]
    return {"head": head, "body": body, "about": about, "wide": sum(cell["span"] for cell in head) > _WIDE}


def differs_from_paper(column: Column, row: Row) -> bool:
    r"""Whether a cell's published value is one that a further seed would not be expected to give.

    With n seeds of mean v̄ and standard deviation s, the published value p, printed to within r, differs when

    .. math:: |p - \bar v| > r + \max\bigl(\text{tolerance},\; t_{n-1,\,0.975} \, s \sqrt{1 + 1/n}\bigr)

    which is the 95 % interval of prediction. Below four seeds, where that interval is too wide to say anything, the
    distance from the mean to the farthest seed takes its place.

    >>> column = Column("cosine", format=".3f", values="seeds", paper="printed", tolerance=0.05)
    >>> differs_from_paper(column, {"cosine": 0.993, "seeds": [0.991, 0.995], "printed": 0.848})
    True
    """
    printed, mean, seeds = _number(row.get(column.paper)), _number(row.get(column.key)), column.seeds(row)
    if printed is None or mean is None or not seeds:
        return False
    return abs(printed - mean) > _rounding(column.format) + max(column.tolerance, _reach(mean, seeds))


def table_differences(rows: Sequence[Row], columns: Sequence[Column]) -> list[Difference]:
    """The marked cells of a table, one line each; a row is called by its first column."""
    found = []
    for row in rows:
        for column in columns:
            if column.paper and differs_from_paper(column, row):
                name = columns[0].cell(row)
                quantity = column.title if name == MISSING or column is columns[0] else f"{name}: {column.title}"
                found.append(Difference(quantity, column.cell(row), column.write(row.get(column.paper))))
    return found


def _number(value: Any) -> float | None:
    return float(value) if is_number(value) and math.isfinite(value) else None


def _reach(mean: float, seeds: Sequence[float]) -> float:
    n = len(seeds)
    if n < FEW:
        return max(abs(value - mean) for value in seeds)
    from scipy.special import stdtrit

    s = math.sqrt(math.fsum((value - mean) ** 2 for value in seeds) / (n - 1))
    return float(stdtrit(n - 1, 0.975)) * s * math.sqrt(1 + 1 / n)


def _rounding(style: str) -> float:
    """Half a unit of the last decimal that a format such as ``.3f`` prints."""
    digits = style[1:-1] if style.startswith(".") and style.endswith("f") else ""
    return 0.5 * 10.0 ** -int(digits) if digits.isdigit() else 0.0
