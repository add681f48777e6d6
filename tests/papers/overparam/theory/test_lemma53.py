"""Lemma 5.3: its numbers against the formulas as they are printed, their scaling, and its hypotheses."""

import math

import pytest

from beyondkernels.core import build, describe
from beyondkernels.papers.overparam.theory import ThreeLayerSettings, lemma53, practical, waiting_time


def settings(width=500, **words) -> ThreeLayerSettings:
    given = {"rate": 1e-6, "steps": 10**8, "complexity": 3.0, "terms": (2, 3), "outputs": 2, "degree": 0.5}
    return lemma53(0.05, width, **given | words)


def test_the_printed_formulas():
    m1 = m2 = 500
    C1 = (3.0 * 2 * 2 * 3 / 0.05) ** 0.5
    small = 0.05 / C1
    found = settings(exponents=(0.5, 0.25, 2.0))
    tau_v = small**0.5 * math.sqrt(m1 / m2)
    tau_w = 1 / (small**0.25 * m1 ** (3 / 4))
    assert found.penalties == pytest.approx((2 / tau_w**4, 2 / tau_v**2), rel=1e-12)
    assert found.smoothing == pytest.approx((1 / m1 ** (99 / 100), small**2 / math.sqrt(m2)), rel=1e-12)
    assert found.radii == pytest.approx((tau_w, tau_v), rel=1e-12)
    assert found.gradient_noise == pytest.approx(1 / (m1 * m2))
    assert found.draws == 400
    assert found.wait == math.ceil(1e-6 * 1e8 / math.log(20))


def test_an_objective_of_two_keeps_the_increments_inside():
    """λ_w τ⁴ = λ_v τ² = 2, which is how the proof bounds the increments."""
    found = settings()
    for penalty, radius, power in zip(found.penalties, found.radii, (4, 2), strict=True):
        assert penalty * radius**power == pytest.approx(2)
    assert ThreeLayerSettings().radii == (math.inf, math.inf)


@pytest.mark.parametrize("constant", [1.0, 3.0])
def test_the_scale_at_the_end(constant):
    """(1 − η) to the power of T/(1.5 T_w) is about ε^(2/(3c))."""
    rate, steps, epsilon = 1e-3, 10**7, 0.05
    wait = waiting_time(rate, steps, epsilon, constant=constant)
    scale = (1 - rate) ** (steps / (1.5 * wait))
    assert scale == pytest.approx(epsilon ** (2 / (3 * constant)), rel=5e-3)
    assert waiting_time(1e-9, 10, 0.5) == 1


def held(found: ThreeLayerSettings) -> dict[str, bool]:
    return {hypothesis.text: hypothesis.holds for hypothesis in found.hypotheses}


def test_hypotheses_turn_where_they_say():
    radius = "τ'_w ≤ τ_w"
    assert not held(settings())[radius]
    small = 0.05 / (3.0 * 2 * 2 * 3 / 0.05) ** 0.5
    edge = math.log(500**0.01) / -math.log(small)  # m^(1/100) = (ε')^(−c)
    for factor in (0.99, 1.01):
        assert held(settings(exponents=(1.0, factor * edge, 1.0)))[radius] == (factor < 1)
    assert held(settings())["ε ≤ 1/(k p₁ p₂)"]
    assert not held(settings(terms=(4, 4)))["ε ≤ 1/(k p₁ p₂)"]
    for width, fine in ((8, True), (7, False)):  # M = √60
        assert held(settings(width))["m ≥ M"] == fine
    assert not held(settings(gamma=0.3))["γ ≤ 1/4"]
    for rate, fine in ((500**-2.0, True), (1.01 * 500**-2.0, False)):
        assert held(settings(rate=rate, steps=10**9))["η ≤ 1/poly(m)"] == fine
    for constant, fine in ((10.0, True), (0.1, False)):
        assert held(settings(wait_constant=constant))["λ_T ≥ (ε')^O(1)"] == fine
    for samples, first, second in ((7, False, False), (8, False, True), (2 * 10**6, True, True)):
        found = held(settings(samples=samples))
        assert (found["L1: N ≥ M m²"], found["L2: N ≥ M"]) == (first, second)
    assert settings(samples=7).missed == tuple(h for h in settings(samples=7).hypotheses if not h.holds)


def test_practical_settings():
    """Rows of one length with Frobenius norm R make the penalties 2, as V of that norm does."""
    found = practical(0.01, 64, rate=0.01, steps=10_000, radius=7.0, smoothing=0.2)
    row = 7.0 / math.sqrt(64)
    assert found.penalties[0] * 64 * row**4 == pytest.approx(2)
    assert found.penalties[1] * 7.0**2 == pytest.approx(2)
    assert found.smoothing == pytest.approx((0.2 / 8, 0.2 / 8))
    assert found.wait == waiting_time(0.01, 10_000, 0.01, constant=10.0)
    assert not found.hypotheses


def test_identity_leaves_the_hypotheses_out():
    found = settings()
    assert found.hypotheses
    assert build(describe(found)) == found
    assert not build(describe(found)).hypotheses


def test_the_least_complexity():
    """There C₁ = 1 and ε' = ε."""
    found = settings(complexity=0.05 / 12)
    assert found.radii[1] == pytest.approx(0.05)
