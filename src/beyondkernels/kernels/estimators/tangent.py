"""Regression and classification with the tangent kernel of a network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.estimators.arguments import seed_of
from beyondkernels.kernels.estimators.base import RidgeClassifier, RidgeRegressor
from beyondkernels.kernels.estimators.network import NetworkKernelMachine
from beyondkernels.kernels.finite.gram import FiniteTangent
from beyondkernels.kernels.infinite.fully_connected import infinite_tangent
from beyondkernels.networks import Network


class _Tangent(NetworkKernelMachine):
    def __init__(
        self,
        network: Network | None = None,
        *,
        infinite_width: bool = False,
        group: str = "all",
        ridges: float | Sequence[float] | None = None,
        fit_intercept: bool = True,
        memory: int = MEMORY,
        in_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            network,
            infinite_width=infinite_width,
            ridges=ridges,
            fit_intercept=fit_intercept,
            memory=memory,
            in_shape=in_shape,
            random_state=random_state,
        )
        self.group = group

    def _kernel(self, x: torch.Tensor) -> Kernel:
        network, memory, seed = self._network(x), self._memory(), seed_of(self.random_state)
        if self._infinite():
            return infinite_tangent(network, self.group)
        return FiniteTangent(network, seed, self.group, memory=memory, in_shape=self._in_shape())

    def _in_words(self) -> str:
        return f"{self._kernel_in_words('tangent')}, group: {self.group}"


class TangentKernelRegressor(RidgeRegressor, _Tangent):
    r"""Kernel ridge regression with the tangent kernel of a network at its start.

    .. math:: f(x) = b + \sum_i \alpha_i\,\Theta(x, x_i), \qquad
              \Theta(x, x') = \langle\nabla_\theta f_\theta(x), \nabla_\theta f_\theta(x')\rangle

    f minimises :math:`\sum_i (y_i - f(x_i))^2 + \lambda\,\alpha^\top \Theta\,\alpha`; the intercept b is not penalised.
    This is the network made linear in its parameters: what it can learn without learning features. The ridge λ is the
    one of the grid with the least leave-one-out error. That error is exact: the intercept too is fitted without the
    point. Several outputs share the kernel, that of a network with one output, and the ridge.

    Arguments:
        network: any network of the package; None for three layers of width 512 with hidden biases of variance 1
            (``print`` shows it). A network of your own has biases only if its parameterisation has a ``bias_variance``;
            without biases a ReLU network fits, in one dimension, no more than two straight lines that meet at 0. Its
            fields are parameters too: ``network__width``, ``network__parameterisation__kind``.
        infinite_width: whether to take the kernel's limit at infinite width.
        group: the parameters in which derivatives are taken: ``all`` or one of the network's groups.
        ridges: λ, a grid or one number; None for the mean of Θ's diagonal times 100, …, 1e-10.
        fit_intercept: whether b is fitted; otherwise it is 0.
        memory: bytes that the kernel of finite width may take.
        in_shape: the shape into which rows of X are folded for a network that takes images, such as (3, 32, 32).
        random_state: the seed of the network's draw. None is 0, not chance; a ``numpy.random.RandomState`` gives its
            next number.

    Fitted:
        ``kernel_`` Θ; ``x_fit_`` the points, float64; ``coefficients_`` α, shape (n,) or (n, k); ``intercept_`` b;
        ``ridge_`` the chosen λ; ``condition_`` of Θ + λI; ``loo_errors_`` the mean squared leave-one-out error for each
        of ``path_.ridges`` and ``loo_error_`` that of the chosen; ``path_`` the :class:`RidgePath` of Θ, whose own
        leave-one-out errors are those of a fit without intercept; ``n_features_in_``, ``feature_names_in_``.

    >>> from beyondkernels.networks import FullyConnected
    >>> x, y = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, -1.0]]), np.array([0.0, 1.0, 0.0, -1.0])
    >>> model = TangentKernelRegressor(FullyConnected(width=64), ridges=1e-6).fit(x, y)
    >>> bool(abs(model.predict(x) - y).max() < 1e-4)
    True
    >>> model.set_params(network__width=128).network.width
    128
    >>> print(TangentKernelRegressor())  # repr is scikit-learn's and leaves out defaults; print says what they mean
    TangentKernelRegressor()
    tangent kernel at finite width of FullyConnected(width=512, depth=3, activation=ReLU(), readout='normal'),
    ntk parameterisation: hidden weights 2/p, hidden biases 1, readout weights 1/p, no readout bias, group: all

    Reference: Jacot, Gabriel & Hongler (2018), Neural tangent kernel; Allen-Zhu & Li (resnet), §3.1 (6).
    """


class TangentKernelClassifier(RidgeClassifier, _Tangent):
    r"""Classification by ridge regression on labels ±1 with the tangent kernel of a network at its start.

    .. math:: \hat y(x) = \operatorname{sign} f(x) \quad\text{or}\quad \arg\max_c f_c(x), \qquad f \text{ as in }
              \text{TangentKernelRegressor}

    Two classes are one column of ±1; more are a column each, +1 in the class and −1 outside. The ridge is chosen by
    the squared leave-one-out error of these columns.

    Arguments:
        as for :class:`TangentKernelRegressor`.

    Fitted:
        as for :class:`TangentKernelRegressor`, and ``classes_``, and ``loo_accuracy_`` at the chosen ridge.

    >>> from beyondkernels.networks import FullyConnected
    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> model = TangentKernelClassifier(FullyConnected(width=256), ridges=0.1).fit(x, ["+", "+", "-", "-"])
    >>> model.predict(0.9 * x).tolist()
    ['+', '+', '-', '-']

    Reference: Allen-Zhu & Li (resnet), §3.1 (6).
    """
