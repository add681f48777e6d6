"""Learners that only ask: their gradients, their counting, and what they find."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Stream, accuracy
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import DictionaryParity
from beyondkernels.papers.features.statistical_queries import (
    AdversarialOracle,
    CorrelationSearch,
    Guess,
    QueriedDescent,
    QueryLearner,
    QueryMethod,
    guess_advantage,
    learnable_share,
)
from beyondkernels.papers.features.statistical_queries.population import Points, listed, shown_points
from beyondkernels.papers.features.statistical_queries.search import parities
from refusals import refused

PROBLEM = DictionaryParity(9, 8, relevant=3, instance=100)


def exact_oracle(problem, budget, tolerance=1e-12, points: Points = "patterns"):
    return AdversarialOracle(problem, tolerance, budget, Stream(0), points=points)


@pytest.mark.parametrize("points", ["patterns", "inputs"])
def test_a_step_is_gradient_descent_on_the_expected_hinge_loss(points):
    network, hidden_rate, output_rate = TwoLayer(pairs=3), 2.0, 0.3
    d = PROBLEM.patterns if points == "patterns" else PROBLEM.dim
    rule = QueriedDescent(network, hidden_rate, output_rate, reach=2.0, steps=3)
    cost = 6 * (d + 2)
    oracle = exact_oracle(PROBLEM, 3 * cost, points=points)
    hypotheses = list(rule.learn(oracle, Stream(5)))
    assert (len(hypotheses), oracle.asked) == (4, 3 * cost)
    sample, weights = listed(PROBLEM)
    x, y = shown_points(sample, points).double(), sample.y.double()
    params = {name: value.double() for name, value in network.init(d, 1, Stream(5))[0].items()}
    for hypothesis in hypotheses:
        assert torch.allclose(hypothesis(x), network.apply(params, {}, x)[0][:, 0], atol=1e-5)
        leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
        loss = weights @ torch.relu(1 - y * network.apply(leaves, {}, x)[0][:, 0])
        grads = torch.autograd.grad(loss, list(leaves.values()))
        rates = [output_rate if name == "output.weight" else hidden_rate for name in leaves]
        params = {
            name: value - rate * grad for (name, value), grad, rate in zip(params.items(), grads, rates, strict=True)
        }


def test_descent_ends_where_a_step_cannot_be_paid():
    oracle = exact_oracle(PROBLEM, 2 * 6 * 10 + 59)
    assert len(list(QueriedDescent(TwoLayer(3)).learn(oracle, Stream(0)))) == 3
    assert oracle.asked == 120


def test_parities_by_counting():
    x = Stream(0).normal(50, 9)
    sets = torch.tensor(list(itertools.combinations(range(9), 4)))
    assert torch.equal(parities(x, sets), torch.stack([x[:, list(S)].sign().prod(1) for S in sets.tolist()], 1))


def test_without_structure_the_search_goes_through_all_sets_and_no_faster_than_the_bound():
    D, k, tolerance, budget = 6, 3, 0.6, 15
    found = []
    for A in itertools.combinations(range(D), k):
        problem = next(p for p in INSTANCES if p.relevant_set == A)
        oracle = exact_oracle(problem, budget, tolerance)
        *_, last = CorrelationSearch(k, batch=1).learn(oracle, Stream(3))
        sample, _ = listed(problem)
        found.append(accuracy(last(shown_points(sample, "patterns")), sample.y) == 1.0)
    share = sum(found) / len(found)
    assert 0.3 < share < 1
    assert share <= learnable_share(math.comb(D, k), budget, tolerance, 0.5)


@pytest.mark.parametrize("k", [2, 3])  # for even k the label is the opposite of the parity of signs
def test_with_a_query_for_each_set_the_search_finds_the_target(k):
    problem = DictionaryParity(6, 6, k, instance=100).without_structure()
    oracle = exact_oracle(problem, 6 + 1 + math.comb(6, k), 0.4)
    *_, last = CorrelationSearch(k).learn(oracle, Stream(3))
    sample, _ = listed(problem)
    assert accuracy(last(shown_points(sample, "patterns")), sample.y) == 1.0


def _all_targets(D: int, k: int) -> list:
    """A problem for each set A, found by trying instances."""
    found = {}
    for instance in itertools.count(100):
        problem = DictionaryParity(D, D, k, instance=instance).without_structure()
        found.setdefault(problem.relevant_set, problem)
        if len(found) == math.comb(D, k):
            return list(found.values())
    raise AssertionError


INSTANCES = _all_targets(6, 3)


@pytest.mark.parametrize(("k", "opposite"), [(3, False), (4, True)])
def test_the_guess_is_as_good_as_its_formula(k, opposite):
    problem = DictionaryParity(9, 9, k, instance=100).without_structure()
    run = bk.fit(QueryLearner(Guess(k, opposite), "adversarial", 0.1, 1), problem, n=1, test=10, progress=False)
    assert run.exact_accuracy == pytest.approx(0.5 + guess_advantage(9, k), abs=1e-12)
    assert run.queries == 0


@dataclass(frozen=True)
class Greedy(QueryMethod):
    """Asks more than it may."""

    def learn(self, oracle, stream) -> Iterator:
        for _ in range(3):
            answers = oracle.ask(lambda x, y: y[:, None] * x)
            yield lambda x, answers=answers: x @ answers.to(x.dtype)


def test_a_method_that_asks_too_much_keeps_its_last_hypothesis():
    run = bk.fit(QueryLearner(Greedy(), "adversarial", 0.1, 20), PROBLEM, n=1, test=500, progress=False)
    assert run.queries == 16
    assert run.exact_accuracy == 0.625  # the majority of three is right on 1/2 + 1/8 of the points
    steps, scores = run.outcome.over("test_accuracy")
    assert steps.tolist() == [0, 8, 16]
    assert (scores[0], scores[-1]) == (0.5, run.test_accuracy)


@pytest.mark.parametrize("points", ["patterns", "inputs"])
def test_the_predictor_takes_inputs(points):
    learner = QueryLearner(Greedy(), "sampled", 0.2, 20, points=points)
    run = bk.fit(learner, PROBLEM, n=1, test=300, seed=3, progress=False)
    fresh = PROBLEM.sample(2000, Stream(8))
    assert accuracy(run.predict(fresh.x), fresh.y) == pytest.approx(run.test_accuracy, abs=0.12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: QueryLearner(Guess(3), "kind", 0.1, 5), "oracle must be 'sampled' or 'adversarial', got 'kind'"),  # pyright: ignore[reportArgumentType]
        (
            lambda: bk.fit(QueryLearner(Guess(9), "sampled", 0.1, 5), PROBLEM, n=1, test=5, progress=False),
            "relevant must not exceed the 8 coordinates that there are, got 9",
        ),
        (
            lambda: bk.fit(QueryLearner(Guess(3), "sampled", 1e-5, 5), PROBLEM, n=1, test=5, progress=False),
            "tolerance must be larger for a mean of drawn points",
        ),
        (
            lambda: bk.fit(QueryLearner(Guess(3), "sampled", 0.1, 5), bk.resnet.HardInstance(6, 2, 0.1), n=1, test=5),
            "problem must be a DictionaryProblem, got HardInstance",
        ),
    ],
)
def test_bad_input(make, sentence):
    refused(sentence, make)
