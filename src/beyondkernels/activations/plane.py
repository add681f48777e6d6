"""Dual maps by quadrature in the plane, for correlations near one."""

from __future__ import annotations

import torch

from beyondkernels.activations.base import Activation
from beyondkernels.activations.gaussian import REACH, Function, line_rule, pieces
from beyondkernels.activations.moments import squared, tails

_LIMITS = (-8.5, -3.0, 3.0, 8.5)
"""Where integrals are split besides the kinks, and zero if there are none; the mass outside is 2e-17."""

_BLOCK = 2**16
"""Numbers in one temporary array: as many as fit into the processor's cache."""

_ORDERS = (12, 15, 20, 28, 42, 64, 96)
"""Numbers of nodes on a piece, which are tried in this order."""

Duals = torch.Tensor
"""The dual of σ, and of σ′ if asked for, stacked: shape (1, n) or (2, n)."""


def plane(
    activation: Activation, q1: torch.Tensor, q2: torch.Tensor, rho: torch.Tensor, tolerance: float, slope: bool
) -> tuple[Duals, torch.Tensor]:
    """The dual maps of pairs, with their errors. Each pair takes the first order that agrees with the previous one.

    Arguments:
        activation: σ.
        q1: variances of u, shape (n,), positive.
        q2: variances of v, shape (n,), positive.
        rho: correlations, shape (n,); those of parallel pairs exactly ±1.
        tolerance: the difference of two orders that is small enough.
        slope: whether to compute the dual of σ′ too.
    """
    out = torch.empty(2 if slope else 1, len(rho), dtype=torch.float64)
    error = torch.empty_like(rho)
    for rule, entries in ((_line, rho.abs() >= 1), (_plane, rho.abs() < 1)):
        (left,) = torch.where(entries)
        coarse = None
        for order in _ORDERS:
            if not len(left):
                break
            fine = rule(activation, q1[left].sqrt(), q2[left].sqrt(), rho[left], order, slope)
            if coarse is not None:
                out[:, left], error[left] = fine, (fine - coarse).abs().amax(0)
                rest = error[left] > tolerance
                left, fine = left[rest], fine[:, rest]
            coarse = fine
    return out, error + _outside(activation, q1, q2, rho, slope)


def _outside(
    activation: Activation, q1: torch.Tensor, q2: torch.Tensor, rho: torch.Tensor, slope: bool
) -> torch.Tensor:
    """A bound on the part outside the limits (Cauchy-Schwarz). It matters for functions that grow exponentially."""
    variances, index = torch.cat([q1, q2]).unique(return_inverse=True)
    i, j = index.split(len(q1))

    def left_out(function: Function) -> torch.Tensor:
        wide, narrow = (tails(squared(function), variances, reach).sqrt() for reach in (REACH, _LIMITS[-1]))
        return torch.where(rho.abs() >= 1, wide[i] * wide[j], narrow[i] * narrow[j])

    out = left_out(activation.value)
    return torch.maximum(out, left_out(activation.derivative)) if slope else out


def _line(
    activation: Activation, std1: torch.Tensor, std2: torch.Tensor, rho: torch.Tensor, order: int, slope: bool
) -> Duals:
    """Parallel pairs: u = √q₁ z and v = ±√q₂ z."""
    std = torch.stack([std1, rho * std2], 1)
    z, w = line_rule(std.abs(), [kink * sign for kink in activation.cuts for sign in (-1, 1)], order)
    return _sums(activation, z * std[:, :1], z * std[:, 1:], w, slope)


def _plane(
    activation: Activation, std1: torch.Tensor, std2: torch.Tensor, rho: torch.Tensor, order: int, slope: bool
) -> Duals:
    r"""All other pairs, in independent coordinates p and m.

    .. math:: u = \sqrt{q_1}\,(a p + b m), \qquad v = \pm\sqrt{q_2}\,(a p - b m), \qquad
              a, b = \sqrt{(1 \pm |\rho|) / 2}

    For fixed m, the inner integral over p is split at the kinks of both factors. The outer integral over m is smooth
    except where a kink of u meets a kink of v, and is split there.
    """
    bends = len(_bends(activation))
    outer, inner = (bends**2 + len(_LIMITS) - 1) * order, (2 * bends + len(_LIMITS) - 1) * order
    size = max(1, _BLOCK // (outer * inner))
    parts = zip(std1.split(size), std2.split(size), rho.split(size), strict=True)
    return torch.cat([_block(activation, *part, order, slope) for part in parts], 1)


def _block(
    activation: Activation, std1: torch.Tensor, std2: torch.Tensor, rho: torch.Tensor, order: int, slope: bool
) -> Duals:
    kinks = torch.tensor(_bends(activation), dtype=torch.float64)
    sign = torch.where(rho < 0, -1.0, 1.0).to(torch.float64)
    a, b = ((1 + rho.abs()) / 2).sqrt_()[:, None], ((1 - rho.abs()) / 2).sqrt_()[:, None]
    k1, k2 = kinks / std1[:, None], kinks / (sign * std2)[:, None]

    meet = (k1[:, :, None] - k2[:, None, :]).flatten(1) / (2 * b)
    m, outer = pieces(_ends(meet), order)

    across = (b * m)[:, :, None]
    bends = torch.cat([k1[:, None, :] - across, k2[:, None, :] + across], 2) / a[:, :, None]
    p, w = pieces(_ends(bends), order)

    p *= a[:, :, None]
    u = (p + across).mul_(std1[:, None, None])
    v = p.sub_(across).mul_((sign * std2)[:, None, None])
    w *= outer[:, :, None]
    return _sums(activation, u.flatten(1), v.flatten(1), w.flatten(1), slope)


def _bends(activation: Activation) -> tuple[float, ...]:
    return activation.kinks or (0.0,)


def _ends(bends: torch.Tensor) -> torch.Tensor:
    limits = torch.tensor(_LIMITS, dtype=torch.float64)
    inside = bends.clamp(_LIMITS[0], _LIMITS[-1])
    return torch.cat([inside, limits.expand(*bends.shape[:-1], -1)], -1).sort(-1).values


def _sums(activation: Activation, u: torch.Tensor, v: torch.Tensor, w: torch.Tensor, slope: bool) -> Duals:
    functions = [activation.value, activation.derivative] if slope else [activation.value]
    return torch.stack([torch.linalg.vecdot(f(u) * f(v), w) for f in functions])
