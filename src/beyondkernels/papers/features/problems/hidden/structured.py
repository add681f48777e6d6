"""The structured mixture: most inputs show all relevant patterns or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core.constraints import between
from beyondkernels.papers.features.problems.hidden.base import HiddenPatterns, Product


@dataclass(frozen=True)
class StructuredMixture(HiddenPatterns):
    r"""Uniform patterns with probability :math:`p_o`; otherwise all relevant patterns are present or none is.

    .. math:: D_{\tilde\phi} = p_o D^{(0)} + (1 - p_o) D^{(1)}

    :math:`D^{(0)}` is uniform. In :math:`D^{(1)}` background patterns are independent with probability
    :math:`p_o / (2 - 2 p_o)` and the relevant ones are all 0 or all 1, with probability 1/2 each. So every background
    pattern has probability :math:`p_o`, every relevant one 1/2. Background patterns are drawn from the same part, so
    they are correlated, with covariance :math:`p_o (1 - 2 p_o)^2 / (4 (1 - p_o))`. Hence (A2) holds only at :math:`p_o
    = 1/2`.

    Arguments:
        background: :math:`p_o`, in (0, 1/2].

    >>> mixture = StructuredMixture(background=0.5)
    >>> mixture.count_distribution(10, (0, 1, 2)).tolist()
    [0.3125, 0.1875, 0.1875, 0.3125]

    Reference: Shi, Wei & Liang (features), App. C and E.1.1.
    """

    background: Annotated[float, between(0, 0.5, "(]")] = 0.5

    def products(self, patterns: int, relevant: Sequence[int]) -> tuple[Product, ...]:
        """The uniform part, then the parts with none and with all of the relevant patterns."""
        p_o, A = self.background, list(relevant)
        parts = [Product(p_o, torch.full((patterns,), 0.5, dtype=torch.float64))]
        # A single relevant pattern that is 0 or 1 with probability 1/2 each is a fair coin: one product, not two.
        for presence in (0.0, 1.0) if len(A) > 1 else (0.5,):
            p = torch.full((patterns,), p_o / (2 - 2 * p_o), dtype=torch.float64)
            p[A] = presence
            parts.append(Product((1 - p_o) / (2 if len(A) > 1 else 1), p))
        return tuple(parts)
