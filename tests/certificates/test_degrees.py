"""Krawtchouk values and the coefficients of kernels, against sums over all parities and all points."""

import itertools
import math

import mpmath
import pytest
import torch

from beyondkernels import kernels
from beyondkernels.certificates import degree_coefficients, krawtchouk
from beyondkernels.certificates.profiles import Digits, exact_profile, has_exact_profile
from beyondkernels.data.inputs import corners
from beyondkernels.networks import Parameterisation

EXACT = (
    kernels.Gaussian(0.7),
    kernels.Laplace(1.3),
    kernels.Arcsin(),
    kernels.InversePolynomial(depth=2),
    kernels.PolynomialKernel(degree=3, offset=0.5, scale=2.0),
    kernels.InfiniteConjugate(depth=3),
    kernels.InfiniteTangent(depth=3, parameterisation=Parameterisation(bias_variance=0.3)),
    kernels.InfiniteTangent(depth=2, group="hidden"),
    kernels.InfiniteTangent(depth=3, group=(2,), width=10, parameterisation=Parameterisation(kind="standard")),
    2.0 * kernels.Gaussian(1.0) + kernels.Arcsin() * kernels.PolynomialKernel(degree=1),
)


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_krawtchouk_values_sum_parities(d):
    a = [1] * d
    for h in range(d + 1):
        b = [-1] * h + [1] * (d - h)
        for j in range(d + 1):
            sums = sum(math.prod(a[i] * b[i] for i in T) for T in itertools.combinations(range(d), j))
            assert krawtchouk(d)[j][h] == sums


def test_krawtchouk_values_are_orthogonal_at_large_d():
    d = 60
    table = krawtchouk(d)
    for i, j in ((0, 3), (2, 40), (7, 7), (30, 30)):
        product = sum(math.comb(d, h) * table[i][h] * table[j][h] for h in range(d + 1))
        assert product == (2**d * math.comb(d, i) if i == j else 0)


@pytest.mark.parametrize("kernel", EXACT, ids=lambda kernel: str(kernel)[:40])
@pytest.mark.parametrize(("dim", "varying"), [(9, 9), (9, 5)])
def test_profiles_are_the_kernels(kernel, dim, varying):
    signs = torch.ones(varying + 1, dim, dtype=torch.float64)
    for h in range(varying + 1):
        signs[h, :h] = -1
    values = kernel(signs[:1] / dim**0.5, signs / dim**0.5)[0]
    with mpmath.workdps(30):
        profile = [float(value) for value in exact_profile(kernel, Digits(30).cosines(dim, varying))]
    assert torch.allclose(values, torch.tensor(profile, dtype=torch.float64), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", [EXACT[0], EXACT[6], kernels.Correlation(torch.exp)], ids=["gauss", "ntk", "exp"])
def test_coefficients_are_means_over_the_cube(kernel):
    d = 6
    x = corners(d)
    row = kernel(x[-1:] / d**0.5, x / d**0.5)[0]  # the last corner has all signs +
    found = degree_coefficients(kernel, d)
    assert found.exact == has_exact_profile(kernel)
    for j in range(d + 1):
        parity = x[:, :j].prod(1)
        assert float(found.values[j]) == pytest.approx(float((row * parity).mean()), abs=1e-14)


def test_the_coefficients_of_a_gaussian_are_powers():
    d, h = 50, 2.0
    found = degree_coefficients(kernels.Gaussian(h), d).values
    with mpmath.workdps(300):
        e = mpmath.exp(-4 / (mpmath.mpf(d) * h))
        for j in (0, 1, 25, 50):
            expected = ((1 + e) / 2) ** (d - j) * ((1 - e) / 2) ** j
            assert abs(found[j] / expected - 1) < mpmath.mpf(10) ** -100


def test_degrees_without_a_coefficient():
    assert degree_coefficients(kernels.PolynomialKernel(degree=2), 8).ordered() == [0, 1, 2]
    assert sorted(degree_coefficients(kernels.Arcsin(), 8).ordered()) == [1, 3, 5, 7]
    assert len(degree_coefficients(kernels.Correlation(torch.exp), 30).ordered()) < 15
