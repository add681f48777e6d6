"""Krawtchouk polynomials: sums of all parities of one degree, as functions of the Hamming distance."""

from __future__ import annotations

import functools

from beyondkernels.core import require

LARGEST_CUBE = 500
"""The most coordinates for which the table is made: it has d² whole numbers of up to d bits."""


@functools.lru_cache(maxsize=8)
def krawtchouk(dim: int) -> tuple[tuple[int, ...], ...]:
    r"""All values :math:`\mathcal K_j(h)`, the row j for the degree and the column h for the distance, exactly.

    .. math:: \mathcal K_j(h) = \sum_{|T| = j} \chi_T(a)\,\chi_T(b) = \sum_i (-1)^i \binom hi \binom{d-h}{j-i}

    for signs a and b that differ in h of d coordinates, with :math:`\chi_T(a) = \prod_{i \in T} a_i`. The row sums
    come from the generating function :math:`(1 - z)^h (1 + z)^{d - h}`, one factor after the other.

    Arguments:
        dim: d.

    >>> krawtchouk(3)
    ((1, 1, 1, 1), (3, 1, -1, -3), (3, -1, -1, 3), (1, -1, 1, -1))
    """
    require(1 <= dim <= LARGEST_CUBE, f"dim must lie between 1 and {LARGEST_CUBE} for the closed form, got {dim}")
    column = [1]
    for _ in range(dim):
        column = [a + b for a, b in zip([*column, 0], [0, *column], strict=True)]
    columns = [column]
    for _ in range(dim):
        before, column = column, []
        for j, value in enumerate(before):  # times (1 − z)/(1 + z)
            column.append(value - before[j - 1] - column[j - 1] if j else value)
        columns.append(column)
    return tuple(zip(*columns, strict=True))
