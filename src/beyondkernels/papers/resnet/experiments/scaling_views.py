"""Samples needed as values, table cells and figures: what resnet/scaling makes of its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from beyondkernels import lab
from beyondkernels.papers.resnet.experiments.hard_targets import NETWORK

MACHINE, BEST = "feature machine", "best kernel"
KERNELS = ("linear + power", "polynomial", "Gaussian", "tangent")
LEARNERS = {NETWORK: (NETWORK,), MACHINE: (MACHINE,), BEST: KERNELS}
"""Learners by name, each with its methods. Of several methods the one that needs the fewest samples counts."""

AGAINST = {"C": "targets", "d": "dim"}  # what exponents are fitted against, and the column that holds it
RATIO = lab.Quantity("ratio of the samples needed", within=lab.NON_NEGATIVE)


def needed(outputs: int, methods: Sequence[str], against: str, **where: Any) -> lab.Value:
    """The samples that the best of several methods needs, for each d and seed; no number where none gets there.

    ``against``, either ``dim`` or ``targets``, is the coordinate that is left free.
    """

    def compute(rows: lab.Rows) -> lab.Series:
        mine = _numbers(lab.select(rows, {"outputs": outputs, "method": tuple(methods), **where}))
        return mine.groupby([against, "seed"], sort=False)["needed"].min() if len(mine) else _nothing(against)

    return lab.Value(compute, against, "needed", f"needed({outputs}, {methods}, {against!r}, {where})")


def over_d_log_d(value: lab.Value) -> lab.Value:
    def compute(rows: lab.Rows) -> lab.Series:
        series = value.compute(rows)
        return series / [d * math.log(d) for d in series.index.get_level_values(0)]

    return lab.Value(compute, value.free, RATIO, f"over_d_log_d({value.name})")


def for_every(values: Mapping[int, lab.Value]) -> lab.Value:
    """Values for several k, all of one quantity, as one value that is free in k."""

    def compute(rows: lab.Rows) -> lab.Series:
        import pandas as pd

        found = {k: series for k, value in values.items() if len(series := value.compute(rows))}
        if not found:
            return _nothing("outputs")
        return pd.concat(list(found.values()), keys=list(found), names=["outputs", "seed"])

    names = ", ".join(f"{k}: {value.name}" for k, value in values.items())
    return lab.Value(compute, "outputs", next(iter(values.values())).quantity, f"for_every({names})")


def least_over(methods: Sequence[str], column: str) -> lab.Value:
    """The least ratio of the samples needed to a column, over all rows that have the former."""

    def compute(rows: lab.Rows) -> lab.Series:
        mine = _numbers(lab.select(rows, {"method": tuple(methods)}))
        return (mine["needed"] / mine[column]).dropna().groupby(mine["seed"]).min() if len(mine) else _nothing(column)

    return lab.Value(compute, None, RATIO, f"least_over({methods}, {column!r})", "least")


def amount(rows: lab.Rows) -> str | None:
    """The samples needed in one cell of the table: mean and standard deviation over seeds, and who does not get there.

    Of several methods the least counts, seed by seed.
    """
    if rows.empty:
        return None
    least = _numbers(rows).groupby("seed")["needed"].min()
    there, missing = least.dropna(), int(least.isna().sum())
    beyond = f"> {rows['not_enough'].astype(float).max():.0f}"
    if there.empty:
        return beyond
    spread = f" ± {there.std():.0f}" if len(there) > 1 else ""
    return f"{there.mean():.0f}{spread}" + (f"; {missing} of {len(least)} {beyond}" if missing else "")


def winner(rows: lab.Rows) -> str | None:
    """The method that needs the fewest samples on the mean over seeds, among those that always get there."""
    means = _numbers(rows).groupby("method")["needed"].agg(lambda mine: mine.mean(skipna=False)).dropna()
    return str(means.idxmin()) if len(means) else None


def exponent(rows: lab.Rows, outputs: int, name: str, letter: str) -> tuple[float | None, float | None, float | None]:
    """The mean of the fitted exponents with its interval, of the seeds whose learner gets there at every d."""
    found = needed(outputs, LEARNERS[name], AGAINST[letter]).slope().compute(rows).dropna().tolist()
    return lab.mean_interval(found)[:3]


def exponent_lines(rows: lab.Rows, orders: Sequence[int], keys: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lines for the table with exponents and their intervals, for all k, in the column of each learner."""
    lines = []
    for k in orders:
        for letter in AGAINST:
            line: dict[str, Any] = {"outputs": k, "dim": f"exponent of {letter}"}
            for name, key in keys.items():
                mean, low, high = exponent(rows, k, name, letter)
                if mean is not None:
                    line[key] = f"{mean:.2f}" + ("" if low is None else f" [{low:.2f}, {high:.2f}]")
            lines += [line] if len(line) > 2 else []
    return lines


def needed_curves(
    outputs: int, learners: Mapping[str, Sequence[str]], bound: lab.Line, picture: lab.Drawn, rows: lab.Rows
) -> list[lab.Curves]:
    """Samples needed over C, a line for each learner; a line is broken where a seed does not get there."""
    lines, left_out = [], []
    for name, methods in learners.items():
        series = needed(outputs, methods, "targets").compute(rows)
        if series.notna().any():
            wide = series.unstack(-1).sort_index()
            lines.append(lab.Line(name, [float(C) for C in wide.index], wide.to_numpy().T))
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
    axes: dict[str, Any] = {"x_label": "number of targets C(d, k)", "y_label": "samples needed"}
    return [lab.Curves(**words, lines=[*lines, bound], **axes, x_scale="log", y_scale="log")]


def exponent_dots(orders: Sequence[int], picture: lab.Drawn, rows: lab.Rows) -> list[lab.Dots]:
    places = [(name, k) for k in orders for name in LEARNERS]
    found = {letter: [exponent(rows, k, name, letter) for name, k in places] for letter in AGAINST}
    if all(mean is None for dots in found.values() for mean, _, _ in dots):
        return []
    return [
        lab.Dots(
            **picture.words,
            methods=[f"{name}, k = {k}" for name, k in places],
            quantities=[
                lab.DotColumn(f"exponent of {letter}", [lab.Dot(*dot) for dot in dots])
                for letter, dots in found.items()
            ],
            interval="95 % t interval over seeds",
        )
    ]


def _numbers(rows: lab.Rows) -> lab.Rows:
    return rows.assign(needed=rows["needed"].astype(float)) if len(rows) else rows


def _nothing(free: str) -> lab.Series:
    import pandas as pd

    return pd.Series([], dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=[free, "seed"]))
