"""Fewest errors against all linear threshold functions, and conflicts against what they are."""

import numpy as np
import pytest
import torch

from beyondkernels.papers.features.problems import linear
from beyondkernels.papers.features.problems.separation import conflict, fewest_errors


@pytest.mark.parametrize("bits", [3, 4])
def test_against_all_threshold_functions(bits):
    rng = np.random.default_rng(bits)
    corners = linear.corners(bits).numpy()
    seen = set()
    for _ in range(25):
        chosen = rng.permutation(2**bits)[: rng.integers(2, 2**bits + 1)]
        labels = rng.choice([-1.0, 1.0], 2**bits)
        labels[chosen[:2]] = (1, -1)
        weight = np.zeros(2**bits)
        weight[chosen] = 1 / len(chosen)
        share = linear.best_linear_threshold(torch.from_numpy(weight), torch.from_numpy(labels), symmetric=False)
        wrong = round(len(chosen) * (1 - share))
        seen.add(wrong)
        found = fewest_errors(corners[chosen], labels[chosen], limit=3)
        assert found == (wrong if wrong <= 3 else None)
    assert {0, 1} <= seen


def test_parity_needs_more_removals_than_are_tried():
    corners = linear.corners(4).numpy()
    labels = np.where(corners.sum(1) % 2, 1.0, -1.0)
    wrong = round(16 * (1 - linear.parity_accuracy(4)))
    assert wrong == 5
    assert fewest_errors(corners, labels, limit=3) is None


def test_points_that_a_hyperplane_labels_are_separable():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 2, (60, 20))
    labels = np.sign(points @ rng.normal(size=20) - 0.1)
    assert set(labels) == {-1, 1}
    assert len(conflict(points, labels)) == 0
    assert fewest_errors(points, labels) == 0


def test_conflict_is_one():
    """The points of a conflict cannot be separated, and it is no larger than a vertex allows."""
    rng = np.random.default_rng(1)
    points, labels = rng.integers(0, 2, (60, 10)), rng.choice([-1.0, 1.0], 60)
    inside = conflict(points, labels)
    assert 0 < len(inside) <= 12
    assert fewest_errors(points[inside], labels[inside], limit=0) is None
