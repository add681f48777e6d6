"""Kernels as numbers: sums, products and multiples, what they inherit, and what no kernel accepts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from beyondkernels.core import InputError, Stream, build, describe
from beyondkernels.kernels import Gaussian, GaussianFeatures, PolynomialKernel, RandomFeatureKernel
from beyondkernels.kernels.base import Kernel, Product, Scaled, Sum, square_by_tiles
from refusals import refused

F64 = torch.float64
A, B, C = Gaussian(2.0), PolynomialKernel(2), RandomFeatureKernel(GaussianFeatures(5))


@dataclass(frozen=True)
class Rough(Kernel):
    """Linear, not quite symmetric, and with an accuracy of its own."""

    accuracy = 1e-6

    def block(self, x1, x2):
        return x1 @ x2.T + 1e-7 * x1[:, :1]

    def _diagonal(self, x):
        return x.square().sum(1)


def sample(n, dim=3, name="x"):
    return Stream(0).child("base", name).normal(n, dim, dtype=F64)


def test_sums_products_and_multiples_entry_by_entry():
    x, y = sample(6), sample(4, name="y")
    kernel = 2 * A + B * C * 0.5
    for i in range(6):
        for j in range(4):
            a, b, c = (float(k(x[i : i + 1], y[j : j + 1])) for k in (A, B, C))
            assert float(kernel(x, y)[i, j]) == pytest.approx(2 * a + b * c * 0.5, rel=1e-12)
        a, b, c = (float(k(x[i : i + 1])) for k in (A, B, C))
        assert float(kernel.diagonal(x)[i]) == pytest.approx(2 * a + b * c * 0.5, rel=1e-12)
    torch.testing.assert_close(kernel(x), kernel(x, x), rtol=1e-12, atol=1e-12)
    assert torch.equal(kernel(x), kernel(x).T)
    assert torch.equal(kernel(x).diagonal(), kernel.diagonal(x))


def test_sums_and_products_are_flat():
    assert A + B + C == A + (B + C) == Sum((A, B, C)) == sum([A, B, C])
    assert A * B * C == A * (B * C) == Product((A, B, C))
    assert A * 3 == 3 * A == np.float64(3) * A == Scaled(A, 3.0)
    assert A * np.int64(3) == Scaled(A, 3.0)  # pyright: ignore[reportOperatorIssue]
    assert Sum([A, B]) == Sum((A, B))  # pyright: ignore[reportArgumentType]
    assert build(describe(2 * A + B * C)) == 2 * A + B * C


def test_what_is_not_a_kernel_does_not_add():
    for bad in (1, "a", None):
        with pytest.raises(TypeError):
            _ = A + bad  # pyright: ignore[reportOperatorIssue]
        with pytest.raises(TypeError):
            _ = bad + A  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(TypeError):
        _ = A * "a"  # pyright: ignore[reportOperatorIssue]
    for kind in (Sum, Product):
        refused("kernels must hold at least one value, got none", kind, ())
        refused("each of kernels must be a Kernel, got", kind, (A, 3))
    for factor in (-1.0, math.inf, math.nan):
        with pytest.raises(InputError, match=r"factor must (not be negative|be finite), got"):
            _ = factor * A


def test_errors_add_up():
    @dataclass(frozen=True)
    class Estimated(Rough):
        size: float

        def error(self, x1, x2=None):
            return self.size

    x, y = torch.tensor([[2.0]]), torch.tensor([[3.0]])  # kernels of 4 and 9
    one, two = Estimated(0.1), Estimated(0.01)
    assert A.error(x) == (A + B).error(x, y) == (A * B).error(x, y) == 0
    assert (one + two).error(x) == pytest.approx(0.11)
    assert (3 * one).error(x) == pytest.approx(0.3)
    assert (one * two).error(x) == pytest.approx(0.1 * 4 + 0.01 * 4)
    assert (one * two).error(x, y) == pytest.approx(0.1 * 9 + 0.01 * 9)
    assert (one * two * A).error(x, y) == pytest.approx(0.1 * 9 + 0.01 * 9)


def test_invariance_and_accuracy_are_inherited():
    assert (A + B).rotation_invariant
    assert (A * B).rotation_invariant
    assert (2 * A).rotation_invariant
    assert not (A + C).rotation_invariant
    assert not (A * C).rotation_invariant
    assert not (2 * C).rotation_invariant
    assert (A + Rough()).accuracy == (2 * Rough()).accuracy == 1e-6
    assert (A * Rough()).accuracy == pytest.approx(1e-6 + 1e-12)
    assert A.accuracy == 1e-12


@pytest.mark.parametrize("n", [0, 1, 4, 5, 12, 13])
def test_squares_by_tiles(n):
    x = sample(n)
    gram = square_by_tiles(Rough(), x, rows=4)
    assert torch.equal(gram, gram.T)
    assert torch.equal(gram.diagonal(), Rough().diagonal(x))
    torch.testing.assert_close(gram, x @ x.T, rtol=0, atol=1e-6)
    torch.testing.assert_close(square_by_tiles(B, x, rows=4), B(x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kernel", [A, B, C, A + B, A * B, 2 * A], ids=repr)
def test_the_diagonal_has_the_same_door_as_the_matrix(kernel):
    x = torch.tensor([[1, 2, 0], [3, 4, 1]])
    for points in (x, x.float(), x.float().requires_grad_(), x.numpy(), x[:0]):
        found = kernel.diagonal(points)
        assert found.dtype == F64
        assert not found.requires_grad
        assert torch.equal(found, kernel(points).diagonal())
    for bad, sentence in (
        (x[0], r"x must have shape \(n, in_dim\), got \(3,\)"),
        (torch.full((2, 3), math.nan), "x must be finite, got 6 infinite or NaN entries"),
        (x.to(torch.complex64), "x must be real, got complex64"),
    ):
        refused(sentence, kernel.diagonal, bad)


@pytest.mark.parametrize("kernel", [2 * A, A + B, A * B])
def test_terms_are_not_written_over(kernel):
    x = sample(3)
    before = A(x, x), A(x), A.diagonal(x)
    kernel(x, x).fill_(0)
    kernel(x).fill_(0)
    kernel.diagonal(x).fill_(0)
    assert all(torch.equal(p, q) for p, q in zip(before, (A(x, x), A(x), A.diagonal(x)), strict=True))
