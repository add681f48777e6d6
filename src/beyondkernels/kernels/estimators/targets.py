"""Estimators of numbers and of classes: data are checked, and predictions have the shape of the targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from beyondkernels.core import require
from beyondkernels.kernels.estimators.parameters import ComponentParameters

_FLOATS = (np.float64, np.float32)


class TargetEstimator(ComponentParameters, ABC):
    """An estimator of targets, with an intercept that is added to every prediction.

    ``repr`` is scikit-learn's and leaves out defaults. ``str`` adds what the defaults mean.
    """

    intercept_: Any

    @abstractmethod
    def _fit_targets(self, x: np.ndarray, y: np.ndarray) -> Any:
        """Fit targets of shape (n,) or (n, k), and set ``intercept_``."""

    @abstractmethod
    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        """The fitted function without its intercept, in the shape of the targets."""

    def _values(self, x: Any) -> np.ndarray:
        """The fitted function at new points, shape (n,) or (n, k)."""
        check_is_fitted(self)
        x = validate_data(self, x, reset=False, dtype=_FLOATS)
        return self._evaluate(x) + self.intercept_

    def _in_words(self) -> str:
        """The meaning of parameters that ``repr`` leaves out; empty if they are invalid."""
        return ""

    def __str__(self) -> str:
        return "\n".join(filter(None, [repr(self), self._in_words()]))


class TargetRegressor(RegressorMixin, TargetEstimator):
    """Targets are numbers, one or several a point."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit.

        Arguments:
            X: points, shape (n, in_dim).
            y: targets, shape (n,) or (n, k); several share one ridge.
        """
        X, y = validate_data(self, X, y, dtype=_FLOATS, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._fit_targets(X, np.asarray(y, dtype=np.float64))
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


class TargetClassifier(ClassifierMixin, TargetEstimator):
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
        self._fit_targets(X, 2.0 * numbers - 1 if k == 2 else 2.0 * (numbers[:, None] == np.arange(k)) - 1)
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
        return self.classes_[winners(values)]


def winners(values: np.ndarray) -> np.ndarray:
    """The number of the class that wins at each point, from a column for two classes or one for each of more.

    >>> winners(np.array([-0.1, 2.0])), winners(np.array([[-1.0, 0.2, -0.3]]))
    (array([0, 1]), array([1]))
    """
    return (values > 0).astype(int) if values.ndim == 1 else values.argmax(1)
