"""The error function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations.base import Activation, Moments, require_degree
from beyondkernels.core import require_positive
from beyondkernels.core.constraints import positive


@dataclass(frozen=True)
class Erf(Activation):
    r"""The error function of a multiple of z.

    .. math:: \sigma(z) = \operatorname{erf}(a z), \qquad \sigma'(z) = \frac{2a}{\sqrt\pi}\, e^{-a^2 z^2}

    Its dual maps, with :math:`d_i = 1 + 2 a^2 q_i`, are the arcsine kernel and its derivative

    .. math::
        E[\sigma(u)\,\sigma(v)] = \frac{2}{\pi} \arcsin\frac{2 a^2 c}{\sqrt{d_1 d_2}}, \qquad
        E[\sigma'(u)\,\sigma'(v)] = \frac{4 a^2}{\pi \sqrt{d_1 d_2 - 4 a^4 c^2}}.

    Arguments:
        scale: the factor a.

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> Erf().dual(one, one, one)[0].item()  # 2/π · arcsin(2/3)
    0.4645...

    Reference: Williams (1996), Computing with infinite networks.
    """

    scale: Annotated[float, positive] = 1.0
    closed_form = True

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return torch.erf(self.scale * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return torch.exp(-((self.scale * z) ** 2)) * (2 * self.scale / math.sqrt(math.pi))

    def smoothed(self, std: float) -> Erf:
        r"""The error function with a smaller factor, :math:`a / \sqrt{1 + 2 a^2 s^2}`."""
        require_positive("std", std)
        return Erf(self.scale / math.sqrt(1 + 2 * (self.scale * std) ** 2))

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        a = 2 * self.scale**2
        d1, d2 = 1 + a * q1, 1 + a * q2
        value = (a * c).div_(d1.sqrt()).div_(d2.sqrt()).clamp_(-1, 1).asin_().mul_(2 / math.pi)
        if not slope:
            return value, None
        return value, (d1 * d2).addcmul_(c, c, value=-(a**2)).rsqrt_().mul_(2 * a / math.pi)

    def closed_moments(self, q: torch.Tensor) -> Moments:
        r"""Zero, and the dual maps at equal arguments, where :math:`d^2 - 4 a^4 q^2 = 1 + 4 a^2 q`."""
        a = 2 * self.scale**2
        root = (1 + 2 * a * q).sqrt()  # the other leg of the right triangle with the leg 2a²q
        return torch.zeros_like(q), torch.atan(a * q / root).mul_(2 / math.pi), (2 * a / math.pi) / root

    def taylor(self, degree: int) -> torch.Tensor:
        r""":math:`a_{2i+1} = \frac{2}{\sqrt\pi} \frac{(-1)^i a^{2i+1}}{i!\,(2i + 1)}`, even ones zero."""
        require_degree(degree)
        a = torch.zeros(degree + 1, dtype=torch.float64)
        for k in range(1, degree + 1, 2):
            i = k // 2
            a[k] = 2 / math.sqrt(math.pi) * (-1) ** i * self.scale**k / (math.factorial(i) * k)
        return a
