"""What Theorem 1 of the paper on ResNets and kernels has to know about a target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from beyondkernels.core import Component
from beyondkernels.core.constraints import any_number, not_negative, positive


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

    outputs: Annotated[int, positive]
    alpha: float
    base_terms: Annotated[int, positive]
    composite_terms: Annotated[int, positive]
    base_complexity: Annotated[float, positive]
    composite_complexity: Annotated[float, positive]
    base_width_complexity: Annotated[float, any_number, positive] = math.inf
    composite_width_complexity: Annotated[float, any_number, positive] = math.inf
    base_norm: Annotated[float, positive] = 1.0
    lipschitz: Annotated[float, any_number, not_negative] | None = None
    best_risk: Annotated[float, not_negative] = 0.0

    @property
    def base_size(self) -> float:
        r""":math:`k\,p_F\,\mathfrak C_s(F)`."""
        return self.outputs * self.base_terms * self.base_complexity

    @property
    def composite_size(self) -> float:
        r""":math:`k\,p_G\,\mathfrak C_s(G)`."""
        return self.outputs * self.composite_terms * self.composite_complexity

    @property
    def accuracy(self) -> float:
        r""":math:`\tilde\alpha = \alpha/(k p_F \mathfrak C_s(F) + k p_G \mathfrak C_s(G))` of Lemma C.2."""
        return self.alpha / (self.base_size + self.composite_size)

    @property
    def composite_lipschitz(self) -> float:
        r""":math:`L_G`, as given or by Fact A.3."""
        return self.lipschitz if self.lipschitz is not None else self.composite_size / self.outputs**0.5
