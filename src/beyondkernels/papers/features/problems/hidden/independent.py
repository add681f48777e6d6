"""Independent patterns, each with its own probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import require
from beyondkernels.core.constraints import between
from beyondkernels.papers.features.problems.hidden.base import HiddenPatterns, Product


@dataclass(frozen=True)
class IndependentPatterns(HiddenPatterns):
    r"""Independent patterns with their own probabilities.

    .. math:: \Pr[\tilde\phi_i = 1] = p_r \; (i \in A), \qquad \Pr[\tilde\phi_j = 1] = p_o \; (j \notin A)

    Arguments:
        relevant: :math:`p_r`, one number for all relevant patterns or a tuple of k numbers in the order of A.
        background: :math:`p_o`, one number or a tuple of D − k numbers in the order of the other patterns.

    >>> IndependentPatterns(relevant=2 / 3, background=0.25).means(4, (1, 2)).round(decimals=3).tolist()
    [0.25, 0.667, 0.667, 0.25]

    Reference: Shi, Wei & Liang (features), App. E.1.2.
    """

    relevant: Annotated[float | tuple[float, ...], between(0, 1)] = 0.5
    background: Annotated[float | tuple[float, ...], between(0, 1)] = 0.5

    def __post_init__(self) -> None:
        for name in ("relevant", "background"):
            value = getattr(self, name)
            # Equal distributions must have equal descriptions, so 1 becomes 1.0.
            object.__setattr__(self, name, value if isinstance(value, tuple) else float(value))

    def check(self, patterns: int, relevant: int) -> None:
        """A tuple must name every pattern of its kind."""
        for name, size in (("relevant", relevant), ("background", patterns - relevant)):
            value = getattr(self, name)
            if isinstance(value, tuple):
                require(len(value) == size, f"{name} must hold {size} probabilities or be one number, got {len(value)}")

    def products(self, patterns: int, relevant: Sequence[int]) -> tuple[Product, ...]:
        self.check(patterns, len(relevant))
        p = torch.empty(patterns, dtype=torch.float64)
        others = [j for j in range(patterns) if j not in set(relevant)]
        p[list(relevant)] = torch.tensor(self.relevant, dtype=torch.float64)
        p[others] = torch.tensor(self.background, dtype=torch.float64)
        return (Product(1.0, p),)
