"""Support vector machines on a Gram matrix, and what cross-validation says of a kernel's classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from beyondkernels.core import Stream, hits, require

PENALTIES = (0.1, 1.0, 10.0, 100.0)
"""The penalties that are tried first, relative to the mean of the kernel's diagonal."""

LIMITS = (1e-4, 1e6)
"""The penalties that are tried last."""

_MAX_ITERATIONS, _FOR_EACH_POINT = 20_000, 20
"""Of libsvm for each pair of classes, whichever is more. Labels that are noise would take hours at a large penalty."""

Predict = Callable[[np.ndarray], np.ndarray]
"""From the kernel of other points and the training points, (m, n), to classes, (m,)."""

Machines = Callable[[np.ndarray, np.ndarray, float], Callable[[float], Predict]]
"""From a Gram matrix, classes and how often a point comes to what is fitted with a penalty."""


@dataclass(frozen=True)
class PenaltyChoice:
    """The penalty that cross-validation chooses, of a support vector machine or of logistic regression.

    Arguments:
        penalty: C, relative to the mean of the kernel's diagonal.
        accuracy: of the folds that were left out.
        tried: each penalty that was tried and its accuracy, the smallest first.
    """

    penalty: float
    accuracy: float
    tried: dict[float, float]

    @property
    def on_edge(self) -> bool:
        """Whether the best penalty is the first or the last that was tried."""
        return self.penalty in (min(self.tried), max(self.tried))


def folds_of(classes: np.ndarray, groups: torch.Tensor | None = None, count: int = 5) -> np.ndarray:
    """A fold for each point, shape (n,). Copies are in one fold, and each fold has its share of every class.

    The folds depend on the points alone: a kernel that is fitted to the same points twice is the same.

    Arguments:
        classes: 0, 1, 2, …, shape (n,).
        groups: a number for each point, equal for copies; None if there are none.
        count: how many folds, at most one for each point.

    >>> folds_of(np.array([0, 0, 0, 1, 1, 1]), count=3).reshape(2, 3).sum(1).tolist()
    [3, 3]
    """
    places = np.arange(len(classes)) if groups is None else groups.numpy()
    _, first = np.unique(places, return_index=True)
    require(len(first) > 1, f"training points must differ to hold some out, got {len(classes)} copies of one point")
    order = Stream(0).child("folds").permutation(len(first)).numpy()
    order = order[np.argsort(classes[first][order], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[order] = np.arange(len(first)) % min(count, len(first))
    return fold[places]


def fitted_machine(gram: np.ndarray, classes: np.ndarray, penalty: float, copies: float = 1.0) -> Predict:
    r"""A support vector machine, for several classes one for each pair of them.

    .. math:: \min_{f, b} \tfrac12 |f|_K^2 + \frac{C}{m \bar k} \sum_i \max(0, 1 - y_i (f(x_i) + b)),
              \qquad \bar k = \tfrac1n \sum_i K(x_i, x_i)

    Arguments:
        gram: the kernel of the training points, (n, n).
        classes: 0, 1, 2, …, shape (n,). If there is a single one, it is what the machine predicts.
        penalty: C.
        copies: m, how often a point comes on average. Points that all come twice then give the same machine.

    Returns:
        From the kernel of other points and the training points, (m, n), to classes, (m,).
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    if (classes == classes[0]).all():
        return lambda block: np.full(len(block), classes[0])
    scale = float(gram.diagonal().mean()) or 1.0
    most = max(_MAX_ITERATIONS, _FOR_EACH_POINT * len(classes))
    machine: Any = SVC(kernel="precomputed", C=penalty / (copies * scale), max_iter=most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # held-out points judge what it is by then
        machine.fit(gram, classes)
    return machine.predict


def support_vector_machines(gram: np.ndarray, classes: np.ndarray, copies: float = 1.0) -> Callable[[float], Predict]:
    """From a penalty to :func:`fitted_machine` with it."""
    return lambda penalty: fitted_machine(gram, classes, penalty, copies)


def choose_penalty(
    gram: np.ndarray,
    classes: np.ndarray,
    folds: np.ndarray,
    copies: float = 1.0,
    machines: Machines = support_vector_machines,
) -> PenaltyChoice:
    """The penalty with the best accuracy on folds that are left out one by one; of equal ones the smallest.

    While the best penalty is the first or the last that was tried, a tenth or ten times of it is tried, within
    ``LIMITS``.

    Arguments:
        gram: the kernel of the training points, (n, n).
        classes: 0, 1, 2, …, shape (n,).
        folds: the fold of each point, shape (n,).
        copies: how often a point comes on average.
        machines: what is fitted.
    """
    right = dict.fromkeys(PENALTIES, 0)

    def count(penalties: list[float]) -> None:
        for fold in np.unique(folds):
            inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            block = gram[np.ix_(outside, inside)]
            machine = machines(gram[np.ix_(inside, inside)], classes[inside], copies)
            for penalty in penalties:
                predicted = machine(penalty)(block)
                right[penalty] = right.get(penalty, 0) + int((predicted == classes[outside]).sum())

    count(list(PENALTIES))
    while True:
        tried = sorted(right)
        best = max(tried, key=lambda penalty: (right[penalty], -penalty))
        if best == tried[0] and best / 10 >= LIMITS[0] * (1 - 1e-9):
            count([best / 10])
        elif best == tried[-1] and best * 10 <= LIMITS[1] * (1 + 1e-9):
            count([best * 10])
        else:
            n = len(classes)
            return PenaltyChoice(best, right[best] / n, {penalty: right[penalty] / n for penalty in tried})


def ridge_accuracy(gram: torch.Tensor, labels: torch.Tensor, ridge: float, folds: np.ndarray) -> float:
    """The accuracy of ridge regression on folds that are left out one by one, the mean of the rest subtracted.

    Arguments:
        gram: the kernel of the training points, (n, n).
        labels: that are classes, (n, k).
        ridge: λ.
        folds: the fold of each point, shape (n,).
    """
    right = 0.0
    for fold in np.unique(folds):
        inside, outside = (torch.from_numpy(np.flatnonzero(each)) for each in (folds != fold, folds == fold))
        mean = labels[inside].mean(0)
        square = gram[inside][:, inside]
        square.diagonal().add_(ridge)
        alpha = torch.linalg.solve(square, labels[inside] - mean)
        right += hits(gram[outside][:, inside] @ alpha + mean, labels[outside]).sum().item()
    return right / len(labels)
