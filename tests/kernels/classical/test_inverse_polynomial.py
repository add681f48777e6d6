"""Recursive kernels against loops, against the power series, and outside their domain."""

import math
from dataclasses import dataclass

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import Gaussian, InfiniteConjugate, PolynomialKernel
from beyondkernels.kernels.classical.inverse_polynomial import InversePolynomial, Recursive
from beyondkernels.networks import Parameterisation
from refusals import refused

F64 = torch.float64
LINEAR = PolynomialKernel(degree=1, offset=0.0)


def sample(n, dim, name="x"):
    """Points of the unit ball, the first on its boundary."""
    x = Stream(0).child("inverse", name).normal(n, dim, dtype=F64)
    return x / torch.linalg.vector_norm(x, dim=1).max() if n > 1 else x / torch.linalg.vector_norm(x)


def inverse(t: torch.Tensor) -> torch.Tensor:
    return 1 / (2 - t)


def growth(t: torch.Tensor) -> torch.Tensor:
    return torch.exp(t / 2)


def test_the_power_series():
    x, y = sample(6, 2), sample(4, 2, "y")
    series = sum(((x @ y.T) ** i / 2.0 ** (i + 1) for i in range(60)), torch.zeros(6, 4, dtype=F64))
    torch.testing.assert_close(InversePolynomial()(x, y), series, rtol=1e-14, atol=0)


def test_points_outside_the_unit_ball_are_refused():
    x = torch.tensor([[0.5], [1.25]])
    for call in (lambda k: k(x), lambda k: k(x[:1], x), lambda k: k(x, x[:1]), lambda k: k.diagonal(x.double())):
        refused(r"norm at most 1 .*, got 1 \+ 0\.25; divide all of them, of both batches,", call, InversePolynomial())
    assert InversePolynomial()(x[:0]).shape == (0, 0)


def test_unit_vectors_of_single_precision_are_welcome():
    x = Stream(0).normal(2000, 8)
    x /= torch.linalg.vector_norm(x, dim=1, keepdim=True)
    excess = float(torch.linalg.vector_norm(x.double(), dim=1).max()) - 1
    assert 1e-9 < excess < 1e-6
    for depth in (1, 1000):
        kernel = InversePolynomial(depth)
        gram = kernel(x[:200])
        assert float(torch.linalg.eigvalsh(gram)[0]) > -1e-12 * float(gram.sum())
        largest = float(kernel.diagonal(x.double()).max())
        delta = (1 + excess) ** 2 - 1
        assert largest == pytest.approx(1 + delta / (1 - depth * delta), rel=1e-11)
    refused(r"got 1 \+ 2e-06; divide", lambda: InversePolynomial()(torch.tensor([[1 + 2e-6]], dtype=F64)))


def test_the_error_goes_through_the_function():
    x, y = sample(5, 3), sample(4, 3, "y")
    base = InfiniteConjugate(2, "tanh", Parameterisation(bias_variance=0.1))
    assert Recursive(Gaussian(2.0), torch.exp).error(x, y) == 0
    for first, second in ((x, None), (x, y)):
        error = base.error(first, second)
        assert error > 0
        K = base(first, second)
        once = float((K.exp() * math.expm1(error)).max())
        assert Recursive(base, torch.exp).error(first, second) == pytest.approx(once, rel=1e-4)
        twice = float((K.exp().exp() * (K.exp() * math.expm1(error)).expm1()).max())
        assert Recursive(base, torch.exp, depth=2).error(first, second) == pytest.approx(twice, rel=1e-4)


def test_the_error_at_the_end_of_a_domain_is_that_of_the_other_side():
    @dataclass(frozen=True)
    class Estimated(Gaussian):
        def error(self, x1, x2=None):
            return 1e-6

    found = Recursive(Estimated(2.0), torch.asin).error(torch.ones(1, 2))
    assert found == pytest.approx(math.asin(1) - math.asin(1 - 1e-6), rel=1e-6)
    assert Recursive(Estimated(2.0), torch.asin).error(torch.ones(0, 2)) == 0


def test_recursive_is_the_same_recursion_on_any_kernel():
    x, y = sample(6, 3), sample(4, 3, "y")
    for depth in (1, 3):
        torch.testing.assert_close(Recursive(LINEAR, inverse, depth)(x, y), InversePolynomial(depth)(x, y))
        torch.testing.assert_close(Recursive(LINEAR, inverse, depth)(x), InversePolynomial(depth)(x))
    kernel = Recursive(Gaussian(2.0), growth, 3)
    for i in range(6):
        for j in range(4):
            K = math.exp(-math.fsum((float(a) - float(b)) ** 2 for a, b in zip(x[i], y[j], strict=True)) / 2)
            for _ in range(3):
                K = math.exp(K / 2)
            assert float(kernel(x, y)[i, j]) == pytest.approx(K, rel=1e-13)
    assert torch.equal(kernel(x).diagonal(), kernel.diagonal(x))
    assert kernel.rotation_invariant
