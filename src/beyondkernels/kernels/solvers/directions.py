"""Descent directions for smooth problems with a ridge: Newton's where the features are stored, otherwise L-BFGS."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from beyondkernels.kernels.features import FeatureOperator
from beyondkernels.kernels.solvers.smoothing import LossPoint


class Direction(ABC):
    """Chooses a descent direction at a point with a given gradient."""

    @abstractmethod
    def propose(self, gradient: torch.Tensor, point: LossPoint, mu: float) -> torch.Tensor:
        """Where to go from a point, before any line search.

        Arguments:
            gradient: of the smoothed objective.
            point: the loss and its curvature there.
            mu: how strongly the loss is smoothed.
        """

    def learn(self, step: torch.Tensor, change: torch.Tensor) -> None:  # noqa: B027 - Newton's has nothing to remember
        """Record a step and the gradient's change along it."""

    def forget(self) -> None:  # noqa: B027
        """Drop what was recorded: the objective has changed."""


class Newton(Direction):
    r"""Newton's direction of the smoothed hinge with its intercept minimised out.

    .. math:: H = \lambda I + \frac{1}{n\mu} \sum_{i \in S} (\phi_i - \bar\phi_S)(\phi_i - \bar\phi_S)^\top

    S are the points in the kink. Without a free intercept :math:`\bar\phi_S` is zero.

    Arguments:
        matrix: the features, shape (n, dim).
        ridge: :math:`\lambda`.
        free_intercept: whether the intercept is minimised out.
    """

    def __init__(self, matrix: torch.Tensor, ridge: float, free_intercept: bool):
        self._matrix, self._ridge, self._free = matrix, ridge, free_intercept

    def propose(self, gradient: torch.Tensor, point: LossPoint, mu: float) -> torch.Tensor:
        """Solve H p = −gradient."""
        rows = self._matrix[point.kink]
        if self._free and len(rows):
            rows = rows - rows.mean(0)
        H = rows.T @ rows / (len(self._matrix) * mu)
        shift = self._ridge
        for _ in range(20):
            factor, failed = torch.linalg.cholesky_ex(H + shift * torch.eye(len(H), dtype=H.dtype))
            if not failed:
                return -torch.cholesky_solve(gradient[:, None], factor)[:, 0]
            # rounding in H outweighs the ridge: any larger shift still gives a descent direction
            shift = max(10 * shift, 1e-14 * H.diagonal().max().item())
        return -gradient


class QuasiNewton(Direction):
    """L-BFGS: the two-loop recursion over the last steps.

    Arguments:
        ridge: the smallest curvature the objective can have; the first direction trusts it and is cut back as needed.
        memory: how many steps are remembered.

    Reference: Nocedal & Wright, Numerical Optimization, Alg. 7.4.
    """

    def __init__(self, ridge: float, memory: int = 20):
        self._steps: list[tuple[torch.Tensor, torch.Tensor, float]] = []
        self._memory = memory
        self._scale = 1 / ridge

    def propose(self, gradient: torch.Tensor, point: LossPoint, mu: float) -> torch.Tensor:
        q = gradient.clone()
        weights = []
        for s, change, inverse in reversed(self._steps):
            weights.append(inverse * (s @ q).item())
            q -= weights[-1] * change
        q *= self._scale
        for (s, change, inverse), weight in zip(self._steps, reversed(weights), strict=True):
            q += (weight - inverse * (change @ q).item()) * s
        return -q

    def learn(self, step: torch.Tensor, change: torch.Tensor) -> None:
        """Remember a step, unless rounding hid the curvature along it."""
        curvature = (step @ change).item()
        if curvature > 0:
            self._steps = [*self._steps, (step, change, 1 / curvature)][-self._memory :]
            self._scale = curvature / (change @ change).item()

    def forget(self) -> None:
        self._steps = []


NEWTON_UP_TO = 2000
"""Features from which on a Hessian costs more than the steps it saves."""


def direction_for(operator: FeatureOperator, ridge: float, free_intercept: bool) -> Direction:
    """Newton's direction for few stored features, L-BFGS otherwise."""
    matrix = operator.matrix()
    if matrix is not None and operator.dim <= NEWTON_UP_TO:
        return Newton(matrix, ridge, free_intercept)
    return QuasiNewton(ridge)
