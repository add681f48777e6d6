"""The dictionary problem and the paper's own settings."""

import dataclasses
import hashlib
import math

import pytest
import torch

import beyondkernels.papers.features as bp
from beyondkernels.core import Stream
from refusals import refused

GOLDEN_SET = (1, 2, 3)
GOLDEN_BITS = "e08596a6f61efda6"
GOLDEN_X = [0.150467, 0.37991, -0.206045, 0.051821, -0.018022, 1.017667]
GOLDEN_WEIGHTED = "de364d8474c6950e"
GOLDEN_COLUMN = [-0.2250895735, -0.4766711945, 0.8127337757, -0.2481593563]


def test_golden_sample():
    """These numbers may change only together with a revision."""
    problem = bp.DictionaryParity(dim=6, patterns=5, relevant=3, background=0.3, noise_std=0.1, instance=4)
    sample = problem.sample(256, Stream(7))
    bits = hashlib.sha256(sample.hidden["patterns"].numpy().tobytes() + sample.y.numpy().tobytes()).hexdigest()
    assert bp.DictionaryProblem.revision == bp.StructuredMixture.revision == bp.Orthonormal.revision == 1
    assert problem.relevant_set == GOLDEN_SET
    assert bits[:16] == GOLDEN_BITS
    assert sample.x[0].tolist() == pytest.approx(GOLDEN_X, abs=2e-6)
    weighted = dataclasses.replace(problem, negative_ratio=0.8).sample(256, Stream(7)).hidden["patterns"]
    assert hashlib.sha256(weighted.numpy().tobytes()).hexdigest()[:16] == GOLDEN_WEIGHTED
    incoherent = bp.Incoherent(1.0).draw(4, 5, Stream(0))
    assert incoherent[:, 0].tolist() == pytest.approx(GOLDEN_COLUMN, abs=1e-9)


def test_relevant_set_is_uniform():
    """Each of 6 patterns is relevant in a third of the instances."""
    n = 1500
    hits = torch.zeros(6)
    for instance in range(n):
        hits[list(bp.DictionaryParity(6, 6, 2, instance=instance).relevant_set)] += 1
    assert float((hits / n - 1 / 3).abs().max()) < 4 * math.sqrt(2 / 9 / n)


def test_table_2():
    problem = bp.IntervalLabelling()
    literal = sum(math.comb(30, s) * (2 / 3) ** s * (1 / 3) ** (30 - s) for s in range(20, 31))
    assert (problem.dim, problem.patterns, problem.relevant) == (500, 100, 30)
    assert problem.moments.positive == pytest.approx(literal, abs=1e-13)
    assert problem.moments.positive == pytest.approx(0.585, abs=5e-4)
    assert problem.without_structure().constant_accuracy == pytest.approx(0.95, abs=2e-3)


@pytest.mark.parametrize("ratio", [0.8, 0.9])
def test_table_4(ratio):
    problem = bp.DictionaryParity(60, 30, 5, negative_ratio=ratio)
    assert problem.constant_accuracy == pytest.approx(ratio, abs=1e-14)
    assert problem.moments.gamma_balanced == pytest.approx(0.25, abs=1e-14)
    assert problem.moments.gamma == pytest.approx(ratio * (1 - ratio), abs=1e-14)
    share = float((problem.sample(20_000, Stream(0)).y < 0).double().mean())
    assert share == pytest.approx(ratio, abs=5 * math.sqrt(ratio * (1 - ratio) / 20_000))


def test_two_gaussians():
    """Given y, x̃ is Gaussian around v/2 + y v/2 with standard deviation σ in every direction."""
    problem = bp.two_gaussians(dim=4, noise_std=0.3)
    sample, m = problem.sample(20_000, Stream(0)), problem.moments
    v = problem.matrix[:, 0]
    x = sample.x.double() * m.scale + v * m.means[0]
    assert m.variance == pytest.approx(0.25 + 4 * 0.09, abs=1e-14)
    for y in (1.0, -1.0):
        part = x[sample.y == y]
        torch.testing.assert_close(part.mean(0), v / 2 + y * v / 2, rtol=0, atol=5 * 0.3 / math.sqrt(len(part)))
        covariance = torch.cov(part.T)
        expected = 0.09 * torch.eye(4, dtype=torch.float64)
        torch.testing.assert_close(covariance, expected, rtol=0, atol=6 * 0.09 * math.sqrt(2 / len(part)))


BAD = {
    "relevant must not exceed patterns, got 4 relevant of 3 patterns": lambda: bp.DictionaryParity(9, 3, 4),
    "patterns must not exceed dim for an orthonormal dictionary, got 9 patterns in dimension 5": (
        lambda: bp.DictionaryParity(5, 9, 3)
    ),
    r"relevant must lie in \[0, 1\], got 1.5": lambda: bp.IndependentPatterns(relevant=(0.5, 1.5)),
    "negative_ratio needs classes that each appear with probability 0.0001 or more": (
        lambda: bp.DictionaryProblem(40, 40, 40, bp.Counts((40,)), bp.UniformPatterns(), negative_ratio=0.5)
    ),
    "labels must name at least one count": (lambda: bp.DictionaryProblem(9, 5, 3, bp.Counts(()), bp.UniformPatterns())),
    "labels must name counts from 0 to 3": lambda: bp.IntervalLabelling(9, 5, 3, low=2, high=4),
    "labels must leave out at least one count": lambda: bp.IntervalLabelling(9, 5, 3, low=0, high=3),
    r"labels must give both classes a positive probability, got Pr\[y = \+1\] = 0": (
        lambda: bp.DictionaryProblem(9, 5, 3, bp.Counts((3,)), bp.IndependentPatterns(0.0, 0.5))
    ),
    "relevant must hold 3 probabilities or be one number, got 2": (
        lambda: bp.DictionaryProblem(9, 5, 3, bp.Counts((3,)), bp.IndependentPatterns((0.1, 0.2), 0.5))
    ),
    "background must hold 2 probabilities or be one number, got 1": (
        lambda: bp.DictionaryProblem(9, 5, 3, bp.Counts((3,)), bp.IndependentPatterns(0.1, (0.5,)))
    ),
    r"mu must be at least .* for 9 patterns in dimension 5, got 0.2": (
        lambda: bp.DictionaryParity(5, 9, 3, dictionary=bp.Incoherent(0.2))
    ),
    "n must be a whole number of at least 0, got -1": lambda: bp.DictionaryParity(9, 5, 3).sample(-1, Stream(0)),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_gets_a_sentence(sentence):
    refused(sentence, BAD[sentence])
