import itertools
import math

import pytest
import torch
from scipy import stats

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems import (
    GaussianInputs,
    GivenInputs,
    MixtureOfGaussians,
    SphereInputs,
    UniformInputs,
    degree_constant,
    drawn_mixture,
    isotropy,
    moment_constant,
    preservation,
    tail_constant,
)
from beyondkernels.papers.bfc.problems.assumptions import spread_constant
from beyondkernels.papers.bfc.problems.matrices import conditioned, nested
from beyondkernels.papers.bfc.problems.preservation import leading_ratio, monomials, values_of_monomials
from refusals import refused

ROOT = nested(conditioned(2, 2, 1.5, Stream(1)))


def one_coordinate_zero(n: int, dim: int, stream: Stream) -> torch.Tensor:
    """The paper's mixture of d distributions: in the i-th, x_i = 0."""
    x = stream.child("normal").normal(n, dim, dtype=torch.float64)
    x[torch.arange(n), stream.child("which").integers(dim, n)] = 0
    return x


def normal(n: int, dim: int, stream: Stream) -> torch.Tensor:
    return stream.normal(n, dim, dtype=torch.float64)


def heavy(n: int, dim: int, stream: Stream) -> torch.Tensor:
    return stream.normal(n, dim, dtype=torch.float64).pow(3) / math.sqrt(15)


def _gram(inputs, dim, degree, quadrature):
    """E[x^I x^J] over monomials of degree ≤ q, by quadrature in each part."""

    x, p = quadrature(inputs, dim, degree + 1)
    columns = [torch.ones(len(x)).double()]
    for each in range(1, degree + 1):
        names = itertools.combinations_with_replacement(range(dim), each)
        columns += [x[:, list(name)].prod(1) for name in names]
    z = torch.stack(columns, 1)
    return z.T @ (p[:, None] * z)


@pytest.mark.parametrize(
    ("inputs", "dim", "degree"),
    [
        (GaussianInputs(), 2, 3),
        (GaussianInputs(), 3, 3),
        (GaussianInputs(0.7), 2, 4),
        (UniformInputs(), 3, 3),
        (GaussianInputs(ROOT), 2, 4),
        (drawn_mixture(2, parts=3), 2, 4),
        (drawn_mixture(3, spread=3.0), 3, 2),
    ],
)
def test_leading_ratio_by_the_gram_matrix(inputs, dim, degree, quadrature):
    """1 / λ_min of the Schur complement of the second moments of all monomials."""
    gram = _gram(inputs, dim, degree, quadrature)
    low = math.comb(dim + degree - 1, dim)
    a, b, c = gram[:low, :low], gram[:low, low:], gram[low:, low:]
    smallest = float(torch.linalg.eigvalsh(c - b.T @ torch.linalg.solve(a, b))[0])
    ratio, exact = leading_ratio(inputs, dim, degree)
    assert exact
    assert ratio == pytest.approx(1 / smallest, rel=1e-8)


@pytest.mark.parametrize(("dim", "degree"), [(1, 1), (1, 5), (2, 4), (3, 4), (4, 4), (9, 4), (3, 8), (10, 16)])
def test_leading_ratio_of_standard_gaussians(dim, degree):
    """1 / min I!, by listing how q can be split among d coordinates; at most q!, as the paper says."""

    def splits(total, left):
        if left == 1:
            yield (total,)
            return
        for first in range(total + 1):
            for rest in splits(total - first, left - 1):
                yield (first, *rest)

    if dim * degree <= 40:
        smallest = min(math.prod(map(math.factorial, split)) for split in splits(degree, dim))
    else:
        smallest = math.prod(math.factorial(degree // dim + (i < degree % dim)) for i in range(dim))
    ratio, exact = leading_ratio(GaussianInputs(), dim, degree)
    assert exact
    assert ratio == pytest.approx(1 / smallest, rel=1e-10)
    constant = degree_constant(GaussianInputs(), dim, degree)
    assert constant.kind == "exact"
    assert 1 <= constant.value <= math.factorial(degree)


def test_both_routes_agree(monkeypatch):
    """Products of orthogonal polynomials, and the factorisation of all second moments."""
    diagonal = GaussianInputs(((0.5, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0)))
    cases = [(diagonal, 3, 4), (UniformInputs(1.3), 2, 5)]
    quick = [leading_ratio(*case)[0] for case in cases]
    monkeypatch.setattr(preservation, "_is_diagonal", lambda root: False)
    assert [leading_ratio(*case)[0] for case in cases] == pytest.approx(quick, rel=1e-8)


def test_spheres_and_missing_coordinates():
    """‖x‖² is constant on a sphere. If one coordinate always is zero, so is the product of all d of them."""
    assert degree_constant(SphereInputs(), 4, 1).value == pytest.approx(1, abs=0.05)
    sphere = degree_constant(SphereInputs(), 4, 2)
    assert sphere.value == math.inf
    assert sphere.kind == "estimate"
    assert not sphere.holds
    zeros = GivenInputs(one_coordinate_zero)
    assert degree_constant(zeros, 3, 2).value < 10
    assert not degree_constant(zeros, 3, 3).holds


def test_isotropy():
    assert isotropy(GaussianInputs(), 5).value == pytest.approx(2)
    assert isotropy(UniformInputs(), 5).value == pytest.approx(1)
    assert isotropy(UniformInputs(2.0), 5).value == pytest.approx(16 * (9 / 5 - 1))
    assert isotropy(GaussianInputs(), 5).kind == "exact"
    for inputs in (GaussianInputs(nested(conditioned(4, 4, 2.0, Stream(3)))), drawn_mixture(4, spread=4.0)):
        exact = isotropy(inputs, 4)
        x = inputs.draw(400_000, 4, Stream(0))
        centred = x.square() - torch.tensor(inputs.second_moments(4)).double()
        largest = max(float(torch.linalg.eigvalsh(z.T @ z / len(x))[-1]) for z in (x, centred))
        assert exact.value == pytest.approx(largest, rel=0.03)
    given = isotropy(GivenInputs(normal), 5)
    assert given.kind == "estimate"
    assert given.value == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_moment_constant_bounds_every_witness(degree):
    """E f¹² / (E f²)⁶ for powers and Hermite polynomials of one coordinate, exactly or by quadrature."""
    gauss = moment_constant(GaussianInputs(), 3, degree).value
    assert gauss == pytest.approx(11.0 ** (6 * degree))

    def odd(p):
        return math.prod(range(1, p, 2))

    assert odd(12 * degree) / odd(2 * degree) ** 6 <= gauss
    points = torch.linspace(-30, 30, 200_001, dtype=torch.float64)
    density = torch.exp(-points.square() / 2)
    hermite = torch.special.hermite_polynomial_he(points, degree)
    second, twelfth = (float((density * hermite.pow(p)).sum() / density.sum()) for p in (2, 12))
    assert second == pytest.approx(math.factorial(degree), rel=1e-6)
    assert twelfth / second**6 <= gauss
    uniform = (3 ** (6 * degree) / (12 * degree + 1)) / (3**degree / (2 * degree + 1)) ** 6
    assert uniform <= moment_constant(UniformInputs(), 3, degree).value


def test_moment_constant_of_a_mixture():
    """The direction (1, −1) has small variance in one part and a large one in the rare part."""
    common, rare = ((1.0, 0.0), (0.995, math.sqrt(1 - 0.995**2))), ((1.0, 0.0), (0.0, 1.0))
    mixture = MixtureOfGaussians((common, rare), (0.99, 0.01))
    variances = [2 - 2 * 0.995, 2.0]
    assert mixture.hypercontractivity == pytest.approx(100)
    for degree in (1, 2):
        ratio = []
        for p in (12 * degree, 2 * degree):
            odd = math.prod(range(1, p, 2))
            ratio.append(odd * sum(w * v ** (p / 2) for w, v in zip((0.99, 0.01), variances, strict=True)))
        found = ratio[0] / ratio[1] ** 6
        alone = math.prod(range(1, 12 * degree, 2)) / math.prod(range(1, 2 * degree, 2)) ** 6
        assert 1e4 * alone < found <= moment_constant(mixture, 2, degree).value
    assert moment_constant(mixture, 2, 1).value == pytest.approx(11**6 * 100**5)
    assert spread_constant(mixture).value == pytest.approx(100 * math.e**2)


def test_tail_constant_bounds_known_tails():
    """x, x² − 1 and x_1 ⋯ x_q: exact tails of the first two, and draws of the others."""
    c2 = spread_constant(GaussianInputs()).value
    for degree, tail, variance in (
        (1, lambda t: 2 * stats.norm.sf(t), 1.0),
        (2, lambda t: stats.chi2.sf(1 + t, 1) + stats.chi2.cdf(1 - t, 1), 2.0),
    ):
        c4 = tail_constant(GaussianInputs(), 3, degree).value
        for t in torch.linspace(0, 12, 100).tolist():
            assert tail(t) <= c4 * math.exp(-((t**2 / (c2 * variance)) ** (1 / c4)))
    x = normal(200_000, 8, Stream(4))
    for degree in (4, 8):
        c4 = tail_constant(GaussianInputs(), 8, degree).value
        f = x[:, :degree].prod(1).abs()
        for t in (1.0, 3.0, 10.0, 30.0, 100.0):
            share = float((f >= t).double().mean())
            assert share <= c4 * math.exp(-((t**2 / c2) ** (1 / c4))) + 5 * math.sqrt(share / len(f))


def test_tail_constant_follows_from_markov():
    """The best bound by moments, min over r of ((r − 1)^{q/2} / t)^r, never exceeds the stated one."""
    for degree in (1, 2, 3, 4, 8, 16, 218, 219, 300):
        c4 = tail_constant(UniformInputs(), 2, degree).value
        share = 2 * math.e * math.e ** (-2 / degree) / degree  # θ, which makes (q θ / 2e) t^(2/q) = (t² / e²)^(1/q)
        assert share <= 1
        assert c4 == pytest.approx(max(degree, math.e, math.exp(degree * share)))
        assert c4 >= max(degree, math.e)
        assert (c4 == degree) == (degree >= 219)
        for log_t in torch.linspace(0, 3 * degree, 60).tolist():
            orders = [2 * 1.05**i for i in range(200)]
            best = min(0.0, *(r * (degree / 2 * math.log(r - 1) - log_t) for r in orders))
            assert best <= math.log(c4) - math.exp((2 * log_t - 2) / c4) + 1e-9


def test_estimates_for_given_inputs():
    """Known to be Gaussian, the constants of given inputs lie below the bounds; heavier tails need larger ones."""
    for degree in (1, 2):
        c3, c4 = (make(GivenInputs(normal), 2, degree) for make in (moment_constant, tail_constant))
        assert c3.kind == c4.kind == "estimate"
        assert 100 < c3.value < moment_constant(GaussianInputs(), 2, degree).value
        assert degree <= c4.value <= tail_constant(GaussianInputs(), 2, degree).value
        assert moment_constant(GivenInputs(heavy), 2, degree).value > 5 * c3.value
    linear = moment_constant(GivenInputs(normal), 2, 1).value
    assert abs(linear - 10395) < 5 * math.sqrt(math.prod(range(1, 24, 2)) / 2**17)  # 11!!, and the error of 2¹⁷ draws


def test_bad_input():
    refused("at most 1500 monomials in dimension 9, got 24310 for degree 8", leading_ratio, drawn_mixture(9), 9, 8)
    refused("at most 1500 monomials in dimension 9", moment_constant, GivenInputs(normal), 9, 8)


def test_no_polynomial_exceeds_the_ratio():
    for inputs in (GaussianInputs(ROOT), UniformInputs(), drawn_mixture(2)):
        x = inputs.draw(200_000, 2, Stream(5))
        z = values_of_monomials(x, 3)
        c1 = degree_constant(inputs, 2, 3).value
        for i in range(20):
            a = Stream(i).normal(z.shape[1], dtype=torch.float64)
            values = (z @ a).square()
            error = float(values.std()) / math.sqrt(len(x))
            assert float(a[-len(monomials(2, 3)) :].square().sum()) <= c1 * (float(values.mean()) + 5 * error)
