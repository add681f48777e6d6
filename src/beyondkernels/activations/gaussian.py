"""Integrals against the normal density, split where the function bends."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

Function = Callable[[torch.Tensor], torch.Tensor]
"""A scalar function applied entry by entry."""

REACH = 13.0
"""Beyond this point the square root of the normal density is below 1e-18, and Hermite functions count as zero."""


@functools.cache
def _legendre(order: int) -> tuple[torch.Tensor, torch.Tensor]:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return torch.from_numpy(nodes), torch.from_numpy(weights)


def pieces(ends: torch.Tensor, order: int) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Gauss–Legendre nodes z and weights w on every piece.

    .. math:: \sum w\,f(z) \approx E\,f(z), \qquad z \sim N(0, 1) \text{ on the pieces}

    Arguments:
        ends: where pieces begin and end, increasing along the last dimension, shape (..., p + 1).
        order: nodes on each piece; both results have shape (..., p · order).

    >>> z, w = pieces(torch.tensor([-9.0, -3.0, 0.0, 3.0, 9.0], dtype=torch.float64), 20)
    >>> round((w * z**4).sum().item(), 12)
    3.0
    """
    x, weights = _legendre(order)
    half = (ends[..., 1:] - ends[..., :-1]).unsqueeze(-1) / 2
    z = ((ends[..., 1:] + ends[..., :-1]).unsqueeze(-1) / 2 + half * x).flatten(-2)
    density = (z * z).mul_(-0.5).exp_()
    return z, density.mul_((half * (weights / math.sqrt(2 * math.pi))).flatten(-2))


def line_rule(
    std: torch.Tensor, kinks: Sequence[float], order: int, other: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Nodes z and weights w for :math:`E\,f(s z)`, z ~ N(0, 1), a row for every s.

    Pieces end at the kinks of f, every two units of z, where the density changes, and around zero at 1, 4 and 16 units
    of s z, where a smooth f of unit scale does.

    Arguments:
        std: the s, shape (n,), or (n, 2) for a product f(s₁ z) g(s₂ z) with kinks of both.
        kinks: where f bends.
        order: nodes on each piece.
        other: whether to end the pieces at other places. A bend that is not listed in ``kinks`` may lie between the
            last node and the end of a piece, where no order sees it. It is unlikely that both sets of pieces miss it.
    """
    std = std.reshape(len(std), -1, 1)
    places, turns = ([0.9, 2.9, 4.9, 6.9, 8.9, 10.9], [2.2, 8.8, 33]) if other else ([1, 3, 5, 7, 9, 11], [1, 4, 16])
    bends = torch.tensor([*kinks, *turns, *(-turn for turn in turns)], dtype=torch.float64)
    cuts = (bends / std.clamp(min=1e-150)).flatten(1).clamp_(-REACH, REACH)
    fixed = torch.tensor([-REACH, *(-place for place in places), *places, REACH], dtype=torch.float64)
    return pieces(torch.cat([fixed.expand(len(std), -1), cuts], 1).sort(1).values, order)


def hermite_coefficients(z: torch.Tensor, weighted: Sequence[torch.Tensor], degree: int) -> list[torch.Tensor]:
    r"""The coefficients of functions in normalised Hermite polynomials.

    .. math:: a_k = \sum_z w f(z)\, h_k(z), \qquad h_k = He_k / \sqrt{k!}, \qquad
              \sqrt{k + 1}\, h_{k+1}(z) = z\, h_k(z) - \sqrt{k}\, h_{k-1}(z)

    Arguments:
        z: nodes, shape (n, m).
        weighted: w f(z) for each function, shape (n, m).
        degree: the last k; results have shape (n, degree + 1).
    """
    before, now, product = torch.zeros_like(z), torch.ones_like(z), torch.empty_like(z)
    found = [torch.empty(len(z), degree + 1, dtype=z.dtype) for _ in weighted]
    for k in range(degree + 1):
        for f, a in zip(weighted, found, strict=True):
            torch.sum(torch.mul(f, now, out=product), 1, out=a[:, k])
        before.mul_(-math.sqrt(k / (k + 1))).addcmul_(z, now, value=1 / math.sqrt(k + 1))
        before, now = now, before
    return found
