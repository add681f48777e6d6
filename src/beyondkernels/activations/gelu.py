"""The Gaussian error linear unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Activation, Moments, require_degree
from beyondkernels.activations.erf import Erf


@dataclass(frozen=True)
class GELU(Activation):
    r"""The Gaussian error linear unit, with the normal distribution function itself and not its tanh approximation.

    .. math:: \sigma(z) = z\,\Phi(z), \qquad \sigma'(z) = \Phi(z) + z\,\varphi(z)

    Its dual maps, with :math:`d_i = 1 + q_i`, :math:`D = d_1 d_2 - c^2` and
    :math:`b = q_1 q_2 + e c^2`, :math:`e = 1/d_1 + 1/d_2 - 1`, are

    .. math::
        E[\sigma(u)\,\sigma(v)] &= \frac{c}{4} + \frac{c}{2\pi} \arcsin\frac{c}{\sqrt{d_1 d_2}}
            + \frac{b}{2\pi\sqrt D}, \\
        E[\sigma'(u)\,\sigma'(v)] &= \frac14 + \frac{1}{2\pi} \arcsin\frac{c}{\sqrt{d_1 d_2}}
            + \frac{c}{2\pi\sqrt D} \Bigl(\frac{1}{d_1} + \frac{1}{d_2} + \frac{1}{D}\Bigr).

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> GELU().dual(one, one, one)[0].item()  # 1/4 + 1/12 + 1/(2π√3)
    0.4252...

    Reference: Hendrycks & Gimpel (2016), Gaussian error linear units, §2; the dual maps follow from integrating by
    parts, E[u g(u, v)] = q₁ E[∂g/∂u] + c E[∂g/∂v].
    """

    closed_form = True

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return z * torch.special.ndtr(z)  # torch's gelu rounds its left tail to zero in float32

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return torch.special.ndtr(z) + z * torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Elementary functions of the covariance; D is at least one."""
        d1, d2 = 1 + q1, 1 + q2
        quarter = (c / d1.sqrt()).div_(d2.sqrt()).clamp_(-1, 1).asin_().mul_(1 / (2 * math.pi)).add_(0.25)
        D = (d1 * d2).addcmul_(c, c, value=-1)
        e = 1 / d1 + 1 / d2 - 1
        b = (q1 * q2).addcmul_(e * c, c)
        root = D.rsqrt().mul_(1 / (2 * math.pi))
        value = (c * quarter).addcmul_(b, root)
        return value, quarter.addcmul_(root.mul_(c), D.reciprocal_().add_(1 / d1).add_(1 / d2)) if slope else None

    def closed_moments(self, q: torch.Tensor) -> Moments:
        r""":math:`q / \sqrt{2\pi(1 + q)}`, and the dual maps at equal arguments, where D = 1 + 2q, b = 2q²/(1 + q)."""
        d, D = 1 + q, 1 + 2 * q
        root = q / D.sqrt() / (2 * math.pi)
        quarter = 0.25 + torch.atan(q / D.sqrt()) / (2 * math.pi)
        return q / (2 * math.pi * d).sqrt(), q * quarter + root * 2 * (q / d), quarter + root * (2 / d + 1 / D)

    def taylor(self, degree: int) -> torch.Tensor:
        """z/2 plus z/2 times the series of erf(z/√2)."""
        require_degree(degree)
        a = torch.zeros(degree + 1, dtype=torch.float64)
        if degree > 0:
            a[1:] = Erf(math.sqrt(0.5)).taylor(degree - 1) / 2
            a[1] += 0.5
        return a
