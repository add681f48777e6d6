"""Theorem 34: its numbers typed a second time from the paper, its hypotheses one by one, and runs under them."""

import math

import pytest

from beyondkernels.core import InputError, Stream, canonical_json, digest
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import (
    Counts,
    DictionaryParity,
    DictionaryProblem,
    Equiangular,
    Incoherent,
    IndependentPatterns,
    IntervalLabelling,
    coherence,
    two_gaussians,
)
from beyondkernels.papers.features.theory import error_bound, theorem26, theorem34
from refusals import refused


def table4(ratio: float) -> tuple[float, float, float]:
    """γ, p_min and σ̃² of Table 4's data: a class ratio on parity with p_o = 1/2, k = 5, D = 100, counted by hand.

    Half of the points have all five patterns or none, the other half are fair coins: Pr[count = s] below.
    """
    counts = [0.5 * math.comb(5, s) / 32 + 0.25 * (s in (0, 5)) for s in range(6)]
    weight = [(1 - ratio) / 0.5 if s % 2 else ratio / 0.5 for s in range(6)]
    presence = {v: sum(counts[s] * s / 5 for s in range(6) if s % 2 == v) / 0.5 for v in (0, 1)}
    gamma = (presence[1] - presence[0]) / 2
    mean = sum(c * w * s / 5 for s, (c, w) in enumerate(zip(counts, weight, strict=True)))
    # M is orthonormal, so covariances of different patterns do not enter
    return gamma, min(ratio, 1 - ratio), 5 * mean * (1 - mean) + 95 * 0.25


CASES: dict[str, tuple[DictionaryProblem, tuple[float, float, float]]] = {
    "table 1": (DictionaryParity(500, 100, 5), (0.25, 0.5, 25.0)),
    "table 4": (DictionaryParity(500, 100, 5, negative_ratio=0.8), table4(0.8)),
    "table 4, 0.9": (DictionaryParity(500, 100, 5, negative_ratio=0.9), table4(0.9)),
    "noise": (DictionaryParity(20, 10, 3, noise_std=0.2), (0.25, 0.5, 2.5 + 20 * 0.04)),
    # φ̃ is 1 in one class and 0 in the other: γ₊₁ = 1, γ₋₁ = 0
    "gaussians": (two_gaussians(30, noise_std=0.1, positive=0.7), (0.5, 0.3, 0.21 + 30 * 0.01)),
}
every_case = pytest.mark.parametrize(("problem", "known"), CASES.values(), ids=CASES.keys())


@every_case
@pytest.mark.parametrize("m", [1, 20, 300])
def test_numbers_as_the_paper_sets_them(problem, known, m):
    gamma, p_min, variance = known
    k, D, T, scale = problem.relevant, problem.patterns, 57, math.sqrt(variance)
    settings = theorem34(problem, TwoLayer(m), steps=T)
    assert settings.initial.weight_std == pytest.approx(scale / (D * m), rel=1e-8)
    assert settings.initial.bias_std == pytest.approx(1 / k**2)
    assert settings.initial.output_std == pytest.approx(variance / (gamma * k**2), rel=1e-8)
    # (296).
    eta_1 = gamma**2 * p_min * scale / (k * m**3)
    assert settings.first.hidden_rate == settings.first.output_rate == pytest.approx(eta_1, rel=1e-8)
    assert settings.first.penalties == pytest.approx((1 / (2 * eta_1), 0), rel=1e-8)
    assert settings.first.noise_std == pytest.approx(1 / math.sqrt(k**3))
    # (297).
    assert settings.second.hidden_rate == settings.second.output_rate == 1
    assert settings.second.penalties == (0.5, 0.5)
    assert settings.second.noise_std == pytest.approx(1 / math.sqrt(k**3))
    # (298), with λ = 0.
    assert settings.later.hidden_rate == settings.later.output_rate == pytest.approx(k**2 / (T * m ** (1 / 3)))
    assert (settings.later.penalties, settings.later.noise_std) == ((0, 0), 0)


@every_case
def test_weights_make_both_classes_count_alike(problem, known):
    """(295): α_v = 1/(2 Pr[y = v]) in the first two steps, estimated on a sample too."""
    settings = theorem34(problem, TwoLayer(30))
    alpha = settings.first.class_weights
    assert settings.second.class_weights == alpha
    assert settings.later.class_weights == (1.0, 1.0)
    assert sorted(alpha) == pytest.approx(sorted((1 / (2 * known[1]), 1 / (2 * (1 - known[1])))))
    y = problem.sample(20_000, Stream(3)).y
    for sign, weight in zip((-1, 1), alpha, strict=True):
        share = (y == sign).double()
        assert weight * share.mean().item() == pytest.approx(0.5, abs=5 * weight * share.std().item() / len(y) ** 0.5)


def test_where_theorems_26_and_34_agree():
    """Balanced classes: same γ, readout and later steps; other numbers in the first two steps."""
    problem, network = CASES["table 1"][0], TwoLayer(300)
    old, new = (theorem(problem, network, steps=600, readout_rate=200.0) for theorem in (theorem26, theorem34))
    assert (old.later, old.fading, old.batch, old.steps) == (new.later, new.fading, new.batch, new.steps)
    assert old.initial.output_std == new.initial.output_std
    assert old.first.hidden_rate / new.first.hidden_rate == pytest.approx(5.0 / 0.5)  # σ̃/p_min
    assert digest(old) != digest(new)
    assert "class_weights" not in canonical_json(old)  # so that the keys of stored runs stay
    assert "class_weights" in canonical_json(theorem34(CASES["table 4"][0], network))


def test_lemma_35_asks_for_less_incoherence_than_the_theorem():
    problem = DictionaryParity(100, 50, 5, dictionary=Equiangular(0.1))
    asked = {found.text: found for found in theorem34(problem, TwoLayer(60)).hypotheses}
    lemma = next(found for text, found in asked.items() if text.startswith("Lemma 35"))
    assert lemma.measured == pytest.approx(5 * 0.1 / 10 * 0.5 * 50 / math.sqrt(12.5 + 20 * 0.01 / 8), rel=1e-6)
    assert asked["µ ≤ O(√d/D)"].holds
    assert not lemma.holds


def test_hypotheses_of_table_4():
    settings = theorem34(CASES["table 4"][0], TwoLayer(300))
    gamma, p_min, variance = table4(0.8)
    scale = math.sqrt(variance)
    logarithm = math.log(100 * 300 * 500 / (0.1 * gamma * p_min)) ** 2
    expected = [
        ("(A1) of App. F: γ₊₁ and γ₋₁ are the same for all relevant patterns, largest difference", 0, 0, True),
        ("(A2) of App. F: background patterns are independent of the relevant ones, 0 if so", 0, 0, True),
        ("δ ≤ O(1/k³)", 0.1, 1 / 125, False),
        ("µ ≤ O(√d/D)", 0, math.sqrt(500) / 100, True),
        ("σ_ζ ≤ O(1/σ̃)", 0, 1 / scale, True),
        ("σ_ζ ≤ O(σ̃/√d)", 0, scale / math.sqrt(500), True),
        ("k ≥ Ω(log²(Dmd/(δγp_min)))", 5, logarithm, False),
        ("m ≥ Ω(k⁴)", 300, 625, False),
        ("m ≥ D", 300, 100, True),
        ("m ≥ d", 300, 500, False),
        ("Lemma 35, for the network that exists: (kµ/√d)(p_oD/σ̃) ≤ 1/16", 0, 1 / 16, True),
        ("m ≥ Ω(k¹²/ε^(3/2))", 300, 5**12 / 0.1**1.5, False),
        (
            "the bound of (299), O(k⁸/m^(2/3) + k³T/m² + k²m^(2/3)/T) ≤ ε",
            5**8 / 300 ** (2 / 3) + 5**3 * 2009 / 300**2 + 5**2 * 300 ** (2 / 3) / 2009,
            0.1,
            False,
        ),
    ]
    assert len(settings.hypotheses) == len(expected)
    for hypothesis, (text, measured, bound, holds) in zip(settings.hypotheses, expected, strict=True):
        assert hypothesis.text == text
        assert hypothesis.measured == pytest.approx(measured, abs=1e-12)
        assert hypothesis.bound == pytest.approx(bound)
        assert hypothesis.holds is holds


def held(problem: DictionaryProblem) -> list[bool]:
    return [hypothesis.holds for hypothesis in theorem34(problem, TwoLayer(80)).hypotheses[:6]]


def test_problems_outside_the_theorem_say_so():
    assert held(IntervalLabelling(60, 20, 6, 4, 6, background=0.3))[:2] == [True, True]
    unequal = DictionaryProblem(9, 6, 3, Counts((2, 3)), IndependentPatterns((0.2, 0.5, 0.7), 0.5))
    assert held(unequal)[:2] == [False, True]
    assert held(DictionaryParity(60, 20, 3, background=0.2))[:2] == [True, False]
    spread = DictionaryParity(60, 20, 3, dictionary=Incoherent(2.0))
    assert coherence(spread.matrix) > math.sqrt(60) / 20
    assert held(spread)[3:] == [False, True, True]
    # σ̃² = 5 + 60σ_ζ²; its second part makes σ_ζ ≤ σ̃/√d hold always while the constant is one
    noisy = DictionaryParity(60, 20, 3, noise_std=0.5)
    assert held(noisy)[3:] == [True, False, True]
    assert [h.holds for h in theorem34(noisy, TwoLayer(80), constant=2).hypotheses[4:6]] == [False, False]


def test_background_patterns_may_differ_and_depend_on_each_other():
    """(A2) of App. F is weaker than that of the main text."""
    varied = DictionaryProblem(12, 8, 3, Counts((2, 3)), IndependentPatterns(0.5, (0.1, 0.2, 0.3, 0.4, 0.5)))
    assert held(varied)[1]
    assert not theorem26(varied, TwoLayer(80)).hypotheses[1].holds


def test_without_correlation_there_are_no_settings():
    with pytest.raises(InputError, match=r"^the correlation γ of relevant patterns and label must be positive, got 0"):
        theorem34(DictionaryParity(20, 12, 5, negative_ratio=0.6).without_structure(), TwoLayer(30))
    refused(r"^failure must lie in \(0, 1\), got 1$", theorem34, CASES["noise"][0], TwoLayer(30), failure=1)


def test_the_bound_falls_as_the_theorem_says():
    """T = m^{4/3} leaves k⁸m^{−2/3} + k³m^{−2/3} + k²m^{−2/3}."""
    for k, m in ((1, 8), (2, 1000), (3, 27_000)):
        assert error_bound(k, m, round(m ** (4 / 3))) == pytest.approx((k**8 + k**3 + k**2) * m ** (-2 / 3), rel=1e-3)
