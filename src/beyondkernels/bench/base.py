"""Benchmarks by name, and the rows they give."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from beyondkernels.core import unknown

BENCHMARKS = {
    "kernels": "kernels and their solvers against the usual recipes, one core",
    "engine": "a grid of small networks against a plain loop over them, one core",
}
"""What each benchmark compares; ``bench/<name>.py`` holds it."""


@dataclass(frozen=True)
class Row:
    """One comparison in one process on one core, alternating, the best of several times.

    Arguments:
        name: what was measured.
        against: what it was compared with.
        ratio: the other's time by ours.
        seconds: our time.
        memory_ratio: the other's peak memory by ours; None where memory was not compared.
        remark: sizes and what else is worth knowing.
    """

    name: str
    against: str
    ratio: float | None
    seconds: float
    memory_ratio: float | None
    remark: str

    def as_json(self) -> dict[str, Any]:
        """The row as plain data."""
        return asdict(self)


def bench(name: str) -> Callable[[], Iterator[Any]]:
    """The benchmark of that name: a function that gives its rows one after the other."""
    if name not in BENCHMARKS:
        unknown("benchmark", name, BENCHMARKS)
    return importlib.import_module(f"beyondkernels.bench.{name}").rows
