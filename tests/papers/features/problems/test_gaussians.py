"""The mixture of Gaussians around the corners of a cube."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import ndtr

import beyondkernels.papers.features as bp
from beyondkernels.core import Stream
from beyondkernels.papers.features.problems import linear
from refusals import refused

N = 20_000
PROBLEMS = [
    bp.GaussianMixture(12, 4),
    bp.GaussianMixture(6, 3, 0.7, instance=2),
    bp.GaussianMixture(5, 1, 1.5),
    bp.GaussianMixture(4, 4, 0.8),
]
every = pytest.mark.parametrize("problem", PROBLEMS, ids=str)
GOLDEN_SIGNS = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
GOLDEN_X = [-0.011852, -0.934472, 0.18876, -0.782569, -1.196825]


def test_golden_sample():
    """These numbers may change only together with a revision."""
    sample = bp.GaussianMixture(5, 3, 0.7, instance=4).sample(3, Stream(7))
    assert bp.GaussianMixture.revision == 1
    assert sample.hidden["signs"].tolist() == GOLDEN_SIGNS
    assert sample.x[0].tolist() == pytest.approx(GOLDEN_X, abs=2e-6)


@every
def test_points_are_centres_with_noise(problem):
    sample = problem.sample(N, Stream(11))
    assert sample.x.shape == (N, problem.dim)
    assert sample.x.dtype == sample.y.dtype == torch.float32
    rest, M = sample.x.double(), problem.matrix
    torch.testing.assert_close(M.T @ M, torch.eye(problem.patterns, dtype=torch.float64))
    for i in range(problem.patterns):
        rest -= torch.outer(sample.hidden["signs"][:, i].double(), M[:, i])
    variance = problem.relative_noise**2 * problem.patterns / problem.dim  # eq. (290)
    assert float(rest.var()) == pytest.approx(variance, rel=6 * math.sqrt(2 / rest.numel()))
    assert abs(float(rest.mean())) < 6 * math.sqrt(variance / rest.numel())
    for signs, y in zip(sample.hidden["signs"][:100].tolist(), sample.y[:100].tolist(), strict=True):
        assert y == math.prod(signs)
    assert torch.equal(sample.y, problem.label_of(sample.hidden))


@every
def test_sample_moments_are_the_exact_ones(problem):
    sample = problem.sample(N, Stream(5))
    x, y = sample.x.double(), sample.y.double()

    def agrees(values, exact):
        error = values.std(0) / math.sqrt(N)
        assert bool(((values.mean(0) - exact).abs() <= 6 * error + 1e-6).all())

    agrees(x, torch.zeros(problem.dim, dtype=torch.float64))
    agrees(torch.einsum("ni,nj->nij", x, x), problem.covariance)
    agrees(x.square().sum(1), problem.variance)
    agrees((y > 0).double(), problem.constant_accuracy)
    agrees(y[:, None] * x, problem.matrix[:, 0] if problem.patterns == 1 else torch.zeros(problem.dim))
    assert float(problem.covariance.trace()) == pytest.approx(problem.variance)


@every
def test_a_short_sample_is_a_prefix_and_streams_differ(problem):
    long, short = problem.sample(50, Stream(3)), problem.sample(20, Stream(3))
    torch.testing.assert_close(short.x, long.x[:20], rtol=0, atol=1e-6)
    assert torch.equal(short.y, long.y[:20])
    assert not torch.equal(problem.sample(50, Stream(4)).x, long.x)
    other = dataclasses.replace(problem, instance=9)
    assert not torch.equal(other.matrix, problem.matrix)


@every
def test_centres_by_hand(problem):
    M = problem.matrix.numpy()
    by_hand = {
        tuple(np.round(sum(e * M[:, i] for i, e in enumerate(corner)), 9).tolist()): math.prod(corner)
        for corner in itertools.product((-1, 1), repeat=problem.patterns)
    }
    found = zip(problem.centres.numpy(), problem.centre_labels.tolist(), strict=True)
    assert {tuple(np.round(centre, 9).tolist()): y for centre, y in found} == by_hand
    lengths = problem.centres.norm(dim=1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, math.sqrt(problem.patterns)))


def along(problem, u, theta):
    """The accuracy of sign(⟨u, Mᵀx⟩ − θ), u of length one, corner by corner."""
    right = 0.0
    for corner in itertools.product((-1, 1), repeat=problem.patterns):
        positive = ndtr((np.dot(u, corner) - theta) / problem.noise_std)
        right += positive if math.prod(corner) > 0 else 1 - positive
    return right / 2**problem.patterns


@every
def test_symmetric_linear_accuracy_by_a_grid_of_thresholds(problem):
    k = problem.patterns
    u = np.ones(k) / math.sqrt(k)
    values = [along(problem, u, theta) for theta in np.linspace(-3, 3, 1201)]
    assert problem.symmetric_linear_accuracy == pytest.approx(max(*values, *(1 - v for v in values)), abs=2e-5)
    if k == 1:
        assert problem.symmetric_linear_accuracy == pytest.approx(ndtr(1 / problem.noise_std), abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_linear_bound_by_enumeration(k):
    bits = linear.corners(k)
    labels = torch.where((k - bits.sum(1)) % 2 == 0, 1.0, -1.0).double()
    uniform = torch.full((2**k,), 2.0**-k, dtype=torch.float64)
    bound = linear.best_linear_threshold(uniform, labels, symmetric=False)
    assert bp.GaussianMixture(9, k).linear_bound == pytest.approx(bound, abs=1e-14)
    # as the noise vanishes the bound is reached
    assert bp.GaussianMixture(9, k, 1e-3).symmetric_linear_accuracy == pytest.approx(bound, abs=1e-9)


@every
def test_bayes_accuracy_by_integration(problem):
    """The best classifier is right with probability (1 + E|E[y|x]|)/2, and E[y|x] = Π tanh(z_i/σ²)."""
    s = problem.noise_std

    def integrand(z):
        density = math.exp(-((z - 1) ** 2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi))
        return abs(math.tanh(z / s**2)) * density

    size = quad(integrand, 1 - 12 * s, 1 + 12 * s, points=[0.0], epsabs=1e-12)[0]
    assert problem.bayes_accuracy == pytest.approx((1 + size**problem.patterns) / 2, abs=1e-9)


BAD = {
    "patterns must not exceed dim for an orthonormal dictionary, got 5 patterns in dimension 4": (
        lambda: bp.GaussianMixture(4, 5)
    ),
    "patterns must be at most 16 for a list of all 2\\^k centres, got 17": lambda: bp.GaussianMixture(20, 17).centres,
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_gets_a_sentence(sentence):
    refused(sentence, BAD[sentence])


@every
def test_no_direction_found_beats_the_symmetric_ones(problem):
    """A search, not a proof: random directions and thresholds, and small changes of the best one."""
    rng, k = np.random.default_rng(0), problem.patterns
    best = problem.symmetric_linear_accuracy
    assert best <= problem.linear_bound + 1e-12 if k > 1 else best <= 1
    for i in range(300):
        u = np.ones(k) + (0.1 if i % 2 else 3.0) * rng.normal(size=k)
        value = along(problem, u / np.linalg.norm(u), rng.uniform(-2, 2))
        assert max(value, 1 - value) <= best + 1e-9
