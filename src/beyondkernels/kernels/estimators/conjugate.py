"""Regression and classification with the conjugate kernel of a network."""

from __future__ import annotations

import torch

from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.estimators.arguments import seed_of
from beyondkernels.kernels.estimators.base import RidgeClassifier, RidgeRegressor
from beyondkernels.kernels.estimators.network import NetworkKernelMachine
from beyondkernels.kernels.finite.gram import FiniteConjugate
from beyondkernels.kernels.infinite.fully_connected import infinite_conjugate


class _Conjugate(NetworkKernelMachine):
    def _kernel(self, x: torch.Tensor) -> Kernel:
        network, memory, seed = self._network(x), self._memory(), seed_of(self.random_state)
        if self._infinite():
            return infinite_conjugate(network)
        return FiniteConjugate(network, seed, memory=memory, in_shape=self._in_shape())

    def _in_words(self) -> str:
        return self._kernel_in_words("conjugate")


class ConjugateKernelRegressor(RidgeRegressor, _Conjugate):
    r"""Kernel ridge regression with the conjugate kernel of a network: its last layer alone is fitted.

    .. math:: f(x) = b + \sum_i \alpha_i\,K(x, x_i), \qquad K(x, x') = \langle h(x), h(x')\rangle

    where h(x) is what enters the last layer of a freshly drawn network. f minimises
    :math:`\sum_i (y_i - f(x_i))^2 + \lambda\,\alpha^\top K \alpha`; the intercept b is not penalised. The ridge λ is
    the one of the grid with the least leave-one-out error. That error is exact: the intercept too is fitted without
    the point. Several outputs share the ridge.

    Arguments:
        network: any network of the package; None for three layers of width 512 with hidden biases of variance 1
            (``print`` shows it). A network of your own has biases only if its parameterisation has a ``bias_variance``;
            without biases a ReLU network fits, in one dimension, no more than two straight lines that meet at 0. Its
            fields are parameters too: ``network__width``, ``network__parameterisation__kind``.
        infinite_width: whether to take the kernel's limit at infinite width (the NNGP kernel).
        ridges: λ, a grid or one number; None for the mean of K's diagonal times 100, …, 1e-10.
        fit_intercept: whether b is fitted; otherwise it is 0.
        memory: bytes that the kernel of finite width may take.
        in_shape: the shape into which rows of X are folded for a network that takes images, such as (3, 32, 32).
        random_state: the seed of the network's draw. None is 0, not chance; a ``numpy.random.RandomState`` gives its
            next number.

    Fitted:
        as for :class:`TangentKernelRegressor`.

    >>> import numpy as np
    >>> from beyondkernels.networks import FullyConnected
    >>> x = np.linspace(-1, 1, 40).reshape(20, 2)
    >>> model = ConjugateKernelRegressor(FullyConnected(width=256), infinite_width=True).fit(x, abs(x[:, 0]))
    >>> bool(model.score(x, abs(x[:, 0])) > 0.99)
    True

    Reference: Daniely (2017), SGD learns the conjugate kernel class of the network; resnet, §3.1 (5).
    """


class ConjugateKernelClassifier(RidgeClassifier, _Conjugate):
    r"""Classification by ridge regression on labels ±1 with the conjugate kernel of a network.

    .. math:: \hat y(x) = \operatorname{sign} f(x) \quad\text{or}\quad \arg\max_c f_c(x), \qquad f \text{ as in }
              \text{ConjugateKernelRegressor}

    Two classes are one column of ±1; more are a column each, +1 in the class and −1 outside. The ridge is chosen by
    the squared leave-one-out error of these columns.

    Arguments:
        as for :class:`ConjugateKernelRegressor`.

    Fitted:
        as for :class:`TangentKernelClassifier`.

    >>> import numpy as np
    >>> from beyondkernels.networks import FullyConnected
    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> model = ConjugateKernelClassifier(FullyConnected(width=256), ridges=0.1).fit(x, [2, 2, 5, 5])
    >>> model.predict(0.9 * x).tolist()
    [2, 2, 5, 5]

    Reference: Daniely (2017), SGD learns the conjugate kernel class of the network; resnet, §3.1 (5).
    """
