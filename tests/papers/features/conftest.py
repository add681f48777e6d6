"""Dictionary problems a second time: the distributions of the paper, point by point over {0, 1}^D."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import beyondkernels.papers.features as bp

Points = tuple[np.ndarray, np.ndarray, np.ndarray]


def _coin(value: int, p: float) -> float:
    return p if value == 1 else 1 - p


def _probability(hidden: bp.HiddenPatterns, phi: tuple[int, ...], A: tuple[int, ...]) -> float:
    others = [j for j in range(len(phi)) if j not in A]
    if isinstance(hidden, bp.UniformPatterns):
        return 0.5 ** len(phi)
    if isinstance(hidden, bp.StructuredMixture):
        p_o = hidden.background
        second = 1.0
        for j in others:
            second *= _coin(phi[j], p_o / (2 - 2 * p_o))
        all_zero = all(phi[i] == 0 for i in A)
        all_one = all(phi[i] == 1 for i in A)
        second *= 0.5 if all_zero or all_one else 0.0
        return p_o * 0.5 ** len(phi) + (1 - p_o) * second
    if isinstance(hidden, bp.ListedPatterns):
        product = hidden.vectors.count(tuple(phi[i] for i in A)) / len(hidden.vectors)
        for j in others:
            product *= _coin(phi[j], hidden.background)
        return product
    assert isinstance(hidden, bp.IndependentPatterns)
    product = 1.0
    for kind, indices in (("relevant", list(A)), ("background", others)):
        given = getattr(hidden, kind)
        for place, j in enumerate(indices):
            product *= _coin(phi[j], given[place] if isinstance(given, tuple) else given)
    return product


def enumerate_points(problem: bp.DictionaryProblem) -> Points:
    """All hidden vectors (2^D, D), their probabilities and their labels."""
    A, P = problem.relevant_set, problem.labels.counts(problem.relevant)
    points, probabilities, labels = [], [], []
    for phi in itertools.product((0, 1), repeat=problem.patterns):
        points.append(phi)
        probabilities.append(_probability(problem.hidden, phi, A))
        labels.append(1 if sum(phi[i] for i in A) in P else -1)
    p, y = np.array(probabilities), np.array(labels)
    if problem.negative_ratio is not None:
        for v, share in ((1, 1 - problem.negative_ratio), (-1, problem.negative_ratio)):
            p[y == v] *= share / p[y == v].sum()
    return np.array(points), p, y


@pytest.fixture(scope="session")
def enumerated() -> Callable[[bp.DictionaryProblem], Points]:
    return enumerate_points
