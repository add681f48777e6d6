"""Cosines with the ground truth, neuron by neuron."""

import math

import numpy as np
import pytest

import naive
from beyondkernels.measure import Alignment, cosines
from beyondkernels.measure.alignment import direction
from beyondkernels.measure.snapshots import snapshots
from beyondkernels.papers.features.problems import DictionaryParity
from measuring import measured

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e-200, 1e200, 1e-310])
@pytest.mark.parametrize("length", [1.0, 7.0])
def test_cosines_against_a_loop(scale, length):
    w, v = RNG.normal(size=(40, 9)), length * RNG.normal(size=9)
    expected = [naive.cosine(row, v) for row in w.tolist()]
    found = cosines(scale * w, v)
    assert found.shape == (40,)
    assert found == pytest.approx(expected, abs=1e-12 if scale > 1e-300 else 1e-9)


def test_special_rows():
    w = np.array([[0, 0, 0], [2, 0, 0], [-3, 0, 0], [0, 5, 0], [1, 1, 0], [1e-320, 0, 0]])
    assert cosines(w, np.array([4.0, 0, 0])) == pytest.approx([0, 1, -1, 0, 1 / math.sqrt(2), 1])
    assert cosines(w, np.zeros(3)).tolist() == [0] * 6


def test_the_ground_truth_is_the_sum_of_relevant_patterns():
    problem = DictionaryParity(12, 8, 3)
    truth = direction(problem)
    by_hand = sum(problem.matrix[:, j].numpy() for j in problem.relevant_set)
    assert cosines(truth[None], by_hand) == pytest.approx([1])  # pyright: ignore[reportArgumentType]
    assert np.linalg.norm(truth) == pytest.approx(1)


def test_snapshots_by_step(outcome_of):
    outcome = outcome_of(at10=[[1, 0, 0]], at2=[[2, 0, 0]], at0=[[3, 0, 0]])
    found = snapshots(outcome)
    assert list(found) == [0, 2, 10]
    assert [float(w[0, 0]) for w in found.values()] == [3, 2, 1]
    assert list(snapshots(outcome, "hidden.bias")) == [0]


def test_alignment(outcome_of, pointing):
    outcome = outcome_of(at0=[[0, 1, 0], [3, 4, 0], [-4, 0, 3]], at2=[[1e-30, 0, 0], [0, 0, 0], [0, 0, 2]])
    found = measured(Alignment(), outcome, pointing)
    assert (dict(found.scalars), dict(found.arrays)) == ({}, {})
    series = found.series
    assert series["alignment/step"].tolist() == [0, 2]
    assert series["alignment/cosine"] == pytest.approx([0.6, 1.0])
    assert series["alignment/cosine_either"] == pytest.approx([0.8, 1.0])  # −0.8 points along −v
    assert series["alignment/cosines"] == pytest.approx(np.array([[0, 0.6, -0.8], [1, 0, 0]]))
