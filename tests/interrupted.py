"""Runs that are ended in the middle and go on from what was kept of them."""

from __future__ import annotations

from collections.abc import Iterable

from beyondkernels.core import Checkpoint, Saved


class EndedError(Exception):
    """What happens to a run in the middle."""


class Kept(Checkpoint):
    """Keeps states in memory, beginning with those that are given, and ends the run when it has seen so many."""

    def __init__(self, most: float = float("inf"), states: Iterable[Saved] = ()) -> None:
        self.states = list(states)
        self.most = most

    def load(self) -> Saved | None:
        return self.states[-1] if self.states else None

    def due(self) -> bool:
        return True

    def save(self, state: Saved) -> None:
        self.states.append(Saved(state.facts, {name: array.copy() for name, array in state.arrays.items()}))
        if len(self.states) >= self.most:
            raise EndedError
