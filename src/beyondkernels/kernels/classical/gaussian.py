"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core.constraints import positive
from beyondkernels.kernels.base import Kernel, square_by_tiles
from beyondkernels.kernels.classical.distances import squared_distances


@dataclass(frozen=True)
class Gaussian(Kernel):
    r"""The Gaussian kernel, in the normalisation of the paper: the squared distance over h, without a factor 2.

    .. math:: K(x, y) = e^{-|x - y|^2 / h}

    This is scikit-learn's ``rbf_kernel`` with ``gamma = 1 / h``, and a Gaussian bell of standard deviation √(h/2).
    Entries are exact to about 1e-13 of themselves times :math:`1 + |x - y|^2 / h`, also far from the origin.

    Arguments:
        bandwidth: h, a squared length.

    >>> Gaussian(bandwidth=2.0)(torch.tensor([[0.0], [1.0]])).log().tolist()
    [[0.0, -0.5], [-0.5, 0.0]]

    Reference: Allen-Zhu & Li (resnet), §3.1, kernel (1).
    """

    rotation_invariant: ClassVar[bool] = True

    bandwidth: Annotated[float, positive]

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """exp(−|x − y|²/h)."""
        return squared_distances(x1, x2).div_(-self.bandwidth).exp_()

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return square_by_tiles(self, x)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(x), dtype=torch.float64)
