"""How many features each layer of a learner has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core.constraints import between
from beyondkernels.papers.bfc.measurements.course import LayerValues, Seen
from beyondkernels.papers.bfc.measurements.features import LayerMeasurement


@dataclass(frozen=True)
class FoundRanks(LayerMeasurement):
    r"""The numerical rank of the hidden features of each layer.

    .. math:: \mathrm{layer}_\ell = \#\bigl\{i : \lambda_i \ge \mathrm{least} \cdot \lambda_1\bigr\}, \qquad
              \lambda_1 \ge \lambda_2 \ge \dots \text{ the eigenvalues of } E[S_\ell(x) S_\ell(x)^\top]

    Names: ``ranks/layer2``, …; ``ranks/units2`` is how many features the layer holds, whatever they are, and
    ``ranks/target2`` the rank of the target's. The rank that Algorithm 1 finds from the weights is in the scalars of
    its runs, ``layer2/rank``; this one is for any learner. Zero features have rank 0.

    Arguments:
        least: eigenvalues below so large a part of the first do not count.

    Reference: Allen-Zhu & Li (bfc), §4, which finds k_ℓ in training.
    """

    group: ClassVar[str] = "ranks"

    least: Annotated[float, between(0, 1, "()")] = 1e-3

    def compare(self, truth: LayerValues, moment: Seen, x: torch.Tensor) -> Mapping[str, float]:
        found, row = moment.hidden(x), {}
        for layer, S_star in truth.items():
            S = found.get(layer, S_star[:, :0])
            row |= {f"layer{layer}": self._rank(S), f"units{layer}": float(S.shape[1])}
            row[f"target{layer}"] = self._rank(S_star)
        return row

    def _rank(self, S: torch.Tensor) -> float:
        values = torch.linalg.eigvalsh(S.T @ S / len(S))
        return float(((values >= self.least * values[-1:]) & (values > 0)).sum())
