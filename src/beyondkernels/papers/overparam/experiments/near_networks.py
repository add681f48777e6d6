"""What ``overparam/coupling`` and ``overparam/rademacher`` train: networks that are compared with their start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core import Checked
from beyondkernels.core.constraints import at_least
from beyondkernels.papers.overparam.experiments.common import Std

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.engine import TrainedNetwork
    from beyondkernels.papers.overparam.problems import TwoLayerTruth


@dataclass(frozen=True)
class NearSettings(Checked):
    """The numbers of both; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = lab.setting(10, "ours", "d")
    terms: lab.Count = lab.setting(4, "ours", "p of the ground truth, with φ = sin")
    output_std: Std = lab.setting(0.3, "ours", "ε_a")


def truth_of(s: NearSettings, seed: int, noise: float = 0.0) -> TwoLayerTruth:
    """The ground truth of a seed."""
    return bk.overparam.TwoLayerTruth(bk.overparam.UnitInputs(s.dim), "sin", s.terms, noise=noise, instance=seed)


def learner_of(
    s: NearSettings, at: lab.At, rule: Algorithm, times: tuple[int, ...], backend: lab.Backend = "eager"
) -> TrainedNetwork:
    """A network of two or three layers that keeps its weights at these steps."""
    kind = bk.overparam.TwoLayerLearner if at.layers == 2 else bk.overparam.ThreeLayerLearner
    names = ("W", "buffers/b1", "buffers/a") + (("V", "buffers/b2") if at.layers == 3 else ())
    network = kind(at.width, s.output_std)
    return bk.engine.TrainedNetwork(network, rule, snapshot_at=times, snapshot_names=names, backend=backend)
