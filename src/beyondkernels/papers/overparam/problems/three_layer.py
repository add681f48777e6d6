"""Ground truths of three layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.activations import Activation, Polynomial
from beyondkernels.core import Tensors, require
from beyondkernels.core.constraints import between, not_negative, size
from beyondkernels.data.inputs import Inputs
from beyondkernels.papers.overparam.problems.truth import (
    GroundTruth,
    SmoothFunctions,
    as_tuple,
    normalised,
    require_defined,
    values,
)
from beyondkernels.papers.overparam.problems.weights import GivenWeights

_GRID = 201


@dataclass(frozen=True)
class ThreeLayerTruth(GroundTruth):
    r"""A ground truth of three layers.

    .. math:: f^*_r(x) = \sum_{i \in [p_1]} a^*_{r,i}\,
        \Phi_i\Bigl(\sum_{j \in [p_2]} v^*_{1,i,j}\,\phi_{1,j}(\langle w^*_{1,j}, x \rangle)\,\ell_{3,j}(x)\Bigr)
        \Bigl(\sum_{j \in [p_2]} v^*_{2,i,j}\,\phi_{2,j}(\langle w^*_{2,j}, x \rangle)\,\ell_{4,j}(x)\Bigr)

    Eq. (6) has :math:`\ell = 1`, and the general form (9) has :math:`\ell_{s,j}(x) = \langle w^*_{s,j}, x \rangle`.
    With a constant second factor F* is a standard three-layer network (7); Remark 2.2 takes φ₂ = 1/p₂ and v₂ = 1,
    here φ₂ and v₂ are both :math:`1/\sqrt{p_2}`, so that v₂ has norm 1. With Φ(z) = z the ground truth is (19).

    Arguments:
        source: the distribution of x, with norm 1 and last coordinate 1/2.
        outer: Φ, one for all terms or one for each of the p₁; a function or its name.
        first: φ₁, one for all or one for each of the p₂.
        second: φ₂ likewise; ``constant`` for :math:`1/\sqrt{p_2}`, which makes the second factor one where weights are
            drawn. It goes with :math:`\ell = 1` alone.
        outer_terms: p₁.
        inner_terms: p₂.
        outputs: k.
        linear: whether the inner sums have linear factors, as in (9).
        relevant: how many first coordinates the drawn directions use; None for all d.
        weights: a, w1, w2, v1, v2 (and w3, w4) as given; None draws them: directions uniform on the sphere, a* = ±1
            (ours).
        noise: c, the size of the noise on labels that are values.
        labels: ``values`` for F*(x), ``signs`` for the sign of a single output.
        flips: q, the probability that a sign is flipped.
        instance: selects the draw of the weights.

    >>> from beyondkernels.activations import Cosine
    >>> from beyondkernels.papers.overparam.problems import UnitInputs
    >>> wave = Cosine(frequency=8.0)  # ± cos(8⟨w₁, x⟩) cos(8⟨w₂, x⟩)
    >>> truth = ThreeLayerTruth(UnitInputs(6), "identity", wave, wave, outer_terms=1, inner_terms=1)
    >>> sorted(truth.matrices())
    ['a', 'v1', 'v2', 'w1', 'w2']

    Reference: Allen-Zhu, Li & Liang (overparam), §2.2, eqs. (6), (9); §4.2, eq. (19).
    """

    source: Inputs
    outer: SmoothFunctions = "identity"
    first: SmoothFunctions = "sin"
    second: SmoothFunctions | Literal["constant"] = "sin"
    outer_terms: Annotated[int, size] = 2
    inner_terms: Annotated[int, size] = 2
    outputs: Annotated[int, size] = 1
    linear: bool = False
    relevant: Annotated[int, size] | None = None
    weights: GivenWeights | None = None
    noise: Annotated[float, not_negative] = 0.0
    labels: Literal["values", "signs"] = "values"
    flips: Annotated[float, between(0, 0.5)] = 0.0
    instance: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "outer", normalised(self.outer))
        object.__setattr__(self, "first", normalised(self.first))
        if self.second != "constant":
            object.__setattr__(self, "second", normalised(self.second))
        as_tuple("outer", self.outer, self.outer_terms)
        require(
            not (self.linear and self.second == "constant"),
            "linear must be False where second is constant, got True; with the factors ⟨w₄, x⟩ the second factor is "
            "not constant, and a polynomial of degree 0 as second says what is meant",
        )
        for functions in self.inner_functions:
            require_defined(functions)
        require_defined(self.outer_functions, self._reach())

    @property
    def outer_functions(self) -> tuple[Activation, ...]:
        """Φ₁, …, Φ_{p₁}."""
        return as_tuple("outer", self.outer, self.outer_terms)

    @property
    def inner_functions(self) -> tuple[tuple[Activation, ...], tuple[Activation, ...]]:
        """φ_{1,1}, …, φ_{1,p₂} and φ_{2,1}, …, φ_{2,p₂}."""
        p2 = self.inner_terms
        constant = Polynomial((1 / math.sqrt(p2),))
        second = constant if self.second == "constant" else self.second
        return as_tuple("first", self.first, p2), as_tuple("second", second, p2)

    def _reach(self) -> list[float]:
        """A bound on the argument of each Φ: the sum of |v₁| times the largest |φ₁| on [−1, 1]."""
        z = torch.linspace(-1, 1, _GRID, dtype=torch.float64)
        largest = torch.stack([function.value(z).abs().max() for function in self.inner_functions[0]])
        return (self.matrices()["v1"].abs() @ largest).tolist()

    def shapes(self) -> dict[str, tuple[int, int]]:
        p1, p2, d = self.outer_terms, self.inner_terms, self.source.dim
        general = {"w3": (p2, d), "w4": (p2, d)} if self.linear else {}
        return {"a": (self.outputs, p1), "w1": (p2, d), "w2": (p2, d), "v1": (p1, p2), "v2": (p1, p2), **general}

    def matrices(self) -> Tensors:
        """The weights of F*, by their names, float64."""
        found = super().matrices()
        if self.weights is None and self.second == "constant":
            found["v2"] = torch.full_like(found["v2"], 1 / math.sqrt(self.inner_terms))
        return found

    def signal(self, x: torch.Tensor) -> torch.Tensor:
        """F*(x), (n, k) float64."""
        outer, inner = self.factors(x)
        return (outer * inner) @ self.matrices()["a"].T

    def factors(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both factors of each of the p₁ terms, without a*: that with Φ, and the other; each (n, p₁) float64."""
        w = self.matrices()
        phi1, phi2 = self.inner_functions
        one, two = values(phi1, x @ w["w1"].T), values(phi2, x @ w["w2"].T)
        if self.linear:
            one, two = one * (x @ w["w3"].T), two * (x @ w["w4"].T)
        return values(self.outer_functions, one @ w["v1"].T), two @ w["v2"].T
