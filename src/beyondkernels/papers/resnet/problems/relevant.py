"""The coordinates on which a target depends: given by the user, or drawn for an instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from beyondkernels.core import Stream, require


class _HasIndices(Protocol):
    @property
    def indices(self) -> Sequence[int] | None: ...


def drawn_indices(instance: int, count: int, among: int) -> tuple[int, ...]:
    """Distinct coordinates in random order, each order equally likely."""
    return tuple(Stream(instance).child("relevant").permutation(among)[:count].tolist())


def check_indices(problem: _HasIndices, count: int, among: int) -> None:
    """The given indices as a tuple, after checking that they are distinct and as many as needed."""
    given = problem.indices
    if given is None:
        return
    indices = tuple(given)
    right = len(set(indices)) == len(indices) == count and all(isinstance(i, int) and 0 <= i < among for i in indices)
    require(right, f"indices must be {count} distinct numbers from 0 to {among - 1}, got {indices}")
    object.__setattr__(problem, "indices", indices)
