"""Distances and angles against exact arithmetic, where they are small, large, zero, and far from the origin."""

import math
from decimal import Decimal, localcontext

import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels.classical import distances
from beyondkernels.kernels.classical.distances import angles, cosines, squared_distances
from refusals import refused

F64 = torch.float64


def normal(n, dim, name="x"):
    return Stream(0).child("distances", name).normal(n, dim, dtype=F64)


def exact(x1, x2):
    """|x − y|² with sixty digits."""
    with localcontext() as context:
        context.prec = 60
        return [
            [sum(((Decimal(a) - Decimal(b)) ** 2 for a, b in zip(x, y, strict=True)), Decimal(0)) for y in x2.tolist()]
            for x in x1.tolist()
        ]


def relative_error(values, twin):
    worst = 0.0
    for row, truths in zip(values.tolist(), twin, strict=True):
        for value, truth in zip(row, truths, strict=True):
            if truth == 0:
                assert value == 0
            else:
                worst = max(worst, float(abs(Decimal(value) - truth) / truth))
    return worst


def twice(x):
    """Every point twice, the copies in another order."""
    return torch.cat([x, x[Stream(1).permutation(len(x))]])


POINTS = {
    "line": twice(normal(20, 1)),
    "plane": twice(normal(20, 2)),
    "space": twice(normal(20, 30)),
    "high dimension": normal(8, 400),
    "far from the origin": twice(normal(15, 3) + 1e8),
    "one far coordinate": twice(normal(15, 3) + torch.tensor([0.0, -3e11, 5.0], dtype=F64)),
    "two tight clusters": twice(torch.cat([1e-6 * normal(10, 4), 1e-6 * normal(10, 4, "y") + 7.0])),
    "two loose clusters": torch.cat([1e-3 * normal(10, 4), 1e-3 * normal(10, 4, "y") + 7.0]),
    "three tight clusters": torch.cat([1e-9 * normal(9, 2, str(i)) + 10.0 * i * (-1) ** i for i in range(3)]),
    "all scales": normal(30, 3) * 10.0 ** torch.arange(-15, 15, dtype=F64)[:, None],
}


@pytest.mark.parametrize("name", POINTS)
def test_squared_distances_are_exact_to_thirteen_digits(name):
    x = POINTS[name]
    found = squared_distances(x, x)
    assert relative_error(found, exact(x, x)) < 1e-13
    assert not found.diagonal().any()
    assert relative_error(squared_distances(x[:7], x[3:]), exact(x[:7], x[3:])) < 1e-13


@pytest.mark.parametrize("tile", [1, 7, 64])
@pytest.mark.parametrize("name", ["plane", "two tight clusters", "three tight clusters"])
def test_tiles_change_nothing(name, tile, monkeypatch):
    x = POINTS[name]
    whole = squared_distances(x, x), angles(x, x), cosines(x, x)
    monkeypatch.setattr(distances, "_TILE", tile)
    torch.testing.assert_close(squared_distances(x, x), whole[0], rtol=1e-13, atol=0)
    torch.testing.assert_close(angles(x, x), whole[1], rtol=0, atol=1e-14)
    torch.testing.assert_close(cosines(x, x), whole[2], rtol=0, atol=1e-15)


def test_nothing_and_too_much():
    x = normal(3, 2)
    for function in (squared_distances, angles, cosines):
        assert function(x[:0], x).shape == (0, 3)
        assert function(x, x[:0]).shape == (3, 0)
    assert not squared_distances(x[:, :0], x[:, :0]).any()
    refused(r"squared distances that float64 holds, got entries up to .*e\+(199|200)", squared_distances, 1e200 * x, x)
    with pytest.raises(InputError, match="squared distances that float64 holds"):
        squared_distances(torch.full((2, 1), 1.7e308, dtype=F64), torch.full((2, 1), -1.7e308, dtype=F64))


@pytest.mark.parametrize("dim", [1, 2, 5, 60])
def test_angles_and_cosines_of_points_in_general_position(dim):
    x, y = normal(12, dim), normal(9, dim, "y")
    theta, rho = angles(x, y), cosines(x, y)
    for i, p in enumerate(x.tolist()):
        for j, q in enumerate(y.tolist()):
            cosine = math.fsum(a * b for a, b in zip(p, q, strict=True)) / (math.hypot(*p) * math.hypot(*q))
            cosine = max(-1.0, min(1.0, cosine))
            assert float(rho[i, j]) == pytest.approx(cosine, abs=2e-15)
            slack = 1e-15 / max(math.sqrt(1 - cosine**2), 1e-8)  # of the twin's arccosine
            assert float(theta[i, j]) == pytest.approx(math.acos(cosine), abs=1e-14 + slack)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", [1e-170, 1.0, 3e200])
@pytest.mark.parametrize("exponent", [-50, -30, -20, -10, -6, -4, -1])
def test_angles_of_nearly_parallel_points(sign, size, exponent):
    """x and ±(x + t z) with z ⟂ x, exactly: tan θ = t |z| / |x|."""
    x, z, t = (
        torch.tensor([[3.0, 1.0, -2.0, 5.0]], dtype=F64),
        torch.tensor([[1.0, -3.0, 5.0, 2.0]], dtype=F64),
        2.0**exponent,
    )
    truth = math.atan(t)  # |z| = |x|
    theta = float(angles(size * x, sign * 0.7 * (x + t * z)))
    rho = float(cosines(size * x, sign * 0.7 * (x + t * z)))
    assert theta == pytest.approx(truth if sign > 0 else math.pi - truth, abs=5e-15)
    assert rho == pytest.approx(sign * math.cos(truth), abs=2.3e-16)
    if sign > 0:
        assert theta == pytest.approx(truth, rel=4e-16 / truth + 5e-14)


def test_points_on_one_line_and_at_the_origin():
    x = normal(1, 7)
    line = torch.tensor([0.3, 7.0, -1e-3, -1.0, 0.0, 1e300], dtype=F64)[:, None] * x
    signs = line.sign()[:, 0]
    assert torch.equal(cosines(line, line), torch.outer(signs, signs) * float(x[0, 0].sign()) ** 2)
    truth = math.pi * (signs[:, None] * signs <= 0).to(F64)
    truth[4], truth[:, 4] = math.pi / 2, math.pi / 2
    torch.testing.assert_close(angles(line, line), truth, rtol=0, atol=4.5e-16)
