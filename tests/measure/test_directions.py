"""Distances of directions, and the plane picture they give."""

import itertools
import math

import numpy as np
import pytest

import naive
from beyondkernels.measure import Directions, classical_scaling, cosine_distances
from measuring import measured
from refusals import refused

RNG = np.random.default_rng(1)


def euclidean(points: np.ndarray) -> np.ndarray:
    return np.array([[math.dist(p, q) for q in points] for p in points])


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e200])
def test_cosine_distances_against_a_loop(scale):
    rows = RNG.normal(size=(12, 5))
    rows[3], rows[4] = 2 * rows[0], -rows[0]
    found = cosine_distances(scale * rows)
    for i, j in itertools.product(range(12), repeat=2):
        expected = 0 if i == j else 1 - naive.cosine(rows[i].tolist(), rows[j].tolist())
        assert found[i, j] == pytest.approx(expected, abs=1e-12)
    assert found.min() >= 0 and found.max() <= 2


def test_zero_rows_are_at_distance_one():
    found = cosine_distances(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    assert found.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(("n", "q"), [(10, 2), (7, 3), (5, 1), (3, 2)])
def test_euclidean_distances_come_back(n, q):
    points = RNG.normal(size=(n, q))
    found = classical_scaling(euclidean(points), q)
    assert found.shape == (n, q)
    assert euclidean(found) == pytest.approx(euclidean(points), abs=1e-12)
    assert found.mean(0) == pytest.approx(np.zeros(q), abs=1e-12)


def test_coordinates_are_principal():
    """The best plane of points in space is spanned by their largest singular vectors."""
    points = RNG.normal(size=(20, 5)) * [5, 3, 1, 0.5, 0.1]
    found = classical_scaling(euclidean(points), 2)
    u, s, _ = np.linalg.svd(points - points.mean(0), full_matrices=False)
    assert np.abs(found) == pytest.approx(np.abs(u[:, :2] * s[:2]), abs=1e-10)


def test_the_largest_entry_is_positive():
    for _ in range(20):
        picture = classical_scaling(euclidean(RNG.normal(size=(8, 4))), 2)
        assert (picture[np.abs(picture).argmax(0), [0, 1]] > 0).all()


def test_rounding_does_not_turn_a_symmetric_picture():
    """Neurons come with their opposites, so the largest entries of a coordinate tie with those of other sign."""
    for _ in range(20):
        half = RNG.normal(size=(10, 6)) * [3, 2, 1, 1, 1, 1]
        distances = cosine_distances(np.vstack([half, -half]))
        noise = 1e-15 * RNG.normal(size=distances.shape)
        picture = classical_scaling(distances)
        assert classical_scaling(distances + noise + noise.T) == pytest.approx(picture, abs=1e-6)


def test_directions(outcome_of, pointing):
    """Two neurons along v, one against it, one across; v and −v close the list."""
    weights = [[2, 0, 0], [1e-30, 0, 0], [-5, 0, 0], [0, 3, 0]]
    found = measured(Directions(), outcome_of(at0=weights, at7=weights[::-1]), pointing)
    assert (dict(found.scalars), dict(found.arrays)) == ({}, {})
    assert found.series["directions/step"].tolist() == [0, 7]
    points, reversed_points = found.series["directions/points"]
    assert points.shape == (6, 2)
    for i, j in ((1, 0), (4, 0), (5, 2)):
        assert points[i] == pytest.approx(points[j], abs=1e-6)
    # On the line of v, −v and what lies across, cosine distance is 0, 1 and 2: a picture without loss.
    assert euclidean(points) == pytest.approx(cosine_distances(np.array([*weights, [1, 0, 0], [-1, 0, 0]])), abs=1e-7)
    assert reversed_points[:4] == pytest.approx(points[:4][::-1], abs=1e-7)


def test_sentences(outcome_of, pointing, lost):
    refused(r"^the run kept no snapshot of hidden\.weight; ask for one", measured, Directions(), outcome_of(), pointing)
    refused(r"^Lost knows no ground-truth direction$", measured, Directions(), outcome_of(at0=[[1, 0, 0]]), lost)
