"""How much of a composite target's two signals a trained ResNet holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Ended, InputError, Measured, Stream
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement
from beyondkernels.measure.snapshots import snapshots
from beyondkernels.papers.resnet.networks import ResNetWeights
from beyondkernels.papers.resnet.problems import CompositeProblem


@dataclass(frozen=True)
class LearntSignals(Measurement):
    r"""The predictions of a bottleneck ResNet, at its last snapshot, regressed on the target's two signals.

    .. math:: (b, a) = \arg\min_{b, a} \mathbb E \|\mathrm{out}(x) - b\,F(x) - a\,G(F(x))\|^2

    over fresh points. What has learnt :math:`H = \beta F + \alpha G(F)` has b = β and a = α; what has learnt nothing of
    a signal has a coefficient of zero there, however noisy it is. Scalars ``base_coefficient`` (b) and
    ``composite_coefficient`` (a).

    Arguments:
        points: how many fresh ones.
        seed: they are drawn with it.
    """

    points: Annotated[int, positive] = 5000
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        problem, outcome = run.problem, run.outcome
        if not isinstance(problem, CompositeProblem):
            raise InputError(f"problem must be composite to have two signals, got {type(problem).__name__}")
        last = max(snapshots(outcome, "A.weight"))
        prefix = f"snapshot/{last}/"
        params = {
            key.removeprefix(prefix): torch.from_numpy(array)
            for key, array in outcome.arrays.items()
            if key.startswith(prefix)
        }
        sample = problem.sample(self.points, Stream(self.seed).child("learnt"))
        out = ResNetWeights.of(params).apply(sample.x)
        signals = torch.stack([sample.hidden[name].double().flatten() for name in ("base", "composite")], 1)
        b, a = torch.linalg.lstsq(signals, out.reshape(-1, 1)).solution.flatten().tolist()
        return Measured({"base_coefficient": b, "composite_coefficient": a})
