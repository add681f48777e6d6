"""The sine."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Moments
from beyondkernels.activations.waves import Wave


@dataclass(frozen=True)
class Sine(Wave):
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

    def value(self, z: torch.Tensor) -> torch.Tensor:
        """σ(z)."""
        return self.amplitude * torch.sin(self.frequency * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z)."""
        return self.amplitude * self.frequency * torch.cos(self.frequency * z)

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Differences and sums of exponentials."""
        total, difference = self.exponentials(q1, q2, c)
        value = difference.mul_(self.amplitude**2 / 2)
        return value, total.mul_((self.amplitude * self.frequency) ** 2 / 2) if slope else None

    def closed_moments(self, q: torch.Tensor) -> Moments:
        """Zero, and the dual maps at equal arguments."""
        value, slope = self.dual(q, q, q)
        assert slope is not None
        return torch.zeros_like(q), value, slope

    def taylor(self, degree: int) -> torch.Tensor:
        r""":math:`a_k = A (-1)^{(k-1)/2} \omega^k / k!` for odd k."""
        return self.every_second(1, degree)
