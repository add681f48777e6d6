"""A learner of the statistical-query model as a learner of runs: it meets the data only through an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch

from beyondkernels.core import Case, DivergedError, Learner, Outcome, Problem, Progress, Stream, accuracy
from beyondkernels.core.constraints import between, positive
from beyondkernels.papers.features.problems import DictionaryProblem
from beyondkernels.papers.features.statistical_queries.oracle import (
    AdversarialOracle,
    BudgetSpentError,
    Oracle,
    SampledOracle,
)
from beyondkernels.papers.features.statistical_queries.population import (
    Points,
    can_be_listed,
    from_inputs,
    listed,
    shown_points,
)
from beyondkernels.papers.features.statistical_queries.rule import Hypothesis, QueryMethod

OracleKind = Literal["sampled", "adversarial"]


@dataclass(frozen=True)
class QueryLearner(Learner):
    """Lets a method ask an oracle over the problem; the train sample is not used.

    The outcome has ``test_accuracy`` of the last hypothesis, ``queries`` that were asked, ``sample_size``, the points
    drawn for each question (0 where means are exact), and ``exact_accuracy`` where all patterns can be listed. The
    series ``test_accuracy`` has the accuracy of each hypothesis over the number of queries asked before, beginning with
    1/2 at 0, since whoever has no hypothesis guesses.

    Arguments:
        method: what asks.
        oracle: what answers.
        tolerance: τ.
        budget: how many queries are answered.
        points: what queries are functions of.
        failure: δ, the probability that some answer of a sampled oracle is off by more than τ, at most.

    Reference: Shi, Wei & Liang (features), App. D.
    """

    method: QueryMethod
    oracle: OracleKind
    tolerance: Annotated[float, between(0, 1, "(]")]
    budget: Annotated[int, positive]
    points: Points = "patterns"
    failure: Annotated[float, between(0, 1, "()")] = 0.01

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem = case.problem
        oracle = self._oracle(problem, case.stream.child("oracle"))
        assert isinstance(problem, DictionaryProblem)
        points = shown_points(case.test, self.points)
        last: Hypothesis = nothing
        steps, scores = [0], [0.5]
        try:
            for hypothesis in self.method.learn(oracle, case.stream.child("method")):
                last = hypothesis
                steps.append(oracle.asked)
                scores.append(accuracy(hypothesis(points), case.test.y))
                progress(oracle.asked / oracle.budget)
        except BudgetSpentError:
            pass
        except DivergedError:
            return Outcome("diverged")
        scalars = {
            "test_accuracy": scores[-1],
            "queries": float(oracle.asked),
            "sample_size": float(oracle.samples or 0),
        }
        if can_be_listed(problem):
            sample, weights = listed(problem)
            margin = last(shown_points(sample, self.points)).double() * sample.y
            scalars["exact_accuracy"] = float(weights @ ((margin > 0).double() + 0.5 * (margin == 0).double()))
        shown = from_inputs(problem, self.points)
        series = {"step": np.array(steps, dtype=float), "test_accuracy": np.array(scores)}
        return Outcome("finished", scalars, series, predictor=lambda x: last(shown(x))[:, None])

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Make the oracle, which refuses what it cannot answer; nothing is drawn."""
        self._oracle(problem, Stream(0))

    def _oracle(self, problem: Problem, stream: Stream) -> Oracle:
        kind = SampledOracle if self.oracle == "sampled" else AdversarialOracle
        return kind(problem, self.tolerance, self.budget, stream, points=self.points, failure=self.failure)


def nothing(x: torch.Tensor) -> torch.Tensor:
    """The hypothesis of whoever has none: undecided everywhere."""
    return x.new_zeros(len(x))
