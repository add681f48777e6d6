"""Shared by the estimators that use ridge regression: the fit, the choice of the ridge, kernels in blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from beyondkernels.core import InputError
from beyondkernels.core.errors import shown
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.estimators.arguments import as_tensor, yes_or_no
from beyondkernels.kernels.estimators.targets import TargetClassifier, TargetEstimator, TargetRegressor, winners
from beyondkernels.kernels.solvers.intercept import RidgeSolution, solve_gram
from beyondkernels.kernels.solvers.ridge import RidgePath


class RidgeEstimator(TargetEstimator):
    """Ridge regression with an intercept; the ridge is chosen by leaving one point out."""

    ridges: Any
    fit_intercept: Any

    def _fit_targets(self, x: np.ndarray, y: np.ndarray) -> RidgeSolution:
        """Fit targets of shape (n,) or (n, k) and keep what was learned in that shape."""
        targets = as_tensor(y)
        fit = self._solve(x, targets[:, None] if y.ndim == 1 else targets)
        self.path_: RidgePath = fit.path
        self.ridge_: float = fit.ridge
        self.condition_: float = fit.condition
        self.loo_errors_: np.ndarray = fit.loo_errors.numpy()
        self.loo_error_: float = fit.loo_residuals.square().mean().item()
        self.coefficients_: np.ndarray = fit.coefficients.numpy() if y.ndim == 2 else fit.coefficients[:, 0].numpy()
        self.intercept_ = fit.intercept.numpy() if y.ndim == 2 else fit.intercept.item()
        return fit

    def _ridges(self) -> Sequence[float] | None:
        if self.ridges is None:
            return None
        try:
            return np.asarray(self.ridges, dtype=np.float64).ravel().tolist()
        except (TypeError, ValueError) as error:
            raise InputError(f"ridges must be a number, numbers or None, got {shown(self.ridges)}") from error

    def _with_intercept(self) -> bool:
        return yes_or_no("fit_intercept", self.fit_intercept)

    @abstractmethod
    def _solve(self, x: np.ndarray, y: torch.Tensor) -> RidgeSolution:
        """Fit targets (n, k)."""


class RidgeRegressor(TargetRegressor, RidgeEstimator):
    """Ridge regression on numbers."""


class RidgeClassifier(TargetClassifier, RidgeEstimator):
    """Ridge regression on classes, and its accuracy on points that are left out."""

    def _fit_targets(self, x: np.ndarray, y: np.ndarray) -> RidgeSolution:
        fit = super()._fit_targets(x, y)
        left_out = y - fit.loo_residuals.numpy().reshape(y.shape)
        self.loo_accuracy_: float = float(np.mean(winners(left_out) == winners(y)))
        return fit


class KernelMachine(RidgeEstimator):
    """Ridge regression on the Gram matrix of a kernel that subclasses choose when they are fitted."""

    @abstractmethod
    def _kernel(self, x: torch.Tensor) -> Kernel:
        """The kernel for these parameters and points."""

    def _solve(self, x: np.ndarray, y: torch.Tensor) -> RidgeSolution:
        points = as_tensor(x)
        self.kernel_ = self._kernel(points)
        self.x_fit_ = points.numpy()
        return solve_gram(self.kernel_(points), y, self._ridges(), fit_intercept=self._with_intercept())

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        fitted = torch.from_numpy(self.x_fit_)
        # a quarter of the budget for the block itself: kernels count it in, and need room beside it
        rows = max(1, self._memory() // (4 * 8 * len(fitted)))
        parts = as_tensor(x).split(rows)
        return np.concatenate([self.kernel_(part, fitted).numpy() @ self.coefficients_ for part in parts])

    def _memory(self) -> int:
        return MEMORY
