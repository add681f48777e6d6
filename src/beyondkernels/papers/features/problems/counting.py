r"""Exact sums over independent patterns, by the number of relevant patterns that are present.

For independent :math:`\tilde\phi_j` with probabilities :math:`p_j`, the count :math:`\sum_{i \in A} \tilde\phi_i` is
Poisson binomial. This module computes its distribution, and the first and second moments of the patterns jointly with
it. Each is a finite sum in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def count_distribution(probabilities: torch.Tensor) -> torch.Tensor:
    r"""The distribution of the number of successes of independent trials, by adding one trial after the other.

    .. math:: q_{i}(s) = (1 - p_i)\, q_{i-1}(s) + p_i\, q_{i-1}(s - 1)

    >>> count_distribution(torch.tensor([0.5, 0.5], dtype=torch.float64)).tolist()
    [0.25, 0.5, 0.25]
    """
    q = torch.zeros(len(probabilities) + 1, dtype=torch.float64)
    q[0] = 1.0
    for p in probabilities.tolist():
        q[1:] = (1 - p) * q[1:] + p * q[:-1]
        q[0] *= 1 - p
    return q


def presence_by_count(probabilities: torch.Tensor, relevant: Sequence[int]) -> torch.Tensor:
    r"""Each pattern's presence jointly with the count.

    .. math:: \Pr[\tilde\phi_j = 1, \text{count} = s] =
        p_j q(s) \; (j \notin A), \qquad p_j q_{A \setminus j}(s - 1) \; (j \in A)

    Arguments:
        probabilities: of all D patterns.
        relevant: the indices of A.

    Returns:
        (D, k + 1).
    """
    without = _LeaveOut(probabilities, relevant)
    table = torch.outer(probabilities, without())
    for i in relevant:
        table[i] = probabilities[i] * torch.nn.functional.pad(without(i), (1, 0))
    return table


def pairs_by_weighted_count(probabilities: torch.Tensor, relevant: Sequence[int], weight: torch.Tensor) -> torch.Tensor:
    r"""Second moments of the patterns under a weight of the count.

    .. math:: E[\tilde\phi_i \tilde\phi_j r(\text{count})] = p_i p_j \, E[r(\text{count}) \mid
        \tilde\phi_i = \tilde\phi_j = 1]

    Arguments:
        probabilities: of all D patterns.
        relevant: the indices of A.
        weight: r(0), …, r(k).

    Returns:
        (D, D); its diagonal holds :math:`E[\tilde\phi_i r]`.
    """
    without = _LeaveOut(probabilities, relevant)
    r = weight
    conditional = torch.full((len(probabilities),) * 2, float(without() @ r), dtype=torch.float64)
    first = conditional[0, 0].repeat(len(probabilities))
    for i in relevant:
        conditional[i, :] = conditional[:, i] = first[i] = without(i) @ r[1:]
    for i in relevant:
        for j in relevant:
            if i != j:
                conditional[i, j] = without(i, j) @ r[2:]
    pairs = torch.outer(probabilities, probabilities) * conditional
    pairs.diagonal().copy_(probabilities * first)
    return pairs


class _LeaveOut:
    """Count distributions of A without some of its patterns; patterns of equal probability share the work."""

    def __init__(self, probabilities: torch.Tensor, relevant: Sequence[int]) -> None:
        self._p = {i: float(probabilities[i]) for i in relevant}
        self._found: dict[tuple[float, ...], torch.Tensor] = {}

    def __call__(self, *without: int) -> torch.Tensor:
        key = tuple(sorted(self._p[i] for i in without))
        if key not in self._found:
            rest = [p for i, p in self._p.items() if i not in without]
            self._found[key] = count_distribution(torch.tensor(rest, dtype=torch.float64))
        return self._found[key]
