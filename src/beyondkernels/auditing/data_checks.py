"""What is odd about the data of an audit: no learner can make up for it, and scores say less than they seem to."""

from __future__ import annotations

import math

import numpy as np

from beyondkernels.auditing.subject import Subject
from beyondkernels.data.warnings import keys_in_common

REPEATS, LEAK, TAILS, SHIFT = "repeated points", "telling column", "large labels", "other labels"
"""The checks of the data, by what they look for."""

REPEATED = 0.05
"""From this share of repeated test points on, a lead that is no larger than the share may be memory."""

_POINTS, _COLUMNS = 20_000, 2_000
"""Points, and columns, up to which the data are looked at."""

_FEW, _FOLLOWS = 30, 0.999
"""A column tells labels only among so many points: by order for classes, by such a correlation for numbers."""

_TOP, _HELD = 0.05, 0.6
"""Numbers are said to have large labels if this share of the test points holds that share of the variance. Of a normal
distribution, 5 % of the points hold 28 %."""

_SIGMAS, _APART = 5.0, 0.2
"""Training and test labels are said to differ if a class's shares do by so many standard errors and at least so much;
of numbers, the means by so many standard errors and half of a standard deviation."""


def oddities(subject: Subject) -> dict[str, str]:
    """A sentence for each oddity that there is, by its name.

    Arguments:
        subject: what is audited.
    """
    train, test = (
        subject.problem.take(part, min(size, _POINTS), 0)
        for part, size in (("train", subject.samples), ("test", subject.test))
    )
    y, fresh = (each.y.double().reshape(len(each.y), -1).numpy(force=True) for each in (train, test))
    x = train.x.reshape(len(train.x), -1).numpy(force=True)
    found = {}
    if share := repeated_share(subject):
        found[REPEATS] = (
            f"{100 * share:.0f} % of the test points are among the training points: what is remembered counts there as "
            "much as what is learnt."
        )
    if (column := _telling(x, y, subject.classes)) is not None:
        found[LEAK] = (
            f"Column {column} alone tells all {len(x)} training labels. If it was made from them, scores mean nothing."
        )
    if not subject.classes and (held := _held_by_few(fresh)) >= _HELD:
        found[TAILS] = (
            f"{100 * _TOP:.0f} % of the test points hold {100 * held:.0f} % of the labels' variance: scores hang on "
            "these few points, and intervals are too narrow."
        )
    if _apart(y, fresh, subject.classes):
        found[SHIFT] = (
            "Training and test labels are distributed differently: scores also say who was lucky with the difference."
        )
    return found


def repeated_share(subject: Subject) -> float:
    """The share of the test points that are training points, too; of a distribution none are looked for.

    Arguments:
        subject: what is audited.
    """
    if not subject.shares_test or max(subject.samples, subject.test) > _POINTS:
        return 0.0
    points = (
        subject.problem.take(part, size, 0).x.numpy(force=True)
        for part, size in (("train", subject.samples), ("test", subject.test))
    )
    keys, fresh = keys_in_common(*points)
    return float(np.isin(fresh, keys).mean())


def _telling(x: np.ndarray, y: np.ndarray, classes: bool) -> int | None:
    """A column by which points are ordered by class, or which is the label up to a line; None if there is none."""
    if len(x) < _FEW or x.shape[1] > _COLUMNS:
        return None
    if not classes:
        if y.shape[1] > 1:
            return None
        x, y = x - x.mean(0), y - y.mean(0)
        length = np.sqrt((x**2).sum(0) * (y**2).sum())
        along = np.abs((x * y).sum(0)) / np.where(length > 0, length, np.inf)
        return int(along.argmax()) if along.max() >= _FOLLOWS and x.shape[1] > 1 else None
    names = (y[:, 0] > 0).astype(int) if y.shape[1] == 1 else y.argmax(1)
    order = np.argsort(x, axis=0, kind="stable")
    changes = names[order[1:]] != names[order[:-1]]
    # equal values with different labels cannot be told apart, whatever their order
    tied = np.take_along_axis(x, order[1:], 0) == np.take_along_axis(x, order[:-1], 0)
    told = (changes.sum(0) == len(np.unique(names)) - 1) & ~(changes & tied).any(0)
    return int(told.argmax()) if told.any() and x.shape[1] > 1 and len(np.unique(names)) > 1 else None


def _held_by_few(y: np.ndarray) -> float:
    """The share of the variance of labels that the most distant few hold."""
    distances = np.sort(((y - y.mean(0)) ** 2).sum(1))
    return float(distances[-max(1, round(_TOP * len(y))) :].sum() / distances.sum()) if len(y) >= _FEW else 0.0


def _apart(y: np.ndarray, fresh: np.ndarray, classes: bool) -> bool:
    """Whether training and test labels differ by more than chance, and much."""
    first, second = (np.column_stack([y, -y]) for y in (y, fresh)) if y.shape[1] == 1 else (y, fresh)
    difference = np.abs(first.mean(0) - second.mean(0))
    spread = np.sqrt((first.var(0) + second.var(0)) / 2)
    error = spread * math.sqrt(1 / len(first) + 1 / len(second))
    # a label of one output is ±1, so that shares differ by half of what means do
    much = _APART * (2 if y.shape[1] == 1 else 1) if classes else spread / 2
    return bool(((difference > _SIGMAS * error) & (difference >= much) & (spread > 0)).any())
