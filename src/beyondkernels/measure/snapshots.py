"""The parameters that a run kept along its training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from beyondkernels.core import InputError, Outcome, Tensors
from beyondkernels.engine.learner import BUFFERS

HIDDEN = "hidden.weight"


def snapshots(outcome: Outcome, name: str = HIDDEN) -> dict[int, np.ndarray]:
    """The kept versions of a parameter by step."""
    found = {step: array for step, parameter, array in _kept(outcome) if parameter == name}
    if not found:
        raise InputError(f"the run kept no snapshot of {name}; ask for one with snapshot_at and snapshot_names")
    return dict(sorted(found.items()))


def states(outcome: Outcome) -> dict[int, tuple[Tensors, Tensors]]:
    """The parameters and buffers that a run kept, by step; empty where it kept none."""
    found: dict[int, tuple[Tensors, Tensors]] = {}
    for step, name, array in _kept(outcome):
        params, buffers = found.setdefault(step, ({}, {}))
        part = buffers if name.startswith(BUFFERS) else params
        part[name.removeprefix(BUFFERS)] = torch.from_numpy(array)
    return dict(sorted(found.items()))


def _kept(outcome: Outcome) -> Iterator[tuple[int, str, np.ndarray]]:
    for key, array in outcome.arrays.items():
        kind, _, rest = key.partition("/")
        step, _, name = rest.partition("/")
        if kind == "snapshot":
            yield int(step), name, array
