"""The sine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Activation, Moments, require_degree
from beyondkernels.core import require_positive


@dataclass(frozen=True)
class Sine(Activation):
    r"""A sine wave.

    .. math:: \sigma(z) = A \sin(\omega z), \qquad \sigma'(z) = A \omega \cos(\omega z)

    With :math:`e_\pm = e^{-\omega^2 (q_1 + q_2 \pm 2c)/2}`, its dual maps are

    .. math::
        E[\sigma(u)\,\sigma(v)] = \frac{A^2}{2} (e_- - e_+), \qquad
        E[\sigma'(u)\,\sigma'(v)] = \frac{A^2 \omega^2}{2} (e_- + e_+).

    Arguments:
        frequency: ω.
        amplitude: A.

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> Sine().dual(one, one, one)[0].item()  # E sin² z = (1 − e⁻²)/2
    0.4323...
    """

    frequency: float = 1.0
    amplitude: float = 1.0
    closed_form = True

    def __post_init__(self) -> None:
        require_positive("frequency", self.frequency)
        require_positive("amplitude", self.amplitude)

    def value(self, z: torch.Tensor) -> torch.Tensor:
        """σ(z)."""
        return self.amplitude * torch.sin(self.frequency * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z)."""
        return self.amplitude * self.frequency * torch.cos(self.frequency * z)

    def smoothed(self, std: float) -> Sine:
        r"""The same wave with amplitude :math:`A e^{-\omega^2 s^2/2}`."""
        return Sine(self.frequency, faded(self.amplitude, self.frequency, std))

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Differences and sums of exponentials."""
        total, difference = exponentials(self.frequency, q1, q2, c)
        value = difference.mul_(self.amplitude**2 / 2)
        return value, total.mul_((self.amplitude * self.frequency) ** 2 / 2) if slope else None

    def closed_moments(self, q: torch.Tensor) -> Moments:
        """Zero, and the dual maps at equal arguments."""
        value, slope = self.dual(q, q, q)
        assert slope is not None
        return torch.zeros_like(q), value, slope

    def taylor(self, degree: int) -> torch.Tensor:
        r""":math:`a_k = A (-1)^{(k-1)/2} \omega^k / k!` for odd k."""
        return wave_series(self.amplitude, self.frequency, degree, first=1)


def exponentials(
    omega: float, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum e₋ + e₊ and the difference e₋ − e₊, which keeps its digits where both are almost one."""
    near = (q1 + q2).mul_(-0.5 * omega**2).add(c.abs(), alpha=omega**2).exp_()
    apart = torch.expm1(c.abs().mul_(-2 * omega**2))  # e₊ over e₋ less one, for positive c
    return near.mul(apart + 2), near.mul_(apart.neg_()).mul_(c.sign())


def faded(amplitude: float, omega: float, std: float) -> float:
    """The amplitude that is left under noise."""
    require_positive("std", std)
    return amplitude * math.exp(-((omega * std) ** 2) / 2)


def wave_series(amplitude: float, omega: float, degree: int, first: int) -> torch.Tensor:
    """Every second coefficient, with alternating signs."""
    require_degree(degree)
    a = torch.zeros(degree + 1, dtype=torch.float64)
    for k in range(first, degree + 1, 2):
        a[k] = amplitude * (-1) ** (k // 2) * omega**k / math.factorial(k)
    return a
