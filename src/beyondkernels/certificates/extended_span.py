"""The span of a kernel's functions from its Gram matrix in extended precision: slow, and literal."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath
import torch

from beyondkernels.certificates.coefficients import DegreeCoefficients
from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.certificates.profiles import Real
from beyondkernels.certificates.span import Parity, Span
from beyondkernels.core import require

MOST_EXTENDED = 32
"""The most points: the work grows with their third power, each step some microseconds."""


class ExtendedSpan(Span):
    r"""The span of K(·, a) for signs a, from a Cholesky decomposition of :math:`\sum_j \lambda_j^2 \mathcal K_j(h)`.

    The largest remaining diagonal entry is the next pivot. The precision is twice that of the coefficients, because
    they enter squared; a remainder below the square of their error counts as zero.

    Arguments:
        signs: the training points, shape (n, d), entries ±1.
        coefficients: of the kernel, from extended precision.
    """

    def __init__(self, signs: torch.Tensor, coefficients: DegreeCoefficients):
        n, d = signs.shape
        require(n <= MOST_EXTENDED, f"signs must have at most {MOST_EXTENDED} points in extended precision, got {n}")
        require(coefficients.exact, "coefficients must come from a kernel that is known in extended precision")
        self._signs, self._coefficients = signs, coefficients
        self._digits = 40 - 2 * int(mpmath.floor(mpmath.log10(coefficients.error)))
        self.error = 1e-15
        table = krawtchouk(d)
        with mpmath.workdps(self._digits):
            squares = [value**2 if coefficients.is_known(j) else 0 for j, value in enumerate(coefficients.values)]
            by_distance = [mpmath.fsum(square * table[j][h] for j, square in enumerate(squares)) for h in range(d + 1)]
            distances = ((d - signs @ signs.T) / 2).round().long().tolist()
            rest = [[by_distance[h] for h in row] for row in distances]
            least = by_distance[0] * coefficients.error**2
            self._pivots, self._rows = _pivoted(rest, least)
        self.dimension = len(self._pivots)

    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        columns = []
        with mpmath.workdps(self._digits):
            for T in parities:
                known = self._coefficients.is_known(len(T))
                scale = self._coefficients.values[len(T)] if known else mpmath.mpf(0)
                values = [scale * int(sign) for sign in self._signs[:, list(T)].prod(1).tolist()]
                found = []
                for step, pivot in enumerate(self._pivots):
                    found.append(values[pivot] / self._rows[step][pivot])
                    values = [value - found[-1] * entry for value, entry in zip(values, self._rows[step], strict=True)]
                columns.append([float(value) for value in found])
        return torch.tensor(columns, dtype=torch.float64).reshape(len(parities), self.dimension).T


def _pivoted(rest: list[list[Real]], least: Real) -> tuple[list[int], list[list[Real]]]:
    """Pivots and rows of L^T with L L^T the matrix, until the remaining diagonal is below ``least``."""
    n = len(rest)
    pivots, rows = [], []
    for _ in range(n):
        pivot = max(range(n), key=lambda i: rest[i][i])
        if rest[pivot][pivot] <= least:
            break
        root = mpmath.sqrt(rest[pivot][pivot])
        row = [entry / root for entry in rest[pivot]]
        for i in range(n):
            factor = row[i]
            rest[i] = [entry - factor * other for entry, other in zip(rest[i], row, strict=True)]
        pivots.append(pivot)
        rows.append(row)
    return pivots, rows
