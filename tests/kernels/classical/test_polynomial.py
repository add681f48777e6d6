"""The polynomial kernel against a loop, against its own monomials, and against scikit-learn."""

import itertools
import math

import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.classical.polynomial import PolynomialKernel

F64 = torch.float64


def sample(n, dim, name="x"):
    return Stream(0).child("polynomial", name).normal(n, dim, dtype=F64)


def test_the_features_are_the_monomials():
    """(⟨x, y⟩ + b)³ is the inner product of all words of three letters out of x₁, x₂ and √b."""
    x, b = sample(6, 2), 0.7
    letters = torch.cat([x, torch.full((6, 1), math.sqrt(b), dtype=F64)], 1)
    words = torch.stack([letters[:, list(word)].prod(1) for word in itertools.product(range(3), repeat=3)], 1)
    torch.testing.assert_close(PolynomialKernel(3, offset=b)(x), words @ words.T, rtol=1e-12, atol=1e-12)
