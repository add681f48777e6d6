"""The learner of Theorem 2: what it says of a sample, and what of the whole distribution."""

import itertools

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Stream
from beyondkernels.kernels import InputFeatures
from beyondkernels.papers.features.problems import DictionaryParity, two_gaussians
from beyondkernels.papers.features.theory import (
    BallClassifier,
    FixedNeurons,
    FixedTangents,
    FixedWaves,
    every_pattern,
    mean_floor,
    parity_norms,
    population_floor,
)
from refusals import refused

PROBLEM = DictionaryParity(7, 7, relevant=3, background=0.4, instance=5)
NORMS = (0.3, 2.0, 20.0)


def arrays(learner: BallClassifier, problem=PROBLEM, n: int = 400) -> dict[str, np.ndarray]:
    return bk.fit(learner, problem, n=n, test=3000, seed=1, progress=False).outcome.arrays


def test_every_pattern_is_the_distribution():
    z, y, p = every_pattern(PROBLEM)
    assert float(p.sum()) == pytest.approx(1)
    torch.testing.assert_close(p @ ((z + 1) / 2), PROBLEM.moments.means)
    sample = PROBLEM.sample(20_000, Stream(0))
    codes = (sample.hidden["patterns"].long() * 2 ** torch.arange(7)).sum(1)
    counts = torch.bincount(codes, minlength=128)
    errors = (20_000 * p * (1 - p)).sqrt()
    assert bool(((counts - 20_000 * p).abs() <= 5 * errors + 1e-9).all())
    assert torch.equal(sample.y.double(), y[codes])


@pytest.mark.parametrize("features", [FixedNeurons(12), FixedWaves(12), FixedTangents(2)])
def test_over_all_patterns_no_loss_is_below_the_floor(features):
    found = arrays(BallClassifier(features, NORMS, exact=True, tolerance=1e-4))
    assert (found["lower"] >= found["floor"] - 1e-4).all()
    assert (found["upper"] - found["lower"] <= 1e-4).all()
    assert (np.diff(found["upper"]) <= 1e-4).all()
    assert (found["used"] <= NORMS).all()
    # in a ball so small that |h| < 1 the loss is linear, and the floor is attained
    if float(NORMS[0] * features.size(7) ** 0.5) < 1.1:
        assert found["upper"][0] == pytest.approx(found["floor"][0], abs=2e-4)
    # the loss on fresh points is that of the distribution
    assert (abs(found["test_loss"] - found["upper"]) <= 5 * found["test_error"]).all()


def test_over_a_sample_the_least_loss_is_too_small():
    small = arrays(BallClassifier(FixedNeurons(60), (0.3, 2.0)), n=50)
    assert small["lower"][-1] < small["floor"][-1] < small["test_loss"][-1]


def test_floor_and_mean_floor_literally():
    features, share = FixedWaves(6, seed=2), 0.4
    z, y, p = every_pattern(PROBLEM)
    values = features.values(z)
    sizes = [
        float((z[:, list(A)].prod(1)[:, None] * values).mean(0).norm()) for A in itertools.combinations(range(7), 3)
    ]
    assert sorted(parity_norms(values, 3).tolist()) == pytest.approx(sorted(sizes), rel=1e-12)
    own = float((y[:, None] * values).mean(0).norm())
    both = float((p @ (y[:, None] * values)).norm())
    for norm, floor, mean in zip(
        NORMS, population_floor(features, PROBLEM, NORMS), mean_floor(values, PROBLEM, NORMS), strict=True
    ):
        assert floor == pytest.approx(max(share * (1 - norm * own), 1 - norm * both), rel=1e-12)
        assert mean == pytest.approx(sum(share * (1 - norm * size) for size in sizes) / 35, rel=1e-12)


def test_learned_features_are_rescaled_and_others_refused():
    source = InputFeatures()
    two = two_gaussians(dim=5, noise_std=3.0)  # noise takes inputs beyond 1
    refused("features must lie in", arrays, BallClassifier(source, NORMS), two)
    found = arrays(BallClassifier(source, (5.0,), rescaled=True), DictionaryParity(7, 3, relevant=3, instance=5))
    assert "floor" not in found
    assert found["upper"][0] == pytest.approx(0.5, abs=0.1)  # linear models learn the plain half


@pytest.mark.parametrize(
    ("learner", "problem", "words"),
    [
        (BallClassifier(InputFeatures(), NORMS, exact=True), PROBLEM, "features must be a FixedMap"),
        (BallClassifier(FixedNeurons(3), NORMS, exact=True), DictionaryParity(20, 20, 3), "at most 16 varying"),
        (BallClassifier(FixedNeurons(3), NORMS, memory=1000), PROBLEM, "memory must be at least"),
        (BallClassifier(FixedNeurons(3), NORMS), DictionaryParity(8, 6, relevant=2), "odd number of patterns"),
    ],
)
def test_bad_cases_are_refused_before_they_start(learner, problem, words):
    refused(words, learner.check, problem, 10, 10)
