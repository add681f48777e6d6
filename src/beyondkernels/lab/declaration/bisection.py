"""How much of a coordinate a run needs: growing it until runs succeed, then bisecting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from beyondkernels.core import require, require_between
from beyondkernels.lab.declaration.runs import At, Finished, Label, Record, Runs

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.store import RunSpec


@dataclass(frozen=True)
class Bisection:
    """Finds the least whole number that suffices, where more never hurts.

    It multiplies a first guess by a factor until that suffices, or divides it until it does not. Then it bisects
    between the two, on a logarithmic axis.

    Arguments:
        start: the first number that is tried.
        most: no larger number is tried.
        least: no smaller number is tried.
        factor: by which the number grows or shrinks at first.
        resolution: it ends when the least number that suffices exceeds the largest one below it that does not by at
            most this part, or by 1.

    >>> search, tried = Bisection(start=10, most=1000, resolution=0), {}
    >>> while (n := search.next(tried)) is not None:
    ...     tried[n] = n >= 33
    >>> list(tried), search.ends(tried)
    ([10, 20, 40, 28, 33, 30, 31, 32], (32, 33))
    """

    start: int
    most: int
    least: int = 1
    factor: float = 2.0
    resolution: float = 0.05

    def __post_init__(self) -> None:
        require(self.least >= 1, f"least must be at least 1, got {self.least}")
        require(self.least <= self.most, f"most must be at least {self.least}, got {self.most}")
        require_between("start", self.start, self.least, self.most)
        require_between("factor", self.factor, 1, 1e6, "(]")
        require_between("resolution", self.resolution, 0, math.inf, "[)")

    def ends(self, tried: Mapping[int, bool]) -> tuple[int | None, int | None]:
        """The largest number that does not suffice below the least that does, and this one; None where none is known.

        Arguments:
            tried: for each number whether it suffices.
        """
        high = min((n for n, enough in tried.items() if enough), default=None)
        low = max((n for n, enough in tried.items() if not enough and (high is None or n < high)), default=None)
        return low, high

    def next(self, tried: Mapping[int, bool]) -> int | None:
        """The number to try next; None at the end."""
        low, high = self.ends(tried)
        if low is None and high is None:
            return self.start
        if high is None:
            assert low is not None
            return None if low >= self.most else min(self.most, max(low + 1, round(low * self.factor)))
        if low is None:
            return None if high <= self.least else max(self.least, min(high - 1, round(high / self.factor)))
        if high <= low + 1 or high <= low * (1 + self.resolution):
            return None
        return min(high - 1, max(low + 1, round(math.sqrt(low * high))))


@dataclass(frozen=True)
class Needed(Runs):
    """Runs that find for every place and seed how much of one more coordinate is needed.

    Each run says whether its amount suffices, and the next amount follows from what is known. A place and seed have
    one row: what ``read`` says of the run with the least amount that suffices, and

    - ``needed``: that amount; no number if none that was tried suffices, or if the least allowed amount does;
    - ``not_enough``: the largest amount below it that was tried and does not suffice;
    - ``tried``: how many amounts were.

    If no amount suffices, the row is that of the largest one, which ``not_enough`` says. There is no row while runs are
    missing.

    Arguments:
        coordinate: its name.
        bisection: how a place is searched.
        enough: from settings, place and outcome whether the amount suffices; a run that diverged never does.
    """

    coordinate: str = field(kw_only=True)
    bisection: Callable[[At], Bisection] = field(kw_only=True)
    enough: Callable[[Any, At, Outcome], bool] = field(kw_only=True)

    def specs(self, settings: Any, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        wanted = []
        for at in self._searches(seeds):
            tried, following = self._tried(settings, at, finished)
            wanted += [self._with(at, amount) for amount in [*tried, *([] if following is None else [following])]]
        return {at.label: self.spec(settings, at) for at in wanted}

    def expected(self, seeds: Sequence[int]) -> tuple[int, int]:
        """The first amounts are certain; as a guess, each search goes one factor up and bisects that factor."""
        first, later = 0, 0
        for at in self._searches(seeds):
            search = self.bisection(at)
            first += 1
            later += 1 + max(0, math.ceil(math.log2(math.log(search.factor) / math.log1p(search.resolution or 0.01))))
        return first, later

    def records(self, settings: Any, seeds: Sequence[int], finished: Finished) -> Iterator[Record]:
        for at in self._searches(seeds):
            tried, following = self._tried(settings, at, finished)
            if following is not None:
                continue
            low, high = self.bisection(at).ends(tried)
            shown = low if high is None else high
            assert shown is not None
            found = {
                "needed": math.nan if low is None or high is None else float(high),
                "not_enough": math.nan if low is None else float(low),
                "tried": len(tried),
            }
            for row in self._read(settings, self._with(at, shown), finished):
                outcome = row.pop("outcome")
                yield {**row, **found, "outcome": outcome}

    def _searches(self, seeds: Sequence[int]) -> Iterator[At]:
        for at in self.places():
            for seed in seeds[: self.seeds]:
                yield at.with_(seed=seed)

    def _with(self, at: At, amount: int) -> At:
        return at.with_({self.coordinate: amount})

    def _tried(self, settings: Any, at: At, finished: Finished) -> tuple[dict[int, bool], int | None]:
        """What the runs say so far, and the amount that is asked next: None if the search is over."""
        search = self.bisection(at)
        tried: dict[int, bool] = {}
        while (amount := search.next(tried)) is not None:
            here = self._with(at, amount)
            run = finished.get(here.label)
            if run is None:
                break
            tried[amount] = run.outcome.status == "finished" and bool(self.enough(settings, here, run.outcome))
        return tried, amount
