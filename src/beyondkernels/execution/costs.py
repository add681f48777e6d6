"""What runs take, by their kind: learnt from runs that are over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from beyondkernels.core.components import describe
from beyondkernels.store.spec import RunSpec


def kind_of(spec: RunSpec) -> str:
    """Runs of one kind take about the same time: they differ in their seed and in numbers that are not whole.

    Learning rates, decays and noise levels are such numbers; widths, sample sizes and steps are whole.
    """
    plan = describe(spec)
    # The seed is a whole number but changes no cost.
    fields = {name: value for name, value in plan["fields"].items() if name != "seed"}
    text = json.dumps(_without_floats({**plan, "fields": fields}), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass
class Costs:
    """Seconds on one core by kind, as a mean over runs."""

    totals: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, kind: str, seconds: float, runs: int = 1) -> None:
        """Count runs of a kind that took so many seconds each."""
        number, total = self.totals.get(kind, (0, 0.0))
        self.totals[kind] = number + runs, total + seconds * runs

    def seconds(self, kind: str) -> float | None:
        """What a run of a kind takes; None if none is known."""
        number, total = self.totals.get(kind, (0, 0.0))
        return total / number if number else None

    def __or__(self, other: Costs) -> Costs:
        """These, and for the kinds that the other knows the other's."""
        return Costs(self.totals | other.totals)

    def as_json(self) -> dict[str, list[float]]:
        """Plain data: by kind, how many runs and the seconds of one."""
        return {kind: [number, total / number] for kind, (number, total) in self.totals.items()}

    @classmethod
    def of_requests(cls, documents: Iterable[Mapping[str, Any]]) -> Costs:
        """What requests of a store remember; malformed entries are skipped."""
        costs = cls()
        for document in documents:
            remembered = document.get("costs")
            for kind, pair in remembered.items() if isinstance(remembered, Mapping) else ():
                if (
                    isinstance(pair, list)
                    and len(pair) == 2
                    # A store may come from anybody, and NaN is not at least 0.
                    and all(isinstance(n, int | float) and n >= 0 for n in pair)
                ):
                    costs.add(kind, float(pair[1]), int(pair[0]))
        return costs


@dataclass(frozen=True)
class Round:
    """What is to be done in one round.

    Arguments:
        names: the runs by key, as people know them.
        stored: how many more are stored already.
        kinds: by key, what kind of run it is.
        costs: what is known about the kinds.
    """

    names: Mapping[str, str]
    stored: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)


def _without_floats(part: Any) -> Any:
    """The same description with nothing in the place of each number that is not whole."""
    if isinstance(part, Mapping):
        # JSON has no infinity and no NaN: descriptions write such numbers as {"float": "inf"}.
        if part.keys() == {"float"}:
            return None
        return {name: _without_floats(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_without_floats(value) for value in part]
    return None if isinstance(part, float) else part
