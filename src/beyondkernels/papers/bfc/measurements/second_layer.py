"""The second layer of a DenseNet as a polynomial, and what the next layer can read off it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from beyondkernels.core import InputError
from beyondkernels.papers.bfc.measurements.course import LayeredTarget, LayerValues, Seen
from beyondkernels.papers.bfc.measurements.features import LayerMeasurement
from beyondkernels.papers.bfc.problems.layered import LayeredProblem
from beyondkernels.papers.bfc.theory import linear_error

LAYER = 2


@dataclass(frozen=True)
class SecondLayer(LayerMeasurement):
    r"""The coefficients of the second layer, and how much of the target's second layer is not in the span of it.

    .. math:: \|S_2(x)\|^2 = \sum_{i \le j} c_{ij}\, G_{1,i}(x)\, G_{1,j}(x), \qquad
              \mathrm{unreadable} = \frac{\min_B E\|G^\star_2(x) - B\,\sigma(S_2(x))\|^2}{E\|G^\star_2(x)\|^2}

    Names: ``second/1-1``, ``second/1-2``, …, the coefficient of :math:`G_{1,i} G_{1,j}`, and ``second/unreadable``. A
    network whose second layer has the right sum of squares in the wrong basis has the right coefficients, and what is
    unreadable is not small. The second layer must see :math:`G_1` alone, as all graphs of the paper have it.

    Reference: Allen-Zhu & Li (bfc), §1.2 and §6.1.
    """

    group: ClassVar[str] = "second"

    def truth(self, target: LayeredTarget, x: torch.Tensor) -> LayerValues:
        """G*₂ at the points; under 1, the points at which G₁ is each unit vector."""
        if not isinstance(target, LayeredProblem):
            raise InputError(f"problem must have layers, as bk.bfc.QuadraticTarget, got {type(target).__name__}")
        centre = torch.tensor(target.second_moments, dtype=torch.float64)
        return {1: (centre + torch.eye(target.in_dim, dtype=torch.float64)).sqrt(), LAYER: target.outputs(x)[LAYER]}

    def compare(self, truth: LayerValues, moment: Seen, x: torch.Tensor) -> Mapping[str, float]:
        columns = moment.hidden(truth[1])[LAYER]  # S₂ is linear in G₁, so these are the columns of its matrix
        form, G_star = columns @ columns.T, truth[LAYER]
        left = linear_error(G_star, moment.hidden(x)[LAYER].square()) / G_star.square().sum(1).mean().item()
        rows, d = {}, len(form)
        for i in range(d):
            rows |= {f"{i + 1}-{j + 1}": form[i, j].item() * (1 if i == j else 2) for j in range(i, d)}
        return rows | {"unreadable": left}
