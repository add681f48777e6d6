"""Accuracy where classes are unequal."""

from __future__ import annotations

from dataclasses import dataclass

from beyondkernels.core import Ended, Measured, hits
from beyondkernels.measure.base import Measurement


@dataclass(frozen=True)
class BalancedAccuracy(Measurement):
    r"""The mean over both classes of the share of their test points that are right.

    .. math:: \frac12 \sum_{v \in \{-1, 1\}} \Pr[\mathrm{sign}(g(x)) = y \mid y = v]

    A constant classifier has one half, however unequal the classes are. The scalar is
    ``test_balanced_accuracy``; there is none while a class has no test point.
    """

    def measure(self, run: Ended) -> Measured:
        y = run.case.test.y.reshape(-1)
        right = hits(run.predictions("test"), y)
        shares = [right[y == label].mean().item() for label in (-1, 1) if bool((y == label).any())]
        return Measured({"test_balanced_accuracy": sum(shares) / 2} if len(shares) == 2 else {}, {}, {})
