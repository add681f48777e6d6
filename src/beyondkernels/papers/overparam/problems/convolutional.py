"""Ground truths that share their weights among patches of the input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.core import Stream, require
from beyondkernels.core.constraints import between, not_negative, size
from beyondkernels.data.inputs import Inputs
from beyondkernels.papers.overparam.problems.inputs import require_unit_inputs
from beyondkernels.papers.overparam.problems.patches import Patches, gathered, require_patches
from beyondkernels.papers.overparam.problems.truth import ProductTruth, SmoothFunctions
from beyondkernels.papers.overparam.problems.weights import GivenWeights


@dataclass(frozen=True)
class ConvolutionalTruth(ProductTruth):
    r"""The ground truth (3) with one set of weights for all patches of the input.

    .. math:: f^*_r(x) = \sum_{i \in [d']} \sum_{j \in [p]} a^*_{r,i,j}\,
              \phi_j(\langle w^*_{1,j}, x_{S_i} \rangle) \langle w^*_{2,j}, x_{S_i} \rangle

    A point x is a matrix of d rows. Each row is an independent draw of the source, divided by √k, so that every patch
    of k rows has norm 1; these inputs are ours. The paper describes the layer and leaves the rest open.

    Arguments:
        source: the distribution of a row times √k, with norm 1 and last coordinate 1/2.
        rows: d.
        patches: S₁, …, S_{d′}, sets of k rows; :func:`windows` makes them.
        function: φ, one for all channels or one for each; a function or its name.
        terms: p, the channels.
        outputs: the number of outputs.
        second: ``drawn`` for drawn directions w₂, ``constant`` for the factor 1/2 of Remark 2.1.
        relevant: how many first numbers of a patch the drawn directions use; None for all.
        weights: a (a row of d′·p numbers for each output, patch by patch), w1 and w2 as given; None draws them.
        noise: the size of the noise on labels that are values.
        labels: ``values`` for F*(x), ``signs`` for the sign of a single output.
        flips: the probability that a sign is flipped.
        instance: selects the draw of the weights.

    >>> from beyondkernels.papers.overparam.problems import UnitInputs, windows
    >>> truth = ConvolutionalTruth(UnitInputs(3), rows=5, patches=windows(5, 2), terms=2)
    >>> truth.in_shape, {name: tuple(value.shape) for name, value in truth.matrices().items()}
    ((5, 3), {'a': (1, 8), 'w1': (2, 6), 'w2': (2, 6)})

    Reference: Allen-Zhu, Li & Liang (overparam), §6.
    """

    source: Inputs
    rows: Annotated[int, size]
    patches: Patches
    function: SmoothFunctions = "sin"
    terms: Annotated[int, size] = 2
    outputs: Annotated[int, size] = 1
    second: Literal["drawn", "constant"] = "drawn"
    relevant: Annotated[int, size] | None = None
    weights: GivenWeights | None = None
    noise: Annotated[float, not_negative] = 0.0
    labels: Literal["values", "signs"] = "values"
    flips: Annotated[float, between(0, 0.5)] = 0.0
    instance: int = 0

    def __post_init__(self) -> None:
        require_patches(self.patches)
        last = max(map(max, self.patches))
        require(last < self.rows, f"patches must hold rows from 0 to {self.rows - 1}, got {last}")
        super().__post_init__()

    @property
    def in_shape(self) -> tuple[int, ...]:
        """The rows, and how many numbers a row has."""
        return (self.rows, self.source.dim)

    @property
    def in_dim(self) -> int:
        return math.prod(self.in_shape)

    def shapes(self) -> dict[str, tuple[int, int]]:
        columns = len(self.patches[0]) * self.source.dim
        return {
            "a": (self.outputs, len(self.patches) * self.terms),
            "w1": (self.terms, columns),
            "w2": (self.terms, columns),
        }

    @property
    def constant_direction(self) -> torch.Tensor:
        """1/√k at the last number of each row."""
        found = torch.zeros(self.shapes()["w2"][1], dtype=torch.float64)
        found[self.source.dim - 1 :: self.source.dim] = 1 / math.sqrt(len(self.patches[0]))
        return found

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        return self.source.draw(n * self.rows, stream).view(n, *self.in_shape) / math.sqrt(len(self.patches[0]))

    def require_inputs(self, x: torch.Tensor) -> None:
        """Ask that each row is 1/√k times a vector of norm 1 with last coordinate 1/2."""
        wanted = " × ".join(map(str, self.in_shape))
        require(tuple(x.shape[1:]) == self.in_shape, f"x must hold points of {wanted} numbers, got {tuple(x.shape)}")
        require_unit_inputs("the rows of x, times √k,", x.flatten(0, -2) * math.sqrt(len(self.patches[0])))

    def signal(self, x: torch.Tensor) -> torch.Tensor:
        flat = gathered(x, self.patches).flatten(0, 1)
        return self.terms_of(flat).view(len(x), -1) @ self.matrices()["a"].T
