"""The complexity of a ground truth of three layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from beyondkernels.activations import Activation
from beyondkernels.activations.complexity import STAR, Complexity, largest_complexity
from beyondkernels.activations.taylor import TaylorSeries
from beyondkernels.core import require, require_between, require_whole

_LARGEST = 600.0  # of the logarithm of a number that is to stay a float


def composed_complexity(
    outer: Sequence[Activation | TaylorSeries],
    inner: Sequence[Activation | TaylorSeries],
    epsilon: float,
    *,
    inner_terms: int = 1,
    star: float = STAR,
) -> Complexity:
    r"""The complexity of a ground truth of three layers.

    .. math:: \mathfrak C\bigl(\Phi, \sqrt{p_2}\,\mathfrak C(\phi, \ell)\,\ell\bigr), \qquad
              \ell = \sqrt{\log(1/\varepsilon)}

    Arguments:
        outer: :math:`\Phi_i`.
        inner: :math:`\phi_{s,j}` of both factors.
        epsilon: ε.
        inner_terms: p₂.
        star: C of (17).

    >>> from beyondkernels.activations import Polynomial
    >>> line = Polynomial((0.0, 1.0))
    >>> print(composed_complexity([line], [line], math.exp(-4), inner_terms=9, star=1.0))  # 3 · 2 · 2
    12

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.3.
    """
    require_between("epsilon", epsilon, 0, 1, "()")
    require_whole("inner_terms", inner_terms)
    root = math.sqrt(math.log(1 / epsilon))
    within = largest_complexity(inner, root, star=star)
    require(within.log < _LARGEST, f"star must be small enough that ℭ(φ, {root:.3g}) is a float, got {star:g}")
    return largest_complexity(outer, math.sqrt(inner_terms) * within.value * root, star=star)
