"""Ground truths of two layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.core.constraints import between, not_negative, size
from beyondkernels.data.inputs import Inputs
from beyondkernels.papers.overparam.problems.truth import ProductTruth, SmoothFunctions
from beyondkernels.papers.overparam.problems.weights import GivenWeights


@dataclass(frozen=True)
class TwoLayerTruth(ProductTruth):
    r"""A ground truth of two layers.

    .. math:: f^*_r(x) = \sum_{i=1}^p a^*_{r,i}\,\phi_i(\langle w^*_{1,i}, x \rangle) \langle w^*_{2,i}, x \rangle

    With :math:`w^*_{2,i} = (0, \dots, 0, 1)` the linear factor is 1/2, and F* is a standard two-layer network
    (Remark 2.1).

    Arguments:
        source: the distribution of x, with norm 1 and last coordinate 1/2.
        function: φ, one for all terms or one for each; a function or its name (sin, cos, exp, sinh, sigmoid, tanh).
        terms: p.
        outputs: k.
        second: ``drawn`` for drawn directions w₂, ``constant`` for (0, …, 0, 1).
        relevant: how many first coordinates the drawn directions use; None for all d.
        weights: a, w1 and w2 as given; None draws them: directions uniform on the sphere, a* = ±1 (ours).
        noise: c, the size of the noise on labels that are values.
        labels: ``values`` for F*(x), ``signs`` for the sign of a single output.
        flips: q, the probability that a sign is flipped.
        instance: selects the draw of the weights.

    >>> from beyondkernels.papers.overparam.problems import UnitInputs
    >>> from beyondkernels.core import Stream
    >>> truth = TwoLayerTruth(UnitInputs(10), "sin", terms=3, outputs=2)
    >>> {name: tuple(value.shape) for name, value in truth.matrices().items()}
    {'a': (2, 3), 'w1': (3, 10), 'w2': (3, 10)}
    >>> truth.sample(4, Stream(0)).y.shape
    torch.Size([4, 2])

    Reference: Allen-Zhu, Li & Liang (overparam), §2.1, eq. (3).
    """

    source: Inputs
    function: SmoothFunctions = "sin"
    terms: Annotated[int, size] = 4
    outputs: Annotated[int, size] = 1
    second: Literal["drawn", "constant"] = "drawn"
    relevant: Annotated[int, size] | None = None
    weights: GivenWeights | None = None
    noise: Annotated[float, not_negative] = 0.0
    labels: Literal["values", "signs"] = "values"
    flips: Annotated[float, between(0, 0.5)] = 0.0
    instance: int = 0

    def shapes(self) -> dict[str, tuple[int, int]]:
        p, d = self.terms, self.source.dim
        return {"a": (self.outputs, p), "w1": (p, d), "w2": (p, d)}

    @property
    def constant_direction(self) -> torch.Tensor:
        """(0, …, 0, 1)."""
        found = torch.zeros(self.source.dim, dtype=torch.float64)
        found[-1] = 1
        return found

    def signal(self, x: torch.Tensor) -> torch.Tensor:
        """F*(x), (n, k) float64."""
        return self.terms_of(x) @ self.matrices()["a"].T
