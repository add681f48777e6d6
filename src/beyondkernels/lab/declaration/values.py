"""What a claim is about: one number for each seed, taken from a selection of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from beyondkernels.lab.declaration.rows import Rows, Series, Where, select
from beyondkernels.lab.report.claims import ANY, Range

if TYPE_CHECKING:
    from beyondkernels.lab.report.claims import Condition


@dataclass(frozen=True)
class Value:
    """A number for each seed, and for each value of a coordinate where one is left free.

    A claim about a value with a free coordinate is a claim for every value of that coordinate. Values combine seed by
    seed: ``of("error", method="a") - of("error", method="b")`` is a paired difference.

    Arguments:
        compute: from the rows to a pandas Series, indexed by the free coordinate (if there is one) and the seed.
        free: the coordinate that is left free.
        within: the least and the greatest value there can be.
        name: what it is made of, in words that tell it from every other value of an experiment.

    >>> (of("error", method="a") - of("error", method="b")).name
    "(of('error', method='a') - of('error', method='b'))"
    """

    compute: Callable[[Rows], Series]
    free: str | None = None
    within: Range = ANY
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", _written(self.compute))

    def __sub__(self, other: Value) -> Value:
        name = f"({self.name} - {other.name})"
        return Value(lambda rows: self.compute(rows) - other.compute(rows), self.free, name=name)

    def __truediv__(self, other: Value) -> Value:
        name = f"({self.name} / {other.name})"
        return Value(lambda rows: self.compute(rows) / other.compute(rows), self.free, name=name)

    def slope(self) -> Value:
        r"""For each seed the least-squares slope of log value on the log of the free coordinate.

        A seed has none where a number is missing or not positive, or with fewer than two values of the coordinate.
        """
        return replace(self._by_seed("slope", _slope), within=ANY)

    def largest(self, per_seed: bool = True) -> Value:
        """For each seed the largest over the free coordinate, or that of all runs; none where a number is missing.

        Arguments:
            per_seed: whether each seed has a largest number of its own.
        """
        if per_seed:
            return self._by_seed("largest", lambda mine: mine.max(skipna=False))

        def compute(rows: Rows) -> Series:
            import pandas as pd

            series = self.compute(rows)
            return pd.Series([series.max(skipna=False)] if len(series) else [], dtype=float)

        return Value(compute, None, self.within, f"{self.name}.largest(per_seed=False)")

    def median(self) -> Value:
        """The median over seeds; none where a number is missing."""

        def compute(rows: Rows) -> Series:
            import pandas as pd

            series = self.compute(rows)
            if self.free is None:
                return pd.Series([series.median(skipna=False)] if len(series) else [], dtype=float)
            return series.groupby(level=0, sort=False).apply(lambda mine: mine.median(skipna=False))

        return replace(self, compute=compute, name=f"{self.name}.median()")

    def mean(self) -> Value:
        """The mean over seeds of a value without a free coordinate; none where a number is missing."""

        def compute(rows: Rows) -> Series:
            import pandas as pd

            series = self.compute(rows)
            return pd.Series([series.mean(skipna=False)] if len(series) else [], dtype=float)

        return replace(self, compute=compute, name=f"{self.name}.mean()")

    def at_minimum_of(self, other: Value) -> Value:
        """The values at the place of the free coordinate where another value has the least mean."""

        def compute(rows: Rows) -> Series:
            means = other.compute(rows).groupby(level=0, sort=False).mean()
            series = self.compute(rows)
            if means.empty:
                return series.iloc[:0].droplevel(0)
            return series.xs(means.idxmin(), level=0)

        return Value(compute, None, self.within, f"{self.name}.at_minimum_of({other.name})")

    def where_holds(self, other: Value, test: Condition) -> Value:
        """The values where a test of another value holds; no number where that cannot be said."""

        def compute(rows: Rows) -> Series:
            mine, kept = self.compute(rows), []
            for place, theirs in other.compute(rows).groupby(level=0, sort=False):
                holds = test.judge(list(theirs)).holds
                if holds is not False and place in mine.index.get_level_values(0):
                    part = mine.xs(place, level=0, drop_level=False)
                    kept.append(part if holds else part * math.nan)
            import pandas as pd

            return pd.concat(kept) if kept else mine.iloc[:0]

        return replace(self, compute=compute, name=f"{self.name}.where_holds({other.name}, {test})")

    def groups(self, rows: Rows) -> dict[Any, list[float]]:
        """The numbers of all seeds, by the free coordinate; under None where there is none."""
        series = self.compute(rows)
        if self.free is None:
            return {None: series.tolist()}
        return {place: mine.tolist() for place, mine in series.groupby(level=0, sort=False)}

    def _by_seed(self, word: str, reduce: Callable[[Any], float]) -> Value:
        def compute(rows: Rows) -> Series:
            series = self.compute(rows)
            return series.groupby(level=-1, sort=False).apply(reduce) if len(series) else series.droplevel(0)

        return Value(compute, None, self.within, f"{self.name}.{word}()")


def of(column: str, by: str | None = None, **where: Any) -> Value:
    """A column's number of each seed, from the rows that meet the conditions.

    Arguments:
        column: its name.
        by: a coordinate that is left free; without one, there is one row for each seed.
        where: for each other column a value, a list of values, or a function that says yes or no.
    """

    def compute(rows: Rows) -> Series:
        mine = select(rows, where)
        index = [*([by] if by else []), "seed"]
        if mine.empty or column not in mine:
            return _empty(index)
        series = mine.set_index(index)[column].astype(float)
        assert series.index.is_unique, f"{column}: more than one row for a seed where {where} (by {by})"
        return series

    more = {"by": by} if by else {}
    return Value(compute, by, _range(column), _called("of", column, {**more, **where}))


def least(column: str, per_seed: bool = True, among: Where | None = None, **where: Any) -> Value:
    """The least of a column over all rows that meet the conditions: of each seed, or of all runs.

    Arguments:
        column: its name.
        per_seed: whether each seed has a least number of its own.
        among: conditions that rows may miss: a seed none of whose rows meets them has no number.
        where: conditions as for :func:`of`.
    """

    def compute(rows: Rows) -> Series:
        import pandas as pd

        whole = select(rows, where)
        mine = select(whole, among or {})
        if whole.empty or column not in whole:
            return _empty(["seed"])
        if per_seed:
            return mine.groupby("seed")[column].min().reindex(whole["seed"].unique()).astype(float)
        there = mine[column].dropna()
        return pd.Series([there.min()] if len(there) else [], dtype=float)

    more = {} if per_seed else {"per_seed": False}
    more |= {"among": among} if among else {}
    return Value(compute, None, _range(column), _called("least", column, {**more, **where}))


def _range(column: str) -> Range:
    """Errors, accuracies and norms are not negative."""
    return (0.0, math.inf) if column.endswith(("error", "loss", "accuracy", "norm")) else ANY


def _called(function: str, column: str, arguments: Mapping[str, Any]) -> str:
    """A call as Python writes it."""
    return f"{function}({', '.join([repr(column), *(f'{name}={_written(v)}' for name, v in arguments.items())])})"


def _written(value: Any) -> str:
    """A value as Python writes it; of a function its name, since what is printed must be the same tomorrow."""
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_written(item)}' for key, item in value.items())}}}"
    return repr(value)


def _empty(names: list[str]) -> Series:
    import pandas as pd

    return pd.Series([], dtype=float, index=pd.MultiIndex.from_arrays([[] for _ in names], names=names))


def _slope(mine: Series) -> float:
    x, y = mine.index.get_level_values(0), mine.to_numpy()
    good = [(math.log(a), math.log(b)) for a, b in zip(x, y, strict=True) if 0 < b < math.inf]
    if len(good) < len(mine) or len({a for a, _ in good}) < 2:
        return math.nan
    import statistics

    return statistics.linear_regression(*zip(*good, strict=True)).slope
