"""The arcsin kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from beyondkernels.kernels.base import Kernel, square_by_tiles
from beyondkernels.kernels.classical.distances import angles


@dataclass(frozen=True)
class Arcsin(Kernel):
    r"""The arcsine of the cosine between two points. It measures how often a random hyperplane has both on one side.

    .. math:: K(x, y) = \arcsin\frac{\langle x, y\rangle}{|x||y|} = \frac\pi2 - \theta(x, y)
              = \frac\pi2\,E_w[\operatorname{sign}\langle w, x\rangle \operatorname{sign}\langle w, y\rangle],
              \qquad w \sim N(0, I)

    It is computed from the angle, since the arcsine has no derivative at 1: entries are exact to about 1e-14, at
    parallel points too. A point at the origin has K(0, y) = 0 with every y and K(0, 0) = 0, as the last form says with
    sign 0 = 0; the diagonal is π/2 elsewhere.

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    >>> (Arcsin()(x) / (math.pi / 2)).tolist()
    [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

    Reference: Allen-Zhu & Li (resnet), §3.1, kernel (2).
    """

    rotation_invariant: ClassVar[bool] = True

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return angles(x1, x2).neg_().add_(math.pi / 2)

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return square_by_tiles(self, x)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return (x != 0).any(1) * torch.tensor(math.pi / 2, dtype=torch.float64)
