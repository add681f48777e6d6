"""How close the layers of a DenseNet are to the target's, over training."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Ended, Measured, Outcome, Stream
from beyondkernels.core.constraints import any_number, positive
from beyondkernels.measure.base import Measurement, over_steps
from beyondkernels.papers.bfc.measurements.course import LayeredTarget, LayerValues, Seen, course, end, layered
from beyondkernels.papers.bfc.theory import distilled, linear_error, procrustes


@dataclass(frozen=True)
class LayerMeasurement(Measurement):
    """Numbers of each layer at every snapshot as series, and at the end as scalars of the same names.

    The run keeps what is needed with ``snapshot_names=("all",)``; without snapshots there are the scalars alone. The
    layers are the target's. A layer that the network lacks counts as one of zeros.

    Arguments:
        points: how many fresh points the means are taken over.
        seed: where they come from.
    """

    group: ClassVar[str]

    points: Annotated[int, positive] = 10_000
    seed: Annotated[int, any_number] = 0

    def measure(self, run: Ended) -> Measured:
        target = layered(run.problem)
        x = run.problem.sample(self.points, Stream(self.seed).child("bfc", self.group)).x
        truth, moments = self.truth(target, x), course(run)
        at_end = self.compare(truth, end(run), x)
        rows = [self.compare(truth, moment, x) for moment in moments.values()]
        scalars = {f"{self.group}/{name}": value for name, value in at_end.items()}
        return Measured(scalars, over_steps(self.group, moments, rows) if moments else {})

    def truth(self, target: LayeredTarget, x: torch.Tensor) -> LayerValues:
        """What the layers are compared with: the target's features S* at the points, unless a class says otherwise."""
        return target.features(x)

    @abstractmethod
    def compare(self, truth: LayerValues, moment: Seen, x: torch.Tensor) -> Mapping[str, float]:
        """The numbers at one moment, by name."""


@dataclass(frozen=True)
class FeatureErrors(LayerMeasurement):
    r"""The error of the hidden features up to a rotation, for each layer.

    .. math:: \mathrm{layer}_\ell = \min_{U^\top U = I} E\|S^\star_\ell(x) - U S_\ell(x)\|^2, \qquad
              \mathrm{relative}_\ell = \frac{\mathrm{layer}_\ell}{E\|S^\star_\ell(x)\|^2}, \qquad
              \mathrm{linear}_\ell = \frac{\min_A E\|S^\star_\ell(x) - A S_\ell(x)\|^2}{E\|S^\star_\ell(x)\|^2}

    Names: ``features/layer2``, ``features/relative2``, ``features/linear2``, … The relative error of features that are
    zero is 1. Where a network has more hidden units than the target, the target's features get zeros as further
    coordinates. ``linear`` (ours) asks only whether the target's features can be read off; a network that has them in
    another basis, or more than once, has a small one. ``features/distilled2``, … are the relative errors of the leading
    directions of S alone, as many as S* has (ours, :func:`bk.bfc.distilled`). Theorem 2 bounds these
    where a layer has more neurons than the target's.

    Reference: Allen-Zhu & Li (bfc), Theorem 2.
    """

    group: ClassVar[str] = "features"

    def compare(self, truth: LayerValues, moment: Seen, x: torch.Tensor) -> Mapping[str, float]:
        found, row = moment.hidden(x), {}
        for layer, S_star in truth.items():
            S = found.get(layer, torch.zeros_like(S_star))
            size, error = S_star.square().sum(1).mean().item(), procrustes(S_star, S)
            row |= {f"layer{layer}": error, f"relative{layer}": error / size}
            row[f"linear{layer}"] = linear_error(S_star, S) / size
            row[f"distilled{layer}"] = procrustes(S_star, distilled(S, S_star.shape[1])) / size
        return row


@dataclass(frozen=True)
class LayerContributions(LayerMeasurement):
    r"""How well each layer of the network gives what the same layer gives to the target.

    .. math:: \mathrm{layer}_\ell = E\bigl(\alpha_\ell \mathrm{Sum}(F_\ell(x)) -
              \alpha_\ell \mathrm{Sum}(G^\star_\ell(x))\bigr)^2, \qquad
              \mathrm{relative}_\ell = \frac{\mathrm{layer}_\ell}{\mathrm{Var}(\alpha_\ell
              \mathrm{Sum}(G^\star_\ell(x)))}

    Names: ``contributions/layer2``, ``contributions/relative2``, … ``contributions/centred2`` is the variance of the
    difference over the same variance: a constant that one layer has too much and another too little does not count.

    Reference: Allen-Zhu & Li (bfc), §6.2.
    """

    group: ClassVar[str] = "contributions"

    def truth(self, target: LayeredTarget, x: torch.Tensor) -> LayerValues:
        """What the target's layers add to it, α Sum(G*)."""
        return target.contributions(x)

    def compare(self, truth: LayerValues, moment: Seen, x: torch.Tensor) -> Mapping[str, float]:
        found, row = moment.contributions(x), {}
        for layer, given in truth.items():
            difference = found.get(layer, torch.zeros_like(given)) - given
            error, variance = difference.square().mean().item(), given.var(correction=0).item()
            row |= {f"layer{layer}": error, f"relative{layer}": error / variance}
            row[f"centred{layer}"] = difference.var(correction=0).item() / variance
        return row


@dataclass(frozen=True)
class HiddenNorms(LayerMeasurement):
    r"""How large the hidden features are, which training keeps bounded by itself.

    .. math:: \mathrm{layer}_\ell = E\|S_\ell(x)\|^2, \qquad
              \mathrm{relative}_\ell = \frac{E\|S_\ell(x)\|^2}{E\|S^\star_\ell(x)\|^2}

    Names: ``norms/layer2``, ``norms/relative2``, … Corollary F.3e says that :math:`E\|S_\ell\|^2 \le 2B_\ell` where
    :math:`B_\ell \ge E\|S^\star_\ell\|^2`, so a relative norm of at most 2 fits the smallest
    :math:`B_\ell`, where that is at least 1.

    Reference: Allen-Zhu & Li (bfc), Corollary F.3e and Remark B.4.
    """

    group: ClassVar[str] = "norms"

    def compare(self, truth: LayerValues, moment: Seen, x: torch.Tensor) -> Mapping[str, float]:
        found, row = moment.hidden(x), {}
        for layer, S_star in truth.items():
            size = found[layer].square().sum(1).mean().item() if layer in found else 0.0
            row |= {f"layer{layer}": size, f"relative{layer}": size / S_star.square().sum(1).mean().item()}
        return row


def below_from(outcome: Outcome, series: str, bar: float) -> float:
    """The first recorded step from which on a series stays below a bar; no number where it ends above, or is missing.

    Arguments:
        outcome: the run.
        series: the name of the series, such as ``features/distilled2``.
        bar: what it stays below.

    >>> import numpy as np
    >>> record = {"features/step": np.arange(4), "features/layer2": np.array([1.0, 0.05, 0.2, 0.05])}
    >>> below_from(Outcome(series=record), "features/layer2", 0.1)
    3.0
    """
    if series not in outcome.series:
        return math.nan
    steps, errors = outcome.over(series)
    above = [i for i, error in enumerate(errors) if not error < bar]
    first = above[-1] + 1 if above else 0
    return float(steps[first]) if first < len(steps) else math.nan
