"""The cosine."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Moments
from beyondkernels.activations.waves import Wave


@dataclass(frozen=True)
class Cosine(Wave):
    r"""A cosine wave.

    .. math:: \sigma(z) = A \cos(\omega z), \qquad \sigma'(z) = -A \omega \sin(\omega z)

    With :math:`e_\pm = e^{-\omega^2 (q_1 + q_2 \pm 2c)/2}`, its dual maps are

    .. math::
        E[\sigma(u)\,\sigma(v)] = \frac{A^2}{2} (e_- + e_+), \qquad
        E[\sigma'(u)\,\sigma'(v)] = \frac{A^2 \omega^2}{2} (e_- - e_+).

    Arguments:
        frequency: ω.
        amplitude: A.

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> Cosine().dual(one, one, one)[0].item()  # E cos² z = (1 + e⁻²)/2
    0.5676...
    """

    def value(self, z: torch.Tensor) -> torch.Tensor:
        """σ(z)."""
        return self.amplitude * torch.cos(self.frequency * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z)."""
        return -self.amplitude * self.frequency * torch.sin(self.frequency * z)

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Sums and differences of exponentials."""
        total, difference = self.exponentials(q1, q2, c)
        value = total.mul_(self.amplitude**2 / 2)
        return value, difference.mul_((self.amplitude * self.frequency) ** 2 / 2) if slope else None

    def closed_moments(self, q: torch.Tensor) -> Moments:
        r""":math:`A e^{-\omega^2 q/2}`, and the dual maps at equal arguments."""
        value, slope = self.dual(q, q, q)
        assert slope is not None
        return self.amplitude * torch.exp(-0.5 * self.frequency**2 * q), value, slope

    def taylor(self, degree: int) -> torch.Tensor:
        r""":math:`a_k = A (-1)^{k/2} \omega^k / k!` for even k."""
        return self.every_second(0, degree)
