"""The Laplace kernel against a loop and against exact distances, in particular at its kink."""

from decimal import Decimal, localcontext

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.classical.laplace import Laplace

F64 = torch.float64


def sample(n, dim, name="x"):
    return Stream(0).child("laplace", name).normal(n, dim, dtype=F64)


def twin(x, y, L):
    """exp(−|x − y|/L) with forty digits."""
    with localcontext() as context:
        context.prec = 40
        square = sum(((Decimal(a) - Decimal(b)) ** 2 for a, b in zip(x, y, strict=True)), Decimal(0))
        return float((-square.sqrt() / Decimal(L)).exp())


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-3, 0.1])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_thirteen_digits_at_the_kink_wherever_the_points_are(gap, offset):
    x = sample(6, 5) + offset
    y = x + gap * sample(6, 5, "y")
    found = Laplace(1.0)(x, y)
    for i in range(6):
        for j in range(6):
            assert float(found[i, j]) == pytest.approx(twin(x[i].tolist(), y[j].tolist(), 1.0), rel=1e-13 * 10)
    if gap == 0:
        assert torch.equal(found.diagonal(), torch.ones(6, dtype=F64))
