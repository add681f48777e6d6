"""How well a distribution preserves the highest degree of a polynomial: the constant c₁(q) of the paper."""

from __future__ import annotations

import itertools
import math

import torch

from beyondkernels.core import Stream, require, require_whole
from beyondkernels.papers.bfc.problems.coordinates import recurrence
from beyondkernels.papers.bfc.problems.inputs import Part, QuadraticInputs
from beyondkernels.papers.bfc.problems.polynomials import Polynomials

MOST_MONOMIALS = 1500
"""The most monomials whose second moments are factorised at once."""

_SINGULAR = 1e-9  # relative; what is smaller is rounding
_START: dict[tuple[int, ...], int] = {(): 0}  # the constant is the only monomial of degree 0


def leading_ratio(inputs: QuadraticInputs, dim: int, degree: int) -> tuple[float, bool]:
    r"""The largest ratio of leading coefficients to second moment, and whether it is exact.

    .. math:: \sup_P \frac{\mathcal C_x(P_q)}{\mathbb E\,P(x)^2}, \qquad \mathcal C_x(f) = \sum_I a_I^2

    P runs over the polynomials of degree q in x, and :math:`P_q` is the part of degree q. For given leading
    coefficients, the second moment is smallest when the rest of P removes all that lower degrees can explain.

    If the coordinates are independent, what remains of :math:`x^I` is a product of monic orthogonal polynomials. These
    products are orthogonal, so the supremum is a maximum over monomials, for any d and q. For N(0, I) it is
    :math:`1 / \min_{|I| = q} I!`, which is 1 if d ≥ q. The paper's bound is q!. Other Gaussians and mixtures need a
    factorisation of the second moments of all monomials. Inputs of which only draws are known have an estimate.

    Arguments:
        inputs: the distribution.
        dim: d.
        degree: q.

    >>> from beyondkernels.papers.bfc.problems import GaussianInputs
    >>> leading_ratio(GaussianInputs(), dim=2, degree=4)
    (0.25, True)

    Reference: Allen-Zhu & Li (bfc), §5, eq. (5.4).
    """
    require_whole("dim", dim)
    require_whole("degree", degree)
    parts = inputs.parts(dim)
    if parts is not None and len(parts) == 1 and _is_diagonal(parts[0].root):
        return 1 / _smallest_leading_norm(parts[0], degree), True
    count = math.comb(dim + degree, degree)
    require(
        count <= MOST_MONOMIALS,
        f"degree must leave at most {MOST_MONOMIALS} monomials in dimension {dim}, got {count} for degree {degree}",
    )
    if parts is not None:
        moments = torch.cat([math.sqrt(part.weight) * _orthonormal_coefficients(part, degree) for part in parts])
    else:
        moments = _evaluated(inputs, dim, degree)
    top = math.comb(dim + degree - 1, degree)
    rest = torch.linalg.qr(moments, mode="r").R[-top:, -top:]  # what lower degrees cannot explain
    values = torch.linalg.svdvals(rest)
    low, high = float(values[-1]), float(values[0])
    return (math.inf if low <= _SINGULAR * high else 1 / low**2), parts is not None


def monomials(dim: int, degree: int) -> list[tuple[int, ...]]:
    """The monomials of one degree, each as the sorted list of its variables.

    >>> monomials(2, 2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return list(itertools.combinations_with_replacement(range(dim), degree))


def values_of_monomials(x: torch.Tensor, degree: int) -> torch.Tensor:
    """All monomials of degree 0 to q at points (n, d), ordered by degree: (n, C(d + q, q))."""
    n, dim = x.shape
    blocks, place = [torch.ones(n, 1, dtype=torch.float64)], _START
    for each in range(1, degree + 1):
        names = monomials(dim, each)
        before = torch.tensor([place[name[:-1]] for name in names])
        blocks.append(blocks[-1][:, before] * x[:, [name[-1] for name in names]])
        place = {name: i for i, name in enumerate(names)}
    return torch.cat(blocks, 1)


def _orthonormal_coefficients(part: Part, degree: int) -> torch.Tensor:
    """The monomials in x = Σu of degree 0 to q, each a column of coefficients in orthonormal polynomials of u."""
    dim = part.root.shape[0]
    zero = torch.zeros(1, dim, dtype=torch.uint8)
    current, place = Polynomials(zero, torch.ones(1, 1, dtype=torch.float64)), _START
    blocks = [current]
    for each in range(1, degree + 1):
        names = monomials(dim, each)
        before, last = [place[name[:-1]] for name in names], [name[-1] for name in names]
        grown = [
            Polynomials(current.exponents + unit, current.coefficients[:, before] * part.root[last, r])
            for r, unit in enumerate(torch.eye(dim, dtype=torch.uint8))
        ]
        current, place = grown[0].plus(*grown[1:]), {name: i for i, name in enumerate(names)}
        blocks.append(current)
    widths = [block.coefficients.shape[1] for block in blocks]
    padded = [
        torch.nn.functional.pad(block.coefficients, (sum(widths[:i]), sum(widths[i + 1 :])))
        for i, block in enumerate(blocks)
    ]
    every = Polynomials(torch.cat([block.exponents for block in blocks]), torch.cat(padded))
    return every.expanded(part.law).coefficients


def _evaluated(inputs: QuadraticInputs, dim: int, degree: int) -> torch.Tensor:
    n = max(2**14, 20 * math.comb(dim + degree, degree))
    x = inputs.draw(n, dim, Stream(0).child("degree preservation"))
    return values_of_monomials(x, degree) / math.sqrt(n)


def _smallest_leading_norm(part: Part, degree: int) -> float:
    """The smallest squared norm of a product of monic orthogonal polynomials of total degree q."""
    best = [0.0] + [math.inf] * degree  # logarithms, by the degree that the coordinates so far have together
    for sigma in part.root.diagonal().abs().tolist():
        steps = [0.0]
        for n in range(1, degree + 1):
            steps.append(steps[-1] + math.log(recurrence(part.law, n)) + 2 * math.log(sigma))
        best = [min(best[q - p] + steps[p] for p in range(q + 1)) for q in range(degree + 1)]
    return math.exp(best[degree])


def _is_diagonal(root: torch.Tensor) -> bool:
    return bool((root == root.diagonal().diag()).all())
