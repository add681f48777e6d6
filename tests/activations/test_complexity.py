"""Complexity measures: sums typed a second time, and infinite ones."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import naive
from beyondkernels.activations import (
    Cosine,
    Erf,
    Exponential,
    Polynomial,
    ReLU,
    Rescaled,
    Sigmoid,
    Sine,
    Tanh,
    complexity,
)
from beyondkernels.activations.complexity import (
    largest_complexity,
    sample_complexity,
    smooth_complexity,
    width_complexity,
)
from beyondkernels.activations.smooth import EvenShifted, ZeroAndOdd
from beyondkernels.activations.taylor import Envelope, TaylorSeries, taylor_series
from refusals import refused


def literal_s(c, R, star):
    return star * sum((i + 1) * R**i * abs(a) for i, a in enumerate(c))


SMOOTH = {
    "sin": Sine(1.5, 2.0),
    "cos": Cosine(0.7),
    "exp": Exponential(-1.2),
    "erf": Erf(0.8),
    "rescaled": Rescaled(Cosine(0.7), -2.0, -0.3),
    "zero and odd terms": ZeroAndOdd(Exponential(-1.2)),
    "even terms shifted": EvenShifted(Exponential(-1.2)),
    "even terms of cos": EvenShifted(Cosine(0.7)),
}


@pytest.mark.parametrize("c", [[1.0], [0.0, 2.0], [1.0, -2.0, 0.0, 0.5], [0.0] * 10 + [3.0]])
@pytest.mark.parametrize(("R", "star"), [(1.0, 1.0), (0.5, 3.0), (2.0, 1e4), (0.0, 5.0)])
def test_polynomials_exactly(c, R, star):
    for function in (Polynomial(tuple(c)), TaylorSeries.polynomial(c)):
        found = sample_complexity(function, R, star=star)
        assert found.value == pytest.approx(literal_s(c, R, star), rel=1e-12)
        assert width_complexity(function, 0.03, R, star=star).value == pytest.approx(
            naive.width_sum(c, 0.03, R, star), rel=1e-12
        )
        assert found.error < 1e-12


@pytest.mark.parametrize("f", SMOOTH.values(), ids=SMOOTH.keys())
@pytest.mark.parametrize(("R", "star"), [(1.0, 1.0), (2.0, 2.0)])
def test_smooth_functions(f, R, star):
    """The literal sums of 150 Taylor coefficients, which the activations compute in their own way."""
    c = f.taylor(150).tolist()
    s, eps = sample_complexity(f, R, star=star), width_complexity(f, 0.03, R, star=star)
    assert s.value == pytest.approx(literal_s(c, R, star), rel=1e-11)
    assert eps.value == pytest.approx(naive.width_sum(c, 0.03, R, star), rel=1e-11)
    assert max(s.error, eps.error) < 1e-11


def test_closed_forms():
    """Σ (i + 1) cⁱ/i! = (1 + c)eᶜ, less the constant term for exp; its halves for cosine and sine."""
    c = 1.7
    assert sample_complexity(Exponential(c), star=2.0).value == pytest.approx(2 * ((1 + c) * math.exp(c) - 1))
    both = sample_complexity(Sine(c), star=1.0).value + sample_complexity(Cosine(c), star=1.0).value
    assert both == pytest.approx((1 + c) * math.exp(c))
    assert sample_complexity(Exponential(1.0)).value == pytest.approx(1e4 * (2 * math.e - 1))


def test_the_papers_constant():
    """C* = 10⁴: too large for a float, checked with 60 digits."""
    found = width_complexity(Sine(), 0.1)
    with localcontext() as context:
        context.prec = 60
        star = Decimal(10) ** 4
        b = Decimal(10).ln().sqrt() * star
        second, factorial = Decimal(0), 1
        for i in range(1, 4000):
            factorial *= i
            if i % 2:
                second += (b / Decimal(i).sqrt()) ** i / factorial
        exact = ((star.exp() - (-star).exp()) / 2 + second).ln()
    assert found.log == pytest.approx(float(exact), rel=1e-13)
    assert found.error < 1e-9
    assert abs(found.log - float(exact)) <= found.error
    assert found.finite
    assert found.value == math.inf
    assert str(found).startswith("exp(")


def test_functions_with_poles():
    """tanh and sigmoid: ℭ_s finite, ℭ_ε infinite once C*R exceeds the radius of convergence, finite truncated."""
    c = Tanh().taylor(300).tolist()
    assert sample_complexity(Tanh(), star=1.0).value == pytest.approx(literal_s(c, 1.0, 1.0), rel=1e-10)
    assert width_complexity(Tanh(), 0.1, 0.5, star=2.0).value == pytest.approx(
        naive.width_sum(c, 0.1, 0.5, 2.0), rel=1e-10
    )
    s = Sigmoid().taylor(300).tolist()
    assert sample_complexity(Sigmoid(), 1.5, star=1.0).value == pytest.approx(literal_s(s, 1.5, 1.0), rel=1e-10)
    assert not sample_complexity(Tanh(), 1.6).finite
    assert sample_complexity(Tanh(), 1.5).finite
    for f, radius in ((Tanh(), math.pi / 2), (Sigmoid(), math.pi), (Rescaled(Tanh(), 3.0), math.pi / 6)):
        assert width_complexity(f, 0.1, star=0.99 * radius).finite
        infinite = width_complexity(f, 0.1, star=1.01 * radius)
        assert infinite.value == math.inf
        assert str(infinite) == "infinite"
    found = width_complexity(taylor_series(Tanh()).truncated(9), 0.01, star=5.0)
    assert found.value == pytest.approx(naive.width_sum(c[:10], 0.01, 1.0, 5.0), rel=1e-12)
    assert found.degree == 9


def tangent_numbers(count):
    """T₁, T₂, … with tan z = Σ T_j z^{2j−1}/(2j − 1)!, in whole numbers (Knuth & Buckholtz)."""
    T = [0, 1]
    for k in range(2, count + 1):
        T.append((k - 1) * T[k - 1])
    for k in range(2, count + 1):
        for j in range(k, count + 1):
            T[j] = (j - k) * T[j - 1] + (j - k + 2) * T[j]
    return T


def test_tanh_coefficients_far_out():
    logs = taylor_series(Tanh()).logs(0, 400)
    T = tangent_numbers(200)
    assert T[1:5] == [1, 2, 16, 272]
    for n in (1, 3, 51, 399):
        exact = math.log(T[(n + 1) // 2]) - math.log(math.factorial(n))
        assert logs[n] == pytest.approx(exact, rel=1e-12, abs=1e-14)
    assert np.isneginf(logs[[0, 2, 50]]).all()


def test_series_of_ones_own():
    """Geometric 1/(1 − z/2), and an entire one by fractions that floats would underflow."""
    geometric = TaylorSeries.of(lambda n: 0.5**n, Envelope(1.0, 0.5, sharp=True))
    assert sample_complexity(geometric, star=1.0).value == pytest.approx(4.0, rel=1e-11)  # Σ (n + 1)/2ⁿ
    assert not sample_complexity(geometric, 2.1).finite
    entire = TaylorSeries.of(lambda n: Fraction(1, math.factorial(n)), Envelope(1.0, 1.0, order=1.0))
    wide = width_complexity(entire, 0.5, star=300.0)
    exp = width_complexity(Exponential(), 0.5, star=300.0)
    assert wide.log == pytest.approx(float(np.logaddexp(exp.log, math.log(2))), rel=1e-12)
    assert wide.degree > 300


def test_the_stated_error_is_one():
    """Against sums with 40 digits: slow convergence, so that what is left out counts."""
    rate = 0.99
    series = TaylorSeries.of(lambda n: rate**n, Envelope(1.0, rate, sharp=True))
    found = sample_complexity(series, star=1.0)
    with localcontext() as context:
        context.prec = 40
        exact = 1 / (1 - Decimal(rate)) ** 2
        assert abs(Decimal(found.log).exp() / exact - 1) < found.error
    assert found.error < 1e-11


def test_the_stated_error_covers_what_is_left_out(monkeypatch):
    """With a tolerance so coarse that only a few hundred terms are summed."""
    monkeypatch.setattr(complexity, "_TOLERANCE", 1e-2)
    series = TaylorSeries.of(lambda n: 0.99**n, Envelope(1.0, 0.99, sharp=True))
    found = sample_complexity(series, star=1.0)
    short = 1 - found.value / 1e4  # Σ (n + 1) 0.99ⁿ = 10⁴
    assert 1e-6 < short <= found.error <= 1e-2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sample_complexity(ReLU()), "must have a known Taylor series .* got ReLU"),
        (lambda: width_complexity(Sine(), 1.0), r"epsilon must lie in \(0, 1\), got 1.0"),
        (lambda: width_complexity(Erf(), 0.1), "star is too large for this series"),
        (lambda: TaylorSeries(lambda n: n), "envelope must be given for a series without a degree"),
        (lambda: TaylorSeries.polynomial([]), "coefficients must hold at least one number"),
        (
            lambda: sample_complexity(TaylorSeries.of(lambda n: 1.0**n, Envelope(1.0, 0.5))),
            "of order 1 exceeds it",
        ),
        (lambda: sample_complexity(TaylorSeries.of(lambda n: 0.1**n, Envelope(1.0, 1.0))), "must decide whether"),
    ],
)
def test_bad_input(make, sentence):
    refused(sentence, make)


def literal_smooth(c, R, star):
    return sum((star * R) ** i * abs(a) for i, a in enumerate(c))


@pytest.mark.parametrize("function", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize(("R", "star"), [(0.5, 1.0), (1.3, 2.0)])
def test_smooth_complexity(function, R, star):
    if star * R >= taylor_series(function).radius:
        return
    expected = literal_smooth(function.taylor(120).tolist(), R, star)
    found = smooth_complexity(function, R, star=star)
    assert found.value == pytest.approx(expected, rel=1e-10)
    assert found.error < 1e-9


def test_smooth_complexity_of_exp_is_exp():
    """ℭ(exp, R) = e^{CR}, also far beyond what a float holds."""
    exp = Exponential(constant=True)
    assert smooth_complexity(exp, 2.0, star=3.0).value == pytest.approx(math.exp(6.0))
    assert smooth_complexity(exp, 1.0).log == pytest.approx(1e4)


def test_the_largest_complexity_of_a_layer():
    layer = [Sine(), Exponential(constant=True), Cosine()]
    assert largest_complexity(layer, 1.0, star=2.0).value == pytest.approx(math.exp(2.0))
    refused("functions must hold at least one", largest_complexity, [], 1.0)


def test_a_series_that_does_not_converge_says_where_it_does():
    refused(r"C·R below 3\.14159, where the series of Sigmoid\(\) converges, got 1", smooth_complexity, Sigmoid(), 1.0)
    cut = taylor_series(Sigmoid()).truncated(3)
    assert smooth_complexity(cut, 1.0, star=10.0).value == pytest.approx(0.5 + 2.5 + 1000 / 48)


def test_a_polynomial_of_high_degree():
    """Sums go in blocks of orders; a polynomial may end in any of them."""
    for degree in (63, 64, 65, 200):
        one = TaylorSeries.polynomial([1.0] * (degree + 1))
        assert smooth_complexity(one, 0.5, star=1.0).value == pytest.approx(2 - 0.5**degree)
