"""The hinge loss, its smoothing, and the intercept that minimises it."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class LossPoint:
    r"""The losses at predictions f, with their best intercept.

    Arguments:
        intercept: c.
        multipliers: :math:`\alpha \in [0, 1]^n`, with :math:`\sum_i \alpha_i y_i = 0` when the intercept is free.
        hinge: :math:`\frac1n \sum_i \max(0, t_i)` with :math:`t_i = 1 - y_i (f_i + c)`.
        smoothed: :math:`\frac1n \sum_i \ell_\mu(t_i)`.
        bias: :math:`\frac1n \sum_i (\max(0, t_i) - \alpha_i t_i) \ge 0`, what smoothing adds to a duality gap.
        kink: which points have :math:`0 < t_i < \mu`.
    """

    intercept: float
    multipliers: torch.Tensor
    hinge: float
    smoothed: float
    bias: float
    kink: torch.Tensor


def smoothed_hinge(f: torch.Tensor, y: torch.Tensor, mu: float, start: float, free_intercept: bool) -> LossPoint:
    r"""The hinge loss smoothed from below, minimised over the intercept.

    .. math::
        \ell_\mu(t) = \max_{0 \le \alpha \le 1} \alpha t - \tfrac{\mu}{2} \alpha^2, \qquad
        \alpha = \min(1, \max(0, t / \mu))

    The maximising :math:`\alpha` are multipliers of the unsmoothed problem; at the best intercept they meet its
    equality constraint.

    Arguments:
        f: predictions without intercept, shape (n,), float64.
        y: labels ±1.
        mu: the width of the smoothed kink, :math:`\mu`.
        start: where the search for the intercept begins; the intercept itself when it is not free.
        free_intercept: minimise over the intercept.
    """
    c = _best_intercept(f, y, mu, start) if free_intercept else start
    t = 1 - y * (f + c)
    alpha = (t / mu).clamp(0, 1)
    hinge = t.clamp(min=0).mean().item()
    product = (alpha * t).mean().item()
    smoothed = product - mu / 2 * alpha.square().mean().item()
    kink = (t > 0) & (t < mu)
    if free_intercept:
        alpha = _balanced(alpha, y)
        product = (alpha * t).mean().item()
    return LossPoint(c, alpha, hinge, smoothed, hinge - product, kink)


def _best_intercept(f: torch.Tensor, y: torch.Tensor, mu: float, start: float) -> float:
    """The root of Σ y_i α_i(c), which falls with c: Newton's method inside a shrinking bracket."""
    n = len(y)
    reach = f.abs().max().item() + 1 + mu
    low, high, c = -reach, reach, min(max(start, -reach), reach)  # beyond ±reach only one class has α > 0
    for _ in range(200):
        alpha = ((1 - y * (f + c)) / mu).clamp_(0, 1)
        excess = (alpha @ y).item()
        if abs(excess) <= 1e-12 * n or high - low <= 1e-15 * reach:
            break
        low, high = (c, high) if excess > 0 else (low, c)
        slope = int(((alpha > 0) & (alpha < 1)).sum()) / mu
        newton = c + excess / slope if slope > 0 else high + 1
        c = newton if low < newton < high else (low + high) / 2
    return c


def _balanced(alpha: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Scale the heavier class down, so that the equality constraint holds despite rounding in the intercept."""
    positive, negative = alpha[y > 0].sum().item(), alpha[y < 0].sum().item()
    if positive > negative:
        return torch.where(y > 0, alpha * (negative / positive), alpha)
    if negative > positive:
        return torch.where(y < 0, alpha * (positive / negative), alpha)
    return alpha
