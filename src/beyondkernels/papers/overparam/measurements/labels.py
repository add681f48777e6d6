"""What the simplest predictions leave of a problem's labels: the scale on which losses are read."""

from __future__ import annotations

import functools

from beyondkernels.algorithms import Loss
from beyondkernels.core import Problem, Stream

_POINTS = 20_000


@functools.lru_cache(maxsize=1024)
def constant_loss(problem: Problem, loss: Loss) -> float:
    """The loss of predicting the mean label, over 20,000 points.

    Arguments:
        problem: what gives the labels.
        loss: L(ŷ, y).
    """
    y = problem.sample(_POINTS, Stream(0).child("constant")).y
    return float(loss.each(y.mean(0).expand_as(y), y).double().mean())


@functools.lru_cache(maxsize=256)
def label_variance(problem: Problem) -> float:
    """The variance of the labels, over 20,000 points.

    Arguments:
        problem: what gives them; they are single numbers.
    """
    return float(problem.sample(_POINTS, Stream(0).child("variance")).y.double().var())
