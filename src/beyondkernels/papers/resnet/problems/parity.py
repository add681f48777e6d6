"""The composite parity of the experiments in §8.1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import Polynomial
from beyondkernels.core import require
from beyondkernels.core.constraints import not_negative, size
from beyondkernels.data.inputs import Cube
from beyondkernels.data.maps import GivenMap, nested
from beyondkernels.papers.resnet.problems.composite import BooleanProblem, require_plain
from beyondkernels.papers.resnet.problems.powers import product_map
from beyondkernels.papers.resnet.problems.smooth import SmoothComposite
from beyondkernels.papers.resnet.problems.spectrum import Spectrum, collect

_FACTORS = 4


@dataclass(frozen=True)
class CompositeParity(BooleanProblem):
    r"""Parities of two signs each, plus the parity of four of these with a smaller factor.

    .. math:: x \sim U(\{-1, 1\}^d), \quad F(x) = (x_1 x_2, x_3 x_4, \dots, x_{2k-1} x_{2k}), \quad
              G_i(y) = (-1)^i y_1 y_2 y_3 y_4, \quad H = \beta F + \alpha G(F)

    with i = 1, …, k, so the first output has a minus sign. All terms are different parities. So βF alone has risk kα²,
    and the best polynomial of degree less than two (such as the best linear predictor) has risk k(β² + α²).

    Arguments:
        dim: d, at least 2k; coordinates beyond 2k are irrelevant.
        outputs: k, at least 4.
        alpha: α.
        beta: β.
        optimal_risk: OPT, half the expected squared length of the noise on the labels.

    >>> problem = CompositeParity()
    >>> round(problem.base_only_risk, 12), round(problem.polynomial_risk(1), 12), problem.polynomial_risk(8)
    (1.35, 16.35, 0.0)

    Reference: Allen-Zhu & Li (resnet), §8.1.
    """

    dim: Annotated[int, size] = 30
    outputs: Annotated[int, size] = 15
    alpha: Annotated[float, not_negative] = 0.3
    beta: Annotated[float, not_negative] = 1.0
    optimal_risk: Annotated[float, not_negative] = 0.0

    def __post_init__(self) -> None:
        require(
            self.outputs >= _FACTORS, f"outputs must be at least {_FACTORS}, which G multiplies, got {self.outputs}"
        )
        require(
            self.dim >= 2 * self.outputs,
            f"dim must be at least twice outputs, got {self.dim} for {self.outputs} outputs",
        )

    @property
    def inputs(self) -> Cube:
        """Fair signs."""
        return Cube(self.dim, side=1.0)

    @property
    def signs(self) -> torch.Tensor:
        """(−1)^i for i = 1, …, k, float64."""
        return torch.tensor([(-1.0) ** i for i in range(1, self.outputs + 1)], dtype=torch.float64)

    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        pairs = x[:, : 2 * self.outputs].double().view(len(x), self.outputs, 2)
        return pairs.prod(2)

    def composite_signal(self, h: torch.Tensor) -> torch.Tensor:
        return h[:, :_FACTORS].prod(1, keepdim=True) * self.signs

    @property
    def spectrum(self) -> Spectrum:
        k = self.outputs
        unit = torch.eye(k, dtype=torch.float64)
        terms = [((2 * i, 2 * i + 1), self.beta * unit[i]) for i in range(k)]
        return collect([*terms, (tuple(range(2 * _FACTORS)), self.alpha * self.signs)])

    def concept(self) -> SmoothComposite:
        r"""The target in Concept 1: inputs divided by √d, labels by √k.

        .. math:: x_1 x_2 = d\,(u_+^2 - u_-^2), \qquad u_\pm = \langle (e_1 \pm e_2)/2,\ x/\sqrt d \rangle

        so :math:`p_F = 2`; the product of four is a sum of :math:`p_G = 2^4` powers (:func:`product_map`).
        """
        require_plain(self)
        d, k = self.dim, self.outputs
        w = torch.zeros(k, 2, d, dtype=torch.float64)
        for i in range(k):
            w[i, :, 2 * i] = 0.5
            w[i, :, 2 * i + 1] = torch.tensor([0.5, -0.5])
        base = GivenMap(nested(w), ((1.0, -1.0),) * k, Polynomial((0.0, 0.0, d / math.sqrt(k))))
        scale = math.sqrt(k) ** _FACTORS / math.sqrt(k)
        composite = product_map(k, range(_FACTORS), (scale * self.signs).tolist())
        return SmoothComposite(Cube(d), base, composite, self.alpha, optimal_risk=self.optimal_risk / k)
