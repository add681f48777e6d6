"""Checks of the paper's assumptions on a dictionary problem. A violated assumption is reported, not raised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from beyondkernels.papers.features.problems.dictionaries import coherence
from beyondkernels.papers.features.problems.hidden import Product

if TYPE_CHECKING:
    from beyondkernels.papers.features.problems.dictionary import DictionaryProblem

TOLERANCE = 1e-12
"""The tolerance for exact moments, which are sums of a few hundred float64 terms."""


@dataclass(frozen=True)
class Assumption:
    """One assumption, whether it holds, and the number that says by how much.

    Arguments:
        name: as the paper calls it.
        text: the assumption in words, and what ``measured`` is.
        holds: whether the assumption holds.
        measured: the number that decides ``holds``.
        required: the values of ``measured`` for which the assumption holds.
    """

    name: str
    text: str
    holds: bool
    measured: float
    required: str

    def __str__(self) -> str:
        return f"({self.name}) {'holds' if self.holds else 'fails'}: {self.measured:.6g}, required {self.required}"


def check(problem: DictionaryProblem) -> tuple[Assumption, ...]:
    """Every assumption of the paper on a problem, in the order of the paper.

    Reference: Shi, Wei & Liang (features), §3, (A0)–(A2), (A1'), and App. F.1, (D), (A1), (A2).
    """
    moments, parts = problem.moments, problem.hidden.products(problem.patterns, problem.relevant_set)
    parts = tuple(part for part in parts if part.weight > 0)
    A, background = list(moments.relevant), moments.background_indices
    off_diagonal = moments.covariance.clone()
    off_diagonal.fill_diagonal_(0.0)

    correlations = moments.correlations[A]
    spread = float(correlations.max() - correlations.min())
    identical = _spread(moments.means[background]) <= TOLERANCE
    alone = all(_independent(parts, [j], [i for i in range(problem.patterns) if i != j]) for j in background)
    by_count = moments.presence_by_count[background] - torch.outer(
        moments.means[background], moments.count_distribution
    )
    # a given class ratio makes patterns dependent, although means and covariances may stay the same
    k = len(A)
    coins = torch.tensor([math.comb(k, s) / 2**k for s in range(k + 1)], dtype=torch.float64)
    distance = max(_largest(moments.means - 0.5), _largest(off_diagonal), _largest(moments.count_distribution - coins))
    same_parts = all(_largest(part.probabilities - 0.5) <= TOLERANCE for part in parts)
    mu, allowed = coherence(problem.matrix), problem.dictionary.incoherence

    return (
        Assumption(
            "A0",
            "the classes are balanced; measured: Pr[y = +1]",
            abs(moments.positive - 0.5) <= TOLERANCE,
            moments.positive,
            "= 1/2",
        ),
        Assumption(
            "A1",
            "all relevant patterns have the same positive correlation with the label; measured: the smallest "
            f"E[yφ] − E[y]E[φ] over A, from which the largest differs by {spread:.3g}",
            moments.gamma > TOLERANCE and spread <= TOLERANCE,
            moments.gamma,
            "> 0, equal",
        ),
        Assumption(
            "A2",
            "background patterns are identically distributed, each independent of all other patterns; measured: the "
            "largest covariance (in size) between a background pattern and any other",
            identical and alone,
            _largest(off_diagonal[background]),
            "= 0, independent",
        ),
        Assumption(
            "A1'",
            "all patterns are uniform and independent (no input structure); measured: the largest distance of a mean "
            "from 1/2, of a covariance from 0, or of a count's probability from that of fair coins",
            distance <= TOLERANCE and same_parts,
            distance,
            "= 0, independent",
        ),
        Assumption(
            "D",
            "the dictionary has unit columns with inner products of at most µ/√d; measured: the smallest such µ",
            mu <= allowed + 1e-10 and _largest(problem.matrix.norm(dim=0) - 1) <= 1e-10,
            mu,
            f"≤ {allowed:g}",
        ),
        Assumption(
            "A1 of App. F",
            "the relevant patterns correlate with the label; measured: the smallest "
            "(E[φ | y = +1] − E[φ | y = −1])/2 over A",
            moments.gamma_balanced > TOLERANCE,
            moments.gamma_balanced,
            "> 0",
        ),
        Assumption(
            "A2 of App. F",
            "background patterns are independent of the relevant ones; measured: the largest covariance (in size) "
            "between a background pattern and the event that the count has a given value",
            background_independent(parts, A, background),
            _largest(by_count),
            "= 0, independent",
        ),
    )


def background_independent(parts: Sequence[Product], relevant: list[int], background: list[int]) -> bool:
    """Whether background and relevant patterns are independent. A class ratio, which weights counts, has no effect."""
    return _independent(parts, background, relevant)


def _independent(parts: Sequence[Product], some: list[int], others: list[int]) -> bool:
    """Whether two groups of patterns are independent: the law of ``some`` must not depend on the values of the others.

    Parts of the mixture that give the others equal probabilities are merged first, because the others do not
    distinguish them. Parts that give them different probabilities count as distinguished. For the distributions of this
    package that is exact.
    """
    if len(parts) == 1:  # all patterns are independent
        return True
    joined: dict[tuple[float, ...], dict[tuple[float, ...], float]] = {}
    for part in parts:
        law = joined.setdefault(_key(part.probabilities[others]), {})
        p = _key(part.probabilities[some])
        law[p] = law.get(p, 0.0) + part.weight
    if len(some) == 1:  # for a single pattern only the mean matters
        means = [sum(p[0] * w for p, w in law.items()) / sum(law.values()) for law in joined.values()]
        return max(means) - min(means) <= TOLERANCE
    shares = [{p: w / sum(law.values()) for p, w in law.items()} for law in joined.values()]
    first = shares[0]
    return all(
        share.keys() == first.keys() and all(abs(share[p] - first[p]) <= TOLERANCE for p in share)
        for share in shares[1:]
    )


def _key(probabilities: torch.Tensor) -> tuple[float, ...]:
    return tuple(round(p, 12) for p in probabilities.tolist())


def _largest(values: torch.Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 0.0


def _spread(values: torch.Tensor) -> float:
    return float(values.max() - values.min()) if values.numel() else 0.0
