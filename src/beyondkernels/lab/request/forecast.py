"""What a request will take before it is run: which runs, how many of them are a guess, and how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from beyondkernels.core import Outcome
from beyondkernels.core.components import describe
from beyondkernels.execution.costs import Costs, kind_of
from beyondkernels.lab.declaration import Label
from beyondkernels.lab.request.request import Request
from beyondkernels.store import RunSpec, Store, StoredRun

_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Forecast:
    """What a request will take.

    Arguments:
        certain: how many runs are needed whatever comes out.
        guessed: how many more are likely: they depend on how others come out.
        open_ended: whether there may be more that could not be foreseen.
        stored: how many of all these are stored already.
        core_seconds: what the rest takes on one core; None if nobody knows.
        measured: for how many of the rest the time is known from runs of the same kind.
    """

    certain: int
    guessed: int
    open_ended: bool
    stored: int
    core_seconds: float | None
    measured: int

    @property
    def runs(self) -> int:
        return self.certain + self.guessed


def dry_run(request: Request, store: Store | None) -> Forecast:
    """What a request will take.

    An experiment plans in rounds, and a later round depends on how earlier runs come out. The runs that are stored
    say how they came out. Of the others it is guessed that the best of every grid lies in its middle. Times are those
    of stored runs of the same kind; for kinds that nobody has run, what the experiment says about its scale.

    Arguments:
        request: what is asked.
        store: where runs may be stored already.
    """
    first = {spec.key for spec in request.first_round.values()}
    seen, open_ended = _foreseen(request, store)
    kinds = {spec.key: kind_of(spec) for spec in seen.specs.values()}
    documents = store.requests() if store else []
    costs = Costs.of_requests(each for each in documents if each["experiment"] == request.experiment.id)
    for label, run in seen.stored.items():
        if (seconds := run.provenance.get("seconds")) is not None:
            costs.add(kinds[seen.specs[label].key], seconds)
    left = [key for key in kinds if key not in {seen.specs[label].key for label in seen.stored}]
    usual = request.experiment.seconds_per_run.get(request.scale)
    known = [seconds for key in left if (seconds := costs.seconds(kinds[key])) is not None]
    unknown = len(left) - len(known)
    total = None if unknown and usual is None else sum(known) + unknown * (usual or 0.0)
    return Forecast(len(first), len(kinds) - len(first), open_ended, len(kinds) - len(left), total, len(known))


@dataclass
class _Seen:
    """Planned runs so far, and those of them that are stored."""

    specs: dict[Label, RunSpec] = field(default_factory=dict)
    stored: dict[Label, StoredRun] = field(default_factory=dict)


def _foreseen(request: Request, store: Store | None) -> tuple[_Seen, bool]:
    """Plan round after round with what is stored and, for the rest, with guesses."""
    seen = _Seen()
    finished: dict[Label, StoredRun] = {}
    wanted: Mapping[Label, RunSpec] = request.first_round
    for _ in range(_MOST_ROUNDS):
        new = {label: spec for label, spec in wanted.items() if label not in seen.specs}
        if not new:
            return seen, False
        seen.specs |= new
        scores = _scores(seen.specs)
        for label, spec in new.items():
            if store is not None and (run := store.find(spec)) is not None:
                finished[label] = seen.stored[label] = run
            else:
                finished[label] = StoredRun(spec.key, {}, _guess(scores[label]), {})
        try:
            wanted = request.specs(finished)
        except Exception:  # a plan that looks at more than numbers cannot be given a guess
            return seen, True
    return seen, True


class _Guess(dict[str, Any]):
    """What is said about a run that was not made, whatever is asked."""

    def __init__(self, say: Callable[[str], Any]) -> None:
        super().__init__()
        self.say = say

    def __missing__(self, name: str) -> Any:
        return self.say(name)

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]


def _guess(distance: float) -> Outcome:
    """A run whose errors grow with the distance from the middle of its grid."""

    def say(name: str) -> float:
        return -distance if "accuracy" in name else distance

    return Outcome("finished", _Guess(say), _Guess(lambda name: [say(name)]))


def _scores(specs: Mapping[Label, RunSpec]) -> dict[Label, float]:
    """How far each run is from the middle of its grid: steps along every axis, of runs of the same kind and seed."""
    grids: dict[tuple[str, int], dict[Label, list[float]]] = {}
    for label, spec in specs.items():
        grids.setdefault((kind_of(spec), spec.seed), {})[label] = list(_floats(describe(spec)))
    scores = {}
    for grid in grids.values():
        axes = [sorted(set(values)) for values in zip(*grid.values(), strict=True)]
        for label, place in grid.items():
            steps = (abs(axis.index(value) - (len(axis) - 1) / 2) for axis, value in zip(axes, place, strict=True))
            scores[label] = sum(steps)
    return scores


def _floats(part: Any) -> Iterator[float]:
    """The numbers of a description that are not whole, in its order."""
    if isinstance(part, Mapping):
        if part.keys() == {"float"}:
            yield float(part["float"])
            return
        for name in sorted(part):
            yield from _floats(part[name])
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _floats(value)
    elif isinstance(part, float):
        yield part
