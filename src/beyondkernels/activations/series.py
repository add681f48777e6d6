"""Dual maps by Hermite series. Parseval's identity bounds the terms that are left out."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.activations.base import Activation, hermite_order
from beyondkernels.activations.gaussian import REACH, hermite_coefficients, line_rule
from beyondkernels.activations.moments import squared, tails

_BLOCK = 2**20
"""Numbers in one temporary array."""

_NOISE = 1e-14
"""The rounding error of a sum of squares that should be zero."""


@dataclass(frozen=True)
class Expansion:
    r"""Hermite coefficients of σ(√q z), or of σ′(√q z), for every q, and bounds on what they leave out.

    Arguments:
        coefficients: shape (n, degree + 1).
        second: :math:`E f^2`, shape (n,).
        tail: :math:`E f^2 - \sum_k a_k^2`, not negative, shape (n,).
        error: the ℓ₂ distance to the same coefficients from a finer rule, the largest that was seen, and what the
            rules leave out of the function's norm.
    """

    coefficients: torch.Tensor
    second: torch.Tensor
    tail: torch.Tensor
    error: float

    def bound(self, i: torch.Tensor, j: torch.Tensor, rho: torch.Tensor) -> torch.Tensor:
        r"""What the series of pair (i, j) leaves out: :math:`|\rho|^{K+1} \sqrt{t_i t_j}`, by Cauchy and Schwarz."""
        root = self.tail.sqrt()
        return rho.abs().pow(self.coefficients.shape[1]).mul_(root[i]).mul_(root[j])

    def sum(self, i: torch.Tensor, j: torch.Tensor, rho: torch.Tensor) -> torch.Tensor:
        r""":math:`\sum_k a_k(q_i)\, a_k(q_j)\, \rho^k`."""
        count, out = self.coefficients.shape[1], torch.empty_like(rho)
        size = max(1, _BLOCK // count)
        for part in range(0, len(rho), size):
            at = slice(part, part + size)
            powers = rho[at, None].expand(-1, count).clone()
            powers[:, 0] = 1
            out[at] = powers.cumprod(1).mul_(self.coefficients[i[at]]).mul_(self.coefficients[j[at]]).sum(1)
        return out

    @property
    def rounding(self) -> float:
        """The error of the sums that comes from errors of the coefficients, not from the truncation."""
        norm = float(self.second.max().sqrt())
        return 2 * norm * self.error + self.error**2 + _NOISE * norm**2


def expand(activation: Activation, variances: torch.Tensor, degree: int, slope: bool) -> list[Expansion]:
    """The expansions of σ, and of σ′ if asked for.

    Arguments:
        activation: σ.
        variances: the q, increasing, shape (n,).
        degree: the last k.
        slope: whether to expand σ′ too.
    """
    order = hermite_order(degree)
    seconds, coefficients = _expand(activation, variances, degree, order, slope)
    # The largest variance is the hardest; the smallest and a middle one represent the others.
    some = sorted({0, len(variances) // 2, len(variances) - 1})
    _, finer = _expand(activation, variances[some], degree, order + order // 2, slope, other=True)
    functions = [activation.value, activation.derivative]
    return [
        Expansion(
            a,
            e,
            (e - a.square().sum(1)).clamp_(min=0).add_(_NOISE * e),
            float((a[some] - fine).norm(dim=1).max() + tails(squared(function), variances, REACH).max().sqrt()),
        )
        for e, a, fine, function in zip(seconds, coefficients, finer, functions, strict=False)
    ]


def _expand(
    activation: Activation, variances: torch.Tensor, degree: int, order: int, slope: bool, other: bool = False
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    functions = [activation.value, activation.derivative] if slope else [activation.value]
    parts: list[list[tuple[torch.Tensor, torch.Tensor]]] = [[] for _ in functions]
    for std in variances.sqrt().split(32):  # blocks that fit into the processor's cache
        z, w = line_rule(std, activation.cuts, order, other)
        f = [function(std[:, None] * z) for function in functions]
        weighted = [w * values for values in f]
        for k, a in enumerate(hermite_coefficients(z, weighted, degree)):
            parts[k].append(((weighted[k] * f[k]).sum(1), a))
    return [torch.cat([e for e, _ in part]) for part in parts], [torch.cat([a for _, a in part]) for part in parts]
