"""A learner that asks for correlations: of coordinates with the label, then of parities with the label."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Stream, require
from beyondkernels.core.constraints import at_most, positive
from beyondkernels.papers.features.statistical_queries.bounds import guess
from beyondkernels.papers.features.statistical_queries.oracle import Oracle
from beyondkernels.papers.features.statistical_queries.rule import Hypothesis, QueryMethod

LISTED = 100_000
"""The most sets that are listed, so that none is asked twice."""

FOUND = 0.5
"""A parity whose correlation with the label is above this is the answer."""


@dataclass(frozen=True)
class CorrelationSearch(QueryMethod):
    r"""Asks for :math:`E[y x_j]` of every coordinate, then for :math:`E[y \prod_{j \in S} x_j]` of sets S.

    The first hypothesis is the vote of all coordinates, weighted by their correlations. The first set S holds the k
    coordinates with the largest correlations. With input structure these are the relevant ones. The other sets come in
    random order. The search ends when a parity correlates with the label by more than 1/2, or when the budget is spent.

    Arguments:
        relevant: k, the size of the sets.
        batch: how many sets are asked for at once.
    """

    relevant: Annotated[int, positive]
    batch: Annotated[int, positive, at_most(100_000)] = 500

    def learn(self, oracle: Oracle, stream: Stream) -> Iterator[Hypothesis]:
        """The vote, and whenever a parity correlates more than all before, that parity."""
        d, k = oracle.in_dim, self.relevant
        require(k <= d, f"relevant must not exceed the {d} coordinates that there are, got {k}")
        singles = oracle.ask(lambda x, y: y[:, None] * x.clamp(-1, 1))
        yield lambda x: x @ singles.to(x.dtype)
        best, first = 0.0, singles.abs().argsort(descending=True, stable=True)[:k].sort().values[None]
        for sets in itertools.chain([first], self._others(d, stream)):
            wanted = sets[: oracle.left]
            if not len(wanted):
                return
            answers = oracle.ask_products(lambda _, y: y, lambda x, wanted=wanted: parities(x, wanted))[0]
            place = int(answers.abs().argmax())
            if abs(float(answers[place])) > best:
                best, sign, chosen = abs(float(answers[place])), float(answers[place].sign()), wanted[place][None]
                yield lambda x, sign=sign, chosen=chosen: sign * parities(x, chosen)[:, 0]
            if best > FOUND:
                return

    def _others(self, d: int, stream: Stream) -> Iterator[torch.Tensor]:
        """All sets of k coordinates in random order, or without end where they are too many to list."""
        if math.comb(d, self.relevant) <= LISTED:
            every = torch.tensor(list(itertools.combinations(range(d), self.relevant)))
            yield from every[stream.permutation(len(every))].split(self.batch)
            return
        for step in itertools.count():
            ranks = stream.at(step).uniform(self.batch, d, dtype=torch.float64)
            yield ranks.argsort(1)[:, : self.relevant].sort(1).values


@dataclass(frozen=True)
class Guess(QueryMethod):
    """Asks nothing: the majority of all parities, :func:`bk.features.guess`.

    Arguments:
        relevant: k.
        opposite: whether the label is the opposite of the parity of signs, as for even k.
    """

    relevant: Annotated[int, positive]
    opposite: bool = False

    def learn(self, oracle: Oracle, stream: Stream) -> Iterator[Hypothesis]:
        require(
            self.relevant <= oracle.in_dim,
            f"relevant must not exceed the {oracle.in_dim} coordinates that there are, got {self.relevant}",
        )
        sign = -1.0 if self.opposite else 1.0
        yield lambda x: sign * guess(self.relevant, x)


def parities(x: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
    """The product of the signs of the coordinates in each set, (n, sets).

    Arguments:
        x: points, (n, d).
        sets: the coordinates of each, (sets, k).
    """
    halves = torch.zeros(len(sets), x.shape[1], dtype=x.dtype).scatter_(1, sets, 0.5)
    # half the number of negative signs has the fraction 0 or 1/2; this is quicker than the product
    return ((x < 0).to(x.dtype) @ halves.T).frac_().mul_(-4).add_(1)
