"""The square, bent into a constant far from zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations.base import Activation
from beyondkernels.core.constraints import positive


@dataclass(frozen=True)
class TruncatedSquare(Activation):
    r"""The square near zero, a constant far from it, and a transition with three continuous derivatives between.

    .. math::
        \tilde\sigma(z) = \begin{cases} z^2 & |z| \le B \\ B^2 f(|z|/B - 1) & B \le |z| \le 2B \\
        2.2\, B^2 & |z| \ge 2B \end{cases}, \qquad
        f'(t) = 2\,(1 - t)^3\,(1 + 4t + 9t^2), \quad f(0) = 1

    f is the polynomial of least degree that joins both sides with three derivatives. Its slope is positive up to t = 1,
    so the function grows with \|z\|. The paper asks for any such function with a constant of order B² and
    derivatives of order B; this one is ours.

    Arguments:
        bound: B, where the square ends.

    >>> z = torch.tensor([-1.0, 2.0, 4.0, 100.0], dtype=torch.float64)
    >>> TruncatedSquare(2.0).value(z).round(decimals=9).tolist()
    [1.0, 4.0, 8.8, 8.8]

    Reference: Allen-Zhu & Li (bfc), §2.1, "Truncated quadratic activation".
    """

    bound: Annotated[float, positive]

    @property
    def cuts(self) -> tuple[float, ...]:
        return (-2 * self.bound, -self.bound, self.bound, 2 * self.bound)

    @property
    def limit(self) -> float:
        """B″, the value far from zero."""
        return 2.2 * self.bound**2

    def value(self, z: torch.Tensor) -> torch.Tensor:
        t = self._transition(z)
        f = 1 + t * (2 + t * (1 + t * t * (-8 + t * (9.2 - 3 * t))))
        return torch.where(z.abs() <= self.bound, z * z, self.bound**2 * f)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        t = self._transition(z)
        slope = 2 * (1 - t) ** 3 * (1 + 4 * t + 9 * t * t)
        return torch.where(z.abs() <= self.bound, 2 * z, self.bound * slope * z.sign())

    def _transition(self, z: torch.Tensor) -> torch.Tensor:
        return (z.abs() / self.bound - 1).clamp(0, 1)
