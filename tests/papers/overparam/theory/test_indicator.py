"""Lemma 5.1 and resnet Lemma E.2, against their formulas as they are printed."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from beyondkernels.activations import Cosine, Polynomial, Sigmoid, Sine, Tanh
from beyondkernels.activations.complexity import width_complexity
from beyondkernels.core import Stream, describe
from beyondkernels.execution.outcomes import perform
from beyondkernels.papers.overparam.problems import IntervalFunction
from beyondkernels.papers.overparam.theory.estimate import IndicatorEstimate, least_star
from beyondkernels.papers.overparam.theory.expectation import gated_mean, sampled_mean, second_moment
from beyondkernels.papers.overparam.theory.indicator import (
    IndicatorFunction,
    hermite_factor,
    indicator_function,
    largest_hermite,
    least_constant,
    unbiased_indicator_function,
)
from beyondkernels.store import RunSpec
from refusals import refused

X = np.array([-1.0, -0.999, -0.6, -0.1, 0.0, 0.3, 0.85, 1.0])


def double_factorial(n: int) -> int:
    return math.prod(range(n, 0, -2))


def binomial(top: float, k: int) -> float:
    return math.prod(top - j for j in range(k)) / math.factorial(k)


def hermite(i: int, z: float) -> float:
    """Definition A.5."""
    return math.factorial(i) * sum(
        (-1) ** m / (math.factorial(m) * math.factorial(i - 2 * m)) * z ** (i - 2 * m) / 2**m for m in range(i // 2 + 1)
    )


def printed_factor(i: int, biased: bool) -> float:
    """p'_i by (72) for odd orders and by (70) for even ones, averaged over a bias of variance 2."""
    if i % 2:
        total = sum(binomial(i / 2, k // 2) * (-1) ** (k // 2) for k in range(0, i + 1, 2))
        return double_factorial(i - 1) * total / math.sqrt(2 * math.pi) / (2 if biased else 1)

    def p(b: float) -> float:
        total = sum(
            (-1) ** ((i - 1 - r) // 2) / double_factorial(r) * binomial(i / 2 - 1, (r - 1) // 2) * b**r
            for r in range(1, i, 2)
        )
        return double_factorial(i - 1) * math.exp(-(b**2) / 2) / math.sqrt(2 * math.pi) * total

    return 0.5 * quad(lambda b: p(b) * math.exp(-(b**2) / 4) / math.sqrt(4 * math.pi), 0, 1 / (2 * i))[0]


@pytest.mark.parametrize("order", range(1, 13))
def test_factors_are_the_printed_ones(order):
    wanted = printed_factor(order, biased=True) / math.sqrt(math.factorial(order))
    assert hermite_factor(order) == pytest.approx(wanted, rel=1e-9)
    if order % 2:
        assert hermite_factor(order, biased=False) == pytest.approx(2 * wanted, rel=1e-12)


@pytest.mark.parametrize("order", range(1, 30))
def test_factors_are_as_large_as_claim_b1_says(order):
    least = (
        double_factorial(order - 2) / 20 if order % 2 else double_factorial(order - 1) / (200 * order**2)
    )  # (−1)!! = 1
    assert abs(hermite_factor(order)) * math.sqrt(math.factorial(order)) >= least


def test_claim_e3_holds_with_another_double_factorial():
    # The text says |p'_i| ≥ (i − 1)!!/4, which fails from i = 3 on: p'_3 = 1/√(2π).
    sizes = {i: abs(hermite_factor(i, biased=False)) * math.sqrt(math.factorial(i)) for i in range(1, 30, 2)}
    assert sizes[3] == pytest.approx(1 / math.sqrt(2 * math.pi))
    assert all(size < double_factorial(i - 1) / 4 for i, size in sizes.items() if i >= 3)
    assert all(size >= double_factorial(i - 2) / 4 for i, size in sizes.items())


def test_h_is_the_printed_one():
    """(115) to (117), with the orders that Claim B.1 gives to the two sums."""
    c, reaches = (0.3, -1.0, 0.5, 0.7, 2.0), (1.0, 1.5, 2.0, 2.0)
    h = IndicatorFunction(c, reaches)
    for alpha in (-3.0, -1.2, 0.0, 0.4, 1.7, 9.0):
        for b in (0.0, 0.1, -0.05, -0.125, -0.13, -0.25, -0.3):
            wanted = 2 * c[0]
            for i in range(1, 5):
                held = hermite(i, alpha if abs(alpha) <= reaches[i - 1] else math.copysign(reaches[i - 1], alpha))
                inside = b == 0 if i % 2 else 0 < -b <= 1 / (2 * i)
                wanted += c[i] / printed_factor(i, True) * held * inside
            assert h(np.array(alpha), b) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("coefficients", [(0.5, -1.0, 2.0, 0.7, -1.5, 0.2), (0.0, 0.0, 0.0, 0.0, 1.0), (3.0,)])
def test_the_identity_is_exact_for_polynomials(coefficients):
    h = IndicatorFunction(coefficients, (200.0,) * (len(coefficients) - 1))
    wanted = np.polynomial.polynomial.polyval(X, coefficients)
    assert gated_mean(h, X) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("function", [Sine(), Cosine(2.0), Sigmoid()])
def test_the_identity_holds_for_series(function):
    h = indicator_function(function, epsilon=0.01)
    assert gated_mean(h, X[2:5]) == pytest.approx(function.value(torch.from_numpy(X[2:5])).numpy(), abs=1e-10)


@pytest.mark.parametrize("reach", [100.0, 1.0])
def test_quadrature_agrees_with_draws(reach):
    h = indicator_function(Polynomial((0.2, 1.0, 0.5, -0.5)), epsilon=0.05, reach=reach)
    mean, error = sampled_mean(h, X, 200_000, Stream(100))
    assert (np.abs(mean - gated_mean(h, X)) < 4 * error).all()
    assert error.max() < 0.5


def test_second_moment():
    h = indicator_function(Polynomial((0.2, 1.0, 0.5, -0.5)), epsilon=0.05, reach=1.0)
    random = Stream(100).generator()
    alpha = random.standard_normal(400_000)
    bias = np.where(random.random(400_000) < 0.5, 0.0, math.sqrt(2) * random.standard_normal(400_000))
    squares = h(alpha, bias) ** 2
    assert second_moment(h) == pytest.approx(squares.mean(), abs=4 * squares.std() / math.sqrt(400_000))


def test_without_bias():
    function = Tanh()
    h = unbiased_indicator_function(function, epsilon=0.01)
    assert not h.biased
    assert h.reaches[3] == 200 + 10 * math.sqrt(math.log(100))
    assert gated_mean(h, X[1:4]) == pytest.approx(np.tanh(X[1:4]), abs=1e-9)
    refused(r"from 2 on without a bias, got -0\.5 at order 2", unbiased_indicator_function, Cosine(), epsilon=0.01)


@pytest.mark.parametrize("order", [1, 2, 5, 8])
@pytest.mark.parametrize("reach", [0.5, 2.0, 30.0])
def test_largest_hermite(order, reach):
    z = np.linspace(-reach, reach, 20_001)
    slow = max(abs(hermite(order, value)) for value in z) / math.sqrt(math.factorial(order))
    assert largest_hermite(order, reach) == pytest.approx(slow, rel=1e-5)


@pytest.mark.parametrize("reach", [100.0, 0.7])
def test_range_and_slope_bound_h(reach):
    h = indicator_function(Polynomial((0.2, 1.0, 0.5, -0.5, 1.0)), epsilon=0.05, reach=reach)
    alpha = np.linspace(-1.2 * h.reaches[-1], 1.2 * h.reaches[-1], 40_001)
    for bias in (0.0, -0.1, -0.2, 1.0):
        values = h(alpha, bias)
        assert np.abs(values).max() <= h.most
        assert np.abs(np.diff(values) / np.diff(alpha)).max() <= h.steepest * (1 + 1e-9)
    at_its_largest = IndicatorFunction((0.0, 0.0, 0.0, 1.0), (30.0,) * 3)
    assert at_its_largest.most == pytest.approx(abs(at_its_largest(np.array(30.0))))


def test_least_constant():
    c = (1.0, -2.0, 0.0, 0.5)
    found = least_constant(c, 1.5, 1e9)
    assert sum((found * 1.5) ** i * abs(each) for i, each in enumerate(c)) == pytest.approx(1e9)
    assert least_constant((3.0,), 1.0, 2.0) == 0
    assert least_constant((1.0,), 1.0, 2.0) == math.inf


def estimate(**more: Any) -> dict[str, float]:
    learner = IndicatorEstimate(0.01, draws=20_000, points=5, **more)
    return perform([RunSpec(IntervalFunction(Sine()), learner, 1, 0, 100)])[0].scalars


def test_a_run_without_bias():
    """Lemma E.2 for sin: ℭ_s = C* (cosh 1 + sinh 1) = C* e, and the identity without a bias."""
    found, biased = estimate(biased=False), estimate()
    h = unbiased_indicator_function(Sine(), 0.01)
    draws = Stream(100).generator().standard_normal(400_000)
    squares = h(draws) ** 2
    mean = (found["moment_constant"] * math.e) ** 2
    assert mean == pytest.approx(squares.mean(), abs=4 * squares.std() / math.sqrt(400_000))
    assert found["root_mean_square"] ** 2 == pytest.approx(mean)
    assert biased["root_mean_square"] ** 2 == pytest.approx(2 * mean, rel=1e-9)  # half of the neurons, twice as much
    assert found["error"] < 1e-9
    assert 0 < found["sampled_error"] < 0.3
    assert found["deviation"] < 4
    assert found["log_hypothesis"] == pytest.approx(math.log10(0.01 * 1e4 * math.e))
    assert found["log_range"] == pytest.approx(math.log10(h.most))
    at_star = width_complexity(Polynomial(h.coefficients), 0.01, star=found["least_constant"]).value
    assert at_star == pytest.approx(max(h.most, h.steepest))
    assert found["log_complexity"] == pytest.approx(
        width_complexity(Polynomial(h.coefficients), 0.01).log / math.log(10)
    )
    assert "moment_constant" not in biased


def test_least_star():
    c = (0.5, -2.0, 0.0, 0.5)
    found = least_star(c, 0.03, 1e6)
    assert width_complexity(Polynomial(c), 0.03, star=found).value == pytest.approx(1e6)
    assert least_star((3.0,), 0.1, 5.0) == 0  # c₀ counts twice
    refused("epsilon must", least_star, c, 1.0, 2.0)


def test_draws_have_the_stated_error():
    h, x = indicator_function(Polynomial((0.2, 1.0, 0.5)), 0.05), np.array([0.4])
    found = [sampled_mean(h, x, 2000, Stream(seed)) for seed in range(100, 300)]
    means, errors = (np.array(each)[:, 0] for each in zip(*found, strict=True))
    assert means.std() == pytest.approx(errors.mean(), rel=0.15)


def test_a_bias_is_no_part_of_the_key():
    """Runs that were stored before there was a choice are those with biases."""
    assert "biased" not in describe(IndicatorEstimate(0.01))["fields"]
    assert describe(IndicatorEstimate(0.01, biased=False))["fields"]["biased"] is False
