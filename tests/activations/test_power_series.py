"""Smooth functions: values against a literal sum of their series, and where series end."""

import json
import math

import pytest
import torch

from beyondkernels.activations import Polynomial, PowerSeries, Sinh, smooth_function, taylor_series
from beyondkernels.activations.power_series import NAMED
from beyondkernels.core import InputError, build, canonical_json
from refusals import refused

Z = torch.linspace(-1, 1, 9, dtype=torch.float64)


def factorial_signs(n: int) -> float:
    """The coefficients of exp(−z)."""
    return (-1) ** n / math.factorial(n)


def geometric(n: int) -> float:
    return 0.5**n


@pytest.mark.parametrize("name", NAMED)
def test_values_are_the_series(name):
    function = smooth_function(name)
    literal = sum(c * Z**n for n, c in enumerate(function.taylor(60).tolist()))
    torch.testing.assert_close(function.value(Z), literal, rtol=1e-12, atol=1e-12)
    slope = sum(n * c * Z ** (n - 1) for n, c in enumerate(function.taylor(60).tolist()) if n)
    torch.testing.assert_close(function.derivative(Z), slope + torch.zeros_like(Z), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sin", math.sin), ("cos", math.cos), ("exp", math.exp), ("sinh", math.sinh), ("tanh", math.tanh)],
)
def test_names_mean_what_they_say(name, value):
    assert smooth_function(name).value(Z).tolist() == pytest.approx([value(z) for z in Z.tolist()], abs=1e-14)


@pytest.mark.parametrize("function", [*NAMED.values(), Sinh(2.5), PowerSeries(factorial_signs, order=1.0)])
def test_taylor_series_of_the_theory_agree(function):
    logs = taylor_series(function).truncated(12).logs(0, 13) if not isinstance(function, Polynomial) else None
    if logs is not None:
        expected = function.taylor(12).abs().log().tolist()
        assert logs.tolist() == pytest.approx(expected, abs=1e-10)


def test_an_entire_power_series():
    function = PowerSeries(factorial_signs, order=1.0)
    z = torch.tensor([-5.0, 0.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(function.value(z), torch.exp(-z), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(function.derivative(z), -torch.exp(-z), rtol=1e-13, atol=1e-13)
    assert function.radius == math.inf
    assert build(json.loads(canonical_json(function))) == function


def test_a_power_series_with_a_radius():
    function = PowerSeries(geometric, rate=0.5, sharp=True)
    z = torch.tensor([-1.9, 0.0, 1.5], dtype=torch.float64)
    torch.testing.assert_close(function.value(z), 1 / (1 - z / 2), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(function.derivative(z), 0.5 / (1 - z / 2) ** 2, rtol=1e-11, atol=1e-11)
    refused(r"lie within the radius 2 where the series converges, got \|z\| = 2$", function.value, torch.tensor([2.0]))
    refused(r"further inside the radius 2 \(more than 4096 terms", function.value, torch.tensor([1.9999]).double())


def test_a_bound_that_does_not_hold():
    with pytest.raises(InputError, match="must bound every coefficient, but that of order 3 exceeds them"):
        PowerSeries(lambda n: float(n == 3), rate=0.5).value(torch.ones(1))
