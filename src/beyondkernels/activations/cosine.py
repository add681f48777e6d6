"""The cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from beyondkernels.activations.waves import Wave


@dataclass(frozen=True)
class Cosine(Wave):
    r"""A cosine wave.

    .. math:: \sigma(z) = A \cos(\omega z), \qquad \sigma'(z) = -A \omega \sin(\omega z)

    With :math:`e_\pm = e^{-\omega^2 (q_1 + q_2 \pm 2c)/2}`, its dual maps are

    .. math::
        E[\sigma(u)\,\sigma(v)] = \frac{A^2}{2} (e_- + e_+), \qquad
        E[\sigma'(u)\,\sigma'(v)] = \frac{A^2 \omega^2}{2} (e_- - e_+).

    The Taylor coefficients are :math:`a_k = A (-1)^{k/2} \omega^k / k!` for even k, and zero for the others.

    Arguments:
        frequency: ω.
        amplitude: A.

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> Cosine().dual(one, one, one)[0].item()  # E cos² z = (1 + e⁻²)/2
    0.5676...
    """

    first: ClassVar[int] = 0

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return self.amplitude * torch.cos(self.frequency * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return -self.amplitude * self.frequency * torch.sin(self.frequency * z)

    def mean(self, q: torch.Tensor) -> torch.Tensor:
        r""":math:`A e^{-\omega^2 q/2}`."""
        return self.amplitude * torch.exp(-0.5 * self.frequency**2 * q)
