"""The least hinge loss of linear models with bounded weights, between a primal and a dual value."""

from __future__ import annotations

from dataclasses import dataclass

import torch

_FIRST, _WARM, _FACTOR, _LAST = 0.3, 0.03, 0.3, 1e-7
"""Where the smoothing begins, where it does with weights to start from, its factor, and where the solver gives up."""

_BARRIER = 0.25
"""The weight of the ball's barrier relative to the smoothing."""

_STEPS = 30
"""The most Newton steps for one smoothing."""

_RIDGE = 1e-6
"""What is added to the diagonal of the Hessian matrix, relative to its largest entry, so that it can be factored."""

_ACTIVE = 1e-5
"""Points whose curvature is below this part of the largest possible are left out of the Hessian matrix."""


@dataclass(frozen=True, eq=False)
class BestInBall:
    """A weight vector whose loss is the least, up to the distance between two bounds.

    Arguments:
        weights: w, with ‖w‖ ≤ B.
        upper: its hinge loss, the primal value.
        lower: a dual value, which no weight vector in the ball falls below.
    """

    weights: torch.Tensor
    upper: float
    lower: float

    @property
    def gap(self) -> float:
        """The duality gap."""
        return self.upper - self.lower


def least_hinge_loss(
    features: torch.Tensor,
    labels: torch.Tensor,
    norm: float,
    *,
    probabilities: torch.Tensor | None = None,
    tolerance: float = 1e-3,
    start: torch.Tensor | None = None,
) -> BestInBall:
    r"""The least hinge loss over a ball of weights, by Newton's method on a smoothed loss with a barrier.

    .. math:: \min_{|w| \le B} \sum_i p_i \max(0, 1 - y_i\langle\Psi_i, w\rangle) \;=\;
              \max_{0 \le \alpha \le 1} \sum_i p_i\alpha_i - B\,\Bigl|\sum_i p_i\alpha_i y_i\Psi_i\Bigr|

    Every step has a point of both sides: w, and the derivatives :math:`\alpha_i` of the smoothed loss. The smoothing
    falls until the two values differ by the tolerance at most. Both bounds hold whatever the solver did.

    Arguments:
        features: Ψ, shape (n, N), float64.
        labels: y, ±1, shape (n,).
        norm: B.
        probabilities: p, shape (n,); equal if not given.
        tolerance: the largest duality gap.
        start: a weight vector to begin with, of any norm.

    >>> x = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    >>> found = least_hinge_loss(x, torch.tensor([1.0, -1.0]), norm=0.25, tolerance=1e-6)
    >>> round(found.upper, 5), round(found.lower, 5)
    (0.75, 0.75)
    """
    Z = labels.to(features)[:, None] * features
    p = torch.full((len(Z),), 1 / len(Z), dtype=Z.dtype) if probabilities is None else probabilities.to(Z)
    w = torch.zeros(Z.shape[1], dtype=Z.dtype)
    if start is not None and bool(start.norm() > 0):
        w = start * min(1.0, 0.9 * norm / float(start.norm()))
    upper, lower, best = float("inf"), -float("inf"), w
    smoothing = _FIRST if start is None else _WARM
    while upper - lower > tolerance and smoothing > _LAST:
        for _ in range(_STEPS):
            point = _Smoothed(Z, p, norm, smoothing, w)
            if point.upper < upper:
                upper, best = point.upper, w
            lower = max(lower, point.lower)
            if point.upper - point.lower < smoothing:  # at the exact minimum it is about half of that
                break
            w = point.searched(*point.newton())
        smoothing *= _FACTOR
    return BestInBall(best, upper, lower)


class _Smoothed:
    """The smoothed problem at one weight vector.

    Arguments:
        Z: y_iΨ_i, shape (n, N).
        p: the probabilities.
        norm: B.
        smoothing: µ of µ·log(1 + exp((1 − m)/µ)), m being a margin.
        w: the weights, inside the ball.
    """

    def __init__(self, Z: torch.Tensor, p: torch.Tensor, norm: float, smoothing: float, w: torch.Tensor):
        self.Z, self.p, self.norm, self.smoothing, self.w = Z, p, norm, smoothing, w
        self.margins = Z @ w
        self.alpha = torch.sigmoid((1 - self.margins) / smoothing)
        self.direction = Z.T @ (p * self.alpha)
        self.room = norm**2 - float(w @ w)
        self.barrier = _BARRIER * smoothing

    @property
    def upper(self) -> float:
        """The hinge loss."""
        return float(self.p @ (1 - self.margins).clamp(min=0))

    @property
    def lower(self) -> float:
        """The dual value of α."""
        return float(self.p @ self.alpha) - self.norm * float(self.direction.norm())

    def newton(self) -> tuple[torch.Tensor, float]:
        """Newton's step and the decrease that it promises, twice."""
        curvature = self.alpha * (1 - self.alpha)
        active = curvature > _ACTIVE
        rows = self.Z[active] * (self.p[active] * curvature[active] / self.smoothing).sqrt()[:, None]
        rows = rows.float()  # enough for a direction, in half the time
        hessian = (rows.T @ rows).double()
        hessian.diagonal().add_(2 * self.barrier / self.room + _RIDGE * float(hessian.diagonal().max()))
        hessian.addr_(self.w, self.w, alpha=4 * self.barrier / self.room**2)
        gradient = 2 * self.barrier / self.room * self.w - self.direction
        step = -torch.cholesky_solve(gradient[:, None], torch.linalg.cholesky(hessian))[:, 0]
        return step, -float(gradient @ step)

    def searched(self, step: torch.Tensor, decrement: float) -> torch.Tensor:
        """The weights after a step, halved until it is inside the ball and the smoothed loss falls."""
        along, length, before = self.Z @ step, 1.0, self._value(self.margins, self.w)
        for _ in range(40):
            w = self.w + length * step
            if float(w @ w) < self.norm**2:
                after = self._value(self.margins + length * along, w)
                if after <= before - 0.1 * length * decrement + 1e-15:
                    return w
            length /= 2
        return self.w

    def _value(self, margins: torch.Tensor, w: torch.Tensor) -> float:
        loss = self.smoothing * torch.nn.functional.softplus((1 - margins) / self.smoothing)
        room = torch.tensor(1 - float(w @ w) / self.norm**2, dtype=torch.float64)
        return float(self.p @ loss - self.barrier * room.log())
