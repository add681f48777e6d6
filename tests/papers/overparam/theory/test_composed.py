"""The complexity of three layers against the formula by hand."""

import math

import pytest

from beyondkernels.activations import Cosine, Polynomial, smooth_complexity
from beyondkernels.papers.overparam.theory import composed_complexity


def test_composed_complexity():
    """By hand for Φ(z) = 1 + z², and for Φ(z) = z a multiple of the inner complexity."""
    epsilon, root = 0.1, math.sqrt(math.log(10))
    inner = [Cosine(), Polynomial((1.0, 2.0))]
    largest = max(math.cosh(2 * root), 1 + 2 * 2 * root)
    radius = math.sqrt(3) * largest * root
    found = composed_complexity([Polynomial((1.0, 0.0, 1.0))], inner, epsilon, inner_terms=3, star=2.0)
    assert found.value == pytest.approx(1 + (2 * radius) ** 2, rel=1e-9)
    line = composed_complexity([Polynomial((0.0, 1.0))], inner[:1], epsilon, star=2.0)
    assert line.value == pytest.approx(2 * root * smooth_complexity(Cosine(), root, star=2.0).value, rel=1e-9)
