"""How many of a list of labelled vectors every linear classifier gets wrong."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def fewest_errors(points: np.ndarray, labels: np.ndarray, limit: int = 3) -> int | None:
    r"""The fewest errors of a linear classifier on a list of points; None if they are more than ``limit``.

    .. math:: \min_{w, \theta} \#\{i : y_i(\langle w, x_i \rangle - \theta) \le 0\}

    Points that no hyperplane separates contain a conflict: two convex combinations, one of each class, that coincide.
    Every classifier errs on at least one of the points in it. So the search removes each of them in turn and goes on,
    one removal deeper at a time. At most n + 2 points are in a conflict in dimension n, since a vertex of the linear
    programme has no more.

    Arguments:
        points: (N, n).
        labels: ±1, (N,).
        limit: how many removals are tried.

    >>> corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> fewest_errors(corners, np.array([1, -1, -1, 1]))
    1
    """
    x, y = np.asarray(points, dtype=float), np.asarray(labels, dtype=float)
    without: set[frozenset[int]] = {frozenset()}
    for errors in range(limit + 1):
        deeper: set[frozenset[int]] = set()
        for removed in without:
            kept = np.array([i for i in range(len(y)) if i not in removed])
            inside = conflict(x[kept], y[kept])
            if not len(inside):
                return errors
            deeper |= {removed | {int(i)} for i in kept[inside]}
        without = deeper
    return None


def conflict(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    r"""The points of a conflict between the classes, or none if a hyperplane separates them.

    .. math:: \lambda \ge 0, \qquad \sum_i \lambda_i = 1, \qquad \sum_i \lambda_i y_i = 0, \qquad
        \sum_i \lambda_i y_i x_i = 0

    Arguments:
        points: (N, n).
        labels: ±1, (N,).

    Returns:
        The indices with :math:`\lambda_i > 0`.
    """
    rows = np.column_stack([points, np.ones(len(points))]) * labels[:, None]
    system = np.vstack([rows.T, np.ones(len(rows))])
    target = np.append(np.zeros(rows.shape[1]), 1.0)
    found = linprog(np.zeros(len(rows)), A_eq=system, b_eq=target, bounds=(0, None), method="highs-ds")
    if found.status == 0:
        return np.flatnonzero(found.x > 0)  # a point too many costs time, a point too few a wrong answer
    # Farkas: without a conflict there is a hyperplane with margin one. It is looked for, so that no answer rests on
    # a solver that gave up.
    apart = linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(None, None), method="highs")
    if apart.status != 0 or (rows @ apart.x).min() < 1 - 1e-4:
        raise ArithmeticError("neither a separating hyperplane nor a conflict was found; the points are too close")
    return np.array([], dtype=int)
