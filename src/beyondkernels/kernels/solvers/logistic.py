"""Logistic regression on a Gram matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf  # pyright: ignore[reportAttributeAccessIssue]

_SMALLEST = 1e-12
"""What is left of the kernel's diagonal when no further feature is taken, relative to its largest number."""

_TOLERANCE, _MAX_ITERATIONS = 1e-5, 300
"""Of L-BFGS. Classes that are separated have no minimum to speak of at a large penalty."""


def logistic_machines(
    gram: np.ndarray, classes: np.ndarray, copies: float = 1.0
) -> Callable[[float], Callable[[np.ndarray], np.ndarray]]:
    r"""Logistic regression with a kernel, one fit for each penalty; for several classes the softmax of as many outputs.

    .. math:: \min_{f, b} \tfrac12 |f|_K^2 + \frac{C}{m \bar k} \sum_i \log(1 + \exp(-y_i (f(x_i) + b))),
              \qquad \bar k = \tfrac1n \sum_i K(x_i, x_i)

    The Gram matrix is :math:`Z Z^\top` with Z from a Cholesky decomposition with pivots, which ends at the rank of the
    matrix. So f is linear in the features of a point, which are its rows of Z, and the fit is scikit-learn's. Each fit
    starts at the one before.

    Arguments:
        gram: the kernel of the training points, (n, n).
        classes: 0, 1, 2, …, shape (n,). If there is a single one, it is what is predicted.
        copies: m, how often a point comes on average. Points that all come twice then give the same fit.

    Returns:
        From a penalty C to what :func:`~.support_vectors.fitted_machine` gives: from the kernel of other points and the
        training points, (m, n), to classes, (m,).
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    scale = float(gram.diagonal().mean())
    if (classes == classes[0]).all() or scale <= 0:
        most = np.bincount(classes).argmax()
        return lambda _: lambda block: np.full(len(block), most)
    factor, order, rank, _ = dpstrf(gram, tol=_SMALLEST * float(gram.diagonal().max()), lower=1)
    order, lower = order - 1, np.tril(factor)[:, :rank]
    features = np.empty_like(lower)
    features[order] = lower
    pivots, square = order[:rank], lower[:rank]
    model: Any = LogisticRegression(tol=_TOLERANCE, max_iter=_MAX_ITERATIONS, warm_start=True)

    def at(penalty: float) -> Callable[[np.ndarray], np.ndarray]:
        model.C = penalty / (copies * scale)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # held-out points judge what it is by then
            model.fit(features, classes)
        names, intercept = model.classes_, model.intercept_.copy()
        # a point's features are those by which its kernel with the pivots is an inner product
        weights = solve_triangular(square, model.coef_.T, trans=1, lower=True)

        def predict(block: np.ndarray) -> np.ndarray:
            out = block[:, pivots] @ weights + intercept
            return names[(out[:, 0] > 0).astype(int) if out.shape[1] == 1 else out.argmax(1)]

        return predict

    return at
