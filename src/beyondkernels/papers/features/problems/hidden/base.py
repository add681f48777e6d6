"""The base class of distributions of hidden patterns, with sampling and exact moments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from beyondkernels.core import Component, Stream
from beyondkernels.papers.features.problems import counting


@dataclass(frozen=True, eq=False)
class Product:
    """One part of a finite mixture: independent patterns, pattern j present with ``probabilities[j]``.

    Arguments:
        weight: the probability of this part.
        probabilities: float64, one number for each pattern.
    """

    weight: float
    probabilities: torch.Tensor


class HiddenPatterns(Component, ABC):
    r"""A distribution of :math:`\tilde\phi \in \{0,1\}^D`, written as a finite mixture of product distributions.

    .. math:: \Pr[\tilde\phi] = \sum_c w_c \prod_j p_{cj}^{\tilde\phi_j} (1 - p_{cj})^{1 - \tilde\phi_j}

    A subclass defines :meth:`products`; samples and moments follow from it. In all methods, ``patterns`` is D and
    ``relevant`` lists the k indices of A. Moments are exact sums, not estimates.

    Reference: Shi, Wei & Liang (features), §3 and App. C.
    """

    @abstractmethod
    def products(self, patterns: int, relevant: Sequence[int]) -> tuple[Product, ...]:
        """The parts of the mixture; their weights sum to one."""

    def check(self, patterns: int, relevant: int) -> None:
        """Raise an :class:`InputError` if this distribution does not fit D patterns of which k are relevant."""

    def sample(self, n: int, patterns: int, relevant: Sequence[int], stream: Stream) -> torch.Tensor:
        """Draw n hidden vectors, (n, D) int8; a shorter sample from the same stream is a prefix of a longer one."""
        parts = self.products(patterns, relevant)
        # float32 uniforms have 24 bits: a probability is accurate to 6e-8, and 0 and 1 are exact.
        table = torch.stack([part.probabilities for part in parts]).to(torch.float32)
        draws = stream.child("presence").uniform(n, patterns)
        if len(parts) == 1:
            return (draws < table[0]).to(torch.int8)
        ends = torch.tensor([part.weight for part in parts], dtype=torch.float64).cumsum(0)[:-1]
        which = torch.searchsorted(ends, stream.child("part").uniform(n, dtype=torch.float64), right=True)
        return (draws < table[which]).to(torch.int8)

    def means(self, patterns: int, relevant: Sequence[int]) -> torch.Tensor:
        r""":math:`E[\tilde\phi_j]`, (D,) float64."""
        weights, table = stack(self.products(patterns, relevant))
        return weights @ table

    def variances(self, patterns: int, relevant: Sequence[int]) -> torch.Tensor:
        r""":math:`Var(\tilde\phi_j) = E[\tilde\phi_j](1 - E[\tilde\phi_j])`, (D,) float64."""
        means = self.means(patterns, relevant)
        return means * (1 - means)

    def covariance(self, patterns: int, relevant: Sequence[int]) -> torch.Tensor:
        r""":math:`Cov(\tilde\phi_i, \tilde\phi_j)`, (D, D) float64."""
        weights, table = stack(self.products(patterns, relevant))
        centred = table - weights @ table
        within = torch.diag(weights @ (table * (1 - table)))
        return centred.T @ (weights[:, None] * centred) + within

    def count_distribution(self, patterns: int, relevant: Sequence[int]) -> torch.Tensor:
        r""":math:`\Pr[\sum_{i \in A} \tilde\phi_i = s]` for s = 0, …, k, (k + 1,) float64."""
        weights, table = stack(self.products(patterns, relevant))
        return weights @ torch.stack([counting.count_distribution(row[list(relevant)]) for row in table])

    def presence_by_count(self, patterns: int, relevant: Sequence[int]) -> torch.Tensor:
        r""":math:`\Pr[\tilde\phi_j = 1, \sum_{i \in A} \tilde\phi_i = s]`, (D, k + 1) float64."""
        weights, table = stack(self.products(patterns, relevant))
        rows = [counting.presence_by_count(row, relevant) for row in table]
        return torch.einsum("c,cjs->js", weights, torch.stack(rows))

    def pairs_by_weighted_count(self, patterns: int, relevant: Sequence[int], weight: torch.Tensor) -> torch.Tensor:
        r""":math:`E[\tilde\phi_i \tilde\phi_j r(\text{count})]` for a weight r(0), …, r(k) of the count, (D, D)."""
        weights, table = stack(self.products(patterns, relevant))
        rows = [counting.pairs_by_weighted_count(row, relevant, weight) for row in table]
        return torch.einsum("c,cij->ij", weights, torch.stack(rows))


def stack(parts: Sequence[Product]) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights (c,) and probabilities (c, D) of a mixture."""
    weights = torch.tensor([part.weight for part in parts], dtype=torch.float64)
    return weights, torch.stack([part.probabilities for part in parts])
