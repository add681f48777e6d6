"""Regression and classification on random features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from beyondkernels.activations import Activation
from beyondkernels.kernels.classical.random_features import GaussianFeatures, RandomFeatureKernel
from beyondkernels.kernels.estimators.base import (
    MEMORY,
    RidgeClassifier,
    RidgeEstimator,
    RidgeRegressor,
    as_tensor,
    seed_of,
    whole_number,
)
from beyondkernels.kernels.estimators.solving import CentredRidge, solve_features


class _RandomFeatures(RidgeEstimator):
    def __init__(
        self,
        count: int = 1000,
        *,
        activation: Activation | str = "relu",
        weight_std: float | None = None,
        bias_std: float = 0.0,
        ridges: float | Sequence[float] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.count = count
        self.activation = activation
        self.weight_std = weight_std
        self.bias_std = bias_std
        self.ridges = ridges
        self.random_state = random_state

    def _solve(self, x: np.ndarray, y: torch.Tensor) -> CentredRidge:
        count = whole_number("count", self.count)
        features = GaussianFeatures(count, self.activation, self.weight_std, self.bias_std)
        self.kernel_ = RandomFeatureKernel(features, seed_of(self.random_state))
        return solve_features(self.kernel_.feature_matrix(as_tensor(x)), y, self._ridges())

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        rows = max(1, MEMORY // (4 * 8 * self.kernel_.features.count))
        parts = as_tensor(x).split(rows)
        return np.concatenate([self.kernel_.feature_matrix(part).numpy() @ self.coefficients_ for part in parts])


class RandomFeaturesRegressor(RidgeRegressor, _RandomFeatures):
    r"""Ridge regression on randomly drawn neurons.

    .. math:: f(x) = \bar y + \sum_{j=1}^m v_j\,\phi_j(x), \qquad
              \phi_j(x) = \tfrac{1}{\sqrt m}\,\sigma(\langle w_j, x\rangle + b_j), \qquad
              w_j \sim N(0, s_w^2 I),\ b_j \sim N(0, s_b^2)

    It minimises :math:`\sum_i (y_i - f(x_i))^2 + \lambda |v|^2`, with ȳ fixed, by the smaller of the Gram matrices of
    points and of features. The targets' mean is subtracted and added back; the ridge of the grid with the least
    leave-one-out error is taken, an exact error in which the mean too is learned without the point. Several outputs
    share the ridge.

    Arguments:
        count: m, how many features.
        activation: σ, an activation or its name.
        weight_std: :math:`s_w`; None for :math:`1/\sqrt{\text{in\_dim}}`.
        bias_std: :math:`s_b`.
        ridges: λ, a grid or one number; None for the mean of |φ(x)|² over the points times 100, …, 1e-10.
        random_state: the seed of the draw. None is 0, not chance; a ``numpy.random.RandomState`` gives its next number.

    Fitted:
        ``kernel_`` the :class:`RandomFeatureKernel`, whose ``feature_matrix`` gives φ; ``coefficients_`` v, shape (m,)
        or (m, k); ``intercept_`` ȳ; ``ridge_``, ``condition_``, ``loo_errors_`` and ``loo_error_`` as for
        :class:`TangentKernelRegressor`; ``path_`` the :class:`RidgePath` of the matrix that was decomposed: with m < n
        it is that of the features, and its errors are not those of the points.

    >>> x = np.linspace(-1, 1, 40).reshape(20, 2)
    >>> model = RandomFeaturesRegressor(count=200, bias_std=0.5).fit(x, x[:, 0] ** 2)
    >>> model.coefficients_.shape, bool(model.score(x, x[:, 0] ** 2) > 0.99)
    ((200,), True)

    Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines; resnet, §3.1 (4).
    """


class RandomFeaturesClassifier(RidgeClassifier, _RandomFeatures):
    r"""Classification by ridge regression of labels ±1 on randomly drawn neurons.

    .. math:: \hat y(x) = \operatorname{sign} f(x) \quad\text{or}\quad \arg\max_c f_c(x), \qquad f \text{ as in }
              \text{RandomFeaturesRegressor}

    Two classes are one column of ±1; more are a column each, +1 in the class and −1 outside. The ridge is chosen by
    the squared leave-one-out error of these columns.

    Arguments:
        count: m, how many features.
        activation: σ, an activation or its name.
        weight_std: :math:`s_w`; None for :math:`1/\sqrt{\text{in\_dim}}`.
        bias_std: :math:`s_b`.
        ridges: λ, a grid or one number; None for the mean of |φ(x)|² over the points times 100, …, 1e-10.
        random_state: the seed of the draw; None is 0.

    Fitted:
        as for :class:`RandomFeaturesRegressor`, and ``classes_``, and ``loo_accuracy_`` at the chosen ridge.

    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> RandomFeaturesClassifier(ridges=0.01).fit(x, [True, True, False, False]).predict(0.9 * x).tolist()
    [True, True, False, False]

    Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines; resnet, §3.1 (4).
    """
