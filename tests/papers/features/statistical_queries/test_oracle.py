"""Oracles against a literal list of all patterns, against closed forms, and against misuse."""

import itertools
import math
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from beyondkernels.core import Stream, accuracy
from beyondkernels.papers.features.problems import (
    Counts,
    DictionaryParity,
    DictionaryProblem,
    Incoherent,
    IndependentPatterns,
    IntervalLabelling,
    StructuredMixture,
)
from beyondkernels.papers.features.statistical_queries import (
    AdversarialOracle,
    BudgetSpentError,
    SampledOracle,
    samples_for,
)
from beyondkernels.papers.resnet.problems import HardInstance
from refusals import refused

STRUCTURED = DictionaryParity(7, 5, relevant=3, background=0.3, instance=100)
PLAIN = STRUCTURED.without_structure()
UNEQUAL = DictionaryProblem(7, 5, 3, Counts((2, 3)), IndependentPatterns(0.4, 0.3), instance=100)


def queries(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Three queries: a correlation, a function of x alone, and a predicate of both."""
    return torch.stack([y * x[:, 0], x[:, 1].tanh(), ((x.sum(1) > 0) & (y > 0)).to(x.dtype)], 1)


def literal_means(problem: DictionaryProblem, points: str) -> tuple[list[float], list[float]]:
    """The means of :func:`queries` with the problem's labels and with random ones, pattern by pattern."""
    D, A, exact = problem.patterns, problem.relevant_set, problem.moments
    truth, null, positive = [0.0] * 3, [0.0] * 3, 0.0
    listed = []
    for bits in itertools.product((0, 1), repeat=D):
        p = 0.0
        for part in problem.hidden.products(D, A):
            p += part.weight * math.prod(
                q if bit else 1 - q for bit, q in zip(bits, part.probabilities.tolist(), strict=True)
            )
        y = float(problem.labels.signs(problem.relevant)[sum(bits[j] for j in A)])
        phi = (torch.tensor(bits, dtype=torch.float64) - exact.means) / exact.scale
        x = 2.0 * torch.tensor(bits, dtype=torch.float64) - 1 if points == "patterns" else problem.matrix @ phi
        positive += p * (y > 0)
        listed.append((p, x[None], y))
    for p, x, y in listed:
        for label, share in ((y, None), (1.0, positive), (-1.0, 1 - positive)):
            values = queries(x, torch.tensor([label], dtype=torch.float64))[0].tolist()
            target = truth if share is None else null
            for i, value in enumerate(values):
                target[i] += p * (1.0 if share is None else share) * value
    return truth, null


@pytest.mark.parametrize("points", ["patterns", "inputs"])
@pytest.mark.parametrize("problem", [STRUCTURED, PLAIN, UNEQUAL], ids=["structured", "plain", "unequal"])
@pytest.mark.parametrize("tolerance", [0.01, 0.1, 0.6])
def test_exact_answers_lie_as_near_to_random_labels_as_allowed(problem, points, tolerance):
    truth, null = literal_means(problem, points)
    oracle = AdversarialOracle(problem, tolerance, 3, Stream(0), points=points)
    expected = [max(t - tolerance, min(t + tolerance, n)) for t, n in zip(truth, null, strict=True)]
    assert oracle.samples is None
    assert oracle.ask(queries).tolist() == pytest.approx(expected, abs=1e-6 if points == "inputs" else 1e-12)


def test_where_random_labels_are_within_tolerance_nothing_is_told():
    truth, null = literal_means(STRUCTURED, "patterns")
    assert abs(truth[0] - null[0]) > 0.2  # otherwise the case would show nothing
    answers = AdversarialOracle(STRUCTURED, 1.0, 3, Stream(0)).ask(queries)
    assert answers.tolist() == pytest.approx(null, abs=1e-12)


@pytest.mark.parametrize("points", ["patterns", "inputs"])
def test_sampled_answers_are_within_tolerance(points):
    truth, _ = literal_means(STRUCTURED, points)
    for seed in range(5):
        oracle = SampledOracle(STRUCTURED, 0.05, 3, Stream(seed), points=points)
        errors = (oracle.ask(queries) - torch.tensor(truth)).abs()
        assert float(errors.max()) <= 0.05
        assert float(errors.max()) > 1e-6


def test_hoeffding_is_kept_where_it_is_hardest():
    # a fair sign has the largest variance; its mean over n points is off by more than τ less often than δ/Q
    tau, Q, delta = 0.2, 5, 0.1
    n = samples_for(tau, Q, delta)
    assert n == math.ceil(2 * math.log(2 * Q / delta) / tau**2)
    heads = Stream(100).generator().binomial(n, 0.5, size=200_000)
    share = (abs(2 * heads / n - 1) > tau).mean()
    assert 0 < share <= delta / Q


def test_a_sampled_adversary_is_within_tolerance_of_closed_forms():
    problem = DictionaryParity(20, 20, relevant=3, instance=100)
    A = list(problem.relevant_set)
    oracle = AdversarialOracle(problem, 0.1, 22, Stream(0))
    assert oracle.samples == samples_for(0.05, 22, 0.01)
    singles = oracle.ask(lambda x, y: y[:, None] * x)
    # in the mixture E[y z_j] is 1/2 on A and 0 elsewhere; the adversary takes off τ/2
    expected = torch.zeros(20, dtype=torch.float64).scatter(0, torch.tensor(A), 0.5)
    assert float((singles - expected).abs().max()) <= 0.1
    assert float(singles[A].max()) < 0.5
    parity = oracle.ask(lambda x, y: y * x[:, A].prod(1))
    assert parity.tolist() == pytest.approx([1 - 0.05], abs=1e-6)


def test_without_structure_answers_do_not_depend_on_the_target():
    answers = []
    for instance in (100, 101):
        problem = DictionaryParity(20, 20, relevant=7, instance=instance).without_structure()
        oracle = AdversarialOracle(problem, 0.1, 23, Stream(0))
        answers.append((problem.relevant_set, oracle.ask(queries), oracle.ask(lambda x, y: y[:, None] * x)))
    (A, *first), (B, *second) = answers
    assert A != B
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_products_are_the_queries_one_by_one():
    one, other = (AdversarialOracle(STRUCTURED, 0.02, 15, Stream(0)) for _ in range(2))
    products = one.ask_products(queries, lambda x: x)
    each = other.ask(lambda x, y: (queries(x, y)[:, :, None] * x[:, None, :]).reshape(len(x), -1))
    assert products.shape == (3, 5)
    assert torch.allclose(products.reshape(-1), each, rtol=0, atol=1e-12)
    assert one.asked == other.asked == 15


def test_points_are_fresh_for_each_question_and_the_same_for_each_stream():
    oracle, twin = (SampledOracle(STRUCTURED, 0.1, 9, Stream(4)) for _ in range(2))
    first, second = oracle.ask(queries), oracle.ask(queries)
    assert not torch.equal(first, second)
    assert torch.equal(first, twin.ask(queries))


def test_the_budget_is_a_limit():
    oracle = SampledOracle(STRUCTURED, 0.2, 5, Stream(0))
    oracle.ask(queries)
    with pytest.raises(BudgetSpentError, match="3 queries were asked, and 2 of 5 are left"):
        oracle.ask(queries)
    assert (oracle.asked, oracle.left) == (3, 2)
    oracle.ask(lambda x, y: torch.stack([y, y], 1))
    with pytest.raises(BudgetSpentError, match="1 queries were asked, and 0 of 5 are left"):
        oracle.ask(lambda x, y: y)


class Restless:
    """A query that draws a random number at each call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return Stream(0).at(self.calls).uniform(len(x))


@pytest.mark.parametrize("kind", [SampledOracle, AdversarialOracle])
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (lambda x, y: 2 * y, r"query must have values in \[-1, 1\], got values from -2 to 2"),
        (lambda x, y: y.sum(), r"in shape \(\d+,\) or \(\d+, q\), got shape \(\)"),
        (lambda x, y: y[:-1], r"query must give a value for each of the \d+ points"),
        (lambda x, y: x[:, :, None], r"got shape \(\d+, 5, 1\)"),
        (lambda x, y: 0.5, "query must give a tensor of real numbers, got 0.5"),
        (lambda x, y: (y * x[:, 0]).mean() * torch.ones_like(y), "query must be a function of one point and its label"),
        (Restless(), "query must be a function of one point and its label"),
    ],
)
def test_what_is_no_query_is_refused_and_not_counted(kind, query, sentence):
    oracle = kind(STRUCTURED, 0.1, 10, Stream(0))
    refused(sentence, oracle.ask, query)
    assert oracle.asked == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"budget": 2.5}, "budget must be a whole number, got 2.5"),
        ({"points": "x"}, "points must be 'patterns' or 'inputs', got 'x'"),
        ({"tolerance": 1e-9}, r"tolerance must be larger for a mean of drawn points: 1e-09 takes \S+ points"),
        ({"problem": HardInstance(6, 2, 0.1)}, "problem must be a DictionaryProblem, got HardInstance"),
        ({"problem": replace(STRUCTURED, noise_std=0.1)}, "points must be 'inputs' where noise or dependent patterns"),
        (
            {"problem": DictionaryProblem(5, 7, 3, STRUCTURED.labels, StructuredMixture(), Incoherent(2.0))},
            "points must be 'inputs' where noise or dependent patterns",
        ),
    ],
)
def test_bad_oracles(change, sentence):
    fields = {"problem": STRUCTURED, "tolerance": 0.1, "budget": 5, "stream": Stream(0), **change}
    refused(sentence, SampledOracle, **fields)


def test_noise_and_unequal_classes_can_be_asked_about():
    problem = replace(IntervalLabelling(12, 10, 4, 2, 4, instance=100), noise_std=0.2)
    for kind in (SampledOracle, AdversarialOracle):
        oracle = kind(problem, 0.1, 1, Stream(0), points="inputs")
        assert float(oracle.ask(lambda x, y: y)) == pytest.approx(2 * problem.moments.positive - 1, abs=0.1)


def test_the_learner_of_the_documentation():
    page = (Path(__file__).parents[4] / "docs" / "certificates.md").read_text(encoding="utf-8")
    part = page.partition("A learner of one's own")[2].partition("`oracle.ask_products")[0]
    found: dict[str, Any] = {}
    exec(textwrap.dedent(part.partition("\n\n")[2]), found)
    sample = found["problem"].sample(500, Stream(100))
    signs = 2.0 * sample.hidden["patterns"] - 1
    assert accuracy(found["hypothesis"](signs), sample.y) == 1.0
    assert found["oracle"].left == 0
