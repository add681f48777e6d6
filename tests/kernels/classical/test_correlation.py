"""Correlation kernels against a loop, on the cube of the theorem, at the origin, and with bad functions."""

import math

import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import Arcsin, Correlation, PolynomialKernel

F64 = torch.float64


def cubic(rho: torch.Tensor) -> torch.Tensor:
    return 0.5 + rho + 2 * rho**3


def complement(theta: torch.Tensor) -> torch.Tensor:
    return math.pi / 2 - theta


def ones(rho: torch.Tensor) -> torch.Tensor:
    return torch.ones(1, 1, dtype=F64).expand_as(rho)


def sample(n, dim, name="x"):
    return Stream(0).child("correlation", name).normal(n, dim, dtype=F64)


def test_on_the_cube_the_correlation_is_the_inner_product():
    d = 16
    x = (2.0 * Stream(0).bernoulli(0.5, 20, d).to(F64) - 1) / math.sqrt(d)
    power = PolynomialKernel(3, offset=1.0)
    torch.testing.assert_close(Correlation(lambda rho: (rho + 1) ** 3)(x), power(x), rtol=1e-14, atol=1e-14)


def test_functions_of_the_angle_keep_all_digits_at_parallel_points():
    x = sample(20, 4)
    y = x + 1e-9 * sample(20, 4, "y")
    angle, cosine = Correlation(complement, of="angle"), Correlation(torch.asin)
    torch.testing.assert_close(angle(x, y), Arcsin()(x, y), rtol=0, atol=1e-15)
    assert 1e-10 < float((cosine(x, y) - Arcsin()(x, y)).abs().max()) < 3e-8  # as the docstring warns
    torch.testing.assert_close(cosine(x), Arcsin()(x), rtol=0, atol=2e-14)  # points that coincide are not concerned


def test_the_origin_is_uncorrelated_with_everything():
    x = torch.tensor([[0.0, 0.0], [1.0, 2.0]], dtype=F64)
    assert Correlation(cubic)(x).tolist() == [[0.5, 0.5], [0.5, 3.5]]
    assert Correlation(cubic)(x, x)[0].tolist() == [0.5, 0.5]
    assert Correlation(complement, of="angle").diagonal(x).tolist() == [0.0, math.pi / 2]


def test_a_constant_may_come_as_a_view():
    gram = Correlation(ones)(sample(3, 2), sample(2, 2))
    gram[0, 0] = 5.0
    assert gram.tolist() == [[5.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
