"""The arcsin kernel against a loop, at parallel points and at the origin."""

import math

import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.classical.arcsin import Arcsin

F64 = torch.float64


def test_parallel_points_keep_all_digits():
    x = Stream(0).child("arcsin").normal(50, 6, dtype=F64)
    for scale in (1.0, 0.1, 3e7):
        assert float((Arcsin()(x, scale * x).diagonal() - math.pi / 2).abs().max()) < 1e-15
        assert float((Arcsin()(x, -scale * x).diagonal() + math.pi / 2).abs().max()) < 1e-15
    plain = torch.asin(torch.nn.functional.cosine_similarity(x, 0.1 * x, dim=1).clamp(-1, 1))
    assert float((plain - math.pi / 2).abs().max()) > 1e-9  # the arcsine of the cosine loses half of the digits


def test_the_origin_is_uncorrelated_with_everything():
    x = torch.tensor([[0.0, 0.0], [1.0, 2.0]], dtype=F64)
    assert Arcsin()(x).tolist() == [[0.0, 0.0], [0.0, math.pi / 2]]
    assert Arcsin()(x, x)[0].tolist() == [0.0, 0.0]
    assert Arcsin().diagonal(x).tolist() == [0.0, math.pi / 2]
