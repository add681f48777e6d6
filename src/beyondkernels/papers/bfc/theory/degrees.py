"""How far the coefficients of a learner agree with the target's, degree by degree: Steps 1 to 3 of §6.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from beyondkernels.papers.bfc.problems.polynomials import Polynomials
from beyondkernels.papers.bfc.theory.procrustes import aligned
from beyondkernels.papers.bfc.theory.symmetric import sym
from beyondkernels.papers.bfc.theory.weights import QuadraticWeights


@dataclass(frozen=True)
class LayerAgreement:
    r"""How far one layer of a learner agrees with the target's; norms of differences over norms of the target's part.

    Arguments:
        layer: ℓ.
        degrees: for each degree of Sum(F_ℓ), the norm of the difference of its coefficients from those of Sum(G*_ℓ),
            and the norm of the latter, :math:`\mathcal C_x^{1/2}`. Both are without the factor α_ℓ, as in §6.2.
        top: Step 1: the relative difference at the top degree :math:`2^\ell`.
        symmetric: Step 2: that of :math:`\mathrm{Sym}(\bar W^\top \bar W)` with :math:`\bar W = W_{\ell,\ell-1}(R V *
            R V)`, eq. (6.1). In layer 2 it is that of :math:`W_{2,1}^\top W_{2,1}`, which the polynomial determines.
        whole: that of :math:`\bar W^\top \bar W` itself, which the polynomial leaves open in layers above the second.
        cross: Step 3: for each other source j, that of :math:`\bar W_{\ell,j}^\top \bar W_{\ell,\ell-1}`, eq. (6.2),
            which belongs to the degree :math:`2^{\ell-1} + 2^j` (for j = 0, :math:`2^{\ell-1} + 1`).

    Reference: Allen-Zhu & Li (bfc), §6.2 and App. F.1, F.3, F.4.
    """

    layer: int
    degrees: Mapping[int, tuple[float, float]]
    top: float
    symmetric: float
    whole: float
    cross: Mapping[int, float]


def coefficients_norm(polynomial: Polynomials) -> float:
    r"""The root of :math:`\mathcal C_x`, the sum of all squared coefficients.

    >>> coefficients_norm(Polynomials.variables(4))
    2.0

    Reference: Allen-Zhu & Li (bfc), Definition C.1.
    """
    return polynomial.coefficients.norm().item()


def turns(target: Mapping[int, torch.Tensor], found: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    r"""For each layer the map that takes the target's features closest to the learner's.

    .. math:: S_\ell \approx V_\ell S^\star_\ell, \qquad V_\ell = U_\ell^\top \text{ for the best rotation } U_\ell

    of :func:`aligned`, without the rows and columns that belong to padded coordinates.

    Arguments:
        target: S*_ℓ at some points, (n, k_ℓ).
        found: S_ℓ at the same points, (n, m_ℓ).

    Returns:
        V by layer, (m_ℓ, k_ℓ).
    """
    common = [layer for layer in target if layer in found]
    return {
        layer: aligned(target[layer], found[layer])[0].T[: found[layer].shape[1], : target[layer].shape[1]]
        for layer in common
    }


def layer_agreement(
    target: QuadraticWeights, learner: QuadraticWeights, turned: Mapping[int, torch.Tensor]
) -> dict[int, LayerAgreement]:
    """Steps 1 to 3 for each layer that both have.

    Arguments:
        target: the weights of the target.
        learner: those of the learner. A layer with other sources than the target's is left out.
        turned: what :func:`turns` gives.

    Reference: Allen-Zhu & Li (bfc), §6.2.
    """
    ours, theirs = learner.polynomials()[1], target.polynomials()[1]
    found = {}
    for layer in sorted(ours.keys() & theirs.keys()):
        if {*target.sources(layer)} != {*learner.sources(layer)}:
            continue
        degrees = compared(ours[layer], theirs[layer])
        mine, given = (_bars(weights, layer, turn) for weights, turn in ((learner, turned), (target, {})))
        below = layer - 1
        squares = [bars[below].T @ bars[below] for bars in (mine, given)]
        twice = squares if layer == 2 else [sym(square) for square in squares]
        crosses = {j: [bars[j].T @ bars[below] for bars in (mine, given)] for j in given if j != below}
        found[layer] = LayerAgreement(
            layer,
            degrees,
            top=_over(*degrees[2**layer]),
            symmetric=_relative(*twice),
            whole=_relative(*squares),
            cross={j: _relative(*both) for j, both in crosses.items()},
        )
    return found


def compared(one: Polynomials, other: Polynomials) -> dict[int, tuple[float, float]]:
    """For each degree up to the highest, the norms of the difference's coefficients and of the second polynomial's.

    >>> x = Polynomials.variables(1)
    >>> compared(x.squared().plus(x), x.squared())
    {0: (0.0, 0.0), 1: (1.0, 0.0), 2: (0.0, 1.0)}
    """
    difference = one.plus(Polynomials(other.exponents, -other.coefficients))
    return {
        degree: (coefficients_norm(difference.of_degree(degree)), coefficients_norm(other.of_degree(degree)))
        for degree in range(max(one.degree, other.degree) + 1)
    }


def _bars(weights: QuadraticWeights, layer: int, turned: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    return {j: weights.bar(layer, j, turned.get(j)) for j in weights.sources(layer)}


def _relative(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return _over((found - wanted).norm().item(), wanted.norm().item())


def _over(difference: float, size: float) -> float:
    return 0.0 if difference == 0 else float("inf") if size == 0 else difference / size
