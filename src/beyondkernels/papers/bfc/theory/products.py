"""The kernels that offer nothing but products of coordinates, with which the bound of Theorem I.1 is reached."""

from __future__ import annotations

import torch


def sums_of_products(x1: torch.Tensor, x2: torch.Tensor, degree: int) -> torch.Tensor:
    r"""The sum over all sets of so many coordinates of the product of both points' coordinates in the set.

    .. math:: e_p(x \circ y) = \sum_{|S| = p} \prod_{i \in S} x_i y_i = \frac1p \sum_{q=1}^p (-1)^{q-1}\,
              e_{p-q}(x \circ y) \sum_i (x_i y_i)^q

    by Newton's identities. The kernel's features are the products :math:`x_S`, all of the same weight.

    Arguments:
        x1: (n1, d).
        x2: (n2, d).
        degree: p.

    >>> sums_of_products(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1.0, 1.0, 1.0]]), 2)
    tensor([[11.]])
    """
    powers = [x1**q @ (x2**q).T for q in range(1, degree + 1)]
    found = [torch.ones_like(powers[0])]
    for p in range(1, degree + 1):
        terms = [(-1) ** (q - 1) * found[p - q] * powers[q - 1] for q in range(1, p + 1)]
        found.append(torch.stack(terms).sum(0) / p)
    return found[degree]


def products_of_two(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """For L = 2, where p is 2."""
    return sums_of_products(x1, x2, 2)


def products_of_four(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """For L = 3, where p is 4."""
    return sums_of_products(x1, x2, 4)
