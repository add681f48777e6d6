"""Samples needed as values, table cells and figures: what resnet/scaling makes of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beyondkernels.lab import Curves, Dot, Dots, Drawn, Line, Quantity, Rows, Series, Value, mean_interval, select

Learners = Mapping[str, Sequence[str]]
"""Learners by name, each with its methods. Of several methods the one that needs the fewest samples counts."""

AGAINST = {"C": "targets", "d": "dim"}
"""What exponents are fitted against, and the column that holds it."""


def needed(outputs: int, methods: Sequence[str], against: str, **where: Any) -> Value:
    """The samples that the best of several methods needs, for each d and seed; no number where none gets there.

    Arguments:
        outputs: k.
        methods: of which the least number counts.
        against: ``dim`` or ``targets``, the coordinate that is left free.
        where: further conditions on the rows.
    """

    def compute(rows: Rows) -> Series:
        mine = select(rows, {"outputs": outputs, "method": tuple(methods), **where})
        if mine.empty:
            return _nothing(against)
        numbers = mine.assign(needed=mine["needed"].astype(float))
        return numbers.groupby([against, "seed"], sort=False)["needed"].min()

    return Value(compute, against, name=f"needed({outputs}, {methods}, {against!r}, {where})")


def over_d_log_d(value: Value) -> Value:
    """A value that is free in d, divided by d log d."""

    def compute(rows: Rows) -> Series:
        series = value.compute(rows)
        return series / [d * math.log(d) for d in series.index.get_level_values(0)]

    return Value(compute, value.free, name=f"over_d_log_d({value.name})")


def for_every(values: Mapping[int, Value]) -> Value:
    """Values for several k as one value that is free in k."""

    def compute(rows: Rows) -> Series:
        import pandas as pd

        found = {k: series for k, value in values.items() if len(series := value.compute(rows))}
        if not found:
            return _nothing("outputs")
        return pd.concat(list(found.values()), keys=list(found), names=["outputs", "seed"])

    names = ", ".join(f"{k}: {value.name}" for k, value in values.items())
    return Value(compute, "outputs", name=f"for_every({names})")


def least_over(methods: Sequence[str], column: str) -> Value:
    """The least ratio of the samples needed to a column, over all rows that have the former."""

    def compute(rows: Rows) -> Series:
        import pandas as pd

        mine = select(rows, {"method": tuple(methods)})
        ratios = (mine["needed"].astype(float) / mine[column]).dropna() if len(mine) else []
        return pd.Series([min(ratios)] if len(ratios) else [], dtype=float)

    return Value(compute, None, name=f"least_over({methods}, {column!r})")


def amount(rows: Rows) -> str | None:
    """The samples needed in one cell of the table: mean and standard deviation over seeds, and who does not get there.

    Of several methods the least counts, seed by seed.
    """
    if rows.empty:
        return None
    least = rows.assign(needed=rows["needed"].astype(float)).groupby("seed")["needed"].min()
    there, missing = least.dropna(), int(least.isna().sum())
    beyond = f"> {rows['not_enough'].astype(float).max():.0f}"
    if there.empty:
        return beyond
    spread = f" ± {there.std():.0f}" if len(there) > 1 else ""
    return f"{there.mean():.0f}{spread}" + (f"; {missing} of {len(least)} {beyond}" if missing else "")


def winner(rows: Rows) -> str | None:
    """The method that needs the fewest samples on the mean over seeds, among those that always get there."""
    means = (
        rows.assign(needed=rows["needed"].astype(float))
        .groupby("method")["needed"]
        .agg(lambda mine: mine.mean(skipna=False))
    )
    there = means.dropna()
    return str(there.idxmin()) if len(there) else None


def exponents(rows: Rows, outputs: int, methods: Sequence[str], letter: str) -> list[float]:
    """The fitted exponents of the seeds whose learner gets there at every d."""
    return needed(outputs, methods, AGAINST[letter]).slope().compute(rows).dropna().tolist()


def exponent_lines(orders: Sequence[int], learners: Learners, keys: Mapping[str, str]) -> Callable[[Rows], list[dict]]:
    """Lines for the table with exponents and their intervals.

    Arguments:
        orders: all k.
        learners: by name.
        keys: the table's column of each learner.
    """

    def lines(rows: Rows) -> list[dict]:
        made = []
        for k in orders:
            for letter in AGAINST:
                line: dict[str, Any] = {"outputs": k, "dim": f"exponent of {letter}"}
                for name, methods in learners.items():
                    mean, low, high, _ = mean_interval(exponents(rows, k, methods, letter))
                    if mean is not None:
                        line[keys[name]] = f"{mean:.2f}" + ("" if low is None else f" [{low:.2f}, {high:.2f}]")
                if len(line) > 2:
                    made.append(line)
        return made

    return lines


def needed_curves(outputs: int, learners: Learners, bound: Line, picture: Drawn, rows: Rows) -> list[Curves]:
    """Samples needed over C, a line for each learner; a line is broken where a seed does not get there."""
    lines, left_out = [], []
    for name, methods in learners.items():
        series = needed(outputs, methods, "targets").compute(rows)
        wide = series.unstack(-1) if len(series) else series
        if len(series) and not wide.isna().all(axis=None):
            wide = wide.sort_index()
            lines.append(Line(name, [float(C) for C in wide.index], wide.to_numpy().T))
        left_out += [
            f"{name} at C = {C:g} ({int(mine.isna().sum())} of {len(mine)})"
            for C, mine in series.groupby(level=0, sort=False)
            if mine.isna().any()
        ]
    if not lines:
        return []
    words = dict(picture.words)
    if left_out:
        words["caption"] += f" Not within the largest N that was tried, so not drawn: {', '.join(left_out)}."
    return [
        Curves(
            **words,
            lines=[*lines, bound],
            x_label="number of targets C(d, k)",
            y_label="samples needed",
            x_scale="log",
            y_scale="log",
        )
    ]


def exponent_dots(orders: Sequence[int], learners: Learners, picture: Drawn, rows: Rows) -> list[Dots]:
    """The fitted exponents with their intervals, a row for each learner and k."""
    places = [(name, methods, k) for k in orders for name, methods in learners.items()]
    found = {
        letter: [mean_interval(exponents(rows, k, methods, letter))[:3] for _, methods, k in places]
        for letter in AGAINST
    }
    if all(mean is None for dots in found.values() for mean, _, _ in dots):
        return []
    return [
        Dots(
            **picture.words,
            methods=[f"{name}, k = {k}" for name, _, k in places],
            quantities=[
                Quantity(f"exponent of {letter}", [Dot(*dot) for dot in dots]) for letter, dots in found.items()
            ],
            interval="95 % t interval over seeds",
        )
    ]


def _nothing(free: str) -> Series:
    import pandas as pd

    return pd.Series([], dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=[free, "seed"]))
