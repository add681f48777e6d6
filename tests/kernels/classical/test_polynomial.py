"""The polynomial kernel against a loop, against its own monomials, and against scikit-learn."""

import itertools
import math

import pytest
import torch

from beyondkernels.core import Stream, build, describe
from beyondkernels.kernels.classical.polynomial import PolynomialKernel

F64 = torch.float64
CASES = [(1, 0.0, 1.0), (2, 1.0, 1.0), (3, 0.5, 0.25), (7, 2.0, 0.1)]


def sample(n, dim, name="x"):
    return Stream(0).child("polynomial", name).normal(n, dim, dtype=F64)


@pytest.mark.parametrize(("degree", "offset", "scale"), CASES)
def test_every_entry_by_a_loop(degree, offset, scale):
    x, y = sample(7, 3), sample(5, 3, "y")
    kernel = PolynomialKernel(degree, offset, scale)
    found, square = kernel(x, y), kernel(x)
    for i in range(7):
        for other, value in [*zip(y, found[i], strict=True), *zip(x, square[i], strict=True)]:
            inner = math.fsum(float(a) * float(b) for a, b in zip(x[i], other, strict=True))
            product = 1.0
            for _ in range(degree):
                product *= scale * inner + offset
            assert float(value) == pytest.approx(product, rel=1e-11, abs=1e-12)


def test_the_features_are_the_monomials():
    """(⟨x, y⟩ + b)³ is the inner product of all words of three letters out of x₁, x₂ and √b."""
    x, b = sample(6, 2), 0.7
    letters = torch.cat([x, torch.full((6, 1), math.sqrt(b), dtype=F64)], 1)
    words = torch.stack([letters[:, list(word)].prod(1) for word in itertools.product(range(3), repeat=3)], 1)
    torch.testing.assert_close(PolynomialKernel(3, offset=b)(x), words @ words.T, rtol=1e-12, atol=1e-12)


def test_identity():
    assert build(describe(PolynomialKernel(2))) == PolynomialKernel(2, 1.0, 1.0)
