"""Regression and classification on random features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from beyondkernels.activations import Activation
from beyondkernels.core import InputError, Stream, require
from beyondkernels.core.errors import shown
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.classical.random_features import GaussianFeatures, RandomFeatureKernel, RandomFeatures
from beyondkernels.kernels.estimators.arguments import as_tensor, seed_of, whole_number
from beyondkernels.kernels.estimators.base import RidgeClassifier, RidgeEstimator, RidgeRegressor
from beyondkernels.kernels.estimators.network import network_in_words
from beyondkernels.kernels.finite.functional import conjugate_features
from beyondkernels.kernels.finite.gram import FiniteConjugate
from beyondkernels.kernels.solvers.intercept import RidgeSolution, solve_features
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES
from beyondkernels.networks import Network


class _RandomFeatures(RidgeEstimator):
    features: Any  # what scikit-learn sets is checked when it is used

    def __init__(
        self,
        count: int = 1000,
        *,
        activation: Activation | str = "relu",
        weight_std: float | None = None,
        bias_std: float = 1.0,
        features: RandomFeatures | Network | None = None,
        ridges: float | Sequence[float] | None = None,
        fit_intercept: bool = True,
        memory: int = MEMORY,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.count = count
        self.activation = activation
        self.weight_std = weight_std
        self.bias_std = bias_std
        self.features = features
        self.ridges = ridges
        self.fit_intercept = fit_intercept
        self.memory = memory
        self.random_state = random_state

    def _solve(self, x: np.ndarray, y: torch.Tensor) -> RidgeSolution:
        source, memory, seed = self._source(), whole_number("memory", self.memory), seed_of(self.random_state)
        network = isinstance(source, Network)
        self.kernel_ = FiniteConjugate(source, seed, memory=memory) if network else RandomFeatureKernel(source, seed)
        points, ridges = as_tensor(x), self._ridges()
        n, m = len(points), self._map(points)(points[:1]).shape[1]
        grid = len(RELATIVE_RIDGES if ridges is None else ridges)
        # features, and as many again twice in the solver; its square matrices, the eigensolver's room among them; and
        # residuals of every ridge
        needed = 8 * (3 * n * m + 6 * min(n, m) ** 2 + 4 * n * grid * (y.shape[1] + 1))
        require(
            memory >= needed,
            f"memory must be at least {needed:,} bytes for {m} features of {n} points, got {memory:,}",
        )
        features = torch.cat(self._blocks(points, m, lambda phi: phi))
        return solve_features(features, y, ridges, fit_intercept=self._with_intercept())

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        values = torch.from_numpy(self.coefficients_)
        return torch.cat(self._blocks(as_tensor(x), len(values), lambda phi: phi @ values)).numpy()

    def _source(self) -> RandomFeatures | Network:
        """The given features, or neurons described by ``count``, ``activation``, ``weight_std`` and ``bias_std``."""
        if self.features is None:
            count = whole_number("count", self.count)
            return GaussianFeatures(count, self.activation, self.weight_std, self.bias_std)
        require(
            isinstance(self.features, RandomFeatures | Network),
            f"features must be RandomFeatures, a Network or None, got {shown(self.features)}",
        )
        return self.features

    def _map(self, x: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        """The features as a function of points. A network is drawn once, with the draw of its conjugate kernel."""
        kernel = self.kernel_
        if isinstance(kernel, RandomFeatureKernel):
            return kernel.feature_matrix
        network = kernel.network
        params, buffers = network.init(x.shape[1], kernel.out_dim, Stream(kernel.seed).child("network"))
        return lambda part: conjugate_features(network, params, buffers, part)

    def _blocks(self, x: torch.Tensor, m: int, use: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
        """Apply a function to the m features of one block of points after the other."""
        kernel = self.kernel_
        wide = max(m, kernel.network.footprint if isinstance(kernel, FiniteConjugate) else 0)
        # an eighth of the budget for a block: its making takes a few times as much, beside what is there already
        rows = max(1, whole_number("memory", self.memory) // (8 * 8 * wide))
        features = self._map(x)
        return [use(features(part)) for part in x.split(rows)]

    def _in_words(self) -> str:
        try:
            source = self._source()
        except InputError:
            return ""  # whoever prints an estimator wants to see what is wrong with it
        if isinstance(source, Network):
            return f"conjugate features of {network_in_words(source)}"
        return repr(source) if self.features is None else ""


class RandomFeaturesRegressor(RidgeRegressor, _RandomFeatures):
    r"""Ridge regression on randomly drawn neurons.

    .. math:: f(x) = b + \sum_{j=1}^m v_j\,\phi_j(x), \qquad
              \phi_j(x) = \tfrac{1}{\sqrt m}\,\sigma(\langle w_j, x\rangle + c_j), \qquad
              w_j \sim N(0, s_w^2 I),\ c_j \sim N(0, s_c^2)

    f minimises :math:`\sum_i (y_i - f(x_i))^2 + \lambda |v|^2`; the intercept b is not penalised. It is found by the
    smaller of the Gram matrices of points and of features. The ridge λ is the one of the grid with the least
    leave-one-out error. That error is exact: the intercept too is fitted without the point. Several outputs share the
    ridge.

    Arguments:
        count: m, how many features.
        activation: σ, an activation or its name.
        weight_std: :math:`s_w`; None for :math:`1/\sqrt{\text{in\_dim}}`.
        bias_std: :math:`s_c`.
        features: other features φ in the place of these neurons; then the four arguments above say nothing.
            :class:`FourierFeatures` or any :class:`RandomFeatures`, whose fields are parameters too
            (``features__count``), or a network: what enters its last layer, drawn from the seed, so that the regression
            is that of :class:`ConjugateKernelRegressor` in terms of features.
        ridges: λ, a grid or one number; None for the mean of |φ(x)|² over the points times 100, …, 1e-10.
        fit_intercept: whether b is fitted; otherwise it is 0.
        memory: bytes that features and their regression may take, beside what is drawn.
        random_state: the seed of the draw. None is 0, not chance; a ``numpy.random.RandomState`` gives its next number.

    Fitted:
        ``kernel_`` the :class:`RandomFeatureKernel`, whose ``feature_matrix`` gives φ, or the :class:`FiniteConjugate`
        of a network; ``coefficients_`` v, shape (m,) or (m, k); ``intercept_`` b; ``ridge_``, ``condition_``,
        ``loo_errors_`` and ``loo_error_`` as for :class:`TangentKernelRegressor`; ``path_`` the :class:`RidgePath` of
        the matrix that was decomposed: with m < n it is that of the features, and its errors are not those of the
        points.

    >>> x = np.linspace(-1, 1, 40).reshape(20, 2)
    >>> model = RandomFeaturesRegressor(count=200, bias_std=0.5).fit(x, x[:, 0] ** 2)
    >>> model.coefficients_.shape, bool(model.score(x, x[:, 0] ** 2) > 0.99)
    ((200,), True)
    >>> from beyondkernels.kernels.classical.random_features import FourierFeatures
    >>> model = RandomFeaturesRegressor(features=FourierFeatures(count=200, bandwidth=1.0)).fit(x, x[:, 0] ** 2)
    >>> bool(model.score(x, x[:, 0] ** 2) > 0.99)
    True

    Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines; resnet, §3.1 (4).
    """


class RandomFeaturesClassifier(RidgeClassifier, _RandomFeatures):
    r"""Classification by ridge regression of labels ±1 on randomly drawn neurons.

    .. math:: \hat y(x) = \operatorname{sign} f(x) \quad\text{or}\quad \arg\max_c f_c(x), \qquad f \text{ as in }
              \text{RandomFeaturesRegressor}

    Two classes are one column of ±1; more are a column each, +1 in the class and −1 outside. The ridge is chosen by
    the squared leave-one-out error of these columns.

    Arguments:
        as for :class:`RandomFeaturesRegressor`.

    Fitted:
        as for :class:`RandomFeaturesRegressor`, and ``classes_``, and ``loo_accuracy_`` at the chosen ridge.

    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> RandomFeaturesClassifier(ridges=0.01).fit(x, [True, True, False, False]).predict(0.9 * x).tolist()
    [True, True, False, False]

    Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines; resnet, §3.1 (4).
    """
