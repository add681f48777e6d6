"""Kernel ridge regression and classification with any kernel of the package, or with Gram matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from beyondkernels.core import InputError, require
from beyondkernels.core.errors import shown
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.classical.gaussian import Gaussian
from beyondkernels.kernels.estimators.arguments import as_tensor
from beyondkernels.kernels.estimators.base import KernelMachine, RidgeClassifier, RidgeRegressor
from beyondkernels.kernels.solvers.intercept import RidgeSolution, solve_gram

_PAIRED = 1000
"""How many points the default bandwidth looks at, evenly spread over the sample."""

_SINGLE = 1e-5
"""How far from symmetric and semi-definite a given matrix may be: many were computed in single precision."""


class _Path(KernelMachine):
    def __init__(
        self,
        kernel: Kernel | Literal["precomputed"] | None = None,
        *,
        ridges: float | Sequence[float] | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.kernel = kernel
        self.ridges = ridges
        self.fit_intercept = fit_intercept

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; the default kernel's bandwidth, known only with the data, is not among them."""
        params = super().get_params(deep)
        return params if self.kernel is not None else super().get_params(deep=False)

    def _stands_for(self) -> dict[str, Kernel]:
        return {"kernel": Gaussian(1.0)}  # so that a grid may set the default kernel's bandwidth

    def _kernel(self, x: torch.Tensor) -> Kernel:
        if self.kernel is None:
            return Gaussian(median_bandwidth(x))
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"kernel must be a Kernel, 'precomputed' or None, got {shown(self.kernel)}")
        return self.kernel

    def _solve(self, x: np.ndarray, y: torch.Tensor) -> RidgeSolution:
        if not self._precomputed():
            return super()._solve(x, y)
        require(
            x.shape[0] == x.shape[1],
            f"X must be a square matrix of kernel values where kernel is 'precomputed', got {x.shape}",
        )
        return solve_gram(as_tensor(x), y, self._ridges(), fit_intercept=self._with_intercept(), tolerance=_SINGLE)

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        return x.astype(np.float64) @ self.coefficients_ if self._precomputed() else super()._evaluate(x)

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        return tags


class KernelRidgePath(RidgeRegressor, _Path):
    r"""Kernel ridge regression with the ridge chosen by exact leave-one-out errors, from one eigendecomposition.

    .. math:: f(x) = b + \sum_i \alpha_i K(x, x_i)

    f minimises :math:`\sum_i (y_i - f(x_i))^2 + \lambda\,\alpha^\top K \alpha`; the intercept b is not penalised. In
    the leave-one-out errors the intercept too is fitted without the point. Several outputs share the ridge.

    Arguments:
        kernel: any kernel of the package; its fields are parameters too (``kernel__bandwidth``). None for a
            :class:`Gaussian` whose bandwidth is the median of the squared distances between training points.
            ``"precomputed"`` where X holds kernel values: (n, n) in ``fit``, (m, n) in ``predict``.
        ridges: λ, a grid or one number; None for the mean of K's diagonal times 100, …, 1e-10.
        fit_intercept: whether b is fitted; otherwise it is 0.

    Fitted:
        as for :class:`TangentKernelRegressor`; without ``kernel_`` and ``x_fit_`` where the kernel is precomputed.

    >>> x = np.linspace(-1, 1, 40).reshape(20, 2)
    >>> model = KernelRidgePath().fit(x, np.sin(3 * x[:, 0]))
    >>> bool(model.loo_error_ < 1e-6), model.path_.ridges.shape
    (True, torch.Size([30]))
    >>> KernelRidgePath(Gaussian(1.0)).set_params(kernel__bandwidth=2.0)
    KernelRidgePath(kernel=Gaussian(bandwidth=2.0))
    """


class KernelRidgePathClassifier(RidgeClassifier, _Path):
    r"""Classification by kernel ridge regression on labels ±1.

    .. math:: \hat y(x) = \operatorname{sign} f(x) \quad\text{or}\quad \arg\max_c f_c(x), \qquad f \text{ as in }
              \text{KernelRidgePath}

    Two classes are one column of ±1; more are a column each, +1 in the class and −1 outside. The ridge is chosen by
    the squared leave-one-out error of these columns.

    Arguments:
        as for :class:`KernelRidgePath`.

    Fitted:
        as for :class:`KernelRidgePath`, and ``classes_``, and ``loo_accuracy_`` at the chosen ridge.

    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> model = KernelRidgePathClassifier(Gaussian(1.0), ridges=0.0).fit(x, [0, 0, 1, 1])
    >>> model.decision_function(x).round(3).tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """


def median_bandwidth(x: torch.Tensor) -> float:
    """The median of the squared distances between distinct points, 1 where all are equal.

    Of more than a thousand points, a thousand that are evenly spread over the sample are looked at.

    >>> median_bandwidth(torch.tensor([[0.0], [0.0], [3.0]]))
    9.0
    """
    if len(x) > _PAIRED:
        x = x[torch.linspace(0, len(x) - 1, _PAIRED).round().long()]
    squares = torch.pdist(x.to(torch.float64)).square_()
    require(bool(squares.isfinite().all()), "X must have squared distances that float64 holds; smaller points would do")
    squares = squares[squares > 0]
    return squares.median().item() if len(squares) else 1.0
