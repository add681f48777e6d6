"""Where an oracle takes its means: all patterns with their probabilities, or fresh points."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from beyondkernels.core import Sample, Stream, require
from beyondkernels.papers.features.problems import DictionaryProblem

Points = Literal["patterns", "inputs"]
"""What queries are functions of: the patterns as signs (the dictionary is known), or the inputs x."""

LISTED = 14
"""The most patterns whose 2^D vectors are listed."""

_BLOCK = 8192  # points at once; another value changes the last digits of an answer

Block = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Points (n, d), labels (n,) of ±1, and their weights (n,), which add up to one over all blocks."""


class Population(ABC):
    """Points and labels with weights, block by block."""

    @abstractmethod
    def blocks(self, stream: Stream) -> Iterator[Block]:
        """All of it; the stream is for what is drawn."""


@dataclass(frozen=True)
class Listed(Population):
    """Every vector of patterns with its probability, so that means are exact.

    Arguments:
        problem: without noise, of few patterns.
        points: what the points are.
    """

    problem: DictionaryProblem
    points: Points

    def blocks(self, stream: Stream) -> Iterator[Block]:
        """The 2^D vectors in the order of binary numbers."""
        sample, weights = listed(self.problem)
        x, y = shown_points(sample, self.points).double(), sample.y.double()
        for start in range(0, len(x), _BLOCK):
            part = slice(start, start + _BLOCK)
            yield x[part], y[part], weights[part]


@dataclass(frozen=True)
class Fresh(Population):
    """Points that are drawn anew for each question.

    Arguments:
        problem: where they come from.
        points: what the points are.
        size: how many.
    """

    problem: DictionaryProblem
    points: Points
    size: int

    def blocks(self, stream: Stream) -> Iterator[Block]:
        """The points, each with the weight 1/n."""
        for number, start in enumerate(range(0, self.size, _BLOCK)):
            count = min(_BLOCK, self.size - start)
            sample = self.problem.sample(count, stream.child("block", str(number)))
            weights = torch.full((count,), 1 / self.size, dtype=torch.float64)
            yield shown_points(sample, self.points), sample.y, weights


def can_be_listed(problem: DictionaryProblem) -> bool:
    """Whether all patterns can be listed with their probabilities."""
    return problem.patterns <= LISTED and problem.noise_std == 0 and problem.negative_ratio is None


@functools.lru_cache(maxsize=4)
def listed(problem: DictionaryProblem) -> tuple[Sample, torch.Tensor]:
    """All 2^D vectors of patterns as a sample, and their probabilities, float64. They are shared: do not write to them.

    Arguments:
        problem: one that :func:`can_be_listed`.
    """
    require(
        can_be_listed(problem),
        f"problem must have at most {LISTED} patterns, no noise and no negative_ratio for exact means, got "
        f"{problem.patterns} patterns, noise_std {problem.noise_std} and negative_ratio {problem.negative_ratio}",
    )
    D, exact = problem.patterns, problem.moments
    present = (torch.arange(2**D)[:, None] >> torch.arange(D)) & 1
    weights = torch.zeros(2**D, dtype=torch.float64)
    for part in problem.hidden.products(D, problem.relevant_set):
        p = part.probabilities
        weights += part.weight * torch.where(present == 1, p, 1 - p).prod(1)
    hidden = {"patterns": present.to(torch.int8)}
    x = ((present.double() - exact.means) / exact.scale @ problem.matrix.T).to(torch.float32)
    return Sample(x, problem.label_of(hidden), hidden), weights


def shown_points(sample: Sample, points: Points) -> torch.Tensor:
    """The points of a sample as queries are given them, float32."""
    if points == "inputs":
        return sample.x
    return 2.0 * sample.hidden["patterns"].to(torch.float32) - 1.0


def from_inputs(problem: DictionaryProblem, points: Points) -> Callable[[torch.Tensor], torch.Tensor]:
    """From inputs x to points as queries are given them.

    Without noise and with linearly independent patterns, x determines which patterns are present. So whoever knows the
    dictionary may ask about patterns.

    Arguments:
        problem: where x comes from.
        points: what the points are.
    """
    if points == "inputs":
        return lambda x: x
    require(
        problem.noise_std == 0 and int(torch.linalg.matrix_rank(problem.matrix)) == problem.patterns,
        "points must be 'inputs' where noise or dependent patterns hide which patterns are present, got 'patterns' "
        f"for noise_std {problem.noise_std} and {problem.patterns} patterns in dimension {problem.dim}",
    )
    exact, inverse = problem.moments, torch.linalg.pinv(problem.matrix)

    def signs(x: torch.Tensor) -> torch.Tensor:
        present = (x.double() @ inverse.T * exact.scale + exact.means).round()
        return (2 * present - 1).to(torch.float32)

    return signs
