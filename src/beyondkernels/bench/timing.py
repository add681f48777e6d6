"""Times and peak memory."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def pinned() -> Iterator[None]:
    """Inside the block this process and those it starts stay on one core, if the system supports it.

    Libraries that make threads of their own, whatever they are told, have no second core to run them on.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def in_turns(*timed: Callable[[], float], repeats: int) -> list[float]:
    """The best of each, taken in turns so that a busy moment of the machine hits all.

    Arguments:
        timed: functions that return how long something took.
        repeats: how many turns.
    """
    turns = [[one() for one in timed] for _ in range(repeats)]
    return [min(times) for times in zip(*turns, strict=True)]


@dataclass(frozen=True)
class Times:
    """How long something took.

    Arguments:
        processor: seconds that this process kept the processor busy, all threads together.
        wall: seconds on the clock.
    """

    processor: float
    wall: float


def alternating(*functions: Callable[[], Any], repeats: int) -> list[Times]:
    """The best times of each function, taken in turns so that a busy moment of the machine hits all.

    Arguments:
        functions: what is measured.
        repeats: how many turns.
    """
    turns = [[_times(one) for one in functions] for _ in range(repeats)]
    columns = zip(*turns, strict=True)
    return [Times(min(one.processor for one in column), min(one.wall for one in column)) for column in columns]


def memory_ratio(theirs: str, ours: str) -> float | None:
    """Their peak memory divided by ours, each in a process of its own; None where it cannot be measured."""
    above, below = peak_bytes(theirs), peak_bytes(ours)
    return above / below if above and below else None


def megabytes(function: str) -> str:
    """A function's peak memory in MB, as text."""
    peak = peak_bytes(function)
    return "unknown" if peak is None else f"{peak / 1e6:.0f}"


@functools.cache
def peak_bytes(function: str) -> int | None:
    """The peak memory a function adds to a fresh process; None on systems other than Linux.

    Arguments:
        function: ``module:name`` of a function that prepares and returns what is to be measured.
    """
    if not Path("/proc/self/clear_refs").exists():
        return None
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "beyondkernels.bench.peak", function]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(answer.stdout)


def processor_seconds(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """How long a function keeps the processor busy, all threads of this process added up.

    On one core this is the time on the clock, less what the machine was doing for others.
    """
    start = clock()
    function()
    return clock() - start


def children_time() -> float:
    """How long processes that this one has started, and that have ended, kept the processor busy."""
    times = os.times()
    return times.children_user + times.children_system


def _times(function: Callable[[], Any]) -> Times:
    processor, wall = time.process_time(), time.perf_counter()
    function()
    return Times(time.process_time() - processor, time.perf_counter() - wall)
