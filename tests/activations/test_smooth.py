"""Smooth functions: slopes and Taylor series by other ways, and Lemma A.2's two parts."""

import pytest
import torch

from beyondkernels.activations import (
    Cosine,
    Erf,
    Exponential,
    Polynomial,
    Rescaled,
    Sigmoid,
    Sine,
    Tanh,
    rescaled,
    split,
)
from beyondkernels.activations.smooth import EvenShifted, ZeroAndOdd

FUNCTIONS = {
    "exp": Exponential(0.7),
    "falling": Exponential(-1.3),
    "sigmoid": Sigmoid(),
    "rescaled": Rescaled(Sigmoid(), 0.5, -3.0),
    "plus of exp": ZeroAndOdd(Exponential(0.7)),
    "minus of exp": EvenShifted(Exponential(0.7)),
    "minus of cos": EvenShifted(Cosine(1.5, 2.0)),
}
every = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
Z = torch.tensor([-1.1, -0.4, -2e-3, -5e-4, 0.0, 1e-6, 9e-4, 1.1e-3, 0.3, 0.9], dtype=torch.float64)


@every
def test_slope_is_that_of_the_value(f):
    step = 1e-5
    numeric = (f.value(Z + step) - f.value(Z - step)) / (2 * step)
    torch.testing.assert_close(f.derivative(Z), numeric, rtol=0, atol=1e-7)


@every
def test_series_sums_to_the_value(f):
    c = f.taylor(40)
    small = Z * 0.9
    sums = torch.stack([sum((c[i] * z**i for i in range(41)), torch.zeros((), dtype=torch.float64)) for z in small])
    torch.testing.assert_close(f.value(small), sums, rtol=0, atol=1e-11)
    assert f.taylor(0).shape == (1,)


@pytest.mark.parametrize(
    "f",
    [
        Exponential(0.7),
        Cosine(2.0),
        Sine(3.0, 0.5),
        Tanh(),
        Erf(0.8),
        Sigmoid(),
        Rescaled(Cosine(), 2.0, -0.5),
        Rescaled(Tanh(), 2.0, -0.5),
        Polynomial((1.0, 2.0, 3.0, 4.0, 5.0)),
        Polynomial((2.0,)),
        Polynomial((0.0, 1.0)),
        Polynomial((0.0, 0.0, 1.0)),
    ],
)
def test_split(f):
    """φ = φ⁺ + zφ⁻, and neither part has even terms beyond order zero."""
    plus, minus = split(f)
    torch.testing.assert_close(plus.value(Z) + Z * minus.value(Z), f.value(Z), rtol=0, atol=1e-13)
    c, p, m = f.taylor(11), plus.taylor(11), minus.taylor(10)
    for i in range(12):
        assert float(p[i]) == pytest.approx(float(c[i]) if i == 0 or i % 2 == 1 else 0.0, abs=1e-15)
    for i in range(11):
        assert float(m[i]) == pytest.approx(float(c[i + 1]) if i % 2 == 1 else 0.0, abs=1e-15)


def test_no_digits_lost_near_zero():
    """φ⁻ of the cosine, from (1 − cos z)/z = 2 sin²(z/2)/z, which does not cancel."""
    z = torch.logspace(-9, -1, 60, dtype=torch.float64)
    exact = -2 * torch.sin(z / 2) ** 2 / z
    torch.testing.assert_close(EvenShifted(Cosine()).value(z), exact, rtol=0, atol=3e-13)


def test_rescaling():
    for f in (Polynomial((1.0, -2.0, 0.5)), Sigmoid(), Rescaled(Sigmoid(), 2.0, 3.0)):
        g = rescaled(f, inside=-0.5, outside=4.0)
        torch.testing.assert_close(g.value(Z), 4.0 * f.value(-0.5 * Z))
    assert rescaled(Rescaled(Sigmoid(), 2.0, 3.0), 0.5, 1 / 3.0) == Sigmoid()
    assert rescaled(Sine()) == Sine()
