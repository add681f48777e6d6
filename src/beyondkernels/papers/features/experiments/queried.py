"""What the experiment of Theorem 4 runs: learners that ask oracles, and how their outcomes are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most, between, not_empty, positive, rising
from beyondkernels.papers.features.experiments.cases import Odd

WITH, WITHOUT = INPUTS = "with structure", "without structure"
SEARCH, DESCENT, GUESS = "search", "descent", "guess"
METHODS = {SEARCH: "the search for correlations", DESCENT: "gradient descent"}
ORACLES = ("sampled", "adversarial")
SHARES = tuple(2.0**-j for j in range(9, -1, -1))
"""Numbers of queries at which accuracies are drawn, as shares of the theorem's bound."""
ERRORS = 4  # how many standard errors chance may carry one accuracy from 1/2
MOST_QUERIES = 10_000_000


@dataclass(frozen=True)
class Theorem4Settings(bk.core.Checked):
    patterns: Annotated[int, positive, at_most(1000)] = lab.setting(100, "ours", "Table 1's; the dimension is the same")
    relevant: Odd = lab.setting(15, "ours", "at Table 1's k = 5 the bound is only 211 queries")
    tolerance: Annotated[float, between(0, 1, "(]")] = lab.setting(0.05, "ours", "τ; the theorem asks for 1/τ too")
    beyond: Annotated[float, between(1, 10, "(]")] = lab.setting(1.5, "ours", "queries, as a multiple of the bound")
    pairs: Annotated[int, positive, at_most(10_000)] = lab.setting(5, "ours", "m of the network that descends")
    hidden_rate: lab.Size = lab.setting(2.0, "ours", "looked at on instance 100 alone, with structure")
    output_rate: lab.Size = lab.setting(0.2, "ours", "looked at on instance 100 alone, with structure")
    small_patterns: Annotated[int, positive, at_most(14)] = lab.setting(12, "ours", "few, so that answers are exact")
    small_relevants: Annotated[tuple[int, ...], positive, rising, not_empty] = lab.setting((1, 2, 3, 4, 5, 6), "ours")
    small_tolerance: Annotated[float, between(0, 0.5, "()")] = lab.setting(0.4, "ours", "τ where answers are exact")
    test_samples: lab.Count = lab.setting(10_000, "ours")
    seeds: lab.Seeds = lab.setting(5, "ours", "each with its own dictionary and relevant set")

    def __post_init__(self) -> None:
        for name, k, D in (
            ("relevant", self.relevant, self.patterns),
            ("small_relevants", self.small_relevants[-1], self.small_patterns),
        ):
            bk.core.require(k <= D, f"{name} must not exceed the number of patterns ({D}), got {k}")


def few_inputs(patterns: int) -> str:
    return f"{WITHOUT}, D = {patterns}"


def problem_of(patterns: int, relevant: int, seed: int, inputs: str) -> bk.features.DictionaryProblem:
    """Parity labels; the dictionary is known to the learners, so its dimension does not matter."""
    problem = bk.features.DictionaryParity(patterns, patterns, relevant, instance=seed)
    return problem if inputs == WITH else problem.without_structure()


def spec(s: Theorem4Settings, at: lab.At) -> bk.store.RunSpec:
    bound = bk.features.theorem4(s.patterns, s.relevant)
    bk.core.require(
        s.beyond * bound <= MOST_QUERIES,
        f"patterns and relevant must give a bound of at most {MOST_QUERIES / s.beyond:.3g} queries, got {bound:.3g} "
        f"for {s.relevant} of {s.patterns}",
    )
    descent = bk.features.QueriedDescent(bk.networks.TwoLayer(s.pairs), s.hidden_rate, s.output_rate)
    method = bk.features.CorrelationSearch(s.relevant) if at.method == SEARCH else descent
    learner = bk.features.QueryLearner(method, at.oracle, s.tolerance, math.ceil(s.beyond * bound))
    return bk.store.RunSpec(problem_of(s.patterns, s.relevant, at.seed, at.inputs), learner, 1, s.test_samples, at.seed)


def rows(s: Theorem4Settings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """The accuracy of the last hypothesis before each number of queries, and the farthest of all before from 1/2.

    The distance is given in units of what chance allows for so many hypotheses, of all seeds.
    """
    bound, found = bk.features.theorem4(s.patterns, s.relevant), []
    for share in (*SHARES, s.beyond):
        row = {"share": share, "queries": float(f"{share * bound:.4g}")}  # as an axis shows it
        if outcome.status == "finished":
            steps, scores = outcome.over("test_accuracy")
            before = scores[steps <= share * bound]
            allowed = bk.features.chance_deviation(s.test_samples, len(before) * s.seeds, ERRORS)
            row |= {"test_accuracy": float(before[-1]), "farthest": float(abs(before - 0.5).max()) / allowed}
            row |= {"asked": outcome.scalars["queries"], "sample_size": outcome.scalars["sample_size"]}
        found.append(row)
    return found


def small_spec(s: Theorem4Settings, at: lab.At) -> bk.store.RunSpec:
    """The search with a query for every parity, or the guess, where all answers are exact."""
    D, k, sq = s.small_patterns, at.relevant, bk.features
    method = sq.Guess(k, opposite=k % 2 == 0) if at.method == GUESS else sq.CorrelationSearch(k, batch=1)
    learner = sq.QueryLearner(method, "adversarial", s.small_tolerance, D + 1 + sq.class_size(D, k))
    return bk.store.RunSpec(problem_of(D, k, at.seed, WITHOUT), learner, 1, s.test_samples, at.seed)


def small_row(s: Theorem4Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """What was asked against our bound on the mean, and the guess's advantage against 1/C³ and 1/(2√C)."""
    sq, D, k = bk.features.statistical_queries, s.small_patterns, at.relevant
    C, exact = sq.class_size(D, k), outcome.scalars["exact_accuracy"]
    return {
        "inputs": few_inputs(D),
        "targets": C,
        "asked": outcome.scalars["queries"],
        "exact_accuracy": exact,
        "cost_room": outcome.scalars["queries"] - sq.mean_queries(C, s.small_tolerance),
        "printed_ratio": (exact - 0.5) * C**3,
        "our_ratio": (exact - 0.5) * 2 * math.sqrt(C),
    }
