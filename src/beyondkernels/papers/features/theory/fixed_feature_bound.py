"""Lower bounds on the hinge loss of linear models on fixed features: what Theorem 2 and Corollary 3 share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch

from beyondkernels.certificates.certificate import Certificate
from beyondkernels.core import require, require_between, require_positive, require_whole
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.data.inputs import corners

MOST_PATTERNS = 10_000
"""The most patterns for which the sets of relevant ones are counted exactly."""

_MOST_DIGITS = 300
"""The most digits of the number of sets, which float64 must hold."""

_LARGEST = 1e100
"""The largest norm, which float64 must still multiply."""


def counting_share(size: float, patterns: int, relevant: int) -> float:
    r"""The part of :math:`p_o` that the bound lacks, where the correlations with all parities add up to a size.

    .. math:: q = s \Big/ \sqrt{\tbinom Dk}, \qquad\text{so that the bound is}\quad p_o(1 - q)

    Arguments:
        size: s, which is B√N for N bounded features; the root of a bound on :math:`B^2 \sum_A |E[\Psi\chi_A]|^2`.
        patterns: D.
        relevant: k.

    >>> round(counting_share(size=1.0, patterns=4, relevant=1), 12)
    0.5
    """
    return math.exp(math.log(size) - math.log(math.comb(patterns, relevant)) / 2)


@dataclass(frozen=True)
class FixedFeatureBound(Certificate):
    r"""A bound for the mixture of App. C, whose uniform part makes the labels a parity of k among D fair signs.

    The hinge loss is at least :math:`1 - yh`, and it is never negative on the other part of the mixture. So

    .. math:: E\,\ell(h, y) \ge p_o\,(1 - E_z[h(z)\chi_A(z)])

    Arguments:
        patterns: D.
        relevant: k.
        background: :math:`p_o`, the weight of the uniform part.
    """

    predictors: ClassVar[str]

    patterns: int
    relevant: int
    background: float

    def __post_init__(self) -> None:
        require_whole("patterns", self.patterns)
        require_whole("relevant", self.relevant)
        require(self.patterns <= MOST_PATTERNS, f"patterns must be at most {MOST_PATTERNS}, got {self.patterns}")
        require(
            self.relevant <= self.patterns,
            f"relevant must not exceed patterns, got {self.relevant} relevant of {self.patterns} patterns",
        )
        require_between("background", self.background, 0, 1, "()")
        digits = math.log10(self.targets)
        require(
            digits < _MOST_DIGITS,
            f"the number of sets A must be below 1e{_MOST_DIGITS}, got about 1e{digits:.0f} for {self.relevant} of "
            f"{self.patterns} patterns",
        )

    @property
    def targets(self) -> int:
        """The number C of sets A of k patterns among D."""
        return math.comb(self.patterns, self.relevant)

    @property
    @abstractmethod
    def share(self) -> float:
        """The part of p_o that the bound by counting lacks; from 1 on the bound says nothing."""

    @property
    def bound(self) -> float:
        """The lower bound by counting, on the mean over all A of the best hinge loss."""
        return self.background * (1 - self.share)

    @property
    def setting(self) -> dict[str, str]:
        return {
            "inputs": f"D = {self.patterns} patterns, uniform with probability p_o = {self.background:g}",
            "labels": f"the parity of the patterns in A, k = {self.relevant} of them",
            "predictors": self.predictors,
        }

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Where the paper states its theorem, and what makes the mixture one of its problems.

        The bound by counting needs 1 ≤ k ≤ D alone.
        """
        p, k = self.background, self.relevant
        covariance = p * (1 - 2 * p) ** 2 / (4 * (1 - p))
        return (
            Hypothesis("k > 3, so k ≥ 4", k, 4),
            Hypothesis("k ≤ D/16", k, self.patterns / 16, at_least=False),
            Hypothesis("k is odd, 0 if so", 1 - k % 2, 0, at_least=False),
            Hypothesis("p_o ≤ 1/2", p, 0.5, at_least=False),
            Hypothesis("(A2): two background patterns have covariance 0", covariance, 0, at_least=False),
        )

    @property
    def failing(self) -> str:
        """The hypotheses that fail, in words; nothing if all hold."""
        return "; ".join(hypothesis.text for hypothesis in self.hypotheses if not hypothesis.holds)

    @property
    def counted(self) -> str:
        """The bound by counting in words. It may differ from p_o by less than its digits show, so it says by what."""
        return (
            f"By counting, the mean hinge loss over A is at least {self.bound:.4g}, which is p_o less "
            f"{self.background * self.share:.2g}."
        )

    @property
    def holds(self) -> bool:
        return self.bound > 0


def require_norm(name: str, value: float) -> None:
    """Ask for a positive norm that float64 can square."""
    require_positive(name, value)
    require_between(name, value, 1 / _LARGEST, _LARGEST)


def every_parity(patterns: int, relevant: int) -> torch.Tensor:
    """The parities of all sets A of k patterns on the whole cube, shape (2^D, C)."""
    sets = torch.combinations(torch.arange(patterns), relevant)
    return corners(patterns)[:, sets].prod(2)


def telescoped_log(patterns: int, relevant: int) -> float:
    """The logarithm of C(D, k) as a sum of logarithms of its factors: a second route to it."""
    return math.fsum(math.log((patterns - relevant + i) / i) for i in range(1, relevant + 1))
