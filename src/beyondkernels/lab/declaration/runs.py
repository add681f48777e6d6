"""Which runs an experiment needs: coordinates over a grid, and coordinates that a search finds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from beyondkernels.core import Checked, require
from beyondkernels.core.errors import shown
from beyondkernels.lab.declaration.search_axes import Axis, Found, Place, Search, searched

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.store import RunSpec, StoredRun

Label = tuple[str | int, ...]
"""What a run is called: its coordinates in words, and its seed."""

Finished = Mapping[Label, "StoredRun"]
"""The runs that are there, by label."""

Record = dict[str, Any]

FIRST_SEARCH_SEED = 1000
"""Searches have the seeds from here on; no reported run may have one of them."""


class At(dict[str, Any]):
    """Where a run stands: its coordinates by name, its seed, and whether it belongs to a search.

    >>> at = At(width=20, seed=0)
    >>> at.width, at.label
    (20, ('width=20', 0))
    """

    searching: bool = False

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a run has no coordinate {name!r}; it has {', '.join(self)}") from None

    @property
    def label(self) -> Label:
        """The coordinates in words."""
        words = [value if isinstance(value, str) else f"{name}={exact(value)}" for name, value in self.items()]
        words = words[:-1] if "seed" in self else words
        return (*(("search",) if self.searching else ()), *words, *((int(self["seed"]),) if "seed" in self else ()))

    def with_(self, more: Mapping[str, Any] | None = None, /, *, searching: bool = False, **named: Any) -> At:
        """The same place with some coordinates changed or added; the seed stays last."""
        merged = {**self, **(more or {}), **named}
        seed = {"seed": merged.pop("seed")} if "seed" in merged else {}
        at = At(**merged, **seed)
        at.searching = searching
        return at


def exact(value: Any) -> str:
    """A value in as few digits as tell it from any other.

    >>> exact(0.15), exact(0.15000001), exact(100000.0), exact(math.inf), exact(None)
    ('0.15', '0.15000001', '100000', '∞', '–')
    """
    if value is None or value != value:
        return "–"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def scalars(settings: Any, at: At, outcome: Outcome) -> Record:
    """All numbers of a run's end, as they are called there."""
    return dict(outcome.scalars)


@dataclass(frozen=True)
class Runs(Checked):
    """Runs over a grid: every combination of coordinates with every reported seed.

    Arguments:
        spec: from settings and a place to the run.
        over: the values of each coordinate.
        read: what a run says: from settings, place and outcome to a row, or several; what diverged is read too.
        seeds: how many of the reported seeds are used; None for all.
    """

    spec: Callable[[Any, At], RunSpec]
    over: Mapping[str, Sequence[Any]]
    read: Callable[[Any, At, Outcome], Record | list[Record]] = scalars
    seeds: int | None = None

    def places(self) -> Iterator[At]:
        """Every combination of coordinates, the last one running fastest."""
        for values in itertools.product(*self.over.values()):
            yield At(zip(self.over, values, strict=True))

    def specs(self, settings: Any, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        """The runs needed, as far as they are known."""
        wanted = (at.with_(seed=seed) for at in self.places() for seed in seeds[: self.seeds])
        return {at.label: self.spec(settings, at) for at in wanted}

    def expected(self, seeds: Sequence[int]) -> tuple[int, int]:
        """How many runs are certain, and how many more are likely."""
        return sum(1 for _ in self.places()) * len(seeds[: self.seeds]), 0

    def records(self, settings: Any, seeds: Sequence[int], finished: Finished) -> Iterator[Record]:
        """What the finished runs say, row by row."""
        for at in self.places():
            for seed in seeds[: self.seeds]:
                yield from self._read(settings, at.with_(seed=seed), finished)

    def _read(self, settings: Any, at: At, finished: Finished, label: Label | None = None) -> Iterator[Record]:
        run = finished.get(label or at.label)
        if run is None:
            return
        said = self.read(settings, at, run.outcome)
        for each in said if isinstance(said, list) else [said]:
            require(isinstance(each, Mapping), f"read must give a dict or a list of dicts, got {shown(each)}")
            yield {**at, "status": run.outcome.status, **each, "outcome": run.outcome}


@dataclass(frozen=True)
class Again(Checked):
    """A chosen setting trained once more with other coordinates.

    Arguments:
        choice: the criterion that chose it.
        changed: the coordinates that differ.
    """

    choice: str
    changed: Mapping[str, Any]


@dataclass(frozen=True)
class Searched(Runs):
    """Runs of which some coordinates are found by a search, anew at every place of the grid.

    The search trains every value of its axes with seeds of its own, takes the mean error over them by each criterion,
    counts a diverged run as infinitely bad, and grows the grid until its best is not on an edge or the limits are
    reached. The best place by each criterion is then trained with the reported seeds, which the search has not seen.

    Arguments:
        axes: the axes at a place, by name.
        criteria: by name, the error that chooses, smaller being better: a scalar's name, or a function of settings
            and outcome.
        search_seeds: how many seeds the search has.
        first_search_seed: the first of them; none may be a reported one.
        best_of: further coordinates of which the best value is taken; each value has a grid of its own.
        again: chosen settings to train once more with other coordinates.
        show_search: whether the rows hold the runs of the search too.
    """

    axes: Callable[[At], Mapping[str, Axis]] = field(kw_only=True)
    criteria: Mapping[str, str | Callable[[Any, Outcome], float]] = field(kw_only=True)
    search_seeds: int = field(kw_only=True)
    first_search_seed: int = field(default=FIRST_SEARCH_SEED, kw_only=True)
    best_of: Mapping[str, Sequence[Any]] = field(default_factory=dict, kw_only=True)
    again: Sequence[Again] = field(default=(), kw_only=True)
    show_search: bool = field(default=False, kw_only=True)

    def specs(self, settings: Any, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        common = sorted({*seeds} & {*self._search_seeds()})
        require(not common, f"seeds must not be those of the search, got {common}")
        specs = {}
        for at, searches in self._searches(settings, finished):
            wanted = [each for _, each in self._search_places(at, searches)]
            wanted += [each.with_(seed=seed) for _, _, each in self._chosen(at, searches) for seed in seeds]
            specs |= {each.label: self.spec(settings, each) for each in wanted}
        return specs

    def expected(self, seeds: Sequence[int]) -> tuple[int, int]:
        """The first grid is certain; that nothing grows and every criterion chooses another place is a guess."""
        first, later = 0, 0
        for at in self.places():
            for best in self._best_of():
                first += math.prod(len(axis.values) for axis in self.axes(at.with_(best)).values())
            later += (len(self.criteria) + len(self.again)) * len(seeds)
        return first * self.search_seeds, later

    def records(self, settings: Any, seeds: Sequence[int], finished: Finished) -> Iterator[Record]:
        """What the finished runs say: the chosen ones, and those of the search where they are to be shown."""
        for at, searches in self._searches(settings, finished):
            if self.show_search:
                for search, each in self._search_places(at, searches):
                    yield from self._rows(settings, each, finished, search, None, "search")
            for (choice, found, search), role, each in self._chosen(at, searches):
                for seed in seeds:
                    for row in self._rows(settings, each.with_(seed=seed), finished, search, found, role):
                        yield {**row, "choice": choice}

    def _rows(
        self, settings: Any, at: At, finished: Finished, tried: int, found: Found | None, role: str
    ) -> Iterator[Record]:
        for row in self._read(settings, at, finished):
            how = {"role": role, "choice": None, "search_error": None, "on_edge": False, "tried": tried}
            chosen = {"search_error": found.error, "on_edge": found.on_edge} if found else {}
            outcome = row.pop("outcome")
            yield {**row, **how, **chosen, "outcome": outcome}

    def _searches(self, settings: Any, finished: Finished) -> Iterator[tuple[At, list[tuple[Mapping, Search]]]]:
        for at in self.places():
            yield (
                at,
                [
                    (best, searched(self.axes(at.with_(best)), self._scores(settings, at.with_(best), finished)))
                    for best in self._best_of()
                ],
            )

    def _search_places(self, at: At, searches: Sequence[tuple[Mapping, Search]]) -> Iterator[tuple[int, At]]:
        for best, search in searches:
            for place in search.places:
                for seed in self._search_seeds():
                    yield len(search.places), at.with_({**best, **place}, seed=seed, searching=True)

    def _chosen(
        self, at: At, searches: Sequence[tuple[Mapping, Search]]
    ) -> Iterator[tuple[tuple[str, Found, int], str, At]]:
        """By each criterion the best place over all searches; nothing while one of them is not over."""
        done = [(best, search.found) for best, search in searches if search.found is not None]
        if len(done) < len(searches):
            return
        tried = sum(len(search.places) for _, search in searches)
        for choice in done[0][1]:
            best, found = min(((best, found[choice]) for best, found in done), key=lambda pair: pair[1].error)
            chosen = at.with_({**best, **found.place})
            yield (choice, found, tried), "chosen", chosen
            for again in self.again:
                if again.choice == choice:
                    yield (choice, found, tried), "again", chosen.with_(again.changed)

    def _scores(self, settings: Any, at: At, finished: Finished) -> Callable[[Place], Mapping[str, float] | None]:
        def scores(place: Place) -> Mapping[str, float] | None:
            wanted = [at.with_(place, seed=seed, searching=True).label for seed in self._search_seeds()]
            runs = [finished[label].outcome for label in wanted if label in finished]
            if len(runs) < len(wanted):
                return None
            if any(run.status != "finished" for run in runs):
                return dict.fromkeys(self.criteria, math.inf)
            return {
                name: sum(run.scalars[by] if isinstance(by, str) else by(settings, run) for run in runs) / len(runs)
                for name, by in self.criteria.items()
            }

        return scores

    def _best_of(self) -> Iterator[dict[str, Any]]:
        for values in itertools.product(*self.best_of.values()):
            yield dict(zip(self.best_of, values, strict=True))

    def _search_seeds(self) -> range:
        return range(self.first_search_seed, self.first_search_seed + self.search_seeds)
