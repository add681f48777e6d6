"""Times and peak memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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


def alternating(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int, our_repeats: int = 1
) -> tuple[float, float]:
    """The best time of each, taken in turns so that a busy moment of the machine hits both.

    Arguments:
        ours: one function.
        theirs: the other.
        repeats: how many turns.
        our_repeats: how often ours runs in a turn, for when it is far shorter.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for _ in range(our_repeats):
            times[0].append(_seconds(ours))
        times[1].append(_seconds(theirs))
    return min(times[0]), min(times[1])


def peak_bytes(function: str) -> int:
    """By how much a function raises the memory of a fresh process at its peak.

    Arguments:
        function: ``module:name`` of a function that prepares and returns what is to be measured.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "beyondkernels.bench.peak", function]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(answer.stdout)


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
