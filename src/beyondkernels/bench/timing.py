"""Times and peak memory."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """No library uses more than one thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def alternating(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """The best time of each, taken in turns so that a busy moment of the machine hits both.

    Arguments:
        ours: one function.
        theirs: the other.
        repeats: how many turns.
    """
    times = [(_seconds(ours), _seconds(theirs)) for _ in range(repeats)]
    return min(mine for mine, _ in times), min(other for _, other in times)


def memory_ratio(theirs: str, ours: str) -> float | None:
    """Their peak memory by ours, each in a process of its own; None where it cannot be measured."""
    above, below = peak_bytes(theirs), peak_bytes(ours)
    return above / below if above and below else None


def megabytes(function: str) -> str:
    """A function's peak memory in MB, as a word."""
    peak = peak_bytes(function)
    return "unknown" if peak is None else f"{peak / 1e6:.0f}"


@functools.cache
def peak_bytes(function: str) -> int | None:
    """By how much a function raises the memory of a fresh process at its peak; None where only Linux could tell.

    Arguments:
        function: ``module:name`` of a function that prepares and returns what is to be measured.
    """
    if not Path("/proc/self/clear_refs").exists():
        return None
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "beyondkernels.bench.peak", function]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(answer.stdout)


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
