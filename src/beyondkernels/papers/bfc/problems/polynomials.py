"""Vector-valued polynomials in many variables, as lists of monomials with their coefficients."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems.coordinates import Law, expansion


@dataclass(frozen=True, eq=False)
class Polynomials:
    r"""k polynomials in d variables: :math:`P_i(u) = \sum_t c_{ti} \prod_j u_j^{I_{tj}}`.

    Arguments:
        exponents: I, (terms, d) uint8, each row once.
        coefficients: c, (terms, k) float64.

    >>> x = Polynomials.variables(2)
    >>> square = x.squared()
    >>> square.exponents.tolist(), square.coefficients.tolist()
    ([[2, 0], [0, 2]], [[1.0, 0.0], [0.0, 1.0]])
    """

    exponents: torch.Tensor
    coefficients: torch.Tensor

    @staticmethod
    def variables(dim: int) -> Polynomials:
        """The coordinates themselves: P_j(u) = u_j."""
        return Polynomials(torch.eye(dim, dtype=torch.uint8), torch.eye(dim, dtype=torch.float64))

    def __len__(self) -> int:
        return len(self.exponents)

    @property
    def degree(self) -> int:
        """The highest degree of a monomial in it."""
        return int(self.exponents.sum(1, dtype=torch.int64).max()) if len(self) else 0

    @property
    def pairs(self) -> int:
        """How many products of two terms its square takes."""
        return len(self) * (len(self) + 1) // 2

    def __call__(self, u: torch.Tensor) -> torch.Tensor:
        """Their values (n, k) at points (n, d)."""
        powers = u.double()[:, None, :] ** self.exponents.double()
        return powers.prod(2) @ self.coefficients

    def mixed(self, matrix: torch.Tensor) -> Polynomials:
        """The polynomials W P, for a matrix W of shape (rows, k)."""
        return Polynomials(self.exponents, self.coefficients @ matrix.T)

    def plus(self, *others: Polynomials) -> Polynomials:
        """P + Q + …, polynomial by polynomial."""
        every = (self, *others)
        return _merged(torch.cat([p.exponents for p in every]), torch.cat([p.coefficients for p in every]))

    def plus_constants(self, constants: torch.Tensor) -> Polynomials:
        """The sum with one constant for each polynomial, (k,)."""
        zero = torch.zeros(1, self.exponents.shape[1], dtype=torch.uint8)
        return self.plus(Polynomials(zero, constants.double()[None]))

    def squared(self) -> Polynomials:
        """P₁², …, P_k²: products of polynomials with themselves, not with each other."""
        first, second, twice = self._pairs()
        c = self.coefficients
        return _merged(self.exponents[first] + self.exponents[second], twice * c[first] * c[second])

    def squared_norm(self) -> Polynomials:
        r"""One polynomial: :math:`\sum_i P_i^2`."""
        first, second, twice = self._pairs()
        gram = self.coefficients @ self.coefficients.T
        return _merged(self.exponents[first] + self.exponents[second], twice * gram[first, second, None])

    def of_degree(self, degree: int) -> Polynomials:
        """The homogeneous part of this degree."""
        there = self.exponents.sum(1, dtype=torch.int64) == degree
        return Polynomials(self.exponents[there], self.coefficients[there])

    def expanded(self, law: Law) -> Polynomials:
        r"""The same polynomials in products of orthonormal polynomials: "exponents" I stand for :math:`\prod h_{I_j}`.

        If the coordinates of u are independent and have this law, then E P is the coefficient of I = 0, and E P² is the
        sum of the squared coefficients.
        """
        exponents, coefficients = self.exponents, self.coefficients
        table = expansion(law, max(self.degree, 1))
        for j in range(exponents.shape[1]):
            if not bool(exponents[:, j].any()):
                continue
            rows = table[exponents[:, j].long()]  # the powers of u_j in h_0, h_1, …
            term, order = rows.nonzero(as_tuple=True)
            grown = exponents[term]
            grown[:, j] = order.to(torch.uint8)
            exponents, coefficients = _unique(grown, coefficients[term] * rows[term, order, None])
        return Polynomials(exponents, coefficients)

    def _pairs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Every pair of terms once, and the factor 2 for pairs of different ones."""
        first, second = torch.triu_indices(len(self), len(self)).unbind()
        return first, second, (2 - (first == second).double())[:, None]


def features_of(
    graph: Sequence[Sequence[int]],
    weights: dict[tuple[int, int], torch.Tensor],
    centring: Sequence[float],
    root: torch.Tensor,
    most: float = math.inf,
) -> dict[int, Polynomials]:
    r"""The hidden features of a quadratic network as polynomials in u, where x = Σu, by layer from 2 on.

    Arguments:
        graph: the sets 𝒥₂, …, 𝒥_L.
        weights: W_{ℓ,j}.
        centring: what is subtracted from x².
        root: Σ, the identity for polynomials in x.
        most: end before the first layer whose square takes more pairs of terms.
    """
    x = Polynomials.variables(root.shape[0]).mixed(root)
    found: dict[int, Polynomials] = {}
    if x.pairs > most:
        return found
    outputs = {0: x, 1: x.squared().plus_constants(-torch.tensor(tuple(centring), dtype=torch.float64))}
    for layer, sources in enumerate(graph, 2):
        first, *rest = (outputs[j].mixed(weights[layer, j]) for j in sources)
        s = first.plus(*rest)
        if s.pairs > most:
            break
        found[layer] = s
        if layer <= len(graph):
            outputs[layer] = s.squared()
    return found


def _merged(exponents: torch.Tensor, coefficients: torch.Tensor) -> Polynomials:
    return Polynomials(*_unique(exponents, coefficients))


def _unique(exponents: torch.Tensor, coefficients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Equal rows of exponents once, with the sum of their coefficients, unless that is zero."""
    keys = (exponents * _multipliers(exponents.shape[1])).sum(1)  # products wrap around, as a hash may
    _, place = torch.unique(keys, return_inverse=True)
    count = int(place.max()) + 1 if len(place) else 0
    last = torch.zeros(count, dtype=torch.int64).scatter_(0, place, torch.arange(len(place)))
    rows = exponents[last]
    assert bool((rows[place] == exponents).all()), "two monomials have one key"
    sums = torch.zeros(count, coefficients.shape[1], dtype=torch.float64).index_add_(0, place, coefficients)
    there = (sums != 0).any(1)
    return rows[there], sums[there]


@functools.cache
def _multipliers(dim: int) -> torch.Tensor:
    return Stream(0).child("monomials").integers(2**62, dim) * 2 + 1
