"""Targets of Concept 1 and Concept 2: a composition of two smooth maps, with a check of their norms."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.core import Stream, require
from beyondkernels.core.constraints import not_negative
from beyondkernels.data.inputs import Inputs
from beyondkernels.data.maps import SmoothMap, TwoLayerMap
from beyondkernels.papers.resnet.problems.composite import CompositeProblem
from beyondkernels.papers.resnet.problems.general import GeneralForm, require_concept1, require_concept2

_CHECKED = 2**12  # lengths are checked at all inputs if there are at most so many, otherwise at so many draws
_ROUNDING = 1e-6


@dataclass(frozen=True)
class SmoothComposite(CompositeProblem):
    r"""A target made of two smooth maps.

    .. math:: H(x) = \beta F(x) + \alpha G(F(x)), \qquad F: R^d \to R^k, \quad G: R^k \to R^k

    Concept 1 asks for two-layer maps with directions of length 1/√2 and a* in [−1, 1], inputs with ‖x‖ = 1 and
    ‖F(x)‖ = 1; Concept 2 for maps of general complexity (Definition A.1) and ‖F(x)‖ ≤ B_F. The conditions on the
    parameters are checked exactly. Lengths are checked at all inputs if there are at most 4096, and otherwise at 4096
    draws.

    Arguments:
        source: the distribution of x.
        base: F.
        composite: G.
        alpha: α.
        beta: β.
        optimal_risk: OPT, half the expected squared length of the noise on the labels.
        concept_class: 1, 2, or None for a target that need not belong to either.

    >>> from beyondkernels.activations import Polynomial
    >>> from beyondkernels.data import CircleMap, DrawnMap, Sphere
    >>> G = DrawnMap(dim=4, outputs=4, count=2, function=Polynomial((0.0, 0.0, 1.0)), instance=1)
    >>> problem = SmoothComposite(Sphere(10), CircleMap(dim=10, outputs=4), G, alpha=0.2)
    >>> problem.base_terms, problem.composite_terms, problem.base_bound
    (1, 2, 1.0)

    Reference: Allen-Zhu & Li (resnet), Concept 1 (§5) and Concept 2 (App. A).
    """

    source: Inputs
    base: SmoothMap
    composite: SmoothMap
    alpha: Annotated[float, not_negative]
    beta: Annotated[float, not_negative] = 1.0
    optimal_risk: Annotated[float, not_negative] = 0.0
    concept_class: Literal[1, 2] | None = 1

    def __post_init__(self) -> None:
        d, k = self.source.in_dim, self.base.out_dim
        require(self.base.in_dim == d, f"base must take vectors of dimension {d} as inputs do, got {self.base.in_dim}")
        require(
            (self.composite.in_dim, self.composite.out_dim) == (k, k),
            f"composite must take and give vectors of dimension {k} as base gives, got {self.composite.in_dim} "
            f"and {self.composite.out_dim}",
        )
        if self.concept_class == 1:
            length = self.source.length
            require(
                length is not None and abs(length - 1) <= _ROUNDING,
                f"source must have inputs with ‖x‖ = 1 for Concept 1, got {length or 'lengths that vary'}",
            )
            for name, given in (("base", self.base), ("composite", self.composite)):
                require_concept1(name, given)
            _require_unit(self.source, self.base)
        if self.concept_class == 2:
            for name, given in (("base", self.base), ("composite", self.composite)):
                require_concept2(name, given)

    @property
    def inputs(self) -> Inputs:
        return self.source

    @property
    def out_dim(self) -> int:
        return self.base.out_dim

    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x)

    def composite_signal(self, h: torch.Tensor) -> torch.Tensor:
        return self.composite(h)

    def concept(self) -> SmoothComposite:
        return self

    @property
    def base_terms(self) -> int:
        """p_F."""
        return self.base.terms

    @property
    def composite_terms(self) -> int:
        """p_G."""
        return self.composite.terms

    @property
    def base_bound(self) -> float | None:
        """B_F, the largest ‖F(x)‖: one in Concept 1, a maximum where inputs can be listed, None where it is unknown."""
        return 1.0 if self.concept_class == 1 else _largest(self.source, self.base, None)

    @property
    def composite_bound(self) -> float | None:
        """B_{F∘G}, the largest ‖G(F(x))‖, where inputs can be listed."""
        return _largest(self.source, self.base, self.composite)

    def in_concept2(self) -> SmoothComposite:
        """A target of Concept 1 as one of Concept 2, with twice as many terms: the same H(x) for all inputs.

        Reference: Allen-Zhu & Li (resnet), Lemma A.2.
        """
        require(self.concept_class == 1, f"concept_class must be 1 for Lemma A.2, got {self.concept_class}")
        assert isinstance(self.base, TwoLayerMap)
        assert isinstance(self.composite, TwoLayerMap)
        return SmoothComposite(
            self.source,
            GeneralForm(self.base),
            GeneralForm(self.composite),
            self.alpha,
            self.beta,
            self.optimal_risk,
            concept_class=2,
        )


@functools.lru_cache(maxsize=64)
def _lengths(source: Inputs, base: SmoothMap) -> tuple[float, float, int]:
    listed = source.points(_CHECKED)
    x = source.draw(_CHECKED, Stream(0).child("lengths")) if listed is None else listed
    lengths = base(x).norm(dim=1)
    return float(lengths.min()), float(lengths.max()), len(x)


@functools.lru_cache(maxsize=64)
def _largest(source: Inputs, base: SmoothMap, composite: SmoothMap | None) -> float | None:
    listed = source.points(2**14)
    if listed is None:
        return None
    h = base(listed)
    return float((h if composite is None else composite(h)).norm(dim=1).max())


def _require_unit(source: Inputs, base: SmoothMap) -> None:
    low, high, n = _lengths(source, base)
    if max(abs(low - 1), abs(high - 1)) <= _ROUNDING:
        return
    asked = (
        f"base must give ‖F(x)‖ = 1 for every x in Concept 1, got lengths from {low:.6g} to {high:.6g} at {n} inputs"
    )
    if high - low <= _ROUNDING * high:
        require(
            False,
            f"{asked}; with c = {high:.6g}, base.scaled(1 / c) and composite.scaled(1 / c, inside=c) make it 1 and "
            "divide the labels by c",
        )
    require(False, f"{asked}, which no factor makes equal; Concept 2 bounds them only: GeneralForm(base)")
