"""Theorem 4 as a certificate: what no learner in the statistical-query model does without input structure."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import torch

from beyondkernels.certificates.certificate import Certificate, Numbers, Verification, written
from beyondkernels.core import Stream, require, require_between, require_whole
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.papers.features.problems import DictionaryProblem, Parity
from beyondkernels.papers.features.statistical_queries.bounds import (
    LARGEST_GUESS,
    class_size,
    exposed_share,
    guess,
    guess_advantage,
    learnable_share,
    theorem4,
)
from beyondkernels.papers.features.statistical_queries.dimension import dimension

_LISTED = 10
"""The most patterns for which verify lists all points of the cube."""


@dataclass(frozen=True)
class StatisticalQueryCertificate(Certificate):
    r"""Theorem 4, and a sharper bound, for every learner that asks Q queries with tolerance τ.

    Patterns are uniform, and the label is the parity of k out of D patterns. The oracle answers as for random labels
    wherever the tolerance allows. Then, for a random target,

    .. math:: \Pr[\text{error} \le \tfrac12 - \varepsilon] \le \frac{Q}{\tau^2 C} + \frac{1}{4\varepsilon^2 C},
        \qquad C = \binom Dk

    (:func:`learnable_share`). The bound is ours. It covers every dictionary and noise, which only make x a function of
    the patterns and of something independent of them.

    Arguments:
        patterns: D.
        relevant: k.
        queries: Q.
        tolerance: τ.
        advantage: ε.

    >>> certificate = StatisticalQueryCertificate(patterns=100, relevant=15, queries=300_000, tolerance=0.01)
    >>> certificate.holds, certificate.targets == math.comb(100, 15), certificate.learnable_share < 1e-7
    (True, True, True)

    Reference: Shi, Wei & Liang (features), Theorem 4 and App. D.
    """

    patterns: int
    relevant: int
    queries: int
    tolerance: float
    advantage: float = 0.01

    def __post_init__(self) -> None:
        class_size(self.patterns, self.relevant)
        require_whole("queries", self.queries)
        require_between("tolerance", self.tolerance, 1e-100, 1)
        require_between("advantage", self.advantage, 1e-100, 0.5)

    @property
    def targets(self) -> int:
        """The number C of parities, which is their statistical-query dimension."""
        return class_size(self.patterns, self.relevant)

    @property
    def learnable_share(self) -> float:
        """The most targets that can be learnt to error 1/2 − ε, as a share."""
        return float(learnable_share(self.targets, self.queries, self.tolerance, self.advantage))

    @property
    def mean_accuracy(self) -> float:
        """The largest mean accuracy over all parities and their opposites: 1/2 + Q/(2τ²C)."""
        return float((1 + exposed_share(self.targets, self.queries, self.tolerance)) / 2)

    @property
    def needed(self) -> float:
        """How many queries every target takes at least: τ²(C − 1/(4ε²)), or 0."""
        least = Fraction(str(float(self.tolerance))) ** 2 * (
            self.targets - 1 / (4 * Fraction(str(float(self.advantage))) ** 2)
        )
        return float(max(Fraction(0), least))

    @property
    def title(self) -> str:
        return "Theorem 4 of Shi, Wei & Liang (features), with the bound that orthogonality gives"

    @property
    def setting(self) -> dict[str, str]:
        return {
            "inputs": f"D = {self.patterns} patterns, each present with probability 1/2, independently",
            "targets": f"the parity of k = {self.relevant} patterns",
            "learners": f"any that ask Q = {self.queries} queries with values in [-1, 1], tolerance τ = "
            f"{self.tolerance:g}",
        }

    @property
    def claim(self) -> str:
        return (
            f"at most the share Q/(τ²C) + 1/(4ε²C) of the targets is learnt to error 1/2 − ε, here ε = "
            f"{self.advantage:g}. Over all parities and their opposites, the mean accuracy is at most 1/2 + Q/(2τ²C). "
            "The paper: to learn every target to an error below 1/2 − 1/C³, either Q or 1/τ must be at least C^(1/3)/2."
        )

    @property
    def numbers(self) -> Numbers:
        found: Numbers = {
            "targets C, their SQ-DIM": self.targets,
            "paper's bound C^(1/3)/2": theorem4(self.patterns, self.relevant),
            "share of targets learnt, at most": self.learnable_share,
            "mean accuracy over parities and opposites, at most": self.mean_accuracy,
            "queries that all targets take, at least": self.needed,
            "paper's 1/C³": float(self.targets) ** -3,
        }
        if self.patterns <= LARGEST_GUESS:
            found["1/2 less the error of a guess without queries"] = guess_advantage(self.patterns, self.relevant)
        return found

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Under which the paper says that no learner succeeds: one of both must be *at least* the bound to succeed."""
        bound = theorem4(self.patterns, self.relevant)
        return (
            Hypothesis("Q < C^(1/3)/2", self.queries, bound, at_least=False, strict=True),
            Hypothesis("1/τ < C^(1/3)/2", 1 / self.tolerance, bound, at_least=False, strict=True),
        )

    @property
    def holds(self) -> bool:
        return self.learnable_share < 1

    @property
    def verdict(self) -> str:
        paper = all(hypothesis.holds for hypothesis in self.hypotheses)
        theirs = "The paper's theorem applies." if paper else "The paper's theorem does not apply."
        if not self.holds:
            return f"{theirs} The bound from orthogonality says nothing: so many queries may serve for every target."
        return (
            f"{theirs} By orthogonality, all but the share {self.learnable_share:.3g} of the targets keep an error "
            f"above 1/2 − {self.advantage:g}; learning all of them takes {written(self.needed)} queries or more."
        )

    def verify(self) -> Verification:
        """Compute C and the guess by sums; for few patterns, list the cube and try random queries and hypotheses.

        With as many queries as are needed, the shares of exposed and of guessed targets add up to one. The mean
        accuracy is 1 on the exposed targets and 1/2 on the others.
        """
        D, k = self.patterns, self.relevant
        C = math.prod(Fraction(D - i, i + 1) for i in range(k))
        exposed = Fraction(self.queries) / Fraction(str(float(self.tolerance))) ** 2
        guessed = (2 * Fraction(str(float(self.advantage)))) ** -2
        pairs = [(self.targets / C, 1.0), (min(1.0, float((exposed + guessed) / C)), self.learnable_share)]
        seen = min(exposed, C)
        pairs.append((float((seen + (C - seen) / 2) / C), self.mean_accuracy))
        shown = Fraction(self.needed) / Fraction(str(float(self.tolerance))) ** 2 / C
        pairs += [(float(shown + min(1, guessed / C)), 1.0), (min(self.needed, 0.0), 0.0)]
        pairs.append(((2 * theorem4(D, k)) ** 3 / float(C), 1.0))
        route = "exact fractions"
        if D <= LARGEST_GUESS // 10:
            row = [
                sum((-1) ** i * math.comb(h, i) * math.comb(D - h, k - i) for i in range(min(h, k) + 1))
                for h in range(D + 1)
            ]
            mean = sum(math.comb(D, h) * abs(value) for h, value in enumerate(row)) / Fraction(2) ** D
            pairs.append((float(mean / 2 / C), guess_advantage(D, k)))
            route += " and the sums of parities by counting signs"
        difference = max(abs(float(one) - float(other)) for one, other in pairs)
        if D <= _LISTED:
            difference = max(difference, self._listed())
            route += ", and a list of the cube"
        return Verification(route, difference, 1e-9).require()

    def _listed(self) -> float:
        """The largest violation of what the bounds say, over the listed cube."""
        D, k = self.patterns, self.relevant
        z = (1 - 2 * ((torch.arange(2**D)[:, None] >> torch.arange(D)) & 1)).double()
        parities = torch.stack([z[:, list(A)].prod(1) for A in itertools.combinations(range(D), k)])
        correlations = parities @ parities.T / len(z)
        found = dimension(correlations)
        worst = float(abs(found.lower - self.targets) + abs(found.upper - self.targets))
        advantages = parities @ guess(k, z) / len(z) / 2
        worst = max(worst, float((advantages - guess_advantage(D, k)).abs().max()))
        tried = Stream(0).child("queries").normal(200, len(z), dtype=torch.float64).sign()
        tried = torch.cat([tried, parities, guess(k, z)[None]])
        seen = (parities @ tried.T / len(z)).abs()
        for level in (self.tolerance, 2 * self.advantage):
            exposed = (seen > level * (1 + 1e-12)).sum(0)
            worst = max(worst, float(exposed.max()) - level**-2)
        return worst


def certify_queries(
    problem: DictionaryProblem, queries: int, tolerance: float, advantage: float = 0.01
) -> StatisticalQueryCertificate:
    """What learners in the statistical-query model cannot do on a problem without input structure.

    Arguments:
        problem: with uniform patterns and parity labels.
        queries: Q.
        tolerance: τ.
        advantage: ε.

    >>> from beyondkernels.papers.features.problems import DictionaryParity
    >>> problem = DictionaryParity(500, 100, relevant=5).without_structure()
    >>> certify_queries(problem, queries=200, tolerance=0.01).holds
    True
    """
    require(
        isinstance(problem, DictionaryProblem), f"problem must be a DictionaryProblem, got {type(problem).__name__}"
    )
    D, k = problem.patterns, problem.relevant
    uniform = all(bool((part.probabilities == 0.5).all()) for part in problem.hidden.products(D, problem.relevant_set))
    require(
        uniform and problem.negative_ratio is None,
        "problem must have uniform patterns and no negative_ratio, since Theorem 4 speaks of learning without input "
        f"structure, got {type(problem.hidden).__name__}; try problem.without_structure()",
    )
    require(
        problem.labels.counts(k) == Parity().counts(k),
        f"problem must have parity labels, which Theorem 4's proof is about, got {problem.labels}",
    )
    return StatisticalQueryCertificate(D, k, queries, tolerance, advantage)
