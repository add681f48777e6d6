"""What Theorem 1 of the paper on ResNets and kernels has to know about a target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from beyondkernels.core import Component, require, require_positive


@dataclass(frozen=True)
class ConceptSizes(Component):
    r"""The sizes of a target F + αG(F) of Concept 1 or 2, as plain numbers.

    Arguments:
        outputs: k.
        alpha: α.
        base_terms: :math:`p_F`.
        composite_terms: :math:`p_G`.
        base_complexity: :math:`\mathfrak C_s(F)`, the sample complexity.
        composite_complexity: :math:`\mathfrak C_s(G)`.
        base_width_complexity: :math:`\mathfrak C_\alpha(F)`, the complexity at accuracy ε = α, which the width needs;
            infinity where it is not known.
        composite_width_complexity: :math:`\mathfrak C_\alpha(G)`, likewise.
        base_norm: :math:`B_F`, the largest ‖F(x)‖; 1 in Concept 1.
        lipschitz: :math:`L_G`; None takes Fact A.3's bound :math:`\sqrt k\,p_G\mathfrak C_s(G)`.
        best_risk: OPT, the best :math:`\mathbb E \frac12\|H(x) - y\|^2` in the class.

    Reference: Allen-Zhu & Li (resnet), §5 and App. A.
    """

    identity: ClassVar[str] = "beyondkernels.theory.concept_sizes:ConceptSizes"

    outputs: int
    alpha: float
    base_terms: int
    composite_terms: int
    base_complexity: float
    composite_complexity: float
    base_width_complexity: float = math.inf
    composite_width_complexity: float = math.inf
    base_norm: float = 1.0
    lipschitz: float | None = None
    best_risk: float = 0.0

    def __post_init__(self) -> None:
        for name in ("outputs", "base_terms", "composite_terms"):
            value = getattr(self, name)
            require(isinstance(value, int), f"{name} must be a whole number, got {value!r}")
        for name in (
            *("outputs", "base_terms", "composite_terms", "base_complexity", "composite_complexity"),
            *("base_width_complexity", "composite_width_complexity", "base_norm"),
        ):
            require_positive(name, getattr(self, name))
        for name in ("alpha", "base_complexity", "composite_complexity", "base_norm", "best_risk"):
            require(math.isfinite(getattr(self, name)), f"{name} must be finite, got {getattr(self, name)}")
        require(self.best_risk >= 0, f"best_risk must not be negative, got {self.best_risk}")
        if self.lipschitz is not None:
            require(self.lipschitz >= 0, f"lipschitz must not be negative, got {self.lipschitz}")

    @property
    def base_size(self) -> float:
        r""":math:`k\,p_F\,\mathfrak C_s(F)`."""
        return self.outputs * self.base_terms * self.base_complexity

    @property
    def composite_size(self) -> float:
        r""":math:`k\,p_G\,\mathfrak C_s(G)`."""
        return self.outputs * self.composite_terms * self.composite_complexity

    @property
    def composite_lipschitz(self) -> float:
        r""":math:`L_G`, as given or by Fact A.3."""
        return self.lipschitz if self.lipschitz is not None else self.composite_size / self.outputs**0.5
