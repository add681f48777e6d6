"""The weights of a bottleneck ResNet along a run, and how far they have moved."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from beyondkernels.core import InputError, Outcome
from beyondkernels.measure.snapshots import snapshots
from beyondkernels.papers.resnet.networks import ResNetWeights


def scales(initial: ResNetWeights) -> tuple[float, float]:
    r""":math:`\sigma_w, \sigma_v` as the entries at the start show them: V's times √m."""
    return float(initial.W.std(correction=0)), float(initial.V.std(correction=0)) * initial.width**0.5


def radii(initial: ResNetWeights, now: ResNetWeights) -> tuple[float, float]:
    r"""The spectral norms of what W and V have learned: the least :math:`\tau_w, \tau_v` that bound them."""
    first, second = (float(torch.linalg.matrix_norm(d, ord=2)) for d in (now.W - initial.W, now.V - initial.V))
    return first, second


def course(outcome: Outcome) -> dict[int, ResNetWeights]:
    """The weights of a run at all its snapshots, the start among them."""
    kept: dict[str, Mapping[int, object]] = {name: snapshots(outcome, f"{name}.weight") for name in ("W", "V", "A")}
    biases = [name for name in ("W.bias", "V.bias") if any(key.endswith(f"/{name}") for key in outcome.arrays)]
    if biases:  # a network may have none; those of one layer or step alone would open the wrong gates
        kept |= {name: snapshots(outcome, name) for name in ("W.bias", "V.bias")}
    steps = list(kept["W"])
    if 0 not in steps or any(list(found) != steps for found in kept.values()):
        raise InputError(
            "the run must have kept W, V and A with their biases at the same steps, 0 among them; "
            "ask for them with snapshot_at and snapshot_names"
        )
    prefix = "snapshot/{}/"
    return {
        step: ResNetWeights.of(
            {
                key.removeprefix(prefix.format(step)): torch.from_numpy(array)
                for key, array in outcome.arrays.items()
                if key.startswith(prefix.format(step))
            }
        )
        for step in steps
    }
