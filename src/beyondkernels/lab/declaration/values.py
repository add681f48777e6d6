"""What a claim is about: one number for each seed, taken from a selection of the rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from beyondkernels.core import Checked, require
from beyondkernels.lab.declaration.quantities import Quantities, Quantity
from beyondkernels.lab.declaration.rows import Rows, Series, Where, select
from beyondkernels.lab.report.intervals import Statistic, interval_of

if TYPE_CHECKING:
    from beyondkernels.lab.report.claims import Condition

_ANYTHING = Quantity("")


@dataclass(frozen=True)
class Value(Checked):
    """A number for each seed, and for each value of a coordinate where one is left free.

    A claim about a value with a free coordinate is a claim for every value of that coordinate. Values combine seed by
    seed: ``of("error", method="a") - of("error", method="b")`` is a paired difference.

    Arguments:
        compute: from the rows to a pandas Series, indexed by the free coordinate (if there is one) and the seed.
        free: the coordinate that is left free.
        quantity: what it is: the name of a column, a quantity, or a function of the experiment's quantities.
        name: what it is made of, in words that tell it from every other value of an experiment.
        statistic: what is said of the numbers of all seeds.
        columns: the columns that it measures, as far as it says.
        coordinates: the columns that select its rows, as far as it says.

    >>> (of("error", method="a") - of("error", method="b")).name
    "(of('error', method='a') - of('error', method='b'))"
    """

    compute: Callable[[Rows], Series]
    free: str | None = None
    quantity: str | Quantity | Callable[[Quantities], Quantity] = _ANYTHING
    name: str = ""
    statistic: Statistic = "mean"
    columns: frozenset[str] = frozenset()
    coordinates: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", _written(self.compute))

    def quantity_in(self, quantities: Quantities) -> Quantity:
        """What it is, among the quantities of an experiment."""
        if isinstance(self.quantity, str):
            return quantities[self.quantity]
        return self.quantity if isinstance(self.quantity, Quantity) else self.quantity(quantities)

    def __sub__(self, other: Value) -> Value:
        return self._with(other, "-", operator.sub)

    def __truediv__(self, other: Value) -> Value:
        return self._with(other, "/", operator.truediv)

    def _with(self, other: Value, sign: str, by: Callable[[Any, Any], Any]) -> Value:
        whole = [value for value in (self, other) if value.statistic not in ("mean", "number")]
        require(not whole, f"values combine seed by seed, before a {whole[0].statistic if whole else ''} is taken")
        return Value(
            lambda rows: by(self.compute(rows), other.compute(rows)),
            self.free,
            lambda known: by(self.quantity_in(known), other.quantity_in(known)),
            f"({self.name} {sign} {other.name})",
            self.statistic,
            self.columns | other.columns,
            self.coordinates | other.coordinates,
        )

    def slope(self) -> Value:
        r"""For each seed the least-squares slope of log value on the log of the free coordinate.

        A seed has none where a number is missing or not positive, or with fewer than two values of the coordinate.
        """
        return replace(self._by_seed("slope()", _slope), quantity=_ANYTHING)

    def largest(self, per_seed: bool = True) -> Value:
        """For each seed the largest over the free coordinate, or that of all runs; none where a number is missing.

        Arguments:
            per_seed: whether the claim is about each seed's largest number, or about the largest of all.
        """
        word = "largest()" if per_seed else "largest(per_seed=False)"
        found = self._by_seed(word, lambda mine: mine.max(skipna=False))
        return found if per_seed else replace(found, statistic="largest")

    def median(self) -> Value:
        """The median over seeds, in place of the mean."""
        return replace(self, statistic="median", name=f"{self.name}.median()")

    def share(self) -> Value:
        """The share of seeds of which something is so; the numbers are 0 and 1."""
        return replace(self, statistic="share", name=f"{self.name}.share()")

    def number(self) -> Value:
        """The statistic as one number over all seeds of a value without a free coordinate: it combines with others."""

        def compute(rows: Rows) -> Series:
            import pandas as pd

            numbers = self.compute(rows).tolist()
            there = all(map(math.isfinite, numbers))
            found = interval_of(numbers, self.statistic).measured if there else math.nan
            return pd.Series([found] if numbers else [], dtype=float)

        return replace(self, compute=compute, name=f"{self.name}.number()", statistic="number")

    def at_minimum_of(self, other: Value) -> Value:
        """The values at the place of the free coordinate where another value has the least mean."""

        def compute(rows: Rows) -> Series:
            means = other.compute(rows).groupby(level=0, sort=False).mean()
            series = self.compute(rows)
            if means.empty:
                return series.iloc[:0].droplevel(0)
            return series.xs(means.idxmin(), level=0)

        return replace(self, compute=compute, free=None, name=f"{self.name}.at_minimum_of({other.name})")

    def where_holds(self, other: Value, test: Condition) -> Value:
        """The values where a test of another value holds; no number where runs are missing."""

        def compute(rows: Rows) -> Series:
            mine, kept = self.compute(rows), []
            for place, theirs in other.compute(rows).groupby(level=0, sort=False):
                judged = test.judge(list(theirs), statistic=other.statistic)
                missing = math.isnan(judged.margin)
                if (judged.holds or missing) and place in mine.index.get_level_values(0):
                    part = mine.xs(place, level=0, drop_level=False)
                    kept.append(part * math.nan if missing else part)
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

        return replace(self, compute=compute, free=None, name=f"{self.name}.{word}")


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
    name, selecting = _called("of", column, {**more, **where}), frozenset({*more.values(), *where})
    return Value(compute, by, column, name, columns=frozenset({column}), coordinates=selecting)


def least(column: str, per_seed: bool = True, among: Where | None = None, **where: Any) -> Value:
    """The least of a column over all rows that meet the conditions: of each seed, or of all runs.

    Arguments:
        column: its name.
        per_seed: whether the claim is about each seed's least number, or about the least of all; then seeds without
            one do not count.
        among: conditions that rows may miss: a seed none of whose rows meets them has no number.
        where: conditions as for :func:`of`.
    """

    def compute(rows: Rows) -> Series:
        whole = select(rows, where)
        if whole.empty or column not in whole:
            return _empty(["seed"])
        found = select(whole, among or {}).groupby("seed")[column].min()
        return (found.reindex(whole["seed"].unique()) if per_seed else found.dropna()).astype(float)

    more = {} if per_seed else {"per_seed": False}
    more |= {"among": among} if among else {}
    named = _called("least", column, {**more, **where})
    selecting: frozenset[str] = frozenset(where) | frozenset(among or ())
    return Value(compute, None, column, named, "mean" if per_seed else "least", frozenset({column}), selecting)


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
