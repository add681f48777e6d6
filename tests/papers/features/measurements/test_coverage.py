"""Coverage of centres, cosine by cosine, and the chance of it."""

import math

import numpy as np
import pytest
import torch

import naive
from beyondkernels.core import InputError
from beyondkernels.measure import classical_scaling
from beyondkernels.papers.features.measurements import CentreCoverage, CentreDirections, chance_cosine
from beyondkernels.papers.features.problems import GaussianMixture
from measuring import measured
from refusals import refused

PROBLEM = GaussianMixture(dim=3, patterns=2, instance=1)


def test_coverage_against_a_loop(outcome_of):
    rng = np.random.default_rng(0)
    weights = {"at0": rng.normal(size=(6, 3)), "at7": 1e-25 * rng.normal(size=(6, 3))}
    found = measured(CentreCoverage(), outcome_of(**weights), PROBLEM)
    assert (dict(found.scalars), dict(found.arrays)) == ({}, {})
    assert found.series["coverage/step"].tolist() == [0, 7]
    for place, w in enumerate(weights.values()):
        kept = w.astype(np.float32)
        table = [[naive.cosine(c, row) for row in kept.tolist()] for c in PROBLEM.centres.tolist()]
        by_centre = [max(row) for row in table]
        by_neuron = [max(column) for column in zip(*table, strict=True)]
        nearest = [[row[i] for row in table].index(best) for i, best in enumerate(by_neuron)]
        assert found.series["coverage/by_centre"][place] == pytest.approx(by_centre, abs=1e-12)
        assert found.series["coverage/least"][place] == pytest.approx(min(by_centre), abs=1e-12)
        assert found.series["coverage/by_neuron"][place] == pytest.approx(by_neuron, abs=1e-12)
        assert found.series["coverage/nearest"][place].tolist() == nearest


def test_centres_themselves_cover_all_and_one_left_out_is_missed(outcome_of):
    centres = PROBLEM.centres.numpy()
    found = measured(CentreCoverage(), outcome_of(at0=3 * centres, at1=centres[[0, 0, 1, 2]]), PROBLEM)
    assert found.series["coverage/least"] == pytest.approx([1, 0], abs=1e-6)  # neighbours are orthogonal for k = 2
    assert found.series["coverage/nearest"][0].tolist() == [0, 1, 2, 3]


def test_points_in_the_plane(outcome_of):
    """Neurons first, then centres, by scaling of distances that are computed one by one."""
    w = np.array([[0.2, 0.3, -1.0], [0.0, 1.0, 0.4], [1.0, 1.0, 1.0]], dtype=np.float32)
    found = measured(CentreDirections(), outcome_of(at0=w.tolist(), at5=(2 * w).tolist()), PROBLEM).series
    assert found["centre_directions/step"].tolist() == [0, 5]
    everything = [*w.tolist(), *PROBLEM.centres.tolist()]
    distances = np.array([[1 - naive.cosine(one, other) for other in everything] for one in everything])
    for points in found["centre_directions/points"]:
        assert points == pytest.approx(classical_scaling(distances), abs=1e-6)


@pytest.mark.parametrize(("neurons", "dim", "probability"), [(1, 2, 0.1), (20, 5, 0.3), (50, 25, 0.05), (5, 2, 0.9)])
def test_chance_by_drawing(neurons, dim, probability):
    n = 4000
    rng = np.random.default_rng(dim)
    w = rng.normal(size=(n, neurons, dim))
    largest = (w[..., 0] / np.linalg.norm(w, axis=-1)).max(1)
    share = float((largest >= chance_cosine(neurons, dim, probability)).mean())
    assert share == pytest.approx(probability, abs=4 * math.sqrt(probability * (1 - probability) / n))


def test_sentences(outcome_of, pointing):
    refused(r"^Pointing knows no centres$", measured, CentreCoverage(), outcome_of(at0=[[1, 0, 0]]), pointing)
    with pytest.raises(InputError, match=r"^the run kept no snapshot of layer1\.weight"):
        measured(CentreDirections("layer1.weight"), outcome_of(at0=[[1, 0, 0]]), PROBLEM)
    refused(r"probability must lie in \(0, 1\), got 1.0", chance_cosine, 3, 3, 1.0)


def test_centres_are_as_far_apart_as_the_bar_says():
    """Halfway between two neighbouring centres the cosine with both is √(1 − 1/k)."""
    for k in (2, 4, 5):
        problem = GaussianMixture(dim=9, patterns=k)
        c = problem.centres
        cosines = c @ c.T / k
        neighbour = int(cosines[0].masked_fill(torch.arange(2**k) == 0, -1).argmax())
        halfway = (c[0] + c[neighbour]) / 2
        assert float(halfway @ c[0] / (halfway.norm() * c[0].norm())) == pytest.approx(math.sqrt(1 - 1 / k))
