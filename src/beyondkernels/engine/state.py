"""The state of a member as plain arrays, and back, without changing a bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from beyondkernels.core import Saved, Tensors
from beyondkernels.engine.member import Member
from beyondkernels.engine.predictor import Predictor
from beyondkernels.networks import Network

FORMAT = 1
"""The format of a saved state. Raise it when the meaning changes; states of other formats are ignored."""

_PARTS = ("params", "buffers", "optimiser")
_COUNTS = ("stage_index", "steps_in_stage", "stage_entered", "step", "check_at", "diverged")
_UNFIT = (KeyError, IndexError, ValueError, TypeError, AttributeError, RuntimeError)
"""What is raised by a state that is damaged, or of another version."""

_LATER = {"check_at": None}
"""Counts that states of this format did not always have, and what they were then."""


def saved_state(member: Member, record: dict[str, np.ndarray]) -> Saved:
    """Everything that a member needs to go on.

    Arguments:
        member: between two steps.
        record: what was recorded so far.
    """
    saved = _saved({part: getattr(member, part) for part in _PARTS})
    counts = {name: getattr(member, name) for name in _COUNTS}
    kept = {f"record/{name}": array for name, array in record.items()}
    return Saved(saved.facts | {"counts": counts}, saved.arrays | kept)


def saved_predictor(predictor: Predictor) -> Saved:
    """What a trained network needs to predict: its parameters and buffers.

    Arguments:
        predictor: the network after training.
    """
    return _saved({"params": predictor.params, "buffers": predictor.buffers})


def restored_predictor(network: Network, saved: Saved) -> Predictor | None:
    """A trained network from what was kept of it; None if that is of another format or damaged.

    Arguments:
        network: the architecture.
        saved: a result of :func:`saved_predictor`.
    """
    try:
        parts = _restored(saved) if saved.facts["format"] == FORMAT else None
    except _UNFIT:
        return None
    return None if parts is None else Predictor(network, parts["params"], parts["buffers"])


def _saved(parts: Mapping[str, Tensors]) -> Saved:
    """Named tensors as arrays, and what is needed to make them tensors again."""
    arrays, tensors = {}, []
    for part, named in parts.items():
        for name, value in named.items():
            # As bytes: numpy has no bfloat16, and what is never converted cannot be rounded.
            arrays[f"{part}/{name}"] = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            # a layout is kept as well: sums that run over memory in another order round in another way
            tensors.append([part, name, str(value.dtype), list(value.shape), list(value.stride())])
    return Saved({"format": FORMAT, "tensors": tensors}, arrays)


def _restored(saved: Saved) -> dict[str, Tensors]:
    """The inverse of :func:`_saved`."""
    parts: dict[str, Tensors] = {part: {} for part in _PARTS}
    for part, name, *kind in saved.facts["tensors"]:
        parts[part][name] = _tensor(saved.arrays[f"{part}/{name}"], *kind)
    return parts


def restore(member: Member, saved: Saved) -> dict[str, np.ndarray] | None:
    """Put a started member into a saved state and return the record; None if the state does not fit the member.

    Arguments:
        member: not changed if the state does not fit.
        saved: a result of :func:`saved_state`.
    """
    first = (member.stage_index, member.stage_entered)
    try:
        if saved.facts["format"] != FORMAT:
            return None
        known = _LATER | saved.facts["counts"]
        counts = {name: known[name] for name in _COUNTS}
        parts = {
            part: {name: value.to(member.device) for name, value in named.items()}
            for part, named in _restored(saved).items()
        }
    # A damaged state, or one of another version, costs the steps taken so far and never the run: it starts anew.
    except _UNFIT:
        return None
    in_first = (counts["stage_index"], counts["stage_entered"]) == first  # a transition may change names and shapes
    if in_first and any(_kinds(parts[part]) != _kinds(getattr(member, part)) for part in _PARTS):
        return None
    # Only now, when every part has been read and fits: a member is never left half restored.
    for name, value in (counts | parts).items():
        setattr(member, name, value)
    own = "record/"
    return {name.removeprefix(own): array for name, array in saved.arrays.items() if name.startswith(own)}


def _kinds(tensors: Tensors) -> dict[str, tuple[torch.dtype, torch.Size]]:
    return {name: (value.dtype, value.shape) for name, value in tensors.items()}


def _tensor(content: np.ndarray, kind: str, shape: list[int], stride: list[int]) -> torch.Tensor:
    dtype: Any = getattr(torch, kind.removeprefix("torch."))
    flat = torch.from_numpy(content)
    if flat.dtype != torch.uint8 or flat.ndim != 1 or flat.numel() != math.prod(shape) * dtype.itemsize:
        raise ValueError("not the bytes of such a tensor")
    # With the strides that were saved, so that sums over this memory run in the order they had before.
    tensor = torch.empty_strided(shape, stride, dtype=dtype)
    return tensor.copy_(flat.view(dtype).view(shape)) if flat.numel() else tensor
