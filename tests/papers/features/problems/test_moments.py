"""Exact moments against sums over all of {0, 1}^D."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import beyondkernels.papers.features as bp
from beyondkernels.papers.features.problems import counting

SMALL = {
    "parity mixture": bp.DictionaryParity(8, 7, 3),
    "sparse mixture": bp.DictionaryParity(8, 7, 3, background=0.2, instance=1),
    "even k": bp.DictionaryParity(8, 7, 4, background=0.3),
    "one relevant": bp.DictionaryParity(8, 4, 1, background=0.3),
    "no background": bp.DictionaryParity(8, 4, 4, background=0.3),
    "no structure": bp.DictionaryParity(8, 7, 3).without_structure(),
    "interval": bp.IntervalLabelling(8, 7, 4, low=2, high=3, relevant_probability=0.7, background=0.25),
    "threshold": bp.DictionaryProblem(8, 6, 3, bp.Threshold(), bp.IndependentPatterns(0.6, 0.1)),
    "own probabilities": bp.DictionaryProblem(
        8, 6, 3, bp.Counts((0, 2)), bp.IndependentPatterns((0.1, 0.5, 0.8), (0.2, 0.9, 1.0)), instance=3
    ),
    "listed": bp.DictionaryProblem(
        8, 6, 3, bp.Counts((1,)), bp.ListedPatterns(((0, 0, 1), (1, 1, 0), (0, 1, 0), (1, 1, 1)), 0.3), instance=1
    ),
    "noise": bp.DictionaryParity(8, 6, 3, noise_std=0.3),
    "class ratio": bp.DictionaryParity(8, 7, 3, background=0.3, negative_ratio=0.8),
    "class ratio, own probabilities": bp.DictionaryProblem(
        8, 6, 4, bp.Counts((1, 4)), bp.IndependentPatterns((0.1, 0.5, 0.8, 0.3), 0.4), negative_ratio=0.9, instance=2
    ),
    "incoherent": bp.DictionaryParity(8, 7, 3, dictionary=bp.Incoherent(1.0), noise_std=0.2),
    "more patterns than dimensions": bp.DictionaryParity(5, 7, 3, dictionary=bp.Incoherent(1.5)),
    "two Gaussians": bp.two_gaussians(6, 0.4, positive=0.3),
}
small = pytest.mark.parametrize("problem", SMALL.values(), ids=SMALL.keys())


def close(exact, literal):
    np.testing.assert_allclose(np.asarray(exact, dtype=float), literal, rtol=0, atol=1e-13)


@small
def test_means_variances_and_covariance(problem, enumerated):
    phi, p, _ = enumerated(problem)
    close(p.sum(), 1.0)
    means = p @ phi
    second = (phi * p[:, None]).T @ phi
    close(problem.moments.means, means)
    close(problem.moments.variances, p @ (phi - means) ** 2)
    close(problem.moments.covariance, second - np.outer(means, means))


@small
def test_count_and_presence(problem, enumerated):
    phi, p, _ = enumerated(problem)
    count = phi[:, list(problem.relevant_set)].sum(1)
    for s in range(problem.relevant + 1):
        close(problem.moments.count_distribution[s], p[count == s].sum())
        close(problem.moments.presence_by_count[:, s], (p[:, None] * phi)[count == s].sum(0))


@small
def test_labels_and_correlations(problem, enumerated):
    phi, p, y = enumerated(problem)
    A, m = list(problem.relevant_set), problem.moments
    positive = p[y == 1].sum()
    close(m.positive, positive)
    close(m.negative, 1 - positive)
    close(m.p_min, min(positive, 1 - positive))
    main = (p * y) @ phi - (p @ y) * (p @ phi)
    close(m.correlations, main)
    close(m.gamma, main[A].min())
    gamma_plus = (p * y)[y == 1] @ phi[y == 1] / positive
    gamma_minus = (p * y)[y == -1] @ phi[y == -1] / (1 - positive)
    close(m.balanced_correlations, (gamma_plus + gamma_minus) / 2)
    close(m.gamma_balanced, ((gamma_plus + gamma_minus) / 2)[A].min())
    close(main, 4 * positive * (1 - positive) * (gamma_plus + gamma_minus) / 2)
    close(problem.constant_accuracy, max(positive, 1 - positive))


@small
def test_variance_of_the_data(problem, enumerated):
    phi, p, _ = enumerated(problem)
    x = phi @ problem.matrix.numpy().T
    centred = x - p @ x
    variance = float(p @ (centred**2).sum(1)) + problem.dim * problem.noise_std**2
    assert problem.moments.variance == pytest.approx(variance, rel=1e-12)
    assert problem.moments.scale == pytest.approx(variance**0.5, rel=1e-12)


def test_short_formula_of_the_variance_needs_orthonormal_columns_or_uncorrelated_patterns():
    def short(problem):
        return float(problem.moments.variances.sum()) + problem.dim * problem.noise_std**2

    correlated = SMALL["incoherent"]
    assert short(correlated) != pytest.approx(correlated.moments.variance, rel=1e-4)
    uncorrelated = correlated.without_structure()
    assert short(uncorrelated) == pytest.approx(uncorrelated.moments.variance, rel=1e-12)


@small
def test_hidden_distribution_alone(problem, enumerated):
    """The moments a distribution gives by itself, before any class ratio."""
    natural = dataclasses.replace(problem, negative_ratio=None)
    phi, p, _ = enumerated(natural)
    hidden, D, A = problem.hidden, problem.patterns, problem.relevant_set
    count = phi[:, list(A)].sum(1)
    close(hidden.means(D, A), p @ phi)
    close(hidden.variances(D, A), (p @ phi) * (1 - p @ phi))
    close(hidden.covariance(D, A), np.cov(phi.T, aweights=p, ddof=0).reshape(D, D))
    close(hidden.count_distribution(D, A), [p[count == s].sum() for s in range(len(A) + 1)])
    r = np.linspace(0.3, 2.0, len(A) + 1)
    literal = (phi * (p * r[count])[:, None]).T @ phi
    close(hidden.pairs_by_weighted_count(D, A, torch.from_numpy(r)), literal)


def test_structured_mixture_in_closed_form():
    p_o, k = 0.2, 3
    m = bp.DictionaryParity(30, 12, k, background=p_o).moments
    assert m.background == pytest.approx(p_o, abs=1e-15)
    assert m.gamma == pytest.approx((1 - p_o) / 2, abs=1e-14)
    others = m.background_indices
    i, j = others[:2]
    assert float(m.covariance[i, j]) == pytest.approx(p_o * (1 - 2 * p_o) ** 2 / (4 * (1 - p_o)), abs=1e-15)
    a, b = m.relevant[:2]
    assert float(m.covariance[a, b]) == pytest.approx((1 - p_o) / 4, abs=1e-15)
    assert float(m.covariance[a, i]) == pytest.approx(0, abs=1e-15)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_count_distribution_by_convolution(probabilities):
    literal = np.ones(1)
    for p in probabilities:
        literal = np.convolve(literal, [1 - p, p])
    close(counting.count_distribution(torch.tensor(probabilities, dtype=torch.float64)), literal)
