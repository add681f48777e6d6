"""Problems that no single paper owns: what is said of them, a second way."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from beyondkernels.activations import Cosine, ReLU
from beyondkernels.core import Stream
from beyondkernels.data import SingleIndex, Staircase, XorMixture, hermite_link
from beyondkernels.data.inputs import corners
from refusals import refused

STAIRCASES = {
    "merged": ((0,), (0, 1), (0, 1, 2)),
    "parity": ((0, 1, 2),),
    "two at once": ((0,), (0, 1, 2)),
    "two starts": ((0, 1), (2,), (0, 2, 3), (1, 3)),
    "far ends": ((0, 1, 2), (2, 3), (3,)),
}
every = pytest.mark.parametrize("terms", STAIRCASES.values(), ids=STAIRCASES.keys())
PROBLEMS = [
    Staircase(12, coefficients=(1.0, -0.5, 0.3), noise_std=0.2),
    SingleIndex(12, hermite_link(3), noise_std=0.2),
    XorMixture(12),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_samples_are_prefixes_and_instances_differ(problem):
    long, short = problem.sample(500, Stream(3)), problem.sample(40, Stream(3))
    assert long.x.dtype == long.y.dtype == torch.float32
    assert torch.equal(long.x[:40], short.x)
    assert torch.equal(long.y[:40], short.y)
    assert len(problem.sample(0, Stream(3))) == 0
    other = type(problem)(**{**vars(problem), "instance": 1}).sample(500, Stream(3))
    assert not torch.equal(long.y, other.y) or not torch.equal(long.x, other.x)


@every
def test_leap_is_the_least_over_all_orders(terms):
    def largest(order):
        found = set()
        for S in order:
            yield len(set(S) - found)
            found |= set(S)

    assert Staircase(6, terms).leap == min(max(largest(order)) for order in itertools.permutations(terms))


@every
def test_risks_of_polynomials_and_constants_on_the_whole_cube(terms):
    problem = Staircase(6, terms, coefficients=tuple(0.5 + i for i in range(len(terms))), instance=7)
    x = corners(6)
    y = problem.target(x)
    assert problem.variance == pytest.approx(float(y.var(correction=0)))
    for degree in range(4):
        monomials = torch.stack(
            [x[:, list(S)].prod(1) for k in range(degree + 1) for S in itertools.combinations(range(6), k)], 1
        )
        fitted = monomials @ torch.linalg.lstsq(monomials, y[:, None]).solution
        assert problem.polynomial_risk(degree) == pytest.approx(float((fitted[:, 0] - y).square().mean()), abs=1e-12)


def test_no_fixed_features_are_better_than_the_covariance_of_all_targets_allows():
    """Every placement and every sign at d = 4, whose covariance has these eigenvalues."""
    terms, c = ((0,), (0, 1), (1, 2), (0, 1, 2)), (1.3, 1.0, -1.0, 2.0)
    x, targets = corners(4), []
    for places in itertools.permutations(range(4)):
        for s in itertools.product((-1.0, 1.0), repeat=4):
            relevant = x[:, list(places)] * torch.tensor(s, dtype=torch.float64)
            targets.append(sum(a * relevant[:, list(S)].prod(1) for S, a in zip(terms, c, strict=True)))
    h = torch.stack(targets)  # type: ignore[arg-type]
    eigenvalues = torch.linalg.eigvalsh(h.T @ h / len(h) / 16).flip(0)
    problem = Staircase(4, terms, c)
    for features in range(17):
        assert problem.fixed_features_risk(features) == pytest.approx(float(eigenvalues[features:].sum()), abs=1e-12)
    Q, _ = torch.linalg.qr(Stream(100).normal(16, 5, dtype=torch.float64))
    risk = (h - h @ Q @ Q.T).square().mean()
    assert float(risk) >= problem.fixed_features_risk(5)


def test_staircases_that_cannot_be():
    for terms in (((0, 9),), ((0, 0),), ((),), ((0, 1), (1, 0)), ()):
        refused("terms", Staircase, 5, terms)
    refused("coefficients", Staircase, 5, ((0,),), (1.0, 2.0))


@pytest.mark.parametrize("k", range(1, 7))
def test_hermite_links_have_one_coefficient(k):
    a = SingleIndex(5, hermite_link(k)).hermite(8)
    torch.testing.assert_close(a, torch.eye(9, dtype=torch.float64)[k], atol=1e-12, rtol=0)
    assert SingleIndex(5, hermite_link(k)).information_exponent == k


@pytest.mark.parametrize(("link", "exponent"), [(ReLU(), 1), (Cosine(), 2)])
def test_what_polynomials_leave_of_a_link(link, exponent):
    """Against numerical integration of the link times NumPy's Hermite polynomials."""
    problem = SingleIndex(5, link)
    z = np.linspace(-12, 12, 400_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    g = link.value(torch.from_numpy(z)).numpy()
    left = (g**2 * density).sum()
    for k in range(5):
        h = np.polynomial.hermite_e.hermeval(z, [0.0] * k + [1.0]) / math.sqrt(math.factorial(k))
        left -= (g * h * density).sum() ** 2
        assert problem.polynomial_risk(k) == pytest.approx(left, abs=1e-7)
    assert problem.information_exponent == exponent


def test_labels_of_a_single_index_are_the_link_of_the_direction():
    problem = SingleIndex(8, hermite_link(2), noise_std=0.1, instance=4)
    sample = problem.sample(20_000, Stream(100))
    assert float(problem.direction.norm()) == pytest.approx(1)
    torch.testing.assert_close(
        sample.hidden["index"].double(), sample.x.double() @ problem.direction, atol=1e-5, rtol=0
    )
    noise = sample.y.double() - problem.target(sample.x)
    assert float(noise.std()) == pytest.approx(0.1, rel=0.03)
    assert float(problem.target(sample.x).var()) == pytest.approx(problem.variance, rel=0.1)


@pytest.mark.parametrize("separation", [0.5, 2.0, 6.0])
def test_accuracies_of_an_xor_mixture(separation):
    problem = XorMixture(10, separation, instance=2)
    sample = problem.sample(40_000, Stream(100))
    error = 5 * 0.5 / math.sqrt(40_000)
    assert float((problem.classify(sample.x) == sample.y).double().mean()) == pytest.approx(
        problem.best_accuracy, abs=error
    )

    def accuracy(angle, t):  # of the classifier along cos(angle) u + sin(angle) v
        a, b = (separation * f(angle) for f in (math.cos, math.sin))
        return 0.5 + 0.25 * (ndtr(a - t) + ndtr(-a - t) - ndtr(b - t) - ndtr(-b - t))

    angles, thresholds = np.linspace(0, math.pi, 61), np.linspace(-10, 10, 401)
    best = max(accuracy(angle, t) for angle in angles for t in thresholds)
    assert best <= problem.linear_accuracy + 1e-9
    assert problem.linear_accuracy == pytest.approx(best, abs=2e-4)
    along = sample.x.double() @ problem.directions[:, 0]
    t = 0.7 * separation
    found = float((torch.where(along > t, 1.0, -1.0) == sample.y).double().mean())
    assert found == pytest.approx(accuracy(0.0, t), abs=error)
    assert sample.hidden["centre"].unique().tolist() == [-2, -1, 1, 2]
