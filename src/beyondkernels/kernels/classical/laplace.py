"""The Laplace kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core.constraints import positive
from beyondkernels.kernels.base import Kernel, square_by_tiles
from beyondkernels.kernels.classical.distances import squared_distances


@dataclass(frozen=True)
class Laplace(Kernel):
    r"""The Laplace kernel: exponential in the Euclidean distance, with a kink where points coincide.

    .. math:: K(x, y) = e^{-|x - y| / L}

    The square root at the kink would turn a rounding error ε of :math:`|x|^2` into √ε of the distance. Distances of
    close points are therefore taken from their differences (:func:`squared_distances`): entries are exact to about
    1e-13 of themselves times :math:`1 + |x - y| / L`, and points that coincide give 1 exactly.
    (scikit-learn's ``laplacian_kernel`` is another kernel, of the sum of absolute differences.)

    Arguments:
        bandwidth: L, a length.

    >>> Laplace(bandwidth=1.0)(torch.tensor([[0.0], [2.0]])).log().tolist()
    [[0.0, -2.0], [-2.0, 0.0]]
    """

    rotation_invariant: ClassVar[bool] = True

    bandwidth: Annotated[float, positive]

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return squared_distances(x1, x2).sqrt_().div_(-self.bandwidth).exp_()

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return square_by_tiles(self, x)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(x), dtype=torch.float64)
