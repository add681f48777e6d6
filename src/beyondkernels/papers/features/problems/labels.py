"""Label sets: the numbers of present relevant patterns for which y = +1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from beyondkernels.core import Component, require, require_positive


class LabelSet(Component, ABC):
    r"""A set P of counts: :math:`y = +1` if :math:`\sum_{i \in A} \tilde\phi_i \in P`, otherwise −1.

    A subclass defines :meth:`members`. Reference: Shi, Wei & Liang (features), §3, eq. (1).
    """

    @abstractmethod
    def members(self, relevant: int) -> tuple[int, ...]:
        """The counts of P for k relevant patterns, in any order."""

    def counts(self, relevant: int) -> tuple[int, ...]:
        """P in increasing order, after checking that it is a proper, non-empty subset of 0, …, k."""
        require_positive("relevant", relevant)
        P = tuple(sorted(set(self.members(relevant))))
        require(len(P) > 0, f"labels must name at least one count, got {self} for {relevant} relevant patterns")
        require(
            P[0] >= 0 and P[-1] <= relevant,
            f"labels must name counts from 0 to {relevant}, the number of relevant patterns, got {P}",
        )
        require(len(P) <= relevant, f"labels must leave out at least one count of 0 to {relevant}, got all of them")
        return P

    def signs(self, relevant: int) -> torch.Tensor:
        """The label of each count 0, …, k: (k + 1,) float64 of ±1."""
        y = torch.full((relevant + 1,), -1.0, dtype=torch.float64)
        y[list(self.counts(relevant))] = 1.0
        return y


@dataclass(frozen=True)
class Parity(LabelSet):
    r"""Odd counts: :math:`P = \{s : s \text{ odd}\}`.

    >>> Parity().counts(5)
    (1, 3, 5)

    Reference: Shi, Wei & Liang (features), Example 2.
    """

    def members(self, relevant: int) -> tuple[int, ...]:
        """Odd counts."""
        return tuple(range(1, relevant + 1, 2))


@dataclass(frozen=True)
class Threshold(LabelSet):
    r"""More than half of the relevant patterns: :math:`P = \{s : s > k/2\}`.

    >>> Threshold().counts(5)
    (3, 4, 5)

    Reference: Shi, Wei & Liang (features), Example 1.
    """

    def members(self, relevant: int) -> tuple[int, ...]:
        """Counts above k/2."""
        return tuple(range(relevant // 2 + 1, relevant + 1))


@dataclass(frozen=True)
class Interval(LabelSet):
    r"""Counts in an interval: :math:`P = \{s : t_1 \le s \le t_2\}`.

    Arguments:
        low: :math:`t_1`.
        high: :math:`t_2`.

    >>> Interval(low=1, high=3).counts(5)
    (1, 2, 3)

    Reference: Shi, Wei & Liang (features), App. E.1.2.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        require(self.low <= self.high, f"low must not exceed high, got low {self.low} and high {self.high}")

    def members(self, relevant: int) -> tuple[int, ...]:
        """Counts from low to high."""
        return tuple(range(self.low, self.high + 1))


@dataclass(frozen=True)
class Counts(LabelSet):
    """Any set of counts.

    Arguments:
        values: the counts of P.

    >>> Counts((4, 0)).counts(5)
    (0, 4)

    Reference: Shi, Wei & Liang (features), §3, eq. (1).
    """

    values: tuple[int, ...]

    def __post_init__(self) -> None:
        # Equal sets must have equal descriptions.
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))

    def members(self, relevant: int) -> tuple[int, ...]:
        return self.values
