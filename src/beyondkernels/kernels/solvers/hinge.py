"""Linear classifiers with hinge loss and ridge, solved to a duality gap."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import require, require_between, require_positive
from beyondkernels.kernels.checks import require_finite, require_labels, tensor
from beyondkernels.kernels.features import FeatureOperator
from beyondkernels.kernels.solvers.directions import Direction, direction_for
from beyondkernels.kernels.solvers.smoothing import LossPoint, smoothed_hinge


@dataclass(frozen=True)
class HingeSolution:
    r"""A classifier :math:`f(x) = \langle v, \phi(x)\rangle + c` and how far from the optimum it can be at most.

    Arguments:
        weights: v, shape (dim,).
        intercept: c, 0 when there is none.
        multipliers: a dual feasible :math:`\alpha`, shape (n,): the one whose value is ``dual``.
        primal: the objective at (v, c).
        dual: a lower bound on the objective of every classifier.
        iterations: directions taken.
        converged: whether the relative gap met the tolerance.
    """

    weights: torch.Tensor
    intercept: float
    multipliers: torch.Tensor
    primal: float
    dual: float
    iterations: int
    converged: bool

    @property
    def gap(self) -> float:
        """The duality gap: the objective is at most this far above its minimum."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        return self.gap / self.primal if self.primal > 0 else 0.0


def solve_hinge(
    operator: FeatureOperator,
    y: torch.Tensor,
    ridge: float,
    *,
    intercept: bool = True,
    tolerance: float = 1e-4,
    max_iterations: int = 2000,
    start: HingeSolution | None = None,
) -> HingeSolution:
    r"""Minimise hinge loss plus ridge over linear classifiers on fixed features.

    .. math::
        P(v, c) = \frac1n \sum_i \max(0, 1 - y_i (\langle v, \phi_i\rangle + c)) + \frac\lambda2 |v|^2
        \;\ge\; D(\alpha) = \frac1n \sum_i \alpha_i - \frac{1}{2\lambda} \Big|\frac1n \sum_i \alpha_i y_i \phi_i\Big|^2

    for all :math:`\alpha \in [0, 1]^n`, with :math:`\sum_i \alpha_i y_i = 0` when there is an intercept, which is
    never penalised. The hinge is smoothed by :math:`\mu` (:func:`smoothed_hinge`) and the intercept minimised out;
    the derivatives of the smoothed hinge are dual feasible, and at any v the gap is exactly

    .. math:: P - D = \frac{1}{2\lambda}|\nabla P_\mu(v)|^2 + \frac1n \sum_i (\max(0, t_i) - \alpha_i t_i).

    Newton or L-BFGS steps lower the first part, a smaller :math:`\mu` the second, until their sum is within the
    tolerance. Features minus their mean (``operator.centred()``) give the same classifiers and better conditioning.

    Arguments:
        operator: the features :math:`\phi_i`.
        y: labels ±1, shape (n,).
        ridge: :math:`\lambda`.
        intercept: whether there is a c.
        tolerance: the relative duality gap to reach.
        max_iterations: directions to take at most.
        start: a solution at a nearby ridge, or on other points with the same features.

    >>> from beyondkernels.kernels.features import DenseFeatures
    >>> x = DenseFeatures(torch.tensor([[-2.0], [-1.0], [1.0], [3.0]], dtype=torch.float64))
    >>> solution = solve_hinge(x, torch.tensor([-1, -1, 1, 1]), ridge=0.1, tolerance=1e-6)
    >>> round(solution.weights.item(), 3), solution.gap < 1e-6
    (1.0, True)
    """
    y = tensor("y", y)
    require_labels(y, operator.n)
    require_positive("ridge", ridge)
    require_between("tolerance", tolerance, 0, 1, "()")
    require_positive("max_iterations", max_iterations)
    v = torch.zeros(operator.dim, dtype=operator.dtype) if start is None else start.weights.to(operator.dtype)
    require(len(v) == operator.dim, f"start must have {operator.dim} weights, got {len(v)}")
    require_finite("start", v)

    problem = _Problem(operator, y.to(torch.float64), ridge, intercept)
    direction = direction_for(operator, ridge, intercept)
    point = problem.point(v, problem.predictions(v), start.intercept if start is not None and intercept else 0.0, 0.5)
    dual, multipliers, iterations, stalled = point.dual, point.loss.multipliers, 0, 0
    while True:
        # Any dual value bounds the minimum from below, so the best one seen so far serves, also where later steps are
        # worse.
        if point.dual > dual:
            dual, multipliers = point.dual, point.loss.multipliers
        # Four searches without descent, each with less smoothing: rounding is all that is left.
        exhausted = iterations >= max_iterations or stalled > 3
        if exhausted or point.primal - dual <= tolerance * point.primal:
            # predictions were updated step by step: what is reported stands on Φv itself
            point = problem.point(point.v, problem.predictions(point.v), point.loss.intercept, point.mu)
            converged = point.primal - dual <= tolerance * point.primal
            if exhausted or converged:
                c = point.loss.intercept
                return HingeSolution(point.v, c, multipliers, point.primal, dual, iterations, converged)
        bias = point.loss.bias
        if stalled or point.smooth_gap <= 0.3 * bias:
            # the smoothing is what keeps the gap open: aim at half of the tolerance, in steps Newton can follow
            aim = tolerance * point.primal / (2 * bias) if bias > 0 else 0.5
            point = problem.point(point.v, point.f, point.loss.intercept, point.mu * min(0.5, max(0.1, aim)))
            direction.forget()
        found = problem.search(point, direction)
        if found is not None:
            direction.learn(found.v - point.v, found.g - point.g)
            point = found
        stalled = 0 if found is not None else stalled + 1
        iterations += 1


@dataclass(frozen=True)
class _Point:
    """Weights v, predictions f, the gradient g of the smoothed objective, and its values."""

    v: torch.Tensor
    f: torch.Tensor
    g: torch.Tensor
    mu: float
    loss: LossPoint
    smoothed: float
    primal: float
    dual: float
    smooth_gap: float


@dataclass(frozen=True)
class _Problem:
    operator: FeatureOperator
    y: torch.Tensor
    lam: float
    free: bool

    def predictions(self, v: torch.Tensor) -> torch.Tensor:
        return self.operator.forward(v).to(torch.float64)

    def point(self, v: torch.Tensor, f: torch.Tensor, c: float, mu: float) -> _Point:
        return self._with_gradient(v, f, smoothed_hinge(f, self.y, mu, c, self.free), mu)

    def search(self, point: _Point, direction: Direction) -> _Point | None:
        """A point along the direction with enough descent; predictions are linear in the step, so trials are cheap."""
        p = direction.propose(point.g, point.loss, point.mu)
        slope = (point.g @ p).item()
        if not slope < 0:  # rounding
            p, slope = -point.g, -_square(point.g)
        # One product with the features for all trials of the line search, which only add a multiple of it.
        f_p, size = self.predictions(p), 1.0
        for _ in range(60):
            v, f = point.v + size * p, point.f + size * f_p
            loss = smoothed_hinge(f, self.y, point.mu, point.loss.intercept, self.free)
            if loss.smoothed + self.lam / 2 * _square(v) <= point.smoothed + 1e-4 * size * slope:
                return self._with_gradient(v, f, loss, point.mu)
            size /= 2
        return None

    def _with_gradient(self, v: torch.Tensor, f: torch.Tensor, loss: LossPoint, mu: float) -> _Point:
        lam, alpha = self.lam, loss.multipliers
        u = self.operator.adjoint((alpha * self.y / self.operator.n).to(self.operator.dtype))
        g, ridge = lam * v - u, lam / 2 * _square(v)
        dual = alpha.mean().item() - _square(u) / (2 * lam)
        return _Point(v, f, g, mu, loss, loss.smoothed + ridge, loss.hinge + ridge, dual, _square(g) / (2 * lam))


def _square(u: torch.Tensor) -> float:
    return u.to(torch.float64).square().sum().item()
