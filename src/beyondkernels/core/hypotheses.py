"""A theorem's hypotheses, checked with numbers: reported, never enforced."""

from __future__ import annotations

import math
from dataclasses import dataclass

_ROUNDING = 1e-12


class WithHypotheses:
    """Settings that a theorem gives, with what it asks for."""

    hypotheses: tuple[Hypothesis, ...]

    @property
    def missed(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that do not hold."""
        return tuple(hypothesis for hypothesis in self.hypotheses if not hypothesis.holds)


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis of a theorem and how a case stands to it.

    Arguments:
        text: what the theorem asks.
        measured: the number on the left.
        bound: the number on the right, with the theorem's hidden constant as given.
        at_least: whether ``measured`` must reach ``bound`` (otherwise it must not exceed it).
        strict: whether equality does not do.

    >>> print(Hypothesis("m ≥ D", measured=300, bound=100))
    holds by a factor 3: m ≥ D (300 against 100)
    """

    text: str
    measured: float
    bound: float
    at_least: bool = True
    strict: bool = False

    @property
    def holds(self) -> bool:
        """Whether it holds, up to the rounding of exact moments: relative to the bound, absolute where that is zero."""
        ahead = self.measured >= self.bound if self.at_least else self.measured <= self.bound
        least = 0.0 if self.bound else _ROUNDING
        equal = math.isclose(self.measured, self.bound, rel_tol=_ROUNDING, abs_tol=least)
        return ahead and not equal if self.strict else ahead or equal

    @property
    def factor(self) -> float:
        """By how much: above one it holds, below one it misses."""
        top, bottom = (self.measured, self.bound) if self.at_least else (self.bound, self.measured)
        return top / bottom if bottom else math.inf

    def __str__(self) -> str:
        if self.bound == 0:
            return f"{'holds' if self.holds else 'fails'}: {self.text} ({self.measured:.4g})"
        factor = self.factor if self.holds else 1 / self.factor if self.factor else math.inf
        verdict = "holds" if self.holds else "misses"
        return f"{verdict} by a factor {factor:.3g}: {self.text} ({self.measured:.4g} against {self.bound:.4g})"
