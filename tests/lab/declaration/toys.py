"""Runs without training: places go in, made-up outcomes come out."""

from collections.abc import Callable, Sequence
from typing import Any

from beyondkernels.core import Outcome
from beyondkernels.lab.declaration.runs import At, Runs


class Made:
    """What the store gives for a run."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


def place(settings: Any, at: At) -> Any:
    """In place of a specification, where the run stands."""
    return at


def finish(runs: Runs, seeds: Sequence[int], outcome: Callable[[At], Outcome]) -> tuple[dict[Any, Any], list[int]]:
    """Plan in rounds until nothing new is asked; the finished runs, and how many each round asked for."""
    finished: dict[Any, Any] = {}
    rounds = []
    while True:
        new = {label: at for label, at in runs.specs(None, seeds, finished).items() if label not in finished}
        if not new:
            return finished, rounds
        rounds.append(len(new))
        finished |= {label: Made(outcome(at)) for label, at in new.items()}  # type: ignore[arg-type]


def good(**scalars: float) -> Outcome:
    return Outcome("finished", scalars)


DIVERGED = Outcome("diverged", {"steps": 1.0})
