"""What ``overparam/coupling`` and ``overparam/rademacher`` train: networks that are compared with their start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least
from beyondkernels.papers.overparam.experiments.common import Std


@dataclass(frozen=True)
class NearSettings(bk.core.Checked):
    """The numbers of both; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = lab.setting(10, "ours", "d")
    terms: lab.Count = lab.setting(4, "ours", "p of the ground truth, with φ = sin")
    output_std: Std = lab.setting(0.3, "ours", "ε_a")


def truth_of(s: NearSettings, seed: int, noise: float = 0.0) -> bk.overparam.TwoLayerTruth:
    return bk.overparam.TwoLayerTruth(bk.overparam.UnitInputs(s.dim), "sin", s.terms, noise=noise, instance=seed)


def learner_of(
    s: NearSettings, at: lab.At, rule: bk.algorithms.Algorithm, times: tuple[int, ...], backend: lab.Backend = "eager"
) -> bk.engine.TrainedNetwork:
    """A network of two or three layers that keeps its weights at these steps."""
    kind = bk.overparam.TwoLayerLearner if at.layers == 2 else bk.overparam.ThreeLayerLearner
    names = ("W", "buffers/b1", "buffers/a") + (("V", "buffers/b2") if at.layers == 3 else ())
    network = kind(at.width, s.output_std)
    return bk.engine.TrainedNetwork(network, rule, snapshot_at=times, snapshot_names=names, backend=backend)
