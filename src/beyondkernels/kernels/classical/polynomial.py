"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import require
from beyondkernels.core.constraints import at_least, not_negative, positive
from beyondkernels.kernels.base import Kernel


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    r"""A power of the inner product: all polynomials up to a degree.

    .. math:: K(x, y) = (s\langle x, y\rangle + b)^p

    With offset 0 the features are the monomials of degree p alone, with degree 1 and offset 0 the points themselves.
    scikit-learn writes ``gamma`` for s, ``coef0`` for b and ``degree`` for p.

    Arguments:
        degree: p, a whole number.
        offset: b; below zero this would not be a kernel.
        scale: s.

    >>> PolynomialKernel(degree=2)(torch.tensor([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [[4.0, 4.0], [4.0, 9.0]]
    """

    rotation_invariant: ClassVar[bool] = True

    degree: Annotated[int, at_least(1)]
    offset: Annotated[float, not_negative] = 1.0
    scale: Annotated[float, positive] = 1.0

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """(s⟨x, y⟩ + b)^p."""
        return self._power(x1 @ x2.T)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self._power(x.square().sum(1))

    def _power(self, products: torch.Tensor) -> torch.Tensor:
        out = products.mul_(self.scale).add_(self.offset).pow_(self.degree)
        require(
            bool(torch.isfinite(out).all()),
            f"{self!r} is too large for float64 at these points; a smaller scale or smaller points would do",
        )
        return out
