"""Learners that see no data: they ask an oracle and give hypotheses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch

from beyondkernels.core import Component, Stream
from beyondkernels.papers.features.statistical_queries.oracle import Oracle

Hypothesis: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""From points (n, d) to scores (n,), whose signs are the predictions."""


class QueryMethod(Component, ABC):
    """A learner in the statistical-query model."""

    @abstractmethod
    def learn(self, oracle: Oracle, stream: Stream) -> Iterator[Hypothesis]:
        """Ask, and give a hypothesis whenever there is a better one; the last one counts.

        A :class:`BudgetSpentError` of the oracle ends it and may pass through.

        Arguments:
            oracle: all that is known of the problem.
            stream: for what the learner draws itself.
        """
