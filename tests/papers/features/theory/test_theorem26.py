"""Theorem 26: its numbers typed a second time from the paper, and its hypotheses one by one."""

import json
import math

import pytest

from beyondkernels.core import build, canonical_json, digest
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import (
    DictionaryParity,
    DictionaryProblem,
    Incoherent,
    IntervalLabelling,
    RepresentationLabels,
    two_gaussians,
)
from beyondkernels.papers.features.theory import as_theorem26, theorem26
from refusals import refused


def parity(k: int, D: int, p_o: float) -> tuple[float, float]:
    """γ and σ̃² of parity in the structured mixture: App. C, patterns uncorrelated with M orthonormal."""
    gamma = (1 - p_o) / 2
    in_second_part = p_o / (2 - 2 * p_o)
    background = p_o * 0.5 + (1 - p_o) * in_second_part
    return gamma, k * 0.25 + (D - k) * background * (1 - background)


def interval(k: int, D: int, low: int, p: float) -> tuple[float, float]:
    """γ and σ̃² of independent patterns labelled by a threshold of their count: sums over all counts."""

    def count(n: int, s: int) -> float:
        return math.comb(n, s) * p**s * (1 - p) ** (n - s)

    mean = sum((1 if s >= low else -1) * count(k, s) for s in range(k + 1))
    present = sum((1 if s + 1 >= low else -1) * count(k - 1, s) for s in range(k))
    return p * present - p * mean, k * p * (1 - p) + (D - k) * 0.25


CASES: dict[str, tuple[DictionaryProblem, tuple[float, float]]] = {
    "table 1": (DictionaryParity(500, 100, 5), parity(5, 100, 0.5)),
    "small": (DictionaryParity(12, 8, 3, 0.3), parity(3, 8, 0.3)),
    "rare": (DictionaryParity(60, 50, 7, 0.05), parity(7, 50, 0.05)),
    "table 2": (IntervalLabelling(), interval(30, 100, 20, 2 / 3)),
    "noisy": (DictionaryParity(20, 10, 3, noise_std=0.2), (0.25, parity(3, 10, 0.5)[1] + 20 * 0.2**2)),
}
every_case = pytest.mark.parametrize(("problem", "known"), CASES.values(), ids=CASES.keys())


@every_case
@pytest.mark.parametrize("m", [1, 20, 300])
def test_numbers_as_the_paper_sets_them(problem, known, m):
    gamma, variance = known
    k, T = problem.relevant, 57
    settings = theorem26(problem, TwoLayer(m), steps=T)
    # §3.1, "Training Process".
    assert settings.initial.weight_std == pytest.approx(1 / k, rel=1e-12)
    assert settings.initial.bias_std == pytest.approx(1 / k**2, rel=1e-12)
    assert settings.initial.output_std == pytest.approx(variance / (gamma * k**2), rel=1e-9)
    # (276).
    eta_1 = gamma**2 * variance / (k * m**3)
    assert settings.first.hidden_rate == settings.first.output_rate == pytest.approx(eta_1, rel=1e-9)
    lambda_w, lambda_a = settings.first.penalties
    assert lambda_a == 0
    assert lambda_w == pytest.approx(1 / (2 * eta_1), rel=1e-9)
    assert settings.first.noise_std == pytest.approx(1 / k**2, rel=1e-12)
    # (277).
    eta_2 = 1
    assert settings.second.hidden_rate == settings.second.output_rate == eta_2
    assert settings.second.penalties == (1 / (2 * eta_2), 1 / (2 * eta_2))
    assert settings.second.noise_std == pytest.approx(1 / k**2, rel=1e-12)
    # (278), with λ = 0, which is at most k³/(σ̃ m^{1/3}).
    eta = k**2 / (T * m ** (1 / 3))
    assert settings.later.hidden_rate == settings.later.output_rate == pytest.approx(eta, rel=1e-12)
    assert settings.later.penalties == (0, 0)
    assert settings.later.noise_std == 0
    assert settings.steps == T


@pytest.mark.parametrize(("m", "T"), [(1, 1), (8, 16), (27, 81), (300, 2009), (1000, 10_000)])
def test_steps_of_the_theorem(m, T):
    """T = m^{4/3}, rounded up."""
    settings = theorem26(CASES["small"][0], TwoLayer(m))
    assert settings.steps == T
    assert settings.batch == 1000
    assert not settings.fading
    assert settings.later.output_rate == pytest.approx(9 / (T * m ** (1 / 3)))


def test_a_rate_of_its_own_for_the_readout():
    problem, network = CASES["table 1"][0], TwoLayer(300)
    theorems, own = theorem26(problem, network, steps=100), theorem26(problem, network, steps=100, readout_rate=7.0)
    assert own.fading
    assert own.later.output_rate == 7.0
    assert own.later.hidden_rate == theorems.later.hidden_rate
    assert (own.first, own.second, own.initial) == (theorems.first, theorems.second, theorems.initial)
    assert digest(own) != digest(theorems)


def test_hypotheses_of_table_1():
    """k = 5, D = 100, m = 300, p_o = 1/2, γ = 1/4, δ = ε = 1/10, T = 2009, all constants one."""
    settings = theorem26(CASES["table 1"][0], TwoLayer(300))
    risk = 5**8 / 300 ** (2 / 3) + 5**3 * 2009 / 300**2 + 5**2 * 300 ** (2 / 3) / 2009
    expected = [
        ("(A0): Pr[y = +1] is 1/2, distance from it", 0, 0, False, True),
        ("(A2): background patterns are independent of all others, 0 if so", 0, 0, False, True),
        ("M is orthonormal: its coherence µ is 0", 0, 0, False, True),
        ("inputs carry no noise: σ_ζ is 0", 0, 0, False, True),
        ("k ≥ Ω(log²(D/(δγ)))", 5, math.log(100 / (0.1 * 0.25)) ** 2, True, False),
        ("p_o ≥ Ω(k²/D)", 0.5, 25 / 100, True, True),
        ("m ≥ Ω(k⁴)", 300, 625, True, False),
        ("m ≥ D", 300, 100, True, True),
        ("m ≥ Ω(k¹²/ε^(3/2))", 300, 5**12 / 0.1**1.5, True, False),
        ("the bound of (279), O(k⁸/m^(2/3) + k³T/m² + k²m^(2/3)/T) ≤ ε", risk, 0.1, False, False),
    ]
    assert len(settings.hypotheses) == len(expected)
    for hypothesis, (text, measured, bound, at_least, holds) in zip(settings.hypotheses, expected, strict=True):
        assert hypothesis.text == text
        assert hypothesis.measured == pytest.approx(measured, abs=1e-12)
        assert hypothesis.bound == pytest.approx(bound)
        assert hypothesis.at_least is at_least
        assert hypothesis.holds is holds


def test_a_case_that_satisfies_all():
    c = 1e-8
    settings = theorem26(CASES["table 1"][0], TwoLayer(300), constant=c, error=0.9, failure=0.9)
    assert all(hypothesis.holds for hypothesis in settings.hypotheses)
    logarithm, wide = math.log(100 / (0.9 * 0.25)) ** 2, 5**12 / 0.9**1.5
    bounds = [hypothesis.bound for hypothesis in settings.hypotheses[4:]]
    assert bounds == pytest.approx([c * logarithm, c * 0.25, c * 625, 100, c * wide, 0.9])


def holding(problem, network):
    return [hypothesis.holds for hypothesis in theorem26(problem, network).hypotheses[:4]]


def test_problems_outside_the_theorem_say_so():
    network = TwoLayer(30)
    assert holding(DictionaryParity(20, 12, 5), network) == [True, True, True, True]
    assert holding(IntervalLabelling(), network) == [False, True, True, True]
    assert holding(DictionaryParity(20, 12, 5, background=0.1), network) == [True, False, True, True]
    assert holding(DictionaryParity(40, 12, 5, noise_std=0.5), network) == [True, True, True, False]
    assert holding(DictionaryParity(40, 12, 5, dictionary=Incoherent(5.0)), network) == [True, True, False, True]


def test_without_background_patterns_the_sentence_still_comes():
    settings = theorem26(two_gaussians(dim=5, noise_std=0.3), TwoLayer(3))
    assert str(settings.hypotheses[5]) == "misses by a factor inf: p_o ≥ Ω(k²/D) (0 against 1)"


def test_hypotheses_are_no_part_of_the_identity():
    problem, network = CASES["small"][0], TwoLayer(30)
    one, other = theorem26(problem, network), theorem26(problem, network, constant=5, failure=0.5, error=0.3)
    assert one.hypotheses != other.hypotheses
    assert one == other
    assert digest(one) == digest(other)
    again = build(json.loads(canonical_json(one)))
    assert again == one
    assert again.hypotheses == ()


@pytest.mark.parametrize(
    ("problem", "got"),
    [
        (DictionaryParity(20, 12, 5).without_structure(), "0"),
        (DictionaryParity(20, 12, 4), "0"),
        (DictionaryParity(20, 12, 7, negative_ratio=0.3).without_structure(), "0"),
        (DictionaryParity(20, 12, 5, negative_ratio=0.6).without_structure(), "0"),
        (IntervalLabelling(dim=20, patterns=12, relevant=5, low=0, high=2), r"-0\.[1-9]"),
    ],
    ids=["uniform", "even", "rounded up", "rounded down", "negative"],
)
def test_without_a_positive_correlation_there_are_no_settings(problem, got):
    """γ is zero in the first four, in exact arithmetic; 8e-17 of rounding must not pass for a correlation."""
    assert problem.moments.gamma < 1e-15
    sentence = "the correlation γ of relevant patterns and label must be positive"
    refused(f"^{sentence}, got {got}", theorem26, problem, TwoLayer(30))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"failure": 1}, r"^failure must lie in \(0, 1\), got 1$"),
        ({"readout_rate": -1.0}, r"^output_rate must be positive, got -1\.0$"),
    ],
)
def test_sentences(arguments, sentence):
    refused(sentence, theorem26, CASES["small"][0], TwoLayer(30), **arguments)


def test_formulas_outside_the_theorem() -> None:
    """The same numbers as the theorem's, with the root mean square of the correlations for γ."""
    problem = RepresentationLabels(20, 10, 4, 3, instance=1)
    found = as_theorem26(problem, TwoLayer(pairs=7), steps=50, batch=9, readout_rate=2.0)
    y, v = problem.vector_labels.numpy(), problem.vectors.double().numpy()
    gamma = math.sqrt(sum((y @ v[:, j] / 6) ** 2 for j in range(4)) / 4)
    variance = problem.moments.variance
    assert (found.initial.weight_std, found.initial.bias_std) == (1 / 4, 1 / 16)
    assert found.initial.output_std == pytest.approx(variance / (gamma * 16), rel=1e-12)
    assert found.first.hidden_rate == pytest.approx(gamma**2 * variance / (4 * 7**3), rel=1e-12)
    assert (found.second.hidden_rate, found.second.keep_hidden, found.second.noise_std) == (1.0, 0.0, 1 / 16)
    assert found.later.hidden_rate == pytest.approx(16 / (50 * 7 ** (1 / 3)), rel=1e-12)
    assert (found.later.output_rate, found.steps, found.batch, found.fading) == (2.0, 50, 9, True)
    assert found.hypotheses == ()


@every_case
def test_forgetting_is_exact(problem, known):
    """1 − 2ηλ = 0 is stored as zero, not as what rounding leaves of it."""
    settings = theorem26(problem, TwoLayer(300))
    assert settings.first.keep_hidden == settings.second.keep_hidden == settings.second.keep_output == 0
    assert settings.first.keep_output == settings.later.keep_hidden == settings.later.keep_output == 1
