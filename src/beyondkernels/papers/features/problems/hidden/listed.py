"""Relevant patterns that form one of a list of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import require
from beyondkernels.core.constraints import between, not_empty
from beyondkernels.papers.features.problems.hidden.base import HiddenPatterns, Product


@dataclass(frozen=True)
class ListedPatterns(HiddenPatterns):
    r"""The relevant patterns form one of a list of binary vectors; background patterns are independent.

    .. math:: \tilde\phi_A \sim \mathrm{Uniform}\{v_1, \ldots, v_N\}, \qquad
        \Pr[\tilde\phi_j = 1] = p_o \; (j \notin A)

    Arguments:
        vectors: :math:`v_1, \ldots, v_N`, each with a 0 or 1 for every relevant pattern in the order of A.
        background: :math:`p_o`.

    >>> ListedPatterns(((0, 0), (1, 0))).means(3, (0, 2)).tolist()
    [0.5, 0.5, 0.0]

    Reference: Shi, Wei & Liang (features), App. E.3.1.
    """

    vectors: Annotated[tuple[tuple[int, ...], ...], not_empty, between(0, 1)]
    background: Annotated[float, between(0, 1)] = 0.5

    def check(self, patterns: int, relevant: int) -> None:
        """Every vector has an entry for each relevant pattern."""
        wrong = sorted({len(vector) for vector in self.vectors} - {relevant})
        require(
            not wrong,
            f"vectors must each hold {relevant} entries, one for each relevant pattern, got {(*wrong, '')[0]}",
        )

    def products(self, patterns: int, relevant: Sequence[int]) -> tuple[Product, ...]:
        """One part for each vector."""
        self.check(patterns, len(relevant))
        table = torch.full((len(self.vectors), patterns), self.background, dtype=torch.float64)
        table[:, list(relevant)] = torch.tensor(self.vectors, dtype=torch.float64)
        return tuple(Product(1 / len(self.vectors), row) for row in table)
