"""Whether claims can fail: each is judged again on tables that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from beyondkernels.lab.declaration.quantities import Quantities
from beyondkernels.lab.declaration.rows import Rows
from beyondkernels.lab.declaration.statements import Statement
from beyondkernels.lab.report.claims import LITTLE

NOT_MEASURED = frozenset({"seed", "status", "outcome"})
FACTORS = 10.0, LITTLE
"""How far off a single column is made."""

_SHUFFLE = 20260
"""The seed of the one random order; any would do."""


def noticed(statements: Sequence[Statement], rows: Rows, quantities: Quantities) -> dict[str, list[str]]:
    """For each claim that holds, the wrong tables on which it no longer does.

    A claim that none of them shakes does not depend on what was measured. It is a check of the machinery at most.

    Arguments:
        statements: the claims.
        rows: the right table.
        quantities: those of the experiment.
    """
    holding = [each for each in statements if each.claim(rows, True, quantities).holds]
    found: dict[str, list[str]] = {each.id: [] for each in holding}
    for name, wrong in wrong_tables(holding, rows, quantities):
        for each in holding:
            if name not in found[each.id] and not each.claim(wrong, True, quantities).holds:
                found[each.id].append(name)
    return found


def wrong_tables(statements: Sequence[Statement], rows: Rows, quantities: Quantities) -> Iterator[tuple[str, Rows]]:
    """Tables that are wrong on purpose, each with a name.

    - the measured numbers of one coordinate's values are exchanged: each learner gets those of another one;
    - all measured numbers are shuffled among the rows;
    - nothing is learnt: each column has its worst number everywhere, or its median if no direction is better;
    - one column is ten or a hundred times, or such a part of, what it was, or has the other sign if it can; of a column
      that says whether something is so, the opposite.

    Arguments:
        statements: the claims, which say what is a coordinate and what is measured.
        rows: the right table.
        quantities: those of the experiment.
    """
    coordinates = {name for each in statements for name in each.value.coordinates} & set(rows.columns)
    numbers = [name for name in rows.columns if rows[name].dtype.kind in "fiu" and name not in NOT_MEASURED]
    measured = [name for name in numbers if name not in coordinates]
    for column in sorted(coordinates):
        for wrong in _exchanged(rows, column, sorted(coordinates - {column}), measured):
            yield f"{column} exchanged", wrong
    shuffled = rows.copy()
    shuffled[measured] = rows[measured].sample(frac=1.0, random_state=_SHUFFLE).to_numpy()
    yield "shuffled", shuffled
    yield "nothing learnt", rows.assign(**{name: _nothing(rows[name], quantities[name].better) for name in measured})
    flags = {name for each in statements if each.value.statistic == "share" for name in each.value.columns}
    for column in measured:
        if column in flags:
            yield f"not {column}", rows.assign(**{column: 1 - rows[column]})
            continue
        low, high = quantities[column].within
        for factor in FACTORS:
            yield f"{column} × {factor:g}", rows.assign(**{column: (rows[column] * factor).clip(low, high)})
            yield f"{column} / {factor:g}", rows.assign(**{column: rows[column] / factor})
        if low < 0:
            yield f"−{column}", rows.assign(**{column: -rows[column]})


def _exchanged(rows: Rows, column: str, others: list[str], measured: list[str]) -> Iterator[Rows]:
    """The measured numbers of each value of a coordinate handed to another one, all else being equal.

    Words are handed on by one place, by two, and so on, so that every two of them meet. Of numbers the order is
    reversed, so that what fell along the coordinate rises.
    """
    import numpy as np

    by = [name for name in (*others, "seed") if name in rows.columns]
    groups = list(rows.groupby(by, sort=False, dropna=False).indices.values()) if by else [np.arange(len(rows))]
    reverse = rows[column].dtype.kind in "fiu"
    for shift in range(1, 2 if reverse else max(map(len, groups))):
        order = np.arange(len(rows))
        for places in groups:
            order[places] = places[::-1] if reverse else np.roll(places, -shift)
        if (order != np.arange(len(rows))).any():
            wrong = rows.copy()
            wrong[measured] = rows[measured].iloc[order].to_numpy()
            yield wrong


def _nothing(numbers: Any, better: str) -> float:
    return float({"less": numbers.max, "more": numbers.min}.get(better, numbers.median)())
