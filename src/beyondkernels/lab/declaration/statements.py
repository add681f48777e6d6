"""Claims as declarations: a sentence, the value it speaks of, and the test that decides it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from beyondkernels.core import Checked, require
from beyondkernels.lab.declaration.quantities import Quantities
from beyondkernels.lab.declaration.rows import Rows, select
from beyondkernels.lab.declaration.runs import exact
from beyondkernels.lab.declaration.values import Value
from beyondkernels.lab.report.claims import NOT_EVALUATED, Cause, Claim, Condition, Judged, Kind, source_of
from beyondkernels.lab.report.intervals import ANY, Range, Statistic, interval_of
from beyondkernels.lab.report.numbers import show_number


@dataclass(frozen=True)
class Provided(Checked):
    """What must be so before a claim can be said to hold.

    Arguments:
        value: what is looked at.
        condition: what it must pass.
        otherwise: the sentence said where it does not; ``{}`` stands for what was measured.
    """

    value: Value
    condition: Condition
    otherwise: str


@dataclass(frozen=True)
class Statement(Checked):
    """A claim before anything is measured.

    Arguments:
        id: its short name within the experiment.
        text: the sentence.
        value: what it speaks of; a free coordinate makes it a claim for every value of that coordinate.
        condition: what decides it.
        paper: the published value.
        kind: what kind of statement it is: the paper's kinds need a place, ours have none.
        place: where the paper states it.
        cause: why it does not hold, should it not hold, in a word.
        because: the same in a sentence.
        interval: what the spread is, where it is none over seeds; may be a function of the rows.
        provided: what must be so before it can be said to hold.
        beside: words and a value that are told with the reason, such as a control's.
        nowhere: the reason where no run, or no value of the free coordinate, has a number.
        beside_seeds: the standard error due to what seeds do not show, from the rows and the value of the free
            coordinate (None if there is none); it makes the interval wider.
    """

    id: str
    text: str
    value: Value
    condition: Condition
    paper: float | str | None = None
    kind: Kind = "expectation"
    place: str = ""
    cause: Cause | None = None
    because: str = ""
    interval: str | Callable[[Rows], str] = ""
    provided: Provided | None = None
    beside: tuple[str, Value] | None = None
    nowhere: str = "no run gave a value"
    beside_seeds: Callable[[Rows, Any], float] | None = None

    def __post_init__(self) -> None:
        paper = source_of(self.kind) == "paper"
        require(paper == bool(self.place), f"place must say where the paper states {self.id!r}, got {self.place!r}")
        require((self.cause is None) == (not self.because), f"cause of {self.id!r} must come with a sentence")

    def declaration(self, quantities: Quantities) -> dict[str, Any]:
        """All that decides what it says and whether it holds, as texts that are the same tomorrow.

        Arguments:
            quantities: those of the experiment.
        """
        needed, quantity = self.provided, self.value.quantity_in(quantities)
        words = {
            "text": self.text,
            "value": self.value.name,
            "condition": str(self.condition),
            "paper": self.paper,
            "kind": self.kind,
            "place": self.place,
            "cause": self.cause and (self.cause, self.because),
            "unit": quantity.unit,
            "within": quantity.within != ANY and str(quantity.within),
            "interval": self.interval if isinstance(self.interval, str) else self.interval.__qualname__,
            "provided": needed and (needed.value.name, str(needed.condition), needed.otherwise),
            "beside": self.beside and (self.beside[0], self.beside[1].name),
            "nowhere": self.nowhere,
            "beside_seeds": self.beside_seeds and self.beside_seeds.__qualname__,
        }
        return {"id": self.id, **{name: word for name, word in words.items() if word}}

    def claim(
        self, rows: Rows | None, speaks: bool, quantities: Quantities, sets: Sequence[Sequence[int]] = ()
    ) -> Claim:
        """The claim with what was measured and whether it holds.

        Arguments:
            rows: the experiment's rows; None before anything was run.
            speaks: whether it says anything at this scale.
            quantities: those of the experiment.
            sets: the seeds by sets, to say of how many sets it holds; empty where there is one set.
        """
        unit = self.value.quantity_in(quantities).unit
        bare = Claim(self.id, self.text, self.paper, unit=unit, kind=self.kind, place=self.place)
        if not speaks:
            bare = replace(bare, reason=NOT_EVALUATED)
        if rows is None:
            return bare
        judged = self._judge(rows, quantities)
        if self.interval:
            words = self.interval if isinstance(self.interval, str) else self.interval(rows)
            judged = replace(judged, low=None, high=None, interval=words)
        judged = self._in_context(judged, rows)
        names = ("measured", "low", "high", "interval", "values")
        measured = replace(bare, **{name: getattr(judged, name) for name in names})
        if not speaks:
            return measured
        measured = replace(measured, holds=judged.holds, reason=judged.reason, slack=judged.slack)
        if judged.holds is not True and self.cause:
            measured = replace(measured, cause=self.cause, because=self.because)
        elif judged.holds is False and self.kind != "question":
            measured = replace(measured, cause="open", because="nobody has looked into it yet")
        return replace(measured, sets=tuple(self._passes(select(rows, {"seed": each}), quantities) for each in sets))

    def _in_context(self, judged: Judged, rows: Rows) -> Judged:
        """The verdict with what is told beside it, and taken back where what it needs is not so."""
        if judged.holds is not None and self.beside is not None:
            words, control = self.beside
            there = [value for value in control.groups(rows)[None] if math.isfinite(value)]
            if there:
                found = interval_of(there, control.statistic).measured
                judged = replace(judged, reason=f"{judged.reason}; {words} {show_number(found)}")
        if judged.holds and self.provided is not None:
            value = self.provided.value
            found = self.provided.condition.judge(value.groups(rows)[None], statistic=value.statistic)
            if not found.holds:
                shown = "–" if found.measured is None else f"{found.measured:.3g}"
                judged = replace(judged, holds=None, reason=self.provided.otherwise.format(shown))
        return judged

    def _judge(self, rows: Rows, quantities: Quantities) -> Judged:
        quantity = self.value.quantity_in(quantities)
        symbol = quantities[self.value.free].label if self.value.free else ""
        if isinstance(self.condition, Crossing):
            return self.condition.locate(self.value.groups(rows), symbol, quantity.within, self.value.statistic)
        judged = self._judged_places(rows, quantities)
        if not judged:
            return Judged(None, None, None, "no value", reason=self.nowhere)
        if self.value.free is None:
            found = judged[None]
            return found if found.measured is not None else replace(found, reason=self.nowhere)
        place = min(judged, key=lambda place: _order(judged[place]))  # the first of equal ones
        return replace(judged[place], reason=f"at {symbol} = {exact(place)}: {judged[place].reason}")

    def _judged_places(self, rows: Rows, quantities: Quantities) -> dict[Any, Judged]:
        quantity, wider = self.value.quantity_in(quantities), self.beside_seeds or (lambda _rows, _place: 0.0)
        return {
            place: self.condition.judge(
                values, quantity.unit, quantity.within, wider(rows, place), self.value.statistic
            )
            for place, values in self.value.groups(rows).items()
        }

    def _passes(self, rows: Rows, quantities: Quantities) -> bool | None:
        """Whether the statistic of these seeds meets the bound, intervals aside; None where it has no number."""
        if isinstance(self.condition, Crossing):
            return self.condition.locate(self.value.groups(rows), "", statistic="number").holds
        margins = [judged.margin for judged in self._judged_places(rows, quantities).values()]
        return None if not margins or any(map(math.isnan, margins)) else self.condition.passes(min(margins))


@dataclass(frozen=True)
class Crossing(Condition):
    """That a test begins to hold, along the free coordinate, between two of its values.

    It begins to hold between the last value at which it does not, and the next one, from which on it holds throughout.

    Arguments:
        condition: what begins to hold.
        low: the least value of the coordinate at which it may be missed last.
        high: the greatest at which it may hold first.
        unit: what the coordinate is measured in, with its symbol.
    """

    condition: Condition
    low: float
    high: float
    unit: tuple[float, str] = (1.0, "")

    @property
    def ends(self) -> Range:
        return self.low, self.high

    def _words(self, mean: float, margin: float, unit: str) -> str:
        raise NotImplementedError("a crossing is located along a coordinate")

    def locate(
        self, groups: Mapping[Any, list[float]], symbol: str, within: Range = ANY, statistic: Statistic = "mean"
    ) -> Judged:
        """Where the test begins to hold: between the last place where it fails and the first from which on it holds.

        Arguments:
            groups: the numbers of all seeds, by the coordinate.
            symbol: how the coordinate is written.
            within: the least and the greatest value there can be.
            statistic: what is said of the numbers of all seeds; of a ``number`` the intervals do not count.

        >>> from beyondkernels.lab.report.claims import AtMost
        >>> errors = {0.1: [5, 5.1], 0.2: [1, 1], 0.3: [5, 5.1], 0.4: [1, 1], 0.5: [1, 1]}
        >>> judged = Crossing(AtMost(2), 0.1, 0.4).locate(errors, "β")
        >>> judged.holds, judged.reason
        (True, 'not at β = 0.3, from β = 0.4 on')
        """
        size, name = self.unit
        nothing = Judged(None, None, None, "")
        found = {}
        for place, values in groups.items():
            numbers = [math.nan if value is None else value for value in values]
            middle = [sum(numbers) / len(numbers)] if statistic == "number" and numbers else numbers
            found[place] = self.condition.judge(middle, within=within, statistic=statistic)
            if found[place].measured is None or math.isnan(found[place].margin):
                return replace(nothing, reason=f"at {symbol} = {exact(place)}: {found[place].reason}")
        places, holds = list(found), [each.holds for each in found.values()]
        if not places:
            return replace(nothing, reason="no run gave a value")
        open_ = [i for i, each in enumerate(holds) if each is not True]  # where it fails, or nothing is decided
        failed = [i for i, each in enumerate(holds) if each is False]
        if not open_ or (failed and failed[-1] == len(places) - 1):
            return replace(nothing, holds=False, reason=f"there is no {symbol} below which it fails and above not")
        if not failed or open_[-1] == len(places) - 1:
            at = exact(places[open_[0] if not failed else open_[-1]])
            return replace(nothing, reason=f"at {symbol} = {at} the interval contains the bound")
        ends = places[failed[-1]], places[open_[-1] + 1]
        told = [f"{symbol} = {exact(end)}" + (f" = {end / size:.3g}{name}" if name else "") for end in ends]
        low, high = (end / size for end in ends)
        first, last = self.low / size - 1e-9, self.high / size + 1e-9
        inside, outside = first <= low and high <= last, high < first or low > last
        return Judged(
            (low + high) / 2,
            low,
            high,
            f"the last {symbol}{'/' + name if name else ''} at which it fails, and the first from which on it holds",
            True if inside else False if outside else None,
            f"not at {told[0]}, from {told[1]} on",
        )


claim = Statement
"""How experiments write a claim: ``claim("network", "The network learns it", of("test_error"), AtMost(0.1))``."""


def _order(judged: Judged) -> tuple[int, float]:
    """First what fails, then what cannot be said, then what holds by the least."""
    if judged.holds:
        return 2, judged.margin
    return (0 if judged.holds is False else 1), 0.0
