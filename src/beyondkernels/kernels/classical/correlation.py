"""Correlation kernels: any function of the cosine between two points, or of their angle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from beyondkernels.core import require
from beyondkernels.kernels.base import Kernel, square_by_tiles
from beyondkernels.kernels.checks import require_finite
from beyondkernels.kernels.classical.distances import angles, cosines


@dataclass(frozen=True)
class Correlation(Kernel):
    r"""A scalar function of the correlation of two points.

    .. math:: K(x, y) = \kappa(\rho), \qquad \rho = \frac{\langle x, y\rangle}{|x||y|} \in [-1, 1]

    On the inputs of the theorem about them, the cube :math:`\{\pm 1/\sqrt d\}^d`, and on the unit sphere, ρ is the
    inner product itself. The paper names correlation kernels without a definition; this is the one its examples fit.
    K is a kernel in every dimension exactly when κ is a power series with coefficients that are not negative
    (Schoenberg); :func:`check_kernel` finds what goes wrong on a sample.

    A point at the origin counts as uncorrelated with every point, itself included: ρ = 0.

    Arguments:
        function: κ, of a tensor, entry by entry; a named function of a module where runs are to be stored.
        of: ``cosine`` when the function's argument is ρ, ``angle`` when it is arccos ρ. Near parallel points a κ with
            infinite derivative at ρ = ±1 (an arccosine in it) loses half of the digits: 1e-8. As a function of the
            angle it loses none.

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> Correlation(torch.exp)(x).log().tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    Reference: Allen-Zhu & Li (resnet), short version, §7, Thm 2.
    """

    rotation_invariant: ClassVar[bool] = True

    function: Callable[[torch.Tensor], torch.Tensor]
    of: Literal["cosine", "angle"] = "cosine"

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return entrywise(self.function, (cosines if self.of == "cosine" else angles)(x1, x2))

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return square_by_tiles(self, x)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """κ(1), and κ(0) at the origin."""
        rho = (x != 0).any(1).to(torch.float64)
        return entrywise(self.function, rho if self.of == "cosine" else torch.acos(rho))


def entrywise(function: Callable[[torch.Tensor], torch.Tensor], values: torch.Tensor) -> torch.Tensor:
    """Apply a user's function to a fresh tensor, entry by entry, and check the result."""
    shape = tuple(values.shape)
    out = function(values)
    require(isinstance(out, torch.Tensor), f"function must return a tensor, got a {type(out).__name__}")
    require(
        tuple(out.shape) == shape and out.dtype == torch.float64,
        f"function must return float64 of the shape {shape} it was given, "
        f"got {str(out.dtype).removeprefix('torch.')} of shape {tuple(out.shape)}",
    )
    require_finite("what function returns", out)
    return out.contiguous()  # a constant may come as a view of one number, which nobody can write to
