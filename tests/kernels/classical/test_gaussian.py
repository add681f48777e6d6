"""The Gaussian kernel against a loop, against scikit-learn, and far from the origin."""

import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.classical.gaussian import Gaussian

F64 = torch.float64


def sample(n, dim, name="x"):
    return Stream(0).child("gaussian", name).normal(n, dim, dtype=F64)


def test_the_square_is_mirrored_over_strips_of_rows():
    x = sample(1100, 2)  # more than two strips
    square, block = Gaussian(1.0)(x), Gaussian(1.0)(x, x)
    assert torch.equal(square, square.T)
    torch.testing.assert_close(square, block, rtol=1e-12, atol=1e-15)


def test_far_from_the_origin_and_far_from_each_other():
    x = torch.cat([sample(5, 3), sample(5, 3)])
    moved = x + 2.0**30  # rounds the points, so the twin takes the rounded ones
    torch.testing.assert_close(Gaussian(2.0)(moved), Gaussian(2.0)(moved - 2.0**30), rtol=1e-13, atol=0)
    assert torch.equal(Gaussian(2.0)(moved[:5], moved[5:]).diagonal(), torch.ones(5, dtype=F64))
    assert float(Gaussian(1e-3)(torch.zeros(1, 1), 1e6 * torch.ones(1, 1))) == 0.0
