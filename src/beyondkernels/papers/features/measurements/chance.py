"""How far chance may carry what is measured on a sample."""

from __future__ import annotations

import math
from statistics import NormalDist


def chance_deviation(samples: int, looks: int, errors: float = 4) -> float:
    r"""How far from 1/2 chance may carry the farthest of many accuracies of coin flips on test samples.

    .. math:: -\Phi^{-1}\bigl(\Phi(-z) / L\bigr) \cdot \frac{1}{2\sqrt n}

    Beyond this, any of them lies as rarely as one alone lies beyond z standard errors (Bonferroni).

    Arguments:
        samples: n, points in a test sample.
        looks: L, how many accuracies.
        errors: z.

    >>> round(chance_deviation(10_000, 1), 4), round(chance_deviation(10_000, 100), 4)
    (0.02, 0.0249)
    """
    normal = NormalDist()
    return -normal.inv_cdf(normal.cdf(-errors) / looks) * 0.5 / math.sqrt(samples)
