"""The example of §2.1: two linear functions of Gaussian inputs, and a polynomial of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import Polynomial
from beyondkernels.core import Stream
from beyondkernels.core.constraints import at_least, between, not_negative, not_zero, size
from beyondkernels.data.inputs import Gaussian
from beyondkernels.data.maps import LENGTH, GivenMap, nested
from beyondkernels.papers.resnet.problems.composite import CompositeProblem, require_plain
from beyondkernels.papers.resnet.problems.smooth import SmoothComposite


@dataclass(frozen=True)
class LinearThenPolynomial(CompositeProblem):
    r"""Two linear functions, and a polynomial of high degree of them.

    .. math:: x \sim N(0, I/d), \quad F(x) = (\langle w^*_1, x \rangle, \langle w^*_2, x \rangle), \quad
              \|w^*_j\| = \sqrt d, \quad G_r(h) = c\,(h_1^p - h_2^p)

    F(x) is a pair of standard Gaussians with correlation ρ. The moments of a degree-10 polynomial are large:
    :math:`E\|G(F)\|^2 = 4c^2((2p - 1)!! - E\,h_1^p h_2^p)` is 2.6·10⁹ for p = 10, c = 1.

    Arguments:
        dim: d, at least 2.
        alpha: α.
        degree: p.
        coefficient: c.
        correlation: ρ, the cosine of the angle of w*₁ and w*₂.
        instance: selects the draw of the directions.
        beta: β.
        optimal_risk: OPT, half the expected squared length of the noise on the labels.

    >>> LinearThenPolynomial(dim=30, alpha=0.1, degree=2, coefficient=0.5).base_only_risk  # 0.01·4·(3 − 1)/4
    0.02...

    Reference: Allen-Zhu & Li (resnet), §2.1 and footnote 3.
    """

    dim: Annotated[int, at_least(2), size]
    alpha: Annotated[float, not_negative]
    degree: Annotated[int, at_least(1)] = 10
    coefficient: Annotated[float, not_zero] = 1.0
    correlation: Annotated[float, between(-1, 1, "()")] = 0.0
    instance: int = 0
    beta: Annotated[float, not_negative] = 1.0
    optimal_risk: Annotated[float, not_negative] = 0.0

    @property
    def inputs(self) -> Gaussian:
        """N(0, I/d)."""
        return Gaussian(self.dim)

    @property
    def out_dim(self) -> int:
        return 2

    @property
    def directions(self) -> torch.Tensor:
        """w*, (2, d) float64, each of length √d."""
        q, _ = torch.linalg.qr(Stream(self.instance).child("directions").normal(self.dim, 2, dtype=torch.float64))
        other = self.correlation * q[:, 0] + math.sqrt(1 - self.correlation**2) * q[:, 1]
        return math.sqrt(self.dim) * torch.stack([q[:, 0], other])

    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        return x.double() @ self.directions.T

    def composite_signal(self, h: torch.Tensor) -> torch.Tensor:
        powers = h**self.degree
        return (self.coefficient * (powers[:, :1] - powers[:, 1:])).expand(-1, 2)

    @property
    def base_only_risk(self) -> float:
        """The risk of βF alone, exactly from Gaussian moments: α²E‖G(F)‖² + 2·OPT."""
        power = Polynomial((*(0.0,) * self.degree, 1.0))
        one = torch.ones(1, 1, dtype=torch.float64)
        second = float(power.dual(one, one, one, slope=False)[0])
        mixed = float(power.dual(one, one, self.correlation * one, slope=False)[0])
        return self.alpha**2 * self.coefficient**2 * 4 * (second - mixed) + 2 * self.optimal_risk

    def concept(self) -> SmoothComposite:
        r"""The target written with two-layer maps of Concept 1's norms: :math:`p_F = 1`, :math:`p_G = 2`.

        ‖x‖ and ‖F(x)‖ are close to 1 and √2 but vary. So the target belongs to neither concept exactly.
        """
        require_plain(self)
        w = self.directions[:, None, :] * (LENGTH / math.sqrt(self.dim))
        base = GivenMap(nested(w), ((1.0,), (1.0,)), Polynomial((0.0, math.sqrt(2 * self.dim))))
        v = (torch.eye(2, dtype=torch.float64) * LENGTH).expand(2, -1, -1)
        sign = math.copysign(1, self.coefficient)
        power = Polynomial((*(0.0,) * self.degree, abs(self.coefficient) * 2 ** (self.degree / 2)))
        composite = GivenMap(nested(v), ((sign, -sign),) * 2, power)
        return SmoothComposite(
            self.inputs, base, composite, self.alpha, optimal_risk=self.optimal_risk, concept_class=None
        )
