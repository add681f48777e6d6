"""How well a linear classifier can do: formulas against enumeration, linear programs and fitting."""

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import beyondkernels.papers.features as bp
from beyondkernels.core import Stream
from beyondkernels.papers.features.problems import linear

FAIR = bp.UniformPatterns()
MIXED = bp.StructuredMixture(0.5)
BIASED = bp.IndependentPatterns(2 / 3, 0.5)


@functools.cache
def separable(k):
    """All Boolean functions of k bits that a linear program separates, as rows of ±1 over itertools.product."""
    points = np.array(list(itertools.product((0, 1), repeat=k)))
    design = np.hstack([points, np.ones((2**k, 1))])
    found = []
    for f in itertools.product((-1, 1), repeat=2**k):
        rows = -np.array(f)[:, None] * design
        answer = linprog(np.zeros(k + 1), A_ub=rows, b_ub=-np.ones(2**k), bounds=(None, None))
        if answer.status == 0:
            found.append(f)
    return np.array(found)


def problem_of(counts, hidden, k, D=None, **more):
    return bp.DictionaryProblem(D or k, D or k, k, bp.Counts(counts), hidden, **more)


def count_sets(k):
    return itertools.chain.from_iterable(itertools.combinations(range(k + 1), n) for n in range(1, k + 1))


def test_number_of_threshold_functions():
    """Integer weights up to the stated size find all of them: 4, 14, 104, 1882, 94572 (OEIS A000609).

    Nonnegative weights are enough to count: negating any of the r bits a function depends on gives 2^r functions.
    """
    for k, known in ((1, 4), (2, 14), (3, 104), (4, 1882), (5, 94572)):
        points = np.array(list(itertools.product((0, 1), repeat=k)))
        functions = set()
        for w in itertools.product(range(linear.LARGEST_WEIGHT[k] + 1), repeat=k):
            scores = points @ w
            functions.update((scores >= t).tobytes() for t in range(scores.max() + 2))
        total = 0
        for f in functions:
            table = np.frombuffer(f, dtype=bool).reshape((2,) * k)
            total += 2 ** sum(bool((table.take(0, i) != table.take(1, i)).any()) for i in range(k))
        assert total == known
    assert [len(separable(k)) for k in (1, 2, 3)] == [4, 14, 104]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "hidden", [FAIR, MIXED, BIASED, bp.IndependentPatterns(0.9, 0.5)], ids=["fair", "mixed", "biased", "rare"]
)
def test_best_linear_against_linear_programs(k, hidden, enumerated):
    for counts in count_sets(k):
        problem = problem_of(counts, hidden, k)
        _, p, y = enumerated(problem)
        literal = (p * (separable(k) == y)).sum(1).max()
        assert problem.linear_accuracy == pytest.approx(literal, abs=1e-14)
        assert problem.best_count_threshold_accuracy <= literal + 1e-14


def test_unequal_probabilities_against_linear_programs(enumerated):
    hidden = bp.IndependentPatterns((0.15, 0.45, 0.7), 0.5)
    for counts in count_sets(3):
        for ratio in (None, 0.8, 0.02):
            problem = problem_of(counts, hidden, 3, negative_ratio=ratio)
            _, p, y = enumerated(problem)
            literal = (p * (separable(3) == y)).sum(1).max()
            assert problem.linear_accuracy == pytest.approx(literal, abs=1e-14)


@pytest.mark.parametrize(
    ("hidden", "k", "better"),
    [
        (FAIR, 2, 0),
        (FAIR, 3, 0),
        (FAIR, 4, 2),  # P = {2} and its complement
        (BIASED, 3, 2),
        (MIXED, 1, 0),
        (MIXED, 2, 2),  # parity and its complement
        (MIXED, 3, 8),
        (MIXED, 4, 14),
    ],
)
def test_where_the_count_is_not_the_best_direction(hidden, k, better):
    found = 0
    for counts in count_sets(k):
        problem = problem_of(counts, hidden, k)
        best, by_count = problem.linear_accuracy, problem.best_count_threshold_accuracy
        assert best is not None
        assert by_count is not None
        found += best > by_count + 1e-12
    assert found == better


@pytest.mark.parametrize("hidden", [MIXED, FAIR, BIASED, bp.StructuredMixture(0.1)])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_count_threshold_literally(hidden, k, enumerated):
    for counts in count_sets(k):
        problem = problem_of(counts, hidden, k, D=k + 1)
        phi, p, y = enumerated(problem)
        count = phi[:, list(problem.relevant_set)].sum(1)
        literal = max(
            p[np.where(sign * (count - t) > 0, 1, -1) == y].sum() for sign in (1, -1) for t in np.arange(-0.5, k + 1)
        )
        assert problem.best_count_threshold_accuracy == pytest.approx(literal, abs=1e-14)


def test_parity_formula_of_the_paper_setting():
    problem = bp.DictionaryParity(dim=500, patterns=100, relevant=5)
    assert problem.linear_accuracy == problem.best_count_threshold_accuracy == 0.84375
    for k in (1, 3, 5, 7, 9):
        for p_o in (0.5, 0.2):
            written = (1 - p_o) + p_o / 2 * (1 + math.comb(k - 1, (k - 1) // 2) / 2 ** (k - 1))
            assert bp.DictionaryParity(12, 10, k, p_o).linear_accuracy == pytest.approx(written, abs=1e-15)


@pytest.mark.parametrize("k", range(1, 6))
def test_parity_formula_by_enumeration(k):
    """All threshold functions of k bits; the background is independent at p_o = 1/2 and drops out."""
    points = linear.corners(k)
    count = points.sum(1, dtype=torch.int64)
    y = torch.where(count % 2 == 1, 1.0, -1.0).double()
    fair = torch.full((2**k,), 2.0**-k, dtype=torch.float64)
    ends = ((count == 0) | (count == k)).double() / 2
    assert linear.best_linear_threshold(fair, y, symmetric=True) == pytest.approx(linear.parity_accuracy(k), abs=1e-14)
    mixed = 0.5 * fair + 0.5 * ends
    best = linear.best_linear_threshold(mixed, y, symmetric=True)
    assert best == pytest.approx(linear.parity_accuracy(k, 0.5), abs=1e-14)


@pytest.mark.parametrize(("k", "D", "p_o"), [(2, 4, 0.2), (3, 4, 0.1), (3, 5, 0.3), (4, 5, 0.4)])
def test_parity_formula_with_a_background_that_tells_something(k, D, p_o, enumerated):
    """Below p_o = 1/2 the background points to the part of the mixture: weights on all D patterns, enumerated."""
    problem = bp.DictionaryParity(D, D, k, p_o)
    phi, p, y = enumerated(problem)
    order = (phi @ (2 ** np.arange(D))).argsort()  # the order of linear.corners
    density, signs = torch.from_numpy(p[order]), torch.from_numpy(y[order]).double()
    best = linear.best_linear_threshold(density, signs, symmetric=False)
    assert problem.linear_accuracy == pytest.approx(best, abs=1e-14)


@pytest.mark.parametrize("k", range(2, 14))
def test_a_negated_majority_reaches_the_parity_formula(k):
    """The classifier named in the proof, count by count: flip some patterns, take a majority."""
    negated = k // 2 if k % 2 == 0 else k % 4 // 2
    threshold = k // 2 + 1
    right = {"fair": 0.0, "ends": 0.0}
    for a in range(k - negated + 1):
        for b in range(negated + 1):
            answer = 1 if a + (negated - b) >= threshold else -1
            if answer == (1 if (a + b) % 2 else -1):
                right["fair"] += math.comb(k - negated, a) * math.comb(negated, b) / 2**k
                right["ends"] += 0.5 * ((a + b == 0) + (a + b == k))
    assert right["ends"] == 1.0
    for p in (1.0, 0.5, 0.2):
        assert (1 - p) * right["ends"] + p * right["fair"] == pytest.approx(linear.parity_accuracy(k, p), abs=1e-14)
    by_count = bp.DictionaryParity(k + 1, k + 1, k).best_count_threshold_accuracy
    assert by_count is not None
    assert (by_count > linear.parity_accuracy(k, 0.5) - 1e-12) == (k % 4 == 1)


def test_best_weights_on_inputs():
    """k = 3: the weights 1, 1, −1 on a sample of x, against the proven optimum."""
    problem = bp.DictionaryParity(dim=10, patterns=6, relevant=3)
    sample = problem.sample(20_000, Stream(0))
    w = problem.matrix[:, list(problem.relevant_set)] @ torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
    score = sample.x.double() @ w * problem.moments.scale + 0.5  # means are 1/2 each: back to φ₁ + φ₂ − φ₃
    accuracy = float((torch.sign(score - 0.5) == sample.y).double().mean())
    assert problem.linear_accuracy == 0.875
    assert accuracy == pytest.approx(0.875, abs=4 * math.sqrt(0.875 * 0.125 / 20_000))


def test_proven_elsewhere_or_none():
    table2 = bp.IntervalLabelling()
    assert table2.linear_accuracy == table2.best_count_threshold_accuracy == 1.0
    two_sided = bp.IntervalLabelling(high=25)
    assert two_sided.linear_accuracy is None
    assert 0.5 < (two_sided.best_count_threshold_accuracy or 0) < 1
    assert bp.DictionaryParity(20, 10, 3, noise_std=0.1).linear_accuracy is None
    assert problem_of((1, 2), bp.StructuredMixture(0.2), 3, D=5).linear_accuracy is None
    crowded = bp.DictionaryParity(5, 7, 3, dictionary=bp.Incoherent(1.5))
    assert crowded.linear_accuracy is None
    assert crowded.best_count_threshold_accuracy is None
    spread = bp.DictionaryParity(12, 7, 3, dictionary=bp.Incoherent(0.5))
    assert spread.linear_accuracy == 0.875


@pytest.mark.parametrize("sigma", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("positive", [0.5, 0.2])
def test_two_gaussians_in_closed_form(sigma, positive):
    theta = 0.5 + sigma**2 * math.log((1 - positive) / positive)
    bayes = positive * norm.cdf((1 - theta) / sigma) + (1 - positive) * norm.cdf(theta / sigma)
    assert bp.two_gaussians(5, sigma, positive).linear_accuracy == pytest.approx(bayes, abs=1e-9)


def test_noisy_count_in_either_direction():
    one, other = (
        bp.DictionaryProblem(6, 4, 2, labels, bp.UniformPatterns(), noise_std=0.3)
        for labels in (bp.Counts((2,)), bp.Counts((0, 1)))
    )
    assert other.best_count_threshold_accuracy == pytest.approx(one.best_count_threshold_accuracy, abs=1e-9)
    assert (one.best_count_threshold_accuracy or 0) > one.constant_accuracy + 0.05


@pytest.mark.parametrize("dictionary", [bp.Orthonormal(), bp.Incoherent(0.8)])
def test_noisy_count_on_inputs(dictionary):
    """The best threshold of ⟨u, x̃⟩ on a large sample, u found by least squares."""
    problem = bp.DictionaryParity(8, 5, 3, noise_std=0.15, dictionary=dictionary)
    sample = problem.sample(40_000, Stream(4))
    M, m = problem.matrix.numpy(), problem.moments
    wanted = np.isin(np.arange(5), problem.relevant_set).astype(float)
    u = np.linalg.lstsq(M.T, wanted, rcond=None)[0]
    noisy = (sample.x.double().numpy() * m.scale + M @ m.means.numpy()) @ u
    y = sample.y.numpy()
    thresholds = np.linspace(-1, 4, 101)
    literal = max(float((np.where(s * (noisy - t) > 0, 1, -1) == y).mean()) for s in (1, -1) for t in thresholds)
    assert problem.best_count_threshold_accuracy == pytest.approx(literal, abs=0.006)
    clean = dataclasses.replace(problem, noise_std=0.0).best_count_threshold_accuracy
    assert (problem.best_count_threshold_accuracy or 1) < (clean or 0) - 0.005


def test_fitting_reaches_the_formula():
    problem = bp.DictionaryParity(dim=20, patterns=12, relevant=5)
    train, test = problem.sample(20_000, Stream(0)), problem.sample(20_000, Stream(1))
    fit = LogisticRegression(C=1e4, max_iter=200).fit(train.x.numpy(), train.y.numpy())
    error = math.sqrt(0.84375 * 0.15625 / 20_000)
    assert fit.score(test.x.numpy(), test.y.numpy()) == pytest.approx(0.84375, abs=4 * error)
