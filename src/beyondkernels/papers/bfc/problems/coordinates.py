"""Laws of one coordinate, given by the recurrence of their orthonormal polynomials."""

from __future__ import annotations

import functools
from typing import Literal

import torch

Law = Literal["normal", "uniform"]
"""A symmetric law with variance 1: standard normal, or uniform on [−√3, √3]."""


def recurrence(law: Law, n: int) -> float:
    r"""The number :math:`b_n` in the recurrence of the orthonormal polynomials.

    .. math:: u\,h_{n-1}(u) = \sqrt{b_n}\,h_n(u) + \sqrt{b_{n-1}}\,h_{n-2}(u), \qquad
              b_n = n \text{ (Hermite)}, \quad b_n = \frac{3 n^2}{4 n^2 - 1} \text{ (Legendre)}

    >>> recurrence("normal", 3), recurrence("uniform", 1)
    (3.0, 1.0)
    """
    return float(n) if law == "normal" else 3 * n**2 / (4 * n**2 - 1)


@functools.lru_cache(maxsize=32)
def expansion(law: Law, degree: int) -> torch.Tensor:
    r"""The powers of a coordinate in its orthonormal polynomials: :math:`u^p = \sum_q T_{pq} h_q(u)`.

    All terms of the recurrence are positive, so no digits are lost. The first column holds the moments E u^p. The
    table is shared, so do not write to it.

    Arguments:
        law: of the coordinate.
        degree: the highest power.

    >>> expansion("normal", 4)[:, 0].tolist()
    [1.0, 0.0, 1.0, 0.0, 3.0]
    """
    b = torch.tensor([recurrence(law, n) for n in range(1, degree + 1)], dtype=torch.float64)
    monic = torch.zeros(degree + 1, degree + 1, dtype=torch.float64)  # in polynomials with leading coefficient 1
    monic[0, 0] = 1
    for p in range(degree):
        monic[p + 1, 1:] += monic[p, :-1]
        monic[p + 1, :-1] += monic[p, 1:] * b
    return monic * torch.cat([torch.ones(1, dtype=torch.float64), b.cumprod(0)]).sqrt()
