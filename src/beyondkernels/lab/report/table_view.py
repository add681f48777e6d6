"""A table as its template is given it, and where its published values differ from ours."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from beyondkernels.lab.report.numbers import MISSING, is_number, power_of_ten
from beyondkernels.lab.report.pages import Difference
from beyondkernels.lab.report.tables import FEW, Column, Row, columns_of

_WIDE = 11  # with more columns than this, spreads counted, a table sets spreads beneath numbers to fit a desk

_BETTER = {"less": "↓", "more": "↑"}


def table_view(rows: Sequence[Row], columns: Sequence[Column] = (), published: bool = True) -> dict[str, Any]:
    """What the template of a table is given: headings and cells, numbers and spreads apart so that both align.

    Arguments:
        rows: the rows.
        columns: what is shown of them.
        published: whether published values stand beside ours.
    """
    shown = [column for column in columns_of(rows, columns) if published or not column.published]
    measured = {column.key: column for column in shown}
    spreads = {column.key: [column.spread_or_seeds(row) for row in rows] for column in shown if column.numeric(rows)}
    wide = len(shown) + sum(map(any, spreads.values())) > _WIDE
    head: list[dict[str, Any]] = []
    body: list[list[dict[str, Any]]] = [[] for _ in rows]
    for column in shown:
        measures = column.key in spreads
        number = measures or _reads_like_numbers(column, rows)
        apart = measures and any(spreads[column.key]) and not wide
        better = _BETTER.get(column.better, "")
        words = {"text": column.title, "number": number, "paper": column.published, "better": better}
        head.append({**words, "span": 2 if apart else 1})
        kind = " ".join(filter(None, ("number" if number else "", "published" if column.published else "")))
        for i, (line, row) in enumerate(zip(body, rows, strict=True)):
            text = _for_people(column.write(row.get(column.key))) if measures else column.cell(row)
            differs = column.beside in measured and differs_from_paper(measured[column.beside], column, row)
            beneath = _together(spreads[column.key][i]) if measures and wide else ""
            line.append({"text": text, "beneath": beneath, "kind": kind, "differs": differs})
            if apart:
                line.append(
                    {"text": _for_people(spreads[column.key][i]), "beneath": "", "kind": "spread", "differs": False}
                )
    told: dict[str, list[str]] = {}
    for column in shown:
        told.setdefault(column.about, []).append(column.title)
    about = [{"text": ", ".join(titles), "about": words} for words, titles in told.items() if words]
    return {"head": head, "body": body, "about": about, "wide": wide}


def differs_from_paper(measured: Column, published: Column, row: Row) -> bool:
    r"""Whether a published value is one that a further seed would not be expected to give.

    With n seeds of mean v̄ and standard deviation s, the published value p, printed to within r, differs when

    .. math:: |p - \bar v| > r + \max\bigl(\text{tolerance},\; t_{n-1,\,0.975} \, s \sqrt{1 + 1/n}\bigr)

    which is the 95 % interval of prediction. Below four seeds, where that interval is too wide to say anything, the
    distance from the mean to the farthest seed takes its place.

    Arguments:
        measured: the column of our values, with those of the single seeds.
        published: the column of the paper's values, with its tolerance and format.
        row: the row.

    >>> cosine = Column("cosine", format=".3f", values="seeds")
    >>> printed = Column("printed", "paper", ".3f", beside="cosine", tolerance=0.05)
    >>> differs_from_paper(cosine, printed, {"cosine": 0.993, "seeds": [0.991, 0.995], "printed": 0.848})
    True
    """
    value, mean, seeds = _number(row.get(published.key)), _number(row.get(measured.key)), measured.seeds(row)
    if value is None or mean is None or not seeds:
        return False
    return abs(value - mean) > _rounding(published.format) + max(published.tolerance, _reach(mean, seeds))


def table_differences(rows: Sequence[Row], columns: Sequence[Column]) -> list[Difference]:
    """The marked cells of a table, one line each; a row is called by its first column."""
    measured = {column.key: column for column in columns}
    pairs = [(measured[column.beside], column) for column in columns if column.beside in measured]
    return [
        Difference(
            _quantity(columns[0], column, row), column.cell(row), printed.cell(row), str(row.get(printed.why) or "")
        )
        for row in rows
        for column, printed in pairs
        if differs_from_paper(column, printed, row)
    ]


def _quantity(first: Column, column: Column, row: Row) -> str:
    name = first.cell(row)
    return column.title if name == MISSING or column is first else f"{name}: {column.title}"


def _for_people(text: str) -> str:
    """A text with its numbers in powers of ten as people write them."""
    return re.sub(r"[\d.]+e[−+]\d+", lambda found: power_of_ten(found[0].replace("−", "-")).replace("-", "−"), text)


def _together(spread: str) -> str:
    """A spread that stays on one line; the numbers of single seeds may take several."""
    spread = _for_people(spread)
    return spread.replace(" ", "\N{NO-BREAK SPACE}") if spread.startswith("±") else spread


def _reads_like_numbers(column: Column, rows: Sequence[Row]) -> bool:
    """Whether a column of words holds numbers that were written out before, such as coordinates."""
    cells = [cell for row in rows if (cell := column.cell(row)) != MISSING]
    return bool(cells) and all(re.fullmatch(r"[−-]?\d[\d,.]*", cell) for cell in cells)


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
