"""What the estimators share: checked data in, one ridge regression, predictions out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from beyondkernels.core import InputError, require
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.estimators.parameters import ComponentParameters
from beyondkernels.kernels.estimators.solving import CentredRidge, solve_gram
from beyondkernels.kernels.solvers.ridge import RidgePath
from beyondkernels.networks import FullyConnected, Network

DEFAULT_NETWORK = FullyConnected(width=512, depth=3)
"""The network of an estimator that is given none."""

MEMORY = 2**31
"""Bytes that a kernel may take unless told otherwise."""


class RidgeEstimator(ComponentParameters, ABC):
    """Ridge regression of targets minus their mean; the ridge is chosen by leaving one out."""

    ridges: Any

    def _fit_targets(self, x: np.ndarray, y: np.ndarray) -> CentredRidge:
        """Fit targets of shape (n,) or (n, k) and keep what was learned in that shape."""
        targets = as_tensor(y)
        fit = self._solve(x, targets[:, None] if y.ndim == 1 else targets)
        self.path_: RidgePath = fit.path
        self.ridge_: float = fit.ridge
        self.condition_: float = fit.condition
        self.loo_errors_: np.ndarray = fit.loo_errors.numpy()
        self.loo_error_: float = fit.loo_residuals.square().mean().item()
        self.coefficients_: np.ndarray = fit.coefficients.numpy() if y.ndim == 2 else fit.coefficients[:, 0].numpy()
        self.intercept_: Any = fit.intercept.numpy() if y.ndim == 2 else fit.intercept.item()
        return fit

    def _values(self, x: Any) -> np.ndarray:
        """The fitted function at new points, shape (n,) or (n, k)."""
        check_is_fitted(self)
        x = validate_data(self, x, reset=False, dtype=_FLOATS)
        return self._evaluate(x) + self.intercept_

    def _ridges(self) -> Sequence[float] | None:
        if self.ridges is None:
            return None
        try:
            return np.asarray(self.ridges, dtype=np.float64).ravel().tolist()
        except (TypeError, ValueError) as error:
            raise InputError(f"ridges must be a number, numbers or None, got {self.ridges!r}") from error

    @abstractmethod
    def _solve(self, x: np.ndarray, y: torch.Tensor) -> CentredRidge:
        """Fit targets (n, k)."""

    @abstractmethod
    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        """The fitted function without its intercept, in the shape of the targets."""


class RidgeRegressor(RegressorMixin, RidgeEstimator):
    """Targets are numbers, one or several a point."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit.

        Arguments:
            X: points, shape (n, in_dim).
            y: targets, shape (n,) or (n, k); several share one ridge.
        """
        X, y = validate_data(self, X, y, dtype=_FLOATS, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._fit_targets(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions in the shape of the targets, (n,) or (n, k).

        Arguments:
            X: points, shape (n, in_dim).
        """
        return self._values(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class RidgeClassifier(ClassifierMixin, RidgeEstimator):
    """Targets are classes: one column of ±1 for two, a column of ±1 for each of more; the largest wins."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit.

        Arguments:
            X: points, shape (n, in_dim).
            y: labels of any kind, shape (n,).
        """
        X, y = validate_data(self, X, y, dtype=_FLOATS, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        require(k > 1, f"y must hold at least two classes, got one class, {self.classes_[0]}")
        targets = 2.0 * numbers - 1 if k == 2 else 2.0 * (numbers[:, None] == np.arange(k)) - 1
        fit = self._fit_targets(X, targets)
        left_out = targets - fit.loo_residuals.numpy().reshape(targets.shape)
        self.loo_accuracy_: float = float(np.mean(self._winners(left_out) == numbers))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The fitted function: (n,) for two classes, positive for the second; (n, classes) for more.

        Arguments:
            X: points, shape (n, in_dim).
        """
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """The labels of the winning classes.

        Arguments:
            X: points, shape (n, in_dim).
        """
        values = self._values(X)
        return self.classes_[self._winners(values)]

    @staticmethod
    def _winners(values: np.ndarray) -> np.ndarray:
        return (values > 0).astype(int) if values.ndim == 1 else values.argmax(1)


class KernelMachine(RidgeEstimator):
    """An estimator with a kernel."""

    @abstractmethod
    def _kernel(self, x: torch.Tensor) -> Kernel:
        """The kernel that the parameters and the fitted points say."""

    def _solve(self, x: np.ndarray, y: torch.Tensor) -> CentredRidge:
        points = as_tensor(x)
        self.kernel_ = self._kernel(points)
        self.x_fit_ = points.numpy()
        return solve_gram(self.kernel_(points), y, self._ridges())

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        fitted = torch.from_numpy(self.x_fit_)
        # a quarter of the budget for the block itself: kernels count it in, and need room beside it
        rows = max(1, self._memory() // (4 * 8 * len(fitted)))
        parts = as_tensor(x).split(rows)
        return np.concatenate([self.kernel_(part, fitted).numpy() @ self.coefficients_ for part in parts])

    def _memory(self) -> int:
        return MEMORY


class NetworkKernelMachine(KernelMachine):
    """An estimator with the kernel of a network."""

    network: Any
    infinite_width: Any
    memory: Any
    random_state: Any

    def _stands_for(self) -> dict[str, Network]:
        return {"network": DEFAULT_NETWORK}

    def _network(self) -> Network:
        network = DEFAULT_NETWORK if self.network is None else self.network
        require(isinstance(network, Network), f"network must be a Network or None, got {network!r}")
        return network

    def _infinite(self) -> bool:
        infinite = self.infinite_width
        require(isinstance(infinite, bool | np.bool_), f"infinite_width must be True or False, got {infinite!r}")
        return bool(infinite)

    def _memory(self) -> int:
        return whole_number("memory", self.memory)


_FLOATS = (np.float64, np.float32)


def as_tensor(x: np.ndarray) -> torch.Tensor:
    """Points as float64, in memory of their own: what a caller does to an array later must not change the fit."""
    return torch.from_numpy(np.array(x, dtype=np.float64, order="C"))


def whole_number(name: str, value: Any) -> int:
    """A parameter that must be a positive whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(whole and int(value) > 0, f"{name} must be a positive whole number, got {value!r}")
    return int(value)


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` stands for.

    A whole number is the seed itself, and None is 0: nothing here runs on a seed that cannot be told afterwards. A
    ``numpy.random.RandomState`` gives its next number, so that it gives another one to the next fit.

    >>> seed_of(None), seed_of(7)
    (0, 7)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    require(
        isinstance(random_state, np.random.RandomState),
        f"random_state must be a whole number, None or a numpy.random.RandomState, got {random_state!r}",
    )
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
