"""Algorithm 2 of the paper on overparameterised networks, on the compiled backend."""

from __future__ import annotations

import numpy as np
import torch

from beyondkernels.core import Tensors
from beyondkernels.engine.compiled.descent import Work, pointer
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member

DRAWN_BYTES = 2**24
"""The random numbers of so many steps are drawn at once that they need about this memory."""

_DRAWS = ("smoothing/W", "smoothing/V", "gradient/W", "gradient/V", "signs")


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    # Every step has random numbers as large as its weights. Those of all steps at once would fill the memory, and one
    # step at a time would pay for packing and unpacking the state again and again.
    bytes_drawn = sum(value.nbytes for value in member.noise(0).values())
    at_once = max(1, DRAWN_BYTES // max(1, bytes_drawn))
    while steps and not member.diverged:
        size = min(steps, at_once)
        _advance(member, [member.noise(i) for i in range(size)])
        steps -= size


def _advance(member: Member, drawn: list[Tensors]) -> None:
    """Take a step for each set of random numbers."""
    step = library("smoothed")
    work = Work(member, len(drawn), int(step.bk_lanes()))
    scales, left, factors = _shrinking(member.optimiser, drawn, work.column("shrink"))
    columns = (work.column("rate"), factors, work.column("penalty_w"), work.column("penalty_v"))
    numbers = np.ascontiguousarray(np.stack(columns, 1))
    # Only addresses: the list of drawn tensors stays alive until the step returns, and no number is copied.
    addresses = [[each[name].data_ptr() if name in each else 0 for name in _DRAWS] for each in drawn]
    draws = np.array(addresses, np.uintp)  # each tensor is contiguous, because a stream made it
    start, seen, gradient = work.layout.pack(member.optimiser, "start/"), work.value.copy(), np.zeros_like(work.value)
    neurons = len(member.params["W"])
    taken = step.bk_smoothed(
        *work.pointers(gradient), pointer(start), pointer(seen), neurons, work.weight,
        *(pointer(each) for each in (draws, numbers, work.losses)),
    )  # fmt: skip
    last = min(taken, len(drawn) - 1)
    member.optimiser = member.optimiser | {"scale": torch.tensor(scales[last]), "left": torch.tensor(left[last])}
    member.buffers = work.layout.unpack(work.value, member.buffers)
    work.finish(taken)


def _shrinking(state: Tensors, drawn: list[Tensors], shrink: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """λ and the steps until it shrinks, after each step, and the factor of λ before it."""
    # In float32 like the eager rule, so that λ has the same bits on both backends.
    scale, left = (np.float32(state[name]) for name in ("scale", "left"))
    found = np.empty((3, len(drawn)), np.float32)
    for i, (each, factor) in enumerate(zip(drawn, shrink, strict=True)):
        due = "wait" in each and left == 0
        scale = factor * scale if due else scale
        if "wait" in each:
            left = (np.float32(each["wait"]) if due else left) - np.float32(1)
        found[:, i] = scale, left, factor if due else 1.0
    scales, lefts, factors = found
    return scales, lefts, factors
