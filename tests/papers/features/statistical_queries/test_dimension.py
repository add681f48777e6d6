"""The statistical-query dimension against a search through all sets of functions."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.papers.features.problems import (
    Counts,
    DictionaryParity,
    DictionaryProblem,
    IndependentPatterns,
    Parity,
    Threshold,
    UniformPatterns,
)
from beyondkernels.papers.features.statistical_queries import Dimension, class_correlations, dimension
from refusals import refused


def literal_dimension(correlations: torch.Tensor) -> int:
    """Definition 31, by trying every set of functions."""
    n = len(correlations)
    return max(
        d
        for d in range(1, n + 1)
        if any(
            all(abs(float(correlations[i, j])) <= d**-3 + 1e-12 for i, j in itertools.combinations(chosen, 2))
            for chosen in itertools.combinations(range(n), d)
        )
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_classes(seed):
    # short vectors of signs: many correlations are 0, others lie near 1/d³
    stream, points = Stream(100 + seed), (8, 12, 16, 28)[seed % 4]
    values = stream.normal(9, points, dtype=torch.float64).sign()
    C = values @ values.T / points
    found = dimension(C)
    assert found.exact
    assert found.lower == literal_dimension(C) == len(found.functions)
    off = C[list(found.functions)][:, list(found.functions)] - torch.eye(found.lower, dtype=torch.float64)
    assert float(off.abs().max()) <= found.lower**-3 + 1e-12


@pytest.mark.parametrize(("D", "k"), [(4, 1), (5, 2), (6, 3), (9, 4)])
def test_parities_are_as_many_as_they_are(D, k):
    C = class_correlations(DictionaryParity(D, D, relevant=k).without_structure())
    assert torch.equal(C, torch.eye(math.comb(D, k), dtype=torch.float64))
    assert str(dimension(C)) == str(math.comb(D, k))


def test_correlations_of_other_labels_by_listing():
    problem = DictionaryProblem(4, 4, 2, Counts((1, 2)), IndependentPatterns(0.3, 0.3))
    sets = list(itertools.combinations(range(4), 2))
    C = class_correlations(problem)
    for (i, A), (j, B) in itertools.product(enumerate(sets), repeat=2):
        mean = 0.0
        for bits in itertools.product((0, 1), repeat=4):
            p = math.prod(0.3 if bit else 0.7 for bit in bits)
            mean += p * (1 if any(bits[a] for a in A) else -1) * (1 if any(bits[b] for b in B) else -1)
        assert float(C[i, j]) == pytest.approx(mean, abs=1e-12)


def test_labels_that_vary_slowly_have_a_small_dimension():
    problem = DictionaryProblem(8, 8, 3, Threshold(), UniformPatterns())
    C = class_correlations(problem)
    assert dimension(C).lower == 2  # two sets without a common pattern are independent; of three, two meet
    assert dimension(class_correlations(replace(problem, labels=Parity()))).lower == 56


def test_what_the_effort_leaves_open_is_said():
    values = Stream(0).normal(60, 64, dtype=torch.float64).sign()
    C = values @ values.T / 64
    little, much = dimension(C, effort=1), dimension(C)
    assert not little.exact
    assert little.lower <= much.lower <= much.upper <= little.upper
    assert str(Dimension(2, 5, (0, 1))) == "between 2 and 5"


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (torch.ones(2, 3), r"correlations must be a square matrix of 1 to 2000 functions, got shape \(2, 3\)"),
        (torch.tensor([[1.0, 0.5], [0.2, 1.0]]), "correlations must be symmetric with a diagonal of ones"),
    ],
)
def test_bad_matrices(matrix, sentence):
    refused(sentence, dimension, matrix)


def test_what_has_no_such_dimension_is_refused():
    refused("one distribution of patterns for all sets A", class_correlations, DictionaryParity(5, 5, relevant=2))
    with pytest.raises(InputError, match="at most 2000 functions to list their correlations, got 3003 sets of 6 out"):
        class_correlations(DictionaryParity(14, 14, relevant=6).without_structure())
    with pytest.raises(InputError, match="at most 14 patterns, no noise and no negative_ratio for exact means, got 16"):
        class_correlations(DictionaryParity(16, 16, relevant=1).without_structure())
