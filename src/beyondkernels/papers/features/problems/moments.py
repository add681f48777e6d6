"""The exact moments of the patterns and labels of a dictionary problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from beyondkernels.papers.features.problems.hidden import HiddenPatterns


@dataclass(frozen=True, eq=False)
class Moments:
    r"""Exact moments of hidden patterns and label; tensors are float64.

    Arguments:
        means: :math:`E[\tilde\phi_j]`, (D,).
        covariance: :math:`Cov(\tilde\phi_i, \tilde\phi_j)`, (D, D).
        count_distribution: :math:`\Pr[\sum_{i \in A} \tilde\phi_i = s]`, (k + 1,).
        presence_by_count: :math:`\Pr[\tilde\phi_j = 1, \text{count} = s]`, (D, k + 1).
        signs: the label of each count, (k + 1,) of ±1.
        relevant: the indices of A.
        variance: :math:`\tilde\sigma^2 = E\|\tilde x - E\tilde x\|^2`, the variance of the data.

    Reference: Shi, Wei & Liang (features), §3, (A0)–(A2), and App. F.1.
    """

    means: torch.Tensor
    covariance: torch.Tensor
    count_distribution: torch.Tensor
    presence_by_count: torch.Tensor
    signs: torch.Tensor
    relevant: tuple[int, ...]
    variance: float

    @property
    def variances(self) -> torch.Tensor:
        r""":math:`Var(\tilde\phi_j)`, (D,)."""
        return self.means * (1 - self.means)

    @property
    def scale(self) -> float:
        r""":math:`\tilde\sigma`: inputs are divided by it."""
        return self.variance**0.5

    @property
    def positive(self) -> float:
        r""":math:`\Pr[y = +1]`."""
        return float(self.count_distribution[self.signs > 0].sum())

    @property
    def negative(self) -> float:
        r""":math:`\Pr[y = -1]`."""
        return float(self.count_distribution[self.signs < 0].sum())

    @property
    def p_min(self) -> float:
        r""":math:`p_{\min}`, the probability of the rarer class."""
        return min(self.positive, self.negative)

    @property
    def means_given_positive(self) -> torch.Tensor:
        r""":math:`E[\tilde\phi_j \mid y = +1]`, (D,)."""
        return self.presence_by_count[:, self.signs > 0].sum(1) / self.positive

    @property
    def means_given_negative(self) -> torch.Tensor:
        r""":math:`E[\tilde\phi_j \mid y = -1]`, (D,)."""
        return self.presence_by_count[:, self.signs < 0].sum(1) / self.negative

    @property
    def correlations(self) -> torch.Tensor:
        r""":math:`E[y\tilde\phi_j] - E[y]E[\tilde\phi_j]` of every pattern, (D,): (A1) of the main text."""
        return self.presence_by_count @ self.signs - (self.positive - self.negative) * self.means

    @property
    def balanced_correlations(self) -> torch.Tensor:
        r""":math:`(\gamma_{+1} + \gamma_{-1})/2` with :math:`\gamma_v = E[y\tilde\phi_j \mid y = v]`, (D,): App. F.

        It is the correlation of the main text divided by :math:`4 \Pr[y=+1] \Pr[y=-1]`, which is 1 for balanced
        classes.
        """
        return (self.means_given_positive - self.means_given_negative) / 2

    @property
    def gamma(self) -> float:
        """γ of the main text: the smallest of ``correlations`` over A, all of which are equal under (A1)."""
        return float(self.correlations[list(self.relevant)].min())

    @property
    def gamma_balanced(self) -> float:
        """γ of App. F: the smallest of ``balanced_correlations`` over A."""
        return float(self.balanced_correlations[list(self.relevant)].min())

    @property
    def class_weights(self) -> tuple[float, float]:
        r""":math:`\alpha_v = 1/(2\Pr[y = v])` of App. F.1.1 for v = −1 and +1, under which both classes count alike."""
        return 1 / (2 * self.negative), 1 / (2 * self.positive)

    @property
    def background_indices(self) -> list[int]:
        """The patterns outside A."""
        return sorted(set(range(len(self.means))) - set(self.relevant))

    @property
    def background(self) -> float | None:
        r""":math:`p_o`, the probability of a background pattern: the smallest of them, or None if there is none."""
        others = self.background_indices
        return float(self.means[others].min()) if others else None


def moments(
    hidden: HiddenPatterns,
    relevant: Sequence[int],
    signs: torch.Tensor,
    gram: torch.Tensor | None,
    patterns: int,
    noise_variance: float,
    negative_ratio: float | None,
) -> Moments:
    r"""Exact moments of patterns and labels.

    .. math:: \tilde\sigma^2 = \sum_{ij} \langle M_i, M_j \rangle Cov(\tilde\phi_i, \tilde\phi_j) + d\sigma_\zeta^2

    For orthonormal columns or uncorrelated patterns this equals :math:`\sum_j Var(\tilde\phi_j) + d\sigma_\zeta^2`, as
    in App. F.1.1. Under a class ratio every probability is weighted by :math:`r(s) = \Pr'[y] / \Pr[y]`, y being the
    label of the count s.

    Arguments:
        hidden: the distribution of the patterns.
        relevant: the indices of A.
        signs: the label of each count.
        gram: :math:`M^\top M`, or None for orthonormal columns.
        patterns: D.
        noise_variance: :math:`d\sigma_\zeta^2`.
        negative_ratio: :math:`\Pr'[y = -1]`, or None for the probability that the patterns imply.

    Both classes must have a positive probability, so some relevant pattern varies and the variance is positive.
    """
    A = tuple(relevant)
    counts = hidden.count_distribution(patterns, A)
    presence = hidden.presence_by_count(patterns, A)
    positive, negative = float(counts[signs > 0].sum()), float(counts[signs < 0].sum())
    if negative_ratio is None:
        means, covariance = hidden.means(patterns, A), hidden.covariance(patterns, A)
    else:
        r = ((1 - negative_ratio) / positive) * (signs > 0).double() + (negative_ratio / negative) * (
            signs < 0
        ).double()
        counts, presence = counts * r, presence * r
        means = presence.sum(1)
        covariance = hidden.pairs_by_weighted_count(patterns, A, r) - torch.outer(means, means)
    total = float(covariance.trace() if gram is None else (gram * covariance).sum()) + noise_variance
    return Moments(means, covariance, counts, presence, signs, A, total)
