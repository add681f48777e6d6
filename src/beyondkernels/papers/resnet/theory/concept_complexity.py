"""The complexity of targets F + αG(F): the largest among their functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from beyondkernels.activations import Activation
from beyondkernels.activations.complexity import STAR, Complexity, sample_complexity, slope_bound, width_complexity
from beyondkernels.core import InputError, require_positive
from beyondkernels.data.maps import SmoothMap, TwoLayerMap
from beyondkernels.papers.resnet.problems.composite import CompositeProblem
from beyondkernels.papers.resnet.theory.concept_sizes import ConceptSizes


@dataclass(frozen=True)
class MapComplexity:
    r"""What the theorems know of a map F: p, :math:`\mathfrak C_s(F)`, :math:`\mathfrak C_\varepsilon(F)`.

    Arguments:
        outputs: k.
        terms: p.
        sample: :math:`\mathfrak C_s(F) = \max_{r,i} \mathfrak C_s(F_{r,i})`.
        width: :math:`\mathfrak C_\varepsilon(F) = \max_{r,i} \mathfrak C_\varepsilon(F_{r,i})`.
    """

    outputs: int
    terms: int
    sample: Complexity
    width: Complexity

    @property
    def bound(self) -> float:
        r""":math:`\sqrt k\,p\,\mathfrak C_s`, which bounds ‖F(x)‖ and the Lipschitz constant of F at unit vectors.

        Reference: Allen-Zhu & Li (resnet), §5 and Fact A.3.
        """
        return math.sqrt(self.outputs) * self.terms * self.sample.value


@dataclass(frozen=True)
class ConceptComplexity:
    r"""What Theorem 1 knows of a target.

    Arguments:
        base: of F.
        composite: of G.
        alpha: α.
        base_bound: :math:`B_F`.
        lipschitz: an upper bound on :math:`L_G` in the ball of radius :math:`B_F`; None where :math:`B_F` is unknown,
            and in Concept 2, where Fact A.3 has to do.
        optimal_risk: OPT.
    """

    base: MapComplexity
    composite: MapComplexity
    alpha: float
    base_bound: float | None
    lipschitz: float | None
    optimal_risk: float = 0.0

    @property
    def sizes(self) -> ConceptSizes:
        """The plain numbers Theorem 1 asks for."""
        bound = self.base_bound
        if bound is None:
            raise InputError("base_bound must be known for Theorem 1, but ‖F(x)‖ has no bound that is known here")
        return ConceptSizes(
            outputs=self.base.outputs,
            alpha=self.alpha,
            base_terms=self.base.terms,
            composite_terms=self.composite.terms,
            base_complexity=self.base.sample.value,
            composite_complexity=self.composite.sample.value,
            base_width_complexity=self.base.width.value,
            composite_width_complexity=self.composite.width.value,
            base_norm=bound,
            lipschitz=self.lipschitz,
            best_risk=self.optimal_risk,
        )


def map_complexity(source: SmoothMap, epsilon: float = 0.1, *, star: float = STAR) -> MapComplexity:
    """The complexity of a map: the largest among its functions.

    >>> from beyondkernels.papers.resnet.problems import HardInstance
    >>> F = HardInstance(dim=50, outputs=4, alpha=0.1).concept().base
    >>> print(map_complexity(F, star=1.0).sample)  # 2·√(2d/k)
    10

    Reference: Allen-Zhu & Li (resnet), §5.
    """
    samples = [sample_complexity(f, star=star) for f in source.distinct]
    widths = [width_complexity(f, epsilon, star=star) for f in source.distinct]
    return MapComplexity(
        source.out_dim, source.terms, max(samples, key=lambda c: c.log), max(widths, key=lambda c: c.log)
    )


def concept_complexity(
    problem: CompositeProblem, epsilon: float | None = None, *, star: float = STAR
) -> ConceptComplexity:
    """The complexities of F and G of a target, written in Concept 1's or 2's form.

    Arguments:
        problem: a composite problem.
        epsilon: ε of the width measure; α where it is not given, as Theorem 1 has it.
        star: C*.

    >>> from beyondkernels.papers.resnet.problems import CompositeParity
    >>> found = concept_complexity(CompositeParity(), star=1.0)
    >>> found.base.terms, found.composite.terms, print(found.base.sample)
    23.2379
    (2, 16, None)

    Reference: Allen-Zhu & Li (resnet), §5 and Theorem 1.
    """
    target = problem.concept()
    eps = target.alpha if epsilon is None else epsilon
    G, bound = target.composite, target.base_bound
    return ConceptComplexity(
        map_complexity(target.base, eps, star=star),
        map_complexity(G, eps, star=star),
        target.alpha,
        bound,
        lipschitz_bound(G, bound) if bound is not None and isinstance(G, TwoLayerMap) else None,
        target.optimal_risk,
    )


def lipschitz_bound(source: TwoLayerMap, radius: float = 1.0) -> float:
    r"""An upper bound on the Lipschitz constant of a two-layer map in a ball, without C*.

    .. math:: L \le \Bigl\| \Bigl( \sum_i |a_{r,i}|\,\|w_{r,i}\| \sum_n n |c_n| (\|w_{r,i}\| R)^{n-1} \Bigr)_r \Bigr\|_2

    Arguments:
        source: the map.
        radius: R.
    """
    require_positive("radius", radius)
    a, lengths = source.coefficients.abs(), source.directions.norm(dim=2)
    total = 0.0
    found: dict[tuple[Activation, float], float] = {}
    for r, row in enumerate(source.functions):
        output = 0.0
        for i, f in enumerate(row):
            length = round(float(lengths[r, i]), 15)
            if (f, length) not in found:
                found[f, length] = slope_bound(f, length * radius)
            output += float(a[r, i]) * length * found[f, length]
        total += output**2
    return math.sqrt(total)
