"""Uniform patterns: input structure removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from beyondkernels.papers.features.problems.hidden.base import HiddenPatterns, Product


@dataclass(frozen=True)
class UniformPatterns(HiddenPatterns):
    r"""Every pattern is present with probability 1/2, independently: learning without input structure, (A1').

    .. math:: \tilde\phi \sim \mathrm{Uniform}(\{0,1\}^D)

    >>> UniformPatterns().means(3, (0,)).tolist()
    [0.5, 0.5, 0.5]

    Reference: Shi, Wei & Liang (features), §3, (A1').
    """

    def products(self, patterns: int, relevant: Sequence[int]) -> tuple[Product, ...]:
        return (Product(1.0, torch.full((patterns,), 0.5, dtype=torch.float64)),)
