"""Chebyshev interpolation on [−1, 1]."""

from __future__ import annotations

import math

import torch


def lobatto(degree: int) -> torch.Tensor:
    """The nodes cos(πj / degree), j = 0, …, degree. They are among the nodes of twice the degree."""
    return torch.cos(math.pi * torch.arange(degree + 1, dtype=torch.float64) / degree)


def chebyshev(values: torch.Tensor) -> torch.Tensor:
    """The coefficients of the interpolants through values at the Lobatto nodes, shape (functions, degree + 1).

    >>> chebyshev(lobatto(3)[None] ** 2).round(decimals=12).abs().tolist()
    [[0.5, 0.0, 0.5, 0.0]]
    """
    degree = values.shape[-1] - 1
    k = torch.arange(degree + 1, dtype=torch.float64)
    weights = torch.ones_like(k)
    weights[0] = weights[-1] = 0.5
    cosines = torch.cos(math.pi / degree * torch.outer(k, k).remainder(2 * degree))
    return (values * weights) @ cosines * (weights * 2 / degree)


def clenshaw(coefficients: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The interpolants at x, shape (functions, n).

    >>> clenshaw(torch.tensor([[0.5, 0.0, 0.5]]), torch.tensor([0.0, 3.0], dtype=torch.float64)).tolist()
    [[0.0, 9.0]]
    """
    out = torch.empty(len(coefficients), len(x), dtype=torch.float64)
    for part, target in zip(x.split(2**15), out.split(2**15, 1), strict=True):  # blocks that fit into the cache
        for a, place in zip(coefficients.tolist(), target, strict=True):
            after, now = torch.zeros_like(part), torch.zeros_like(part)
            for term in a[:0:-1]:
                after, now = now, after.neg_().addcmul_(part, now, value=2).add_(term)
            place.copy_(after.neg_().addcmul_(part, now).add_(a[0]))
    return out
