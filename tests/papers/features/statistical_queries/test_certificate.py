"""Theorem 4's bound and the sharper one, against learners that are tried on every target."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings, strategies as st

from beyondkernels.certificates import Certificate, DisagreementError, from_json
from beyondkernels.core import InputError, Stream
from beyondkernels.papers.features.problems import DictionaryParity, Threshold
from beyondkernels.papers.features.statistical_queries import (
    StatisticalQueryCertificate,
    certificate,
    certify_queries,
    exposed_share,
    guess,
    guess_advantage,
    learnable_share,
    mean_queries,
    theorem4,
)
from refusals import refused


def cube(D: int) -> torch.Tensor:
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=D)), dtype=torch.float64)


def parities(D: int, k: int) -> torch.Tensor:
    z = cube(D)
    return torch.stack([z[:, list(A)].prod(1) for A in itertools.combinations(range(D), k)])


def test_the_papers_number():
    assert theorem4(100, 5) == pytest.approx(0.5 * 75_287_520 ** (1 / 3))
    assert round(theorem4(100, 5)) == 211


@settings(max_examples=40)
@given(
    D=st.integers(2, 7),
    k=st.integers(1, 4),
    count=st.integers(1, 12),
    tolerance=st.sampled_from([0.05, 0.2, 0.4, 0.8]),
    advantage=st.sampled_from([0.05, 0.15, 0.3, 0.5]),
    seed=st.integers(0, 10_000),
    cunning=st.booleans(),
)
def test_no_learner_learns_more_targets(D, k, count, tolerance, advantage, seed, cunning):
    """On the path of random labels a learner's queries and its hypothesis are fixed, so any choice is a learner."""
    k = min(k, D)
    chi, stream = parities(D, k), Stream(seed)
    C, n = chi.shape
    if cunning:  # sums of as many parities as a tolerance lets show
        queries = torch.stack([chi[stream.at(i).permutation(C)[:3]].sum(0).sign() for i in range(count)])
        hypothesis = chi.sum(0).sign()
    else:
        queries = stream.normal(count, n, dtype=torch.float64).sign()
        hypothesis = stream.child("h").normal(n, dtype=torch.float64).sign()
    exposed = ((chi @ queries.T / n).abs() > tolerance + 1e-12).any(1)
    right = chi @ hypothesis / n / 2 >= advantage - 1e-12
    assert Fraction(int(exposed.sum()), C) <= exposed_share(C, count, tolerance)
    assert Fraction(int((exposed | right).sum()), C) <= learnable_share(C, count, tolerance, advantage)
    # over parities and their opposites, an unexposed target is right as often as wrong
    accuracy = torch.where(exposed, 1.0, 0.5).mean()
    found = StatisticalQueryCertificate(D, k, count, tolerance, advantage)
    assert float(accuracy) <= found.mean_accuracy + 1e-12


def test_asking_for_each_parity_comes_near_the_bound():
    D, k, tolerance = 7, 3, 0.99
    C = math.comb(D, k)
    for asked in (1, 10, C):
        # a parity exposes itself alone, so Q queries expose Q targets; the bound is Q/τ²
        assert asked / C <= float(exposed_share(C, asked, tolerance)) <= 1.03 * asked / C


@pytest.mark.parametrize("tolerance", [0.1, 0.4, 1.0])
@pytest.mark.parametrize("targets", [1, 2, 35, 924])
def test_the_mean_number_of_queries_by_its_sum(targets, tolerance):
    literal = sum(float(1 - learnable_share(targets, Q, tolerance, 0.5)) for Q in range(targets))
    assert mean_queries(targets, tolerance) <= literal + 1e-9
    assert literal <= mean_queries(targets, tolerance) + 1  # a sum of falling terms exceeds its integral by the first


@pytest.mark.parametrize(("D", "k"), [(3, 1), (4, 2), (6, 3), (7, 4), (9, 5)])
def test_a_guess_without_queries_by_listing(D, k):
    found = parities(D, k) @ guess(k, cube(D)) / 2**D / 2
    assert found.tolist() == pytest.approx([guess_advantage(D, k)] * len(found), abs=1e-14)
    C = math.comb(D, k)
    assert C**-3.0 < guess_advantage(D, k) <= 1 / (2 * math.sqrt(C))


def test_the_guess_in_high_dimension_by_monte_carlo():
    D, k, n = 20, 2, 40_000
    z = 1.0 - 2.0 * Stream(100).bernoulli(0.5, n, D).double()
    margins = z[:, 0] * z[:, 1] * guess(k, z)
    error = float(margins.std()) / math.sqrt(n)
    assert 2 * guess_advantage(D, k) > 3 * error  # otherwise nothing would be seen
    assert abs(float(margins.mean()) - 2 * guess_advantage(D, k)) < 4 * error


def test_the_printed_threshold_is_not_met_by_the_proofs_class_alone():
    """With no query the guess is below 1/2 − 1/C³ on every parity, although the paper asks for C^(1/3)/2 queries."""
    for D, k in ((12, 3), (60, 15), (100, 5), (100, 15)):
        numbers = StatisticalQueryCertificate(D, k, 1, 0.5).numbers
        assert numbers["1/2 less the error of a guess without queries"] > numbers["paper's 1/C³"]


def test_with_the_papers_numbers_the_sharper_bound_says_more():
    """Q and 1/τ below C^(1/3)/2 leave at least 5/8 of the targets at every advantage from 1/√C on."""
    for D, k in ((12, 6), (30, 4), (100, 15)):
        C, bound = math.comb(D, k), theorem4(D, k)
        found = StatisticalQueryCertificate(D, k, math.ceil(bound) - 1, min(1.0, 1.001 / bound), math.sqrt(1 / C))
        assert all(hypothesis.holds for hypothesis in found.hypotheses)
        assert found.learnable_share <= 3 / 8


@pytest.mark.parametrize(
    ("queries", "tolerance", "applies"), [(1, 0.6, True), (2, 0.6, False), (1, 0.5, False), (2, 0.5, False)]
)
def test_at_equality_the_papers_theorem_says_nothing(queries, tolerance, applies):
    """A learner needs C^(1/3)/2 queries, or 1/τ as large, so it may succeed with exactly that: here 64^(1/3)/2 = 2."""
    found = StatisticalQueryCertificate(64, 1, queries, tolerance)
    assert all(hypothesis.holds for hypothesis in found.hypotheses) == applies
    assert ("The paper's theorem applies." in found.verdict) == applies


@pytest.mark.parametrize(
    "sizes", [(8, 3, 10, 0.5, 0.3), (9, 2, 4, 1.0, 0.5), (100, 15, 1000, 0.01, 0.01), (1, 1, 1, 1.0, 0.5)]
)
def test_it_is_verified_and_written_as_json(sizes):
    found = StatisticalQueryCertificate(*sizes)
    assert found.verify().agrees
    assert from_json(found.to_json()) == found
    assert Certificate.kinds["StatisticalQueryCertificate"] is StatisticalQueryCertificate


@pytest.mark.parametrize(
    ("owner", "name", "wrong", "advantage"),
    [
        (certificate, "guess_advantage", lambda D, k: 0.1, 0.4),
        (certificate, "theorem4", lambda D, k: 1.0, 0.4),
        (certificate, "learnable_share", lambda *sizes: Fraction(1, 7), 0.4),
        (certificate, "exposed_share", lambda *sizes: Fraction(1, 5), 0.4),
        (certificate, "class_size", lambda D, k: 57, 0.4),
        (certificate, "guess", lambda k, z: torch.ones(len(z), dtype=z.dtype), 0.4),
        # without the targets that a guess reaches; with the tolerance once; below 0
        (StatisticalQueryCertificate, "needed", property(lambda it: it.tolerance**2 * it.targets), 0.4),
        (
            StatisticalQueryCertificate,
            "needed",
            property(lambda it: it.tolerance * (it.targets - 1 / (4 * it.advantage**2))),
            0.4,
        ),
        (
            StatisticalQueryCertificate,
            "needed",
            property(lambda it: it.tolerance**2 * (it.targets - 1 / (4 * it.advantage**2))),
            0.05,
        ),
    ],
)
def test_a_wrong_number_is_noticed(monkeypatch, owner, name, wrong, advantage):
    found = StatisticalQueryCertificate(8, 3, 2, 0.5, advantage)
    found.verify()
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(DisagreementError):
        found.verify()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"relevant": 9}, r"relevant must not exceed patterns \(8\), got 9"),
        ({"patterns": 10**6, "relevant": 5 * 10**5}, "the number of parities must be below 1e100, got about 1e301027"),
    ],
)
def test_bad_certificates(change, sentence):
    with pytest.raises(InputError, match=sentence):
        StatisticalQueryCertificate(
            **{"patterns": 8, "relevant": 3, "queries": 5, "tolerance": 0.1, "advantage": 0.1, **change}
        )


def test_problems_that_the_theorem_does_not_speak_of():
    problem = DictionaryParity(8, 6, relevant=3)
    plain = problem.without_structure()
    assert certify_queries(replace(plain, noise_std=1.0), 5, 0.1).targets == 20
    refused(r"uniform patterns and no negative_ratio.*got StructuredMixture", certify_queries, problem, 5, 0.1)
    refused("uniform patterns and no negative_ratio", certify_queries, replace(plain, negative_ratio=0.8), 5, 0.1)
    with pytest.raises(InputError, match=r"parity labels, which Theorem 4's proof is about, got Threshold"):
        certify_queries(replace(plain, labels=Threshold()), 5, 0.1)


def test_asking_for_each_parity_comes_near_the_mean_number_of_queries():
    C = 100
    asked = [*range(1, C), C - 1]  # the last parity is known when all others are excluded
    assert mean_queries(C, 1.0) <= sum(asked) / C <= mean_queries(C, 1.0) + 1.5
