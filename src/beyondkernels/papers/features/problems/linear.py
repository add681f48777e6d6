r"""The exact accuracy of the best linear classifier on a dictionary problem.

Without noise and with linearly independent columns, the input is an invertible affine image of the patterns, so a
linear classifier of x is a linear threshold function of :math:`\tilde\phi`. This module computes two accuracies: of the
best threshold of the count :math:`\sum_{i \in A} \tilde\phi_i`, in every case, and of the best among all linear
threshold functions, in some cases. The second may be larger (parity of three patterns in the structured mixture at p_o
= 1/2: 13/16 by the count, 7/8 with the weights 1, 1, −1).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

LARGEST_WEIGHT = {1: 1, 2: 1, 3: 2, 4: 3, 5: 5}
"""By number of bits: integer weights up to this size give all 4, 14, 104, 1882 or 94572 threshold functions."""


def best_count_threshold(distribution: torch.Tensor, signs: torch.Tensor, noise_std: float = 0.0) -> float:
    r"""The accuracy of the best classifier that compares the count with a threshold, in either direction.

    .. math:: \max_{\theta, \pm} \Pr[\mathrm{sign}(\pm(s + \epsilon - \theta)) = y(s)],
        \qquad \epsilon \sim N(0, \mathrm{noise\_std}^2)

    Exact without noise; with noise the optimal threshold is found numerically, to about 1e-9 in accuracy.

    Arguments:
        distribution: of the count s = 0, …, k.
        signs: the label y(s) of each count.
        noise_std: the standard deviation of the noise on the count that a linear classifier computes.

    >>> fair = torch.tensor([1.0, 3.0, 3.0, 1.0], dtype=torch.float64) / 8
    >>> best_count_threshold(fair, torch.tensor([-1.0, 1.0, -1.0, 1.0], dtype=torch.float64))
    0.75
    """
    g = distribution * signs  # for each count, the gain in accuracy of predicting +1 instead of −1
    negative = float(distribution[signs < 0].sum())
    if noise_std == 0:
        up = negative + torch.cat([g.flip(0).cumsum(0), torch.zeros(1, dtype=torch.float64)])
        return min(1.0, max(float(up.max()), 1 - float(up.min())))  # rounding may give a number just above one
    counts, gains = torch.arange(len(g), dtype=torch.float64).numpy(), g.numpy()

    def accuracy(theta: float) -> float:
        return negative + float(gains @ ndtr((counts - theta) / noise_std))

    # The accuracy varies on the scale noise_std. If that is far below one, only half-integer thresholds matter.
    unit = max(1.0, noise_std) / 64
    start, end = -10 * max(1.0, noise_std), len(g) + 10 * max(1.0, noise_std)
    grid = [start + unit * i for i in range(int((end - start) / unit) + 1)]
    values = [accuracy(theta) for theta in grid]
    found = []
    for sign in (1.0, -1.0):
        theta = max(zip(values, grid, strict=True), key=lambda pair: sign * pair[0])[1]
        near: Any = minimize_scalar(
            lambda t, s=sign: -s * accuracy(t), bounds=(theta - unit, theta + unit), method="bounded"
        )
        found.append(max(sign * accuracy(theta), sign * accuracy(float(near.x))))
    return min(1.0, max(found[0], 1 + found[1]))


def parity_accuracy(relevant: int, uniform: float = 1.0) -> float:
    r"""The best linear accuracy for a parity, if patterns are uniform with probability p, and otherwise all or none.

    .. math:: (1 - p) + \frac p2 \left(1 + 2^{-(k-1)} \binom{k-1}{\lfloor (k-1)/2 \rfloor}\right)

    Upper bound: on the other part no error is needed. On the uniform part, fix the background and flip variables until
    all weights are nonnegative. A monotone f has :math:`|\hat f([k])| \le \hat f(\{i\})` for each i, and :math:`\sum_i
    \hat f(\{i\})` is largest for the majority. One classifier attains both: a majority of the patterns with none (k mod
    4 = 1), one (3) or half (k even) of them negated. A threshold of the plain count reaches it at every k for p = 1;
    for p ≤ 1/2 at k mod 4 = 1 only.

    Arguments:
        relevant: k.
        uniform: p, the weight of the uniform part: :math:`p_o` in the structured mixture, 1 without structure.

    >>> parity_accuracy(relevant=5, uniform=0.5)
    0.84375

    Reference: Shi, Wei & Liang (features), App. C for the distribution.
    """
    k, p = relevant, uniform
    return (1 - p) + p / 2 * (1 + math.comb(k - 1, (k - 1) // 2) / 2 ** (k - 1))


def best_linear_threshold(probabilities: torch.Tensor, signs: torch.Tensor, symmetric: bool) -> float:
    r"""The accuracy of the best linear threshold function of k ≤ 5 bits, over all weights, by enumeration.

    .. math:: \max_{w, \theta} \Pr[\mathrm{sign}(\langle w, \phi \rangle - \theta) = y]

    Arguments:
        probabilities: of each point of {0, 1}^k, in the order of :func:`corners`.
        signs: the label of each point.
        symmetric: whether both are invariant under permutations of the bits. Then sorted weights suffice.
    """
    points = corners(round(math.log2(len(signs))))
    gains = probabilities * signs
    k = points.shape[1]
    bound = LARGEST_WEIGHT[k]
    values = range(-bound, bound + 1)
    choices = itertools.combinations_with_replacement(values, k) if symmetric else itertools.product(values, repeat=k)
    scores, order = (torch.tensor(list(choices), dtype=torch.int16) @ points.T.to(torch.int16)).sort(dim=1)
    sums = gains[order].cumsum(1)[:, :-1]
    # Predict +1 below a threshold, which must lie between two different scores; −w gives the other direction.
    # A constant is never better: cutting off one corner of the other class is linear and gains that corner.
    below = float(sums[scores[:, 1:] != scores[:, :-1]].max())
    return min(1.0, float(probabilities[signs < 0].sum()) + below)


def corners(bits: int) -> torch.Tensor:
    """All points of {0, 1}^bits, (2^bits, bits) int8."""
    return (torch.arange(2**bits)[:, None] >> torch.arange(bits) & 1).to(torch.int8)
