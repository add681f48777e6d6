"""Benchmarks by name, the rows they give, and the document they are kept in."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core import unknown

if TYPE_CHECKING:
    from beyondkernels.bench.timing import Times

BENCHMARKS = {
    "kernels": "kernels and their solvers against the usual recipes, one core",
    "engine": "a grid of small networks against a plain loop over them, one core",
    "audit": "training and kernels of a user's own module against the usual recipes, one core",
}
"""What each benchmark compares; ``bench/<name>.py`` holds it."""

SCHEMA = 1
"""The version of the document's format."""


@dataclass(frozen=True)
class Row:
    """One comparison in one process on one core, in turns, the best of several times.

    Arguments:
        name: what was measured.
        against: what it was compared with.
        ratio: the other's processor time divided by ours. What else the machine does hardly changes it.
        wall_ratio: the same with the time on the clock.
        seconds: our processor time.
        wall_seconds: our time on the clock.
        memory_ratio: the other's peak memory divided by ours; None where memory was not compared.
        remark: sizes and what else is worth knowing.
    """

    name: str
    against: str
    ratio: float | None
    wall_ratio: float | None
    seconds: float
    wall_seconds: float
    memory_ratio: float | None
    remark: str

    @classmethod
    def of(cls, name: str, against: str, ours: Times, theirs: Times, remark: str, memory: float | None = None) -> Row:
        """One comparison, from both times."""
        processor, wall = theirs.processor / ours.processor, theirs.wall / ours.wall
        return cls(name, against, processor, wall, ours.processor, ours.wall, memory, remark)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def bench(name: str) -> Callable[[], Iterator[Any]]:
    """The benchmark of that name: a function that gives each row when it has been measured."""
    if name not in BENCHMARKS:
        unknown("benchmark", name, BENCHMARKS)
    return importlib.import_module(f"beyondkernels.bench.{name}").rows


def document(name: str, rows: Sequence[Any], provenance: dict[str, Any], *, complete: bool) -> dict[str, Any]:
    """What ``bk bench NAME --json`` writes, after every row: plain data that ``results/`` can keep.

    Arguments:
        name: of the benchmark.
        rows: measured so far.
        provenance: of the measurement.
        complete: whether these are all rows; an interrupted benchmark leaves False.
    """
    return {
        "schema": SCHEMA,
        "benchmark": name,
        "complete": complete,
        "rows": [row.as_json() for row in rows],
        "provenance": provenance,
    }
