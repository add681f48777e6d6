"""The weights of a learner along a run, and what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from beyondkernels.core import InputError, Outcome, Tensors
from beyondkernels.engine.learner import BUFFERS
from beyondkernels.measure.snapshots import snapshots


def course(outcome: Outcome, names: Sequence[str], fixed: Sequence[str]) -> tuple[dict[int, Tensors], Tensors]:
    """The weights at all snapshots, the start among them, and the buffers, all float64.

    Arguments:
        outcome: of a run that kept them.
        names: the weights.
        fixed: the buffers, which do not change.
    """
    kept = {name: snapshots(outcome, name) for name in names}
    steps = list(kept[names[0]])
    if 0 not in steps or any(list(found) != steps for found in kept.values()):
        raise InputError(
            f"the run must have kept {' and '.join(names)} at the same steps, 0 among them; ask for them with "
            "snapshot_at and snapshot_names"
        )
    weights = {step: {name: torch.from_numpy(kept[name][step]).double() for name in names} for step in steps}
    buffers = {name: torch.from_numpy(snapshots(outcome, BUFFERS + name)[0]).double() for name in fixed}
    return weights, buffers


def row_norm(W: torch.Tensor, power: float) -> float:
    r""":math:`\|W\|_{2,p}`, the p-norm of the rows' Euclidean norms.

    Arguments:
        W: a matrix.
        power: p, which may be infinite.

    >>> row_norm(torch.tensor([[3.0, 4.0], [0.0, 12.0]]), float("inf"))
    12.0
    """
    return float(torch.linalg.vector_norm(W.norm(dim=1), ord=power))
