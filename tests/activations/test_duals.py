"""Every dual map in closed form: by nested integrals, by Monte Carlo, by quadrature, and by Price's theorem."""

import itertools
import math
from typing import Any

import pytest
import torch
from scipy.integrate import quad

import naive
from beyondkernels.activations import (
    GELU,
    NAMED,
    Activation,
    Cosine,
    Erf,
    Polynomial,
    ReLU,
    Sine,
    SmoothedReLU,
    SmoothedTruncatedReLU,
    Tanh,
    TruncatedReLU,
    identity,
    quadratic,
    quadrature_dual,
)
from beyondkernels.core import Stream
from refusals import refused


def cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def smooth_relu(z: float, s: float) -> float:
    return z * cdf(z / s) + s * density(z / s)


TWINS: dict[Activation, tuple[naive.Scalar, naive.Scalar]] = {
    ReLU(): (lambda z: max(z, 0.0), lambda z: float(z > 0)),
    SmoothedReLU(0.3): (lambda z: smooth_relu(z, 0.3), lambda z: cdf(z / 0.3)),
    Erf(): (math.erf, lambda z: 2 / math.sqrt(math.pi) * math.exp(-z * z)),
    Erf(0.4): (lambda z: math.erf(0.4 * z), lambda z: 0.8 / math.sqrt(math.pi) * math.exp(-0.16 * z * z)),
    Polynomial((2.0,)): (lambda _: 2.0, lambda _: 0.0),
    identity: (lambda z: z, lambda _: 1.0),
    quadratic: (lambda z: z * z, lambda z: 2 * z),
    Polynomial((0.3, -1, 0.5, 0.2)): (lambda z: 0.3 - z + z**2 / 2 + z**3 / 5, lambda z: -1 + z + 0.6 * z**2),
    Sine(1.3, 0.7): (lambda z: 0.7 * math.sin(1.3 * z), lambda z: 0.91 * math.cos(1.3 * z)),
    Cosine(0.6, 1.5): (lambda z: 1.5 * math.cos(0.6 * z), lambda z: -0.9 * math.sin(0.6 * z)),
    GELU(): (lambda z: z * cdf(z), lambda z: cdf(z) + z * density(z)),
    TruncatedReLU(): (naive.truncated_relu, lambda z: float(0 < z < 1)),
    SmoothedTruncatedReLU(0.3): (
        lambda z: smooth_relu(z, 0.3) - smooth_relu(z - 1, 0.3),
        lambda z: cdf(z / 0.3) - cdf((z - 1) / 0.3),
    ),
    Tanh(): (math.tanh, lambda z: 1 - math.tanh(z) ** 2),
}
"""Value and derivative in plain Python."""

CLOSED = [sigma for sigma in TWINS if sigma.closed_form]
OPEN = [sigma for sigma in TWINS if not sigma.closed_form]
PAIRS = [
    (1.0, 1.0, 0.0),
    (1.0, 1.0, 1.0),
    (1.0, 1.0, -1.0),
    (0.7, 2.3, 0.6),
    (2.0, 0.3, -0.8),
    (1.1, 1.1, 0.999),
    (1.5, 0.9, 1.0),
    (0.0, 1.4, 0.0),
    (0.6, 0.0, 0.0),
    (0.0, 0.0, 0.0),
]
"""Variances q1, q2 and correlation."""


def tensors(pairs: list[tuple[float, float, float]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q1, q2, rho = torch.tensor(pairs, dtype=torch.float64).T
    return q1, q2, rho * (q1 * q2).sqrt()


def mean(function, places: list[float]) -> float:
    """E f(z) for a standard normal z, between the places where f bends."""
    ends = sorted({-8.5, -2.0, 2.0, 8.5, *(place for place in places if abs(place) < 8.5)})

    def integrand(z: float) -> float:
        return function(z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    parts: list[Any] = [
        quad(integrand, low, high, epsabs=1e-11, epsrel=1e-9, limit=80)[0] for low, high in itertools.pairwise(ends)
    ]
    return math.fsum(parts)


def literal(sigma: Activation, q1: float, q2: float, rho: float, slope: bool) -> float:
    """E f(u) f(v) with u = √q1 z and v = √q2 (ρz + √(1 − ρ²) w): one integral inside the other."""
    f, kinks = TWINS[sigma][slope], sigma.kinks
    s1, s2, rest = math.sqrt(q1), math.sqrt(q2), math.sqrt(1 - rho**2)

    def inner(z: float) -> float:
        if rest * s2 == 0:
            return f(s2 * rho * z)
        return mean(lambda w: f(s2 * (rho * z + rest * w)), [(k / s2 - rho * z) / rest for k in kinks])

    if rho == 0:
        return mean(lambda z: f(s1 * z), [k / s1 for k in kinks if s1]) * inner(0.0)
    return mean(lambda z: f(s1 * z) * inner(z), [k / s1 for k in kinks] + [k / (s2 * rho) for k in kinks])


def test_every_closed_form_is_here():
    for name, sigma in NAMED.items():
        assert any(type(sigma) is type(known) for known in CLOSED) == sigma.closed_form, name


@pytest.mark.parametrize("sigma", CLOSED, ids=str)
def test_by_nested_integrals(sigma):
    value, slope = sigma.dual(*tensors(PAIRS))
    for k, pair in enumerate(PAIRS):
        assert float(value[k]) == pytest.approx(literal(sigma, *pair, False), abs=2e-9), pair
        assert float(slope[k]) == pytest.approx(literal(sigma, *pair, True), abs=2e-9), pair


@pytest.mark.parametrize("sigma", CLOSED + OPEN, ids=str)
def test_by_quadrature(sigma):
    """Closed forms against the generic route, or that route against the nested integrals."""
    q1, q2, c = tensors(PAIRS)
    value, slope, error = quadrature_dual(sigma, q1, q2, c)
    assert slope is not None
    assert error <= 1.01e-10
    if sigma.closed_form:
        exact, exact_slope = sigma.dual(q1, q2, c)
        assert float((value - exact).abs().max()) <= error
        assert float((slope - exact_slope).abs().max()) <= error
    else:
        for k in range(len(PAIRS)):
            assert float(value[k]) == pytest.approx(literal(sigma, *PAIRS[k], False), abs=2e-9)
            assert float(slope[k]) == pytest.approx(literal(sigma, *PAIRS[k], True), abs=2e-9)


@pytest.mark.parametrize("sigma", CLOSED + OPEN, ids=str)
def test_by_monte_carlo(sigma):
    """The mean over drawn pairs, within five standard errors."""
    n = 40_000
    z = Stream(31).normal(2, n, dtype=torch.float64)
    q1, q2, c = tensors(PAIRS)
    duals = sigma.dual(q1, q2, c) if sigma.closed_form else quadrature_dual(sigma, q1, q2, c)[:2]
    for k, (a, b, rho) in enumerate(PAIRS):
        u, v = math.sqrt(a) * z[0], math.sqrt(b) * (rho * z[0] + math.sqrt(1 - rho**2) * z[1])
        for function, exact in zip((sigma.value, sigma.derivative), duals, strict=True):
            assert exact is not None
            drawn = function(u) * function(v)
            error = 5 * float(drawn.std()) / math.sqrt(n) + 1e-12
            assert float(drawn.mean()) == pytest.approx(float(exact[k]), abs=error)


@pytest.mark.parametrize("sigma", CLOSED + OPEN, ids=str)
def test_price(sigma):
    """The dual of σ′ is the derivative of the dual of σ by the covariance."""
    q1, q2, rho = torch.tensor([p for p in PAIRS if abs(p[2]) < 0.9 and p[0] * p[1]], dtype=torch.float64).T
    c, h = rho * (q1 * q2).sqrt(), 1e-3

    def value(c: torch.Tensor) -> torch.Tensor:
        return sigma.dual(q1, q2, c, slope=False)[0] if sigma.closed_form else quadrature_dual(sigma, q1, q2, c)[0]

    slope = (sigma.dual(q1, q2, c) if sigma.closed_form else quadrature_dual(sigma, q1, q2, c))[1]
    by_hand = (8 * (value(c + h) - value(c - h)) - (value(c + 2 * h) - value(c - 2 * h))) / (12 * h)
    assert slope is not None
    # Fifth derivatives of the order of 10³ at most, near ±0.8, times h⁴/30; errors of 1e-10 over h.
    assert torch.allclose(by_hand, slope, rtol=0, atol=1e-9 if sigma.closed_form else 2e-7)


@pytest.mark.parametrize("sigma", CLOSED, ids=str)
def test_without_slope_and_in_blocks(sigma):
    x1, x2 = Stream(32).normal(5, 3, dtype=torch.float64), Stream(33).normal(4, 3, dtype=torch.float64)
    q1, q2, c = x1.square().sum(1, keepdim=True), x2.square().sum(1)[None], x1 @ x2.T
    before = q1.clone(), q2.clone(), c.clone()
    value, slope = sigma.dual(q1, q2, c)
    assert all(torch.equal(a, b) for a, b in zip(before, (q1, q2, c), strict=True))
    alone, nothing = sigma.dual(q1, q2, c, slope=False)
    assert nothing is None
    assert torch.equal(alone, value)
    for i, j in itertools.product(range(5), range(4)):
        one = sigma.dual(q1[i], q2[0, j : j + 1], c[i, j : j + 1])
        assert torch.allclose(torch.stack([value[i, j], slope[i, j]]), torch.cat(one), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("sigma", CLOSED, ids=str)
def test_points_that_coincide_up_to_rounding(sigma):
    """Covariances a few roundings off, above and below, change nothing; no root makes 1e-8 of 1e-16."""
    q = torch.full((9,), 1.7, dtype=torch.float64)
    c = q * (1 + torch.arange(-4, 5, dtype=torch.float64) * 2.0**-52)
    for sign in (1, -1):
        value, slope = sigma.dual(q, q, sign * c)
        assert float(value.max() - value.min()) <= 1e-13
        assert float(slope.max() - slope.min()) <= 1e-13


def test_polynomials_by_moments():
    """Isserlis: E u²v² = q1 q2 + 2c², E u³v = 3 q1 c, and so on, also where variances are not those of any pair."""
    q1, q2, c = (torch.tensor([t], dtype=torch.float64) for t in (1.3, 0.4, 0.5))
    value, slope = quadratic.dual(q1, q2, c)
    assert value.item() == pytest.approx(1.3 * 0.4 + 2 * 0.5**2, rel=1e-15)
    assert slope is not None
    assert slope.item() == pytest.approx(4 * 0.5, rel=1e-15)
    cubic, _ = Polynomial((0, 0, 0, 1)).dual(q1, q2, c)
    assert cubic.item() == pytest.approx(9 * 1.3 * 0.4 * 0.5 + 6 * 0.5**3, rel=1e-15)
    mixed, _ = Polynomial((0, 1, 0, 1)).dual(q1, q2, c)
    assert mixed.item() == pytest.approx(cubic.item() + 0.5 + 3 * 0.5 * (1.3 + 0.4), rel=1e-14)


@pytest.mark.parametrize("sigma", OPEN, ids=str)
def test_no_closed_form(sigma):
    one = torch.ones(1, 1, dtype=torch.float64)
    sentence = rf"^{type(sigma).__name__} has no dual map in closed form; quadrature_dual\(activation, ...\) gives it"
    refused(sentence, sigma.dual, one, one, one)


def test_relu_against_the_textbook():
    """The arc-cosine kernels as they are printed, with sines and cosines of the angle."""
    for q1, q2, theta in itertools.product((0.2, 3.0), (1.0, 7.0), (0.01, 0.7, 1.9, 3.0)):
        size = math.sqrt(q1 * q2)
        given = torch.tensor([[q1], [q2], [size * math.cos(theta)]], dtype=torch.float64)
        value, slope = ReLU().dual(given[0], given[1], given[2])
        printed = size / (2 * math.pi) * (math.sin(theta) + (math.pi - theta) * math.cos(theta))
        assert value.item() == pytest.approx(printed, abs=3e-14)
        assert slope is not None
        assert slope.item() == pytest.approx((math.pi - theta) / (2 * math.pi), abs=1e-12)
