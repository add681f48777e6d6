"""Oracles of the statistical-query model: they answer E[q(x, y)] up to a tolerance, count, and stop at a limit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch

from beyondkernels.core import Problem, Stream, require, require_between, require_whole, shown
from beyondkernels.papers.features.problems import DictionaryProblem
from beyondkernels.papers.features.statistical_queries.population import (
    Fresh,
    Listed,
    Points,
    Population,
    can_be_listed,
    from_inputs,
)
from beyondkernels.papers.features.statistical_queries.queries import SLACK, Factor, Query, values_of, weighted_mean

LARGEST_SAMPLE = 50_000_000
"""The most points that may be drawn for one question."""

_PROBE = 64  # points on which a query is tried first


class BudgetSpentError(RuntimeError):
    """A learner asked for more queries than are left. None of them was answered."""


def samples_for(tolerance: float, queries: int, failure: float) -> int:
    r"""How many points make all answers right up to a tolerance, by Hoeffding's inequality and the union bound.

    .. math:: n = \Big\lceil \frac{2 \ln(2Q/\delta)}{\tau^2} \Big\rceil

    Arguments:
        tolerance: τ.
        queries: Q, how many queries are answered in all.
        failure: δ, the probability that some answer is off by more than τ, at most.

    >>> samples_for(0.1, queries=1000, failure=0.01)
    2442
    """
    require_between("tolerance", tolerance, 0, 1, "(]")
    require_whole("queries", queries)
    require_between("failure", failure, 0, 1, "()")
    size = 2 * (math.log(2) + math.log(queries) - math.log(failure)) / tolerance / tolerance
    require(
        size <= LARGEST_SAMPLE,
        f"tolerance must be larger for a mean of drawn points: {shown(tolerance)} takes {size:.2g} points for each "
        f"question, and at most {LARGEST_SAMPLE:.2g} are drawn",
    )
    return math.ceil(size)


class Oracle(ABC):
    r"""Answers questions about a problem: for a query q a number within τ of :math:`E[q(x, y)]`.

    A learner is given an oracle and nothing else. It may ask ``budget`` queries. A query is a function of one point and
    its label with values in [−1, 1]. A predicate with values 0 and 1 is such a query. Queries of one call are counted
    one by one. What a query is given must not leave it; nothing can check that.

    Arguments:
        problem: the distribution of (x, y).
        tolerance: τ, in (0, 1].
        budget: how many queries are answered.
        stream: where fresh points come from.
        points: ``patterns`` to ask about the patterns as signs ±1, for learners that know the dictionary; ``inputs`` to
            ask about x.
        failure: δ, the probability that some answer of a sampled oracle is off by more than τ, at most.

    Reference: Kearns (1998); Shi, Wei & Liang (features), §4 and App. D.
    """

    def __init__(
        self,
        problem: Problem,
        tolerance: float,
        budget: int,
        stream: Stream,
        *,
        points: Points = "patterns",
        failure: float = 0.01,
    ) -> None:
        require_oracle(problem, tolerance, budget, points, failure)
        assert isinstance(problem, DictionaryProblem)
        self.tolerance = float(tolerance)
        self.budget = budget
        self.asked = 0
        self.in_dim = problem.patterns if points == "patterns" else problem.dim
        self._positive = problem.moments.positive
        self._stream = stream
        self._calls = 0
        self._population, self.error = self._means_over(problem, points, failure)

    @property
    def left(self) -> int:
        """How many queries may still be asked."""
        return self.budget - self.asked

    @property
    def samples(self) -> int | None:
        """How many points are drawn for one question; None where means are exact."""
        return self._population.size if isinstance(self._population, Fresh) else None

    def ask(self, query: Query) -> torch.Tensor:
        """The answer to a query, or to each of several.

        Arguments:
            query: from points and labels to values (n,) or (n, q).

        >>> from beyondkernels.papers.features.problems import DictionaryParity
        >>> oracle = AdversarialOracle(DictionaryParity(8, 6, relevant=3), 0.1, budget=10, stream=Stream(0))
        >>> oracle.ask(lambda x, y: y[:, None] * x).numpy().round(3) + 0.0
        array([0. , 0.4, 0. , 0.4, 0. , 0.4])
        >>> oracle.asked, oracle.left
        (6, 4)
        """
        answers = self._answer(query, None)
        return answers[:, 0]

    def ask_products(self, left: Query, right: Factor) -> torch.Tensor:
        """The answers to all a·b products of two lists of functions, as a matrix (a, b).

        Arguments:
            left: a functions of points and labels, (n, a).
            right: b functions of points alone, (n, b).
        """
        return self._answer(left, right)

    @abstractmethod
    def _means_over(self, problem: DictionaryProblem, points: Points, failure: float) -> tuple[Population, float]:
        """What means are taken over, and by how much they may be off."""

    @abstractmethod
    def _settled(self, truth: torch.Tensor, null: torch.Tensor) -> torch.Tensor:
        """The answers, from the means with the problem's labels and with labels that are random."""

    def _answer(self, left: Query, right: Factor | None) -> torch.Tensor:
        stream = self._stream.at(self._calls)
        truth = null = torch.zeros(())
        for number, (x, y, weights) in enumerate(self._population.blocks(stream)):
            if number == 0:
                shape = self._admit(left, right, x[:_PROBE], y[:_PROBE])
                truth, null = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
            factor = None if right is None else values_of("right", right(x), len(x))
            truth += weighted_mean(values_of("query", left(x, y), len(x)), factor, weights)
            for label, share in ((1.0, self._positive), (-1.0, 1 - self._positive)):
                if self._needs_null:
                    values = values_of("query", left(x, torch.full_like(y, label)), len(x))
                    null += share * weighted_mean(values, factor, weights)
        return self._settled(truth, null)

    _needs_null = False

    def _admit(self, left: Query, right: Factor | None, x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
        """Try the queries on a few points, count them, and refuse what is no query or too many of them."""
        few = max(1, len(x) // 3)
        functions: list[tuple[str, Callable[[slice], torch.Tensor]]] = [("query", lambda rows: left(x[rows], y[rows]))]
        if right is not None:
            functions.append(("right", lambda rows: right(x[rows])))
        counts = []
        for name, function in functions:
            whole = values_of(name, function(slice(None)), len(x))
            counts.append(whole.shape[1])
            apart = (values_of(name, function(slice(few)), few) - whole[:few]).abs() > SLACK
            # rounding may move a point across a jump of a query, so a few points may differ
            require(
                bool((apart.double().mean(0) <= 0.25).all()),
                f"{name} must be a function of one point and its label, the same at every call: its value changed when "
                "other points were left out",
            )
        number = math.prod(counts)
        if number > self.left:
            raise BudgetSpentError(f"{number} queries were asked, and {self.left} of {self.budget} are left")
        self.asked += number
        self._calls += 1
        return counts[0], counts[1] if right is not None else 1


class SampledOracle(Oracle):
    """Answers with the mean over fresh points, as many as all answers within τ take with probability 1 − δ.

    >>> from beyondkernels.papers.features.problems import DictionaryParity
    >>> oracle = SampledOracle(DictionaryParity(500, 100, relevant=5), 0.05, budget=101, stream=Stream(0))
    >>> answers = oracle.ask(lambda x, y: y[:, None] * x)
    >>> int((answers > 0.25).sum()), oracle.samples
    (5, 7931)
    """

    def _means_over(self, problem: DictionaryProblem, points: Points, failure: float) -> tuple[Population, float]:
        return Fresh(problem, points, samples_for(self.tolerance, self.budget, failure)), self.tolerance

    def _settled(self, truth: torch.Tensor, null: torch.Tensor) -> torch.Tensor:
        return truth


class AdversarialOracle(Oracle):
    r"""Answers what random labels would give, as far as the tolerance allows.

    .. math:: \text{answer} = \min(\max(N, T - \tau'), T + \tau'), \qquad T = E[q(x, y)], \quad N = E[q(x, y')]

    y' is a label that is independent of x and has the distribution of y. So the answer is N wherever N lies within τ'
    of the truth T, and otherwise the nearest number that is allowed. For up to 14 patterns without noise both means are
    exact, and τ' = τ. Otherwise they are means over fresh points that are off by at most τ/2, and τ' = τ/2.
    """

    _needs_null = True

    def _means_over(self, problem: DictionaryProblem, points: Points, failure: float) -> tuple[Population, float]:
        if can_be_listed(problem):
            return Listed(problem, points), 0.0
        error = self.tolerance / 2
        return Fresh(problem, points, samples_for(error, self.budget, failure)), error

    def _settled(self, truth: torch.Tensor, null: torch.Tensor) -> torch.Tensor:
        allowed = self.tolerance - self.error
        return torch.minimum(torch.maximum(null, truth - allowed), truth + allowed)


def require_oracle(problem: Problem, tolerance: float, budget: int, points: str, failure: float) -> None:
    """Refuse what is no problem, tolerance, budget or kind of points for an oracle."""
    require(
        isinstance(problem, DictionaryProblem), f"problem must be a DictionaryProblem, got {type(problem).__name__}"
    )
    require_between("tolerance", tolerance, 0, 1, "(]")
    require_whole("budget", budget)
    require_between("failure", failure, 0, 1, "()")
    require(points in ("patterns", "inputs"), f"points must be 'patterns' or 'inputs', got {shown(points)}")
    assert isinstance(problem, DictionaryProblem)
    from_inputs(problem, points)  # pyright: ignore[reportArgumentType]
