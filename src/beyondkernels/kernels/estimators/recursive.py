"""Recursive feature machines as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from beyondkernels.core import Stream, require
from beyondkernels.kernels.estimators.base import as_tensor, seed_of, whole_number
from beyondkernels.kernels.recursive.machine import RecursiveFit, fit_recursive

_FLOATS = (np.float64, np.float32)


class _Machine(BaseEstimator):
    """Parameters, and the fit of targets minus their mean."""

    def __init__(
        self,
        kernel: str = "laplace",
        bandwidth: float | None = None,
        rounds: int = 5,
        ridge: float | None = None,
        diagonal: bool = False,
        validation: float | None = None,
        memory: int = 2**31,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.rounds = rounds
        self.ridge = ridge
        self.diagonal = diagonal
        self.validation = validation
        self.memory = memory
        self.random_state = random_state

    def _fit(self, x: np.ndarray, y: np.ndarray) -> None:
        """Fit targets of shape (n, k)."""
        self.intercept_ = y.mean(0)
        self.fit_: RecursiveFit = fit_recursive(
            as_tensor(x),
            as_tensor(y - self.intercept_),
            kernel=cast(Any, self.kernel),
            bandwidth=self.bandwidth,
            rounds=whole_number("rounds", self.rounds),
            ridge=self.ridge,
            diagonal=bool(self.diagonal),
            validation=self.validation,
            stream=Stream(seed_of(self.random_state)).child("validation"),
            memory=whole_number("memory", self.memory),
        )
        self.metric_: np.ndarray = self.fit_.metric.numpy()
        self.round_: int = self.fit_.best
        self.ridge_: float = self.fit_.record[self.round_ - 1].ridge
        self.loo_errors_ = np.array([this.loo_error for this in self.fit_.record])

    def _values(self, x: Any) -> np.ndarray:
        """Predictions (n, k)."""
        check_is_fitted(self)
        x = validate_data(self, x, reset=False, dtype=_FLOATS)
        return self.fit_.predict(as_tensor(x), memory=whole_number("memory", self.memory)).numpy() + self.intercept_


class RecursiveFeatureMachineRegressor(RegressorMixin, _Machine):
    """Recursive feature machine for numbers, one or several a point.

    Targets are fitted minus their mean, which is added again to every prediction. After ``fit``: ``metric_`` is M of
    the round that won, ``round_`` its number from 1, ``ridge_`` its ridge, ``loo_errors_`` the errors of all rounds.

    Arguments are those of :func:`fit_recursive`; ``random_state`` says which points ``validation`` holds out, None
    is 0.

    >>> x = np.random.default_rng(0).normal(size=(200, 10))
    >>> machine = RecursiveFeatureMachineRegressor("gaussian").fit(x, x[:, 0] * x[:, 1])
    >>> bool(machine.metric_.diagonal()[:2].sum() > 9.9)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit.

        Arguments:
            X: points, shape (n, in_dim).
            y: targets, shape (n,) or (n, k).
        """
        X, y = validate_data(self, X, y, dtype=_FLOATS, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._fit(X, np.asarray(y, dtype=np.float64).reshape(len(y), -1))
        self._flat = y.ndim == 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions in the shape of the targets, (n,) or (n, k).

        Arguments:
            X: points, shape (n, in_dim).
        """
        values = self._values(X)
        return values[:, 0] if self._flat else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class RecursiveFeatureMachineClassifier(ClassifierMixin, _Machine):
    """Recursive feature machine for classes: one column of ±1 for two, a column of ±1 for each of more.

    Arguments and fitted attributes are those of :class:`RecursiveFeatureMachineRegressor`, and ``classes_``.
    """

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
        require(k > 1, f"y must hold at least two classes, got one class, {self.classes_[0]!r}")
        columns = np.array([1]) if k == 2 else np.arange(k)
        self._fit(X, 2.0 * (numbers[:, None] == columns) - 1)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The fitted function: (n,) for two classes, positive for the second; (n, classes) for more.

        Arguments:
            X: points, shape (n, in_dim).
        """
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The labels of the winning classes.

        Arguments:
            X: points, shape (n, in_dim).
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(1)]
