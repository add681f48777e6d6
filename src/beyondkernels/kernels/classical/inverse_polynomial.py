"""Recursive kernels: a function applied to a kernel several times, such as 1/(2 − t)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import require
from beyondkernels.core.constraints import between
from beyondkernels.kernels.base import Kernel, symmetric
from beyondkernels.kernels.classical.correlation import entrywise

_ROUNDING = 1e-6
"""How far above 1 a norm may lie: unit vectors stored in float32 are off by about 1e-7.

It does no harm: 1/(2 − t) is a power series with positive coefficients up to t = 2, and a diagonal of 1 + δ becomes
1 + δ/(1 − pδ) at depth p, which stays below 2 for all p below 1/(2δ), with δ = 2e-6 for 250 000 steps.
"""


@dataclass(frozen=True)
class Recursive(Kernel):
    r"""A kernel with a function applied to it several times.

    .. math:: K^{(0)} = K, \qquad K^{(p)}(x, y) = g\bigl(K^{(p-1)}(x, y)\bigr)

    This is a kernel when g is a power series with coefficients that are not negative, on whatever values
    :math:`K^{(p-1)}` takes. That much is not checked here (:func:`check_kernel` finds what goes wrong on a sample);
    that g gives finite numbers, and none below zero on the diagonal, is.

    Arguments:
        base: :math:`K^{(0)}`.
        function: g, of a tensor, entry by entry; a named function of a module where runs are to be stored.
        depth: p.

    >>> from beyondkernels.kernels.classical.polynomial import PolynomialKernel
    >>> K = Recursive(PolynomialKernel(degree=1, offset=0.0), torch.expm1, depth=2)
    >>> round(K(torch.tensor([[1.0]])).item(), 12) == round(math.expm1(math.expm1(1.0)), 12)
    True

    Reference: Allen-Zhu & Li (resnet), §3.1, kernel (3).
    """

    base: Kernel
    function: Callable[[torch.Tensor], torch.Tensor]
    depth: Annotated[int, between(1, 10_000)] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation_invariant", self.base.rotation_invariant)
        object.__setattr__(self, "accuracy", self.base.accuracy)

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return self._iterate(self.base.block(x1, x2))

    def square(self, x: torch.Tensor) -> torch.Tensor:
        """g(… g(K⁽⁰⁾)), with as much of the symmetry as the base uses."""
        # a vectorised g may round by where an entry stands
        return symmetric(self._iterate(self.base.square(x)), self._diagonal(x))

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        out = self._iterate(self.base.diagonal(x))
        lowest = float(out.min()) if len(out) else 0.0
        require(lowest >= 0, f"function must not make the diagonal of a kernel negative, got {lowest:.6g}")
        return out

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        """The base's error ε after g: the most that g changes between K − ε, K and K + ε, at each depth."""
        error = self.base.error(x1, x2)
        if error == 0:
            return 0.0
        K = self.base(x1, x2)
        radius = torch.full_like(K, error)
        for _ in range(self.depth):
            beside = (K + radius, K - radius)
            K = entrywise(self.function, K)
            # beyond the end of g's domain there is nothing to compare with: the other side speaks for both
            changes = [(self.function(values) - K).abs().nan_to_num(nan=0.0, posinf=0.0) for values in beside]
            radius = torch.maximum(*changes)
        return float(radius.max()) if radius.numel() else 0.0

    def _iterate(self, values: torch.Tensor) -> torch.Tensor:
        for _ in range(self.depth):
            values = entrywise(self.function, values)
        return values


@dataclass(frozen=True)
class InversePolynomial(Kernel):
    r"""The inverse-polynomial kernel and its recursion, for points in the unit ball.

    .. math:: K^{(0)}(x, y) = \langle x, y\rangle, \qquad K^{(p)}(x, y) = \frac{1}{2 - K^{(p-1)}(x, y)}

    With :math:`|x| \le 1` every :math:`K^{(p)}` lies in [0, 1] from p = 1 on, and :math:`K^{(p)}(x, x) = 1` where
    :math:`|x| = 1`: :math:`1/(2 - t) = \sum_i 2^{-(i+1)} t^i`. Points outside the unit ball are refused, except for the
    1e-6 by which unit vectors may be too long when they are rounded to float32.

    Arguments:
        depth: p, how often the function is applied.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> InversePolynomial()(x).tolist(), InversePolynomial(depth=2)(x)[0, 1].item() == 1 / (2 - 1 / 2)
    ([[1.0, 0.5], [0.5, 1.0]], True)

    Reference: Zhang, Lee & Jordan (2016), ℓ1-regularized neural networks are improperly learnable in polynomial time;
    Allen-Zhu & Li (resnet), §3.1, kernel (3).
    """

    rotation_invariant: ClassVar[bool] = True

    depth: Annotated[int, between(1, 10_000)] = 1

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """1/(2 − 1/(2 − … ⟨x, y⟩))."""
        _require_unit_ball(x1.square().sum(1))
        _require_unit_ball(x2.square().sum(1))
        return self._iterate(x1 @ x2.T)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """1/(2 − 1/(2 − … |x|²))."""
        squares = x.square().sum(1)
        _require_unit_ball(squares)
        return self._iterate(squares)

    def _iterate(self, values: torch.Tensor) -> torch.Tensor:
        for _ in range(self.depth):
            values = values.neg_().add_(2).reciprocal_()
        return values


def _require_unit_ball(squares: torch.Tensor) -> None:
    excess = math.sqrt(float(squares.max())) - 1 if len(squares) else 0.0
    require(
        excess <= _ROUNDING,
        f"points must have norm at most 1 for the inverse-polynomial kernel, got 1 + {excess:.3g}; "
        "divide all of them, of both batches, by the largest norm",
    )
