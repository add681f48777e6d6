"""Least losses for every set A, against problems that have that set, and against random weights."""

import itertools

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import InputError, Stream
from beyondkernels.papers.features.problems import DictionaryParity
from beyondkernels.papers.features.theory import (
    BallClassifier,
    EveryTarget,
    FixedFeatureCertificate,
    FixedNeurons,
    FixedTangents,
    every_pattern,
)
from beyondkernels.papers.features.theory.every_target import renamed

NORMS = (0.3, 2.0)
PROBLEM = DictionaryParity(6, 6, relevant=3, background=0.4, instance=5)


def arrays(features, problem=PROBLEM, tolerance: float = 1e-4) -> dict[str, np.ndarray]:
    learner = EveryTarget(features, NORMS, tolerance)
    return bk.fit(learner, problem, n=1, test=0, progress=False).outcome.arrays


@pytest.mark.parametrize("features", [FixedNeurons(8), FixedTangents(2)])
def test_each_set_has_the_loss_of_its_own_problem(features):
    found, met = arrays(features), set()
    sets: list[tuple[int, ...]] = list(itertools.combinations(range(6), 3))
    assert found["lower"].shape == (2, 20)
    for instance in range(8):
        problem = DictionaryParity(6, 6, relevant=3, background=0.4, instance=instance)
        A = tuple(sorted(problem.relevant_set))
        alone = bk.fit(
            BallClassifier(features, NORMS, exact=True, tolerance=1e-4), problem, n=5, test=5, progress=False
        )
        met.add(A)
        # two intervals around the same number overlap
        place = list[tuple[int, ...]](sets).index(A)
        assert (found["lower"][:, place] <= alone.outcome.arrays["upper"] + 1e-12).all()
        assert (alone.outcome.arrays["lower"] <= found["upper"][:, place] + 1e-12).all()
    assert len(met) > 3
    assert np.ptp(found["upper"][0]) > 10 * 1e-4  # sets differ by more than the gap, so that a mix-up would show


def test_renamed_patterns_carry_labels_and_probabilities_along():
    z, y, p = every_pattern(PROBLEM)
    for instance in range(4):
        other = DictionaryParity(6, 6, relevant=3, background=0.4, instance=instance)
        there = renamed(z, PROBLEM.relevant_set, other.relevant_set)
        assert len(torch.unique(there, dim=0)) == 64
        theirs, labels, probabilities = every_pattern(other)
        place = [int((theirs == row).all(1).nonzero()) for row in there]
        assert torch.equal(y, labels[place])
        torch.testing.assert_close(p, probabilities[place])


def test_no_weights_in_the_ball_do_better_and_the_mean_is_above_the_bound():
    features = FixedNeurons(8)
    found = arrays(features)
    z, y, p = every_pattern(PROBLEM)
    stream = Stream(3)
    for place, A in enumerate(itertools.combinations(range(6), 3)):
        values = features.values(renamed(z, PROBLEM.relevant_set, A))
        for i, norm in enumerate(NORMS):
            w = stream.child(f"{place}-{i}").normal(8, 50, dtype=torch.float64)
            w *= norm / w.norm(dim=0)
            losses = p @ (1 - y[:, None] * (values @ w)).clamp(min=0)
            assert found["lower"][i, place] <= float(losses.min()) + 1e-12
    assert (found["upper"] - found["lower"] <= 1e-4).all()
    for i, norm in enumerate(NORMS):
        assert found["lower"][i].mean() >= FixedFeatureCertificate(6, 3, 0.4, 8, norm).bound


def test_too_many_sets_are_refused():
    EveryTarget(FixedNeurons(8), NORMS).check(DictionaryParity(16, 16, relevant=9), 1, 0)  # C(16, 9) = 11440
    with pytest.raises(InputError, match=r"at most 16 varying coordinates"):
        EveryTarget(FixedNeurons(8), NORMS).check(DictionaryParity(20, 20, relevant=9), 1, 0)
