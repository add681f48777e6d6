"""Moments, Hermite and Taylor coefficients of every activation."""

import math

import pytest
import torch
from scipy.special import eval_hermitenorm

import naive
from beyondkernels.activations import (
    GELU,
    NAMED,
    Cosine,
    Erf,
    FromFunction,
    Polynomial,
    ReLU,
    Sine,
    SmoothedReLU,
    SmoothedTruncatedReLU,
    Tanh,
    TruncatedReLU,
    identity,
)
from beyondkernels.activations.base import Activation
from refusals import refused

MORE = [
    SmoothedReLU(1e-3),
    SmoothedTruncatedReLU(1e-3),
    Erf(2.5),
    Polynomial((0.3, -1.0, 0.5, 0.2)),
    Sine(2.0, 0.3),
    Cosine(0.5, 2.0),
]
ALL = [*NAMED.values(), *MORE]
VARIANCES = torch.tensor([[0.0, 1e-6, 0.2], [1.0, 3.0, 40.0]], dtype=torch.float64)


def scalar(function):
    return lambda z: float(function(torch.tensor(z, dtype=torch.float64)))


def mean(sigma: Activation, function, q: float) -> float:
    """E f(√q z) in plain Python, the literal twin."""
    if q == 0:
        return function(0.0)
    return naive.gaussian_mean(function, sigma.cuts, 0.0, math.sqrt(q))


@pytest.mark.parametrize("sigma", ALL, ids=str)
def test_moments(sigma):
    found = sigma.moments(VARIANCES)
    value, slope = scalar(sigma.value), scalar(sigma.derivative)
    twins = (value, lambda z: value(z) ** 2, lambda z: slope(z) ** 2)
    for moment, twin in zip(found, twins, strict=True):
        assert moment.shape == VARIANCES.shape
        for q, number in zip(VARIANCES.flatten().tolist(), moment.flatten().tolist(), strict=True):
            truth = mean(sigma, twin, q)
            assert number == pytest.approx(truth, abs=1e-13 * (1 + abs(truth))), q


@pytest.mark.parametrize("sigma", ALL, ids=str)
def test_hermite_coefficients(sigma):
    found = sigma.hermite(VARIANCES, 7)
    assert found.shape == (2, 3, 8)
    value = scalar(sigma.value)
    for q, row in zip(VARIANCES.flatten().tolist(), found.reshape(-1, 8).tolist(), strict=True):
        for k in (0, 1, 4, 7):

            def product(z: float, k: int = k, q: float = q) -> float:
                root = math.sqrt(q)
                h = float(eval_hermitenorm(k, z / root if q else 0.0)) / math.sqrt(math.factorial(k))
                return value(z) * h

            truth = mean(sigma, product, q) if q else value(0.0) * float(k == 0)
            assert row[k] == pytest.approx(truth, abs=2e-13 * (1 + abs(truth)) * (1 + q)), (q, k)


@pytest.mark.parametrize("sigma", ALL, ids=str)
def test_parseval(sigma):
    """Σ a_k² reaches E σ² from below."""
    q = torch.tensor([0.3, 1.0], dtype=torch.float64)
    sums = sigma.hermite(q, 300).square().cumsum(-1)
    second = sigma.moments(q)[1]
    assert (sums[:, -1] <= second * (1 + 1e-13) + 1e-13).all()
    # a kink leaves coefficients like k^(-5/4), whose squares sum to k^(-3/2)
    assert torch.allclose(sums[:, -1], second, rtol=0, atol=1e-4 if sigma.kinks or sigma in MORE[:2] else 1e-7)
    assert torch.allclose(sigma.hermite(q, 12), sigma.hermite(q, 300)[:, :13], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "sigma", [Erf(), Erf(0.4), identity, MORE[3], Sine(2.0, 0.3), Cosine(0.5, 2.0), Tanh(), GELU()], ids=str
)
def test_taylor_series(sigma):
    z = torch.tensor([-0.5, -0.1, 0.0, 0.3, 0.6], dtype=torch.float64)
    a = sigma.taylor(60)
    assert a.shape == (61,)
    powers = z[:, None] ** torch.arange(61)
    assert torch.allclose(powers @ a, sigma.value(z), rtol=0, atol=1e-14)
    slopes = (powers[:, :-1] * torch.arange(1, 61)) @ a[1:]
    assert torch.allclose(slopes, sigma.derivative(z), rtol=0, atol=1e-12)
    for degree in (0, 1, 2, 5):
        assert torch.equal(sigma.taylor(degree), a[: degree + 1])


def test_no_taylor_series():
    for sigma in (ReLU(), TruncatedReLU()):
        refused(f"^{type(sigma).__name__} has no Taylor series at 0$", sigma.taylor, 3)
    softplus = FromFunction(torch.nn.functional.softplus, torch.sigmoid, "softplus")
    refused(r"^softplus has no Taylor series at 0 in closed form$", softplus.taylor, 3)


def test_bad_input():
    refused(r"that are not negative, got -0.5$", Tanh().moments, torch.tensor([1.0, -0.5], dtype=torch.float64))
    refused(r"^degree must not be negative, got -1$", Tanh().hermite, torch.tensor(1.0, dtype=torch.float64), -1)
    for sigma in (identity, Erf(), Sine(), Cosine(), Tanh(), GELU()):
        refused(r"^degree must not be negative, got -1$", sigma.hermite, torch.tensor(1.0, dtype=torch.float64), -1)
        refused(r"^degree must not be negative, got -1$", sigma.taylor, -1)
    refused(r"^coefficients must hold at least one value, got none$", Polynomial, ())
    refused(r"^each of coefficients must be finite, got nan$", Polynomial, (1.0, math.nan))
