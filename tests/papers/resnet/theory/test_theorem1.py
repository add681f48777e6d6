"""Theorem 1: its numbers typed a second time from the paper, and its hypotheses one by one."""

import math
from dataclasses import fields, replace

import pytest

from beyondkernels.core import describe
from beyondkernels.networks import Parameterisation, ThreeLayerResNet, initial_stds, popular_initialisation
from beyondkernels.papers.resnet.theory import ConceptSizes, Theorem1Constants, theorem1

SIZES = ConceptSizes(
    outputs=3,
    alpha=0.02,
    base_terms=2,
    composite_terms=4,
    base_complexity=1.5,
    composite_complexity=0.7,
    base_width_complexity=11.0,
    composite_width_complexity=13.0,
    base_norm=1.2,
    best_risk=0.001,
)
BIASED = Parameterisation("standard", bias_variance=1.0)


def resnet(m: int) -> ThreeLayerResNet:
    return ThreeLayerResNet(m, "bottleneck", parameterisation=BIASED)


def of(settings, start: str):
    """The hypothesis whose text starts so."""
    found = [h for h in settings.hypotheses if h.text.startswith(start)]
    assert len(found) == 1, start
    return found[0]


def test_numbers_as_the_paper_sets_them():
    c = Theorem1Constants(
        alpha=2, risk=3, steps=5, rate=0.07, first_radius=1.1, second_radius=1.3, width=17, width_power=0.5, log_power=2
    )
    settings = theorem1(SIZES, resnet(10**6), constants=c)
    k, alpha, p_f, p_g, c_f, c_g, b_f, opt = 3, 0.02, 2, 4, 1.5, 0.7, 1.2, 0.001
    delta = opt + 3 * alpha**4 * k**4 * p_g**4 * c_g**4 * (1 + b_f) ** 2
    assert settings.risk == pytest.approx(delta, rel=1e-13)
    assert settings.steps == math.ceil(5 * (k * p_f * c_f) ** 2 / delta**2)
    assert settings.first_rate == pytest.approx(0.07 * delta)
    # η_v = η_w Θ̃(α p_G C_s(G) / (p_F C_s(F)))², and τ_w²/η_w = τ_v²/η_v
    assert settings.second_rate == pytest.approx(0.07 * delta * (1.3 / 1.1 * alpha * p_g * c_g / (p_f * c_f)) ** 2)
    assert settings.first_radius == pytest.approx(1.1 * k * p_f * c_f)
    assert settings.second_radius == pytest.approx(1.3 * alpha * k * p_g * c_g)
    assert of(settings, "α ≤").bound == pytest.approx(2 / (k * p_g * c_g))
    assert of(settings, "m ≥ M").bound == pytest.approx(17 * math.sqrt(11 * 13 * 2 / alpha))
    assert of(settings, "τ_v ≤ 1/polylog").bound == pytest.approx(math.log(10**6) ** -2)
    assert of(settings, "σ_v ≥ polylog").bound == pytest.approx(math.log(10**6) ** 2)
    assert of(settings, "τ_v + α L_G").measured == pytest.approx(
        1.3 * alpha * k * p_g * c_g + alpha * math.sqrt(k) * p_g * c_g
    )
    assert (settings.width, settings.network.width) == (10**6, 10**6)


def test_every_constant_counts():
    plain = theorem1(SIZES, resnet(1000))
    seen = lambda s: (describe(s), [(h.measured, h.bound) for h in s.hypotheses])  # noqa: E731
    for field in fields(Theorem1Constants):
        constants = replace(Theorem1Constants(), **{field.name: 1.7})
        assert seen(theorem1(SIZES, resnet(1000), constants=constants)) != seen(plain), field.name


def test_a_large_risk_is_cut_at_one():
    settings = theorem1(SIZES, resnet(1000), risk=4.0)
    assert settings.steps == math.ceil((3 * 2 * 1.5) ** 2)
    assert settings.first_rate == pytest.approx(0.05)


@pytest.mark.parametrize("risk", [0.01, 0.3, 1.0, 7.0])
def test_default_constants_agree_with_the_proof(risk):
    """Rates and steps of the defaults satisfy what App. C.4 takes from them, wherever τ_v ≤ 1."""
    settings = theorem1(SIZES, resnet(1000), risk=risk)
    for start in ("T ≥ Θ", "η_w ≤", "η_w + η_v τ_w²", "T ≥ (τ_w²", "η_w √T"):
        assert of(settings, start).holds, start
    travelled = settings.first_radius**2 / settings.first_rate + settings.second_radius**2 / settings.second_rate
    assert of(settings, "T ≥ (τ_w²").bound == pytest.approx(travelled / (50 * risk))


def test_alpha_outside_its_range_is_a_failing_hypothesis():
    limit = 1 / (3 * 4 * 0.7)
    for alpha, holds in ((0.99 * limit, True), (1.01 * limit, False), (50.0, False)):
        found = of(theorem1(replace(SIZES, alpha=alpha), resnet(100)), "α ≤")
        assert found.holds == holds
        assert found.factor == pytest.approx(limit / alpha)
    negative = theorem1(replace(SIZES, alpha=-0.02), resnet(100))
    assert negative == theorem1(SIZES, resnet(100))
    zero = theorem1(replace(SIZES, alpha=0.0), resnet(100))
    assert not of(zero, "α is not zero").holds
    assert (zero.second_rate, zero.second_radius, zero.risk) == (0, 0, 0.001)
    assert zero.second_std > 0
    assert of(theorem1(SIZES, resnet(100)), "α is not zero").holds


def test_own_numbers_are_checked_against_the_theorem():
    settings = theorem1(
        SIZES, resnet(100), risk=1e-4, steps=50, first_rate=0.2, second_rate=0.3, first_std=0.11, second_std=2.5
    )
    assert (settings.risk, settings.steps, settings.first_rate, settings.second_rate) == (1e-4, 50, 0.2, 0.3)
    assert initial_stds(settings.network, 7, 3) == pytest.approx((0.11, 2.5))
    missed = [h.text for h in settings.missed]
    for start in ("δ ≥", "T ≥ Θ", "η_w ≤", "η_w + η_v τ_w²"):
        assert any(text.startswith(start) for text in missed), start
    assert of(settings, "δ ≥").bound == pytest.approx(0.001 + (0.02 * 8.4) ** 4 * 2.2**2)
    assert of(settings, "η_w + η_v").measured == pytest.approx(0.2 + 0.3 * 81)
    assert of(settings, "η_w √T").measured == pytest.approx(0.2 * 50**0.5)
    still = theorem1(SIZES, resnet(100), second_rate=0.0)
    assert of(still, "T ≥ (τ_w²").bound == math.inf


def test_the_popular_start_lies_outside_table_1():
    m = 500
    stds = initial_stds(ThreeLayerResNet(m, "bottleneck", parameterisation=popular_initialisation(m)), 30, 3)
    settings = theorem1(SIZES, resnet(m), first_std=stds[0], second_std=stds[1])
    assert of(settings, "σ_w ≥").factor == pytest.approx(m**-0.01)
    assert of(settings, "σ_v ≥ polylog").factor == pytest.approx(1 / math.log(m))
    assert not of(settings, "σ_w ≥").holds
    assert not of(settings, "σ_v ≥ polylog").holds


def test_unknown_width_complexity_asks_for_an_infinite_width():
    settings = theorem1(replace(SIZES, base_width_complexity=math.inf), resnet(50))
    assert str(of(settings, "m ≥ M")).startswith("misses by a factor inf")


def test_fact_a3_stands_in_for_the_lipschitz_constant():
    assert SIZES.composite_lipschitz == pytest.approx(math.sqrt(3) * 4 * 0.7)
    assert replace(SIZES, lipschitz=0.5).composite_lipschitz == 0.5


def test_what_the_network_is_like():
    settings = theorem1(SIZES, ThreeLayerResNet(50, "bottleneck", "tanh"))
    assert not of(settings, "the activation").holds
    assert not of(settings, "W and V have biases").holds
    assert of(theorem1(SIZES, resnet(50)), "the activation").holds
    assert of(theorem1(SIZES, resnet(50)), "W and V have biases").holds
