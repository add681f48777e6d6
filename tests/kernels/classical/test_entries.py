"""Every entry of the classical kernels by a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import pytest
import torch

import naive
from beyondkernels import kernels
from beyondkernels.core import Stream

F64 = torch.float64
Point = Sequence[float]


def inner(x: Point, y: Point) -> float:
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def power(degree: int, offset: float, scale: float, x: Point, y: Point) -> float:
    product = 1.0
    for _ in range(degree):
        product *= scale * inner(x, y) + offset
    return product


def inverse(depth: int, x: Point, y: Point) -> float:
    K = inner(x, y)
    for _ in range(depth):
        K = 1 / (2 - K)
    return K


def cubic(rho: torch.Tensor) -> torch.Tensor:
    return 0.5 + rho + 2 * rho**3


def of_correlation(x: Point, y: Point) -> float:
    rho = naive.cosine(x, y)
    return 0.5 + rho + 2 * rho**3


POWERS = [(1, 0.0, 1.0), (2, 1.0, 1.0), (3, 0.5, 0.25), (7, 2.0, 0.1)]
TWINS = [
    (kernels.Arcsin(), lambda x, y: math.asin(min(1.0, naive.cosine(x, y)))),
    (kernels.Correlation(cubic), of_correlation),
    *((kernels.Gaussian(h), lambda x, y, h=h: math.exp(-(math.dist(x, y) ** 2) / h)) for h in (0.5, 3.0, 400.0)),
    *((kernels.InversePolynomial(depth), partial(inverse, depth)) for depth in (1, 2, 5)),
    *((kernels.Laplace(L), lambda x, y, L=L: math.exp(-math.dist(x, y) / L)) for L in (0.2, 1.0, 30.0)),
    *((kernels.PolynomialKernel(*fields), partial(power, *fields)) for fields in POWERS),
]


@pytest.mark.parametrize(
    ("kernel", "twin"), TWINS, ids=[f"{type(kernel).__name__}-{i}" for i, (kernel, _) in enumerate(TWINS)]
)
def test_every_entry_by_a_loop(kernel, twin):
    x, y = (Stream(0).child("entries", name).normal(n, 3, dtype=F64) for name, n in (("x", 7), ("y", 5)))
    if isinstance(kernel, kernels.InversePolynomial):  # its domain is the unit ball
        x, y = (each / torch.linalg.vector_norm(each, dim=1).max() for each in (x, y))
    found, square = kernel(x, y), kernel(x)
    for i in range(7):
        for other, value in [*zip(y, found[i], strict=True), *zip(x, square[i], strict=True)]:
            expected = twin(x[i].tolist(), other.tolist())
            size = 100 if isinstance(kernel, kernels.PolynomialKernel) else 1 + abs(math.log(abs(expected)))
            same = isinstance(kernel, kernels.Arcsin) and torch.equal(x[i], other)  # where the twin loses digits
            assert float(value) == pytest.approx(expected, rel=1e-13 * size, abs=3e-8 if same else 1e-14)
