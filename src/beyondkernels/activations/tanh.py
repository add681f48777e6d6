"""The hyperbolic tangent."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Activation, require_degree


@dataclass(frozen=True)
class Tanh(Activation):
    r"""The hyperbolic tangent; its dual maps have no closed form.

    .. math:: \sigma(z) = \tanh z, \qquad \sigma'(z) = 1 - \tanh^2 z

    >>> Tanh().taylor(5).tolist()
    [0.0, 1.0, 0.0, -0.333..., 0.0, 0.133...]
    """

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return torch.tanh(z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return 1 - torch.tanh(z) ** 2

    def taylor(self, degree: int) -> torch.Tensor:
        r"""From σ′ = 1 − σ²: :math:`(k + 1)\, a_{k+1} = 1[k = 0] - \sum_i a_i a_{k-i}`."""
        require_degree(degree)
        a = torch.zeros(degree + 1, dtype=torch.float64)
        for k in range(degree):
            a[k + 1] = (float(k == 0) - float(a[: k + 1] @ a[: k + 1].flip(0))) / (k + 1)
        return a
