"""Theorem 4 in numbers: how many queries parities without input structure take, and what no query at all gives."""

from __future__ import annotations

import math
from fractions import Fraction

import torch

from beyondkernels.core import require, require_whole

_LARGEST_CLASS = 100
"""The most digits of the number of targets, so that float64 holds its cube."""

LARGEST_GUESS = 2000
"""The most patterns for which the advantage of a guess is computed."""


def class_size(patterns: int, relevant: int) -> int:
    r"""How many parities there are: :math:`\binom Dk`, which is also their statistical-query dimension.

    Arguments:
        patterns: D.
        relevant: k.
    """
    require_whole("patterns", patterns)
    require_whole("relevant", relevant)
    require(relevant <= patterns, f"relevant must not exceed patterns ({patterns}), got {relevant}")
    size = math.lgamma(patterns + 1) - math.lgamma(relevant + 1) - math.lgamma(patterns - relevant + 1)
    require(
        size < _LARGEST_CLASS * math.log(10),
        f"the number of parities must be below 1e{_LARGEST_CLASS}, got about 1e{size / math.log(10):.0f} for "
        f"{relevant} of {patterns} patterns",
    )
    return math.comb(patterns, relevant)


def theorem4(patterns: int, relevant: int) -> float:
    r"""Theorem 4: the number of queries or 1/τ must be at least this.

    .. math:: \tfrac12 \tbinom Dk^{1/3}

    Arguments:
        patterns: D.
        relevant: k.

    >>> round(theorem4(100, 5)), round(theorem4(100, 15))
    (211, 316376)

    Reference: Shi, Wei & Liang (features), Theorem 4, and Blum et al. (1994), Theorem 12.
    """
    return class_size(patterns, relevant) ** (1 / 3) / 2


def exposed_share(targets: int, queries: int, tolerance: float) -> Fraction:
    r"""The share of targets for which some answer must differ from that for random labels, at most.

    .. math:: \frac{Q}{\tau^2 C}

    A query is :math:`q_0(x) + y\,q_1(x)` with :math:`|q_1| \le 1`. Its mean differs from that under random labels by
    :math:`\langle \chi_A, q_1\rangle`. The C parities are orthonormal, so the squares of these numbers add up to at
    most one, and at most :math:`1/\tau^2` of the numbers exceed τ. The bound is ours.

    Arguments:
        targets: C.
        queries: Q.
        tolerance: τ.

    >>> exposed_share(1000, queries=5, tolerance=0.1)
    Fraction(1, 2)
    """
    return min(Fraction(1), Fraction(queries, targets) / _fraction(tolerance) ** 2)


def learnable_share(targets: int, queries: int, tolerance: float, advantage: float) -> Fraction:
    r"""The share of targets that a learner brings to error 1/2 − ε or less, at most.

    .. math:: \frac{Q}{\tau^2 C} + \frac{1}{4\varepsilon^2 C}

    Where no answer differs from that for random labels, the learner ends with the same hypothesis h. Its correlation
    with the target is at least 2ε for at most :math:`1/(4\varepsilon^2)` targets, again because they are orthonormal.

    Arguments:
        targets: C.
        queries: Q.
        tolerance: τ.
        advantage: ε.
    """
    guessed = 1 / (4 * _fraction(advantage) ** 2 * targets)
    return min(Fraction(1), exposed_share(targets, queries, tolerance) + guessed)


def mean_queries(targets: int, tolerance: float) -> float:
    r"""How many queries a learner takes to know the target, at least, in the mean over all targets.

    .. math:: \sum_{Q \ge 0} \max\Bigl(0,\ 1 - \frac{Q}{\tau^2 C} - \frac1C\Bigr) \ge \frac{\tau^2 (C - 1)^2}{2C}

    A term is the share of targets that are not known after Q queries (:func:`learnable_share` with ε = 1/2). The sum of
    falling terms is at least their integral.

    Arguments:
        targets: C.
        tolerance: τ.

    >>> mean_queries(1000, tolerance=1.0)
    499.0005
    """
    return float(_fraction(tolerance) ** 2 * Fraction((targets - 1) ** 2, 2 * targets))


def guess(relevant: int, points: torch.Tensor) -> torch.Tensor:
    r"""A classifier that needs no query: the majority of all parities of k patterns.

    .. math:: h(z) = \operatorname{sign} \sum_{|A| = k} \chi_A(z)

    The sum is a Krawtchouk polynomial of the number of negative signs, so it is quick to compute.

    Arguments:
        relevant: k.
        points: signs ±1, (n, D).
    """
    D = points.shape[1]
    row = _krawtchouk_row(D, relevant)
    signs = torch.tensor([(value > 0) - (value < 0) for value in row], dtype=points.dtype)
    return signs[(points < 0).sum(1)]


def guess_advantage(patterns: int, relevant: int) -> float:
    r"""By how much the error of :func:`guess` lies below 1/2, for every parity of k out of D uniform patterns.

    .. math:: \frac{1}{2C}\,E\Big|\sum_{|A| = k} \chi_A(z)\Big| \le \frac{1}{2\sqrt C}

    The guess is symmetric in the patterns, so all parities have the same correlation with it.

    Arguments:
        patterns: D, at most 2000.
        relevant: k.

    >>> round(guess_advantage(12, 3), 6)
    0.020508
    """
    C = class_size(patterns, relevant)
    require(
        patterns <= LARGEST_GUESS, f"patterns must be at most {LARGEST_GUESS} for the guess's advantage, got {patterns}"
    )
    row = _krawtchouk_row(patterns, relevant)
    total = sum(math.comb(patterns, h) * abs(value) for h, value in enumerate(row))
    return float(Fraction(total, 2 ** (patterns + 1) * C))


def _fraction(number: float) -> Fraction:
    """A decimal number as it is written: 0.1 is 1/10."""
    return Fraction(str(float(number)))


def _krawtchouk_row(D: int, k: int) -> list[int]:
    """The sum of all parities of k coordinates at points with h = 0, …, D negative signs, by the recurrence in k."""
    before, now = [0] * (D + 1), [1] * (D + 1)
    for j in range(k):
        before, now = now, [((D - 2 * h) * now[h] - (D - j + 1) * before[h]) // (j + 1) for h in range(D + 1)]
    return now
