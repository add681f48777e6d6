"""The ReLU and its Gaussian-smoothed version."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations.base import Activation, Moments
from beyondkernels.core import require_positive
from beyondkernels.core.constraints import positive

_HALF = torch.tensor(0.5, dtype=torch.float64)


@dataclass(frozen=True)
class ReLU(Activation):
    r"""The positive part.

    .. math:: \sigma(z) = \max(z, 0), \qquad \sigma'(z) = 1[z > 0]

    Its dual maps, with :math:`\cos\theta = c / \sqrt{q_1 q_2}`, are the arc-cosine kernels

    .. math::
        E[\sigma(u)\,\sigma(v)] = \frac{\sqrt{q_1 q_2}}{2\pi} \bigl(\sin\theta + (\pi - \theta) \cos\theta\bigr), \qquad
        E[\sigma'(u)\,\sigma'(v)] = \frac{\pi - \theta}{2\pi}.

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> value, slope = ReLU().dual(one, one, one)
    >>> value.item(), slope.item()
    (0.5, 0.5)

    Reference: Cho & Saul (2009), Kernel methods for deep learning, eqs. (6) and (8).
    """

    closed_form = True

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return torch.relu(z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z); zero at the kink."""
        return (z > 0).to(z.dtype)

    def smoothed(self, std: float) -> SmoothedReLU:
        return SmoothedReLU(std)

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        r"""The arc-cosine kernels of degree one and zero.

        With :math:`S = \sqrt{q_1 q_2 - c^2}`, θ is the angle of the point (c, S) and the value is
        :math:`(S + (\pi - \theta) c) / 2\pi`. This needs no division by lengths, and no memory besides the two results.
        """
        if c.numel() == 0:
            return torch.empty_like(c), torch.empty_like(c) if slope else None
        (low1, high1), (low2, high2) = ([float(end) for end in q.aminmax()] for q in (q1, q2))
        if high1 * high2 > 1e300 or low1 * low2 < 1e-280:  # rare; a variance of zero is such a case
            return self._scaled_dual(q1, q2, c, slope)
        return _arc_cosines(q1, q2, c, slope)

    def _scaled_dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The same for variables rescaled to about unit variance, so that their squares neither vanish nor overflow."""
        # powers of two, so that scaling rounds nothing
        scale1, scale2 = (torch.where(q > 0, 2.0 ** (q.log2() / 2).round(), 1.0) for q in (q1, q2))
        value, rest = _arc_cosines(q1 / scale1 / scale1, q2 / scale2 / scale2, c / scale1 / scale2, slope)
        value.mul_(scale1).mul_(scale2)
        if rest is not None:  # a variable that is zero lies at the kink, where σ′ is zero
            rest.mul_(q1 > 0).mul_(q2 > 0)
        return value, rest

    def closed_moments(self, q: torch.Tensor) -> Moments:
        r""":math:`\sqrt{q / 2\pi}`, q/2 and 1/2."""
        return (q / (2 * math.pi)).sqrt(), q / 2, (q > 0).to(q.dtype) / 2


def _arc_cosines(
    q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool
) -> tuple[torch.Tensor, torch.Tensor | None]:
    # Near coinciding points the angle is as steep as a square root: an error of 1e-16 in c would make it 1e-8 instead
    # of zero. So lengths are reduced by 1e-14, and points that are that close to parallel become parallel.
    value = ((1 - 2e-14) * q1 * q2).addcmul_(c, c, value=-1).clamp_(min=0).sqrt_()
    rest = torch.atan2(value, c)
    torch.add(_HALF, rest, alpha=-1 / (2 * math.pi), out=rest)  # (π − θ) / 2π
    value.mul_(1 / (2 * math.pi)).addcmul_(rest, c)
    return value, rest if slope else None


@dataclass(frozen=True)
class SmoothedReLU(Activation):
    r"""The ReLU averaged over Gaussian noise, in closed form.

    .. math:: \tilde\sigma(z) = E[\max(z + \xi, 0)] = z\,\Phi(z/s) + s\,\varphi(z/s), \qquad
              \tilde\sigma'(z) = \Phi(z/s), \qquad \xi \sim N(0, s^2)

    Its dual maps are those of the ReLU with s² added to both variances: the noises are independent.

    Arguments:
        std: the noise level s.

    >>> SmoothedReLU(1.0).value(torch.tensor([0.0])).item()
    0.3989...
    """

    std: Annotated[float, positive]
    closed_form = True

    @property
    def cuts(self) -> tuple[float, ...]:
        return -8 * self.std, 0.0, 8 * self.std

    def value(self, z: torch.Tensor) -> torch.Tensor:
        u = z / self.std
        return z * torch.special.ndtr(u) + torch.exp(-u * u / 2) * (self.std / math.sqrt(2 * math.pi))

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return torch.special.ndtr(z / self.std)

    def smoothed(self, std: float) -> SmoothedReLU:
        require_positive("std", std)
        return SmoothedReLU(math.hypot(self.std, std))

    def unsmoothed(self) -> tuple[ReLU, float]:
        return ReLU(), self.std

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        return ReLU().dual(q1 + self.std**2, q2 + self.std**2, c, slope)
