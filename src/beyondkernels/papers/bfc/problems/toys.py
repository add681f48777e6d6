"""The two examples with which the paper explains backward feature correction."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import torch

from beyondkernels.core.constraints import at_least, positive, size
from beyondkernels.papers.bfc.problems.inputs import GaussianInputs, QuadraticInputs
from beyondkernels.papers.bfc.problems.layered import LayeredProblem


class _Toy(LayeredProblem):
    """A target whose squares x² are not centred, so that it does not belong to the concept class."""

    dim: int
    alpha: float

    def __post_init__(self) -> None:
        self.inputs.require_dim(self.dim)

    @property
    def scales(self) -> tuple[float, ...]:
        """1 and α."""
        return (1.0, float(self.alpha))

    @property
    def second_moments(self) -> tuple[float, ...]:
        """Zeros: here G₁ is x² itself. A learner needs the same to represent the target exactly."""
        return (0.0,) * self.dim


@dataclass(frozen=True)
class FirstToy(_Toy):
    r"""The example against forward feature learning.

    .. math:: x_1^4 + 2 x_2^4 + \alpha (x_1^4 + 2 x_2^4 + x_3^2)^2

    Layer 2 has the features :math:`(x_1^2, \sqrt 2\,x_2^2)`, layer 3 the feature :math:`x_1^4 + 2 x_2^4 + x_3^2`.
    Layer 3 takes squares of inputs from layer 1, which the paper's graphs forbid, and they are not centred. So this
    target is outside the concept class.

    Arguments:
        dim: d, at least 3; further coordinates do not matter.
        alpha: α, in the paper 0.1.
        inputs: the distribution of x.

    >>> FirstToy().target(torch.tensor([[1.0, 1.0, 2.0]])).tolist()
    [7.9]

    Reference: Allen-Zhu & Li (bfc), eq. (1.2).
    """

    dim: Annotated[int, size, at_least(3)] = 3
    alpha: Annotated[float, positive] = 0.1
    inputs: QuadraticInputs = field(default_factory=GaussianInputs)

    graph = ((1,), (2, 1))
    widths = (2, 1)

    @property
    def weights(self) -> dict[tuple[int, int], torch.Tensor]:
        """W*_{2,1}, W*_{3,2} and W*_{3,1}."""
        eye = torch.eye(self.dim, dtype=torch.float64)
        second = torch.stack([eye[0], math.sqrt(2) * eye[1]])
        return {(2, 1): second, (3, 2): torch.ones(1, 2, dtype=torch.float64), (3, 1): eye[2:3]}

    def overfitted_features(self, x: torch.Tensor) -> torch.Tensor:
        r"""The features that layer 2 may learn alone: :math:`(x_1^2 + \sqrt\alpha\,x_3^2, \sqrt 2\,x_2^2)`, (n, 2)."""
        squares = x.double().square()
        first = squares[:, 0] + math.sqrt(self.alpha) * squares[:, 2]
        return torch.stack([first, math.sqrt(2) * squares[:, 1]], 1)


@dataclass(frozen=True)
class SecondToy(_Toy):
    r"""The example for a richer representation by over-parameterisation.

    .. math:: x_1^4 + x_2^4 + \alpha \bigl((x_1^4 + x_3)^2 + (x_2^4 + x_4)^2\bigr)

    Layer 2 has the features :math:`(x_1^2, x_2^2)`, layer 3 has :math:`(x_1^4 + x_3, x_2^4 + x_4)`. The squares of
    inputs are not centred, so this target is outside the concept class.

    Arguments:
        dim: d, at least 4 and in the paper 4; further coordinates do not matter.
        alpha: α, small in the paper.
        inputs: the distribution of x.

    >>> SecondToy().target(torch.tensor([[1.0, 2.0, 1.0, 0.0]])).tolist()
    [43.0]

    Reference: Allen-Zhu & Li (bfc), §6.1.
    """

    dim: Annotated[int, size, at_least(4)] = 4
    alpha: Annotated[float, positive] = 0.1
    inputs: QuadraticInputs = field(default_factory=GaussianInputs)

    graph = ((1,), (2, 0))
    widths = (2, 2)

    @property
    def weights(self) -> dict[tuple[int, int], torch.Tensor]:
        """W*_{2,1}, W*_{3,2} and W*_{3,0}."""
        eye = torch.eye(self.dim, dtype=torch.float64)
        return {(2, 1): eye[:2], (3, 2): torch.eye(2, dtype=torch.float64), (3, 0): eye[2:4]}

    def rotated_features(self, x: torch.Tensor, angle: float = math.atan(2)) -> torch.Tensor:
        r"""Another basis of layer 2 with the same sum of squares, (n, 2).

        .. math:: (\cos\theta\,x_1^2 + \sin\theta\,x_2^2, \; \sin\theta\,x_1^2 - \cos\theta\,x_2^2)

        Their squares sum to :math:`x_1^4 + x_2^4` for every angle. Layer 3 can use them only for multiples of π/2.

        Arguments:
            x: the points.
            angle: θ; the default, with tan θ = 2, is the paper's example.
        """
        squares = x.double().square()
        c, s = math.cos(angle), math.sin(angle)
        return squares[:, :2] @ torch.tensor([[c, s], [s, -c]], dtype=torch.float64).T
