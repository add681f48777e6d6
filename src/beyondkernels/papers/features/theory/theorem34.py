"""Theorem 34 of the feature-learning paper: incoherent dictionaries, noise and unequal classes."""

from __future__ import annotations

import math

from beyondkernels.algorithms.feature_learning_steps import ProcessSettings
from beyondkernels.core import settled
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import DictionaryProblem
from beyondkernels.papers.features.theory.application import Application, require_correlation


def theorem34(
    problem: DictionaryProblem,
    network: TwoLayer,
    *,
    steps: int | None = None,
    batch: int = 1000,
    readout_rate: float | None = None,
    failure: float = 0.1,
    error: float = 0.1,
    constant: float = 1.0,
) -> ProcessSettings:
    r"""The numbers Theorem 34 sets for a problem and a network, with its hypotheses checked one by one.

    .. math::
        \sigma_w = \tilde\sigma/(Dm),\ \sigma_b = 1/k^2,\ \sigma_a = \tilde\sigma^2/(\gamma k^2);\qquad
        \eta^{(1)} = \gamma^2 p_{\min}\tilde\sigma/(k m^3),\ \lambda_a^{(1)} = 0,\ \lambda_w^{(1)} = 1/(2\eta^{(1)});
        \qquad \eta^{(2)} = 1,\ \lambda_a^{(2)} = \lambda_w^{(2)} = 1/2;\qquad
        \sigma_\xi^{(1)} = \sigma_\xi^{(2)} = k^{-3/2};\qquad
        \eta^{(t)} = k^2/(T m^{1/3}),\ \sigma_\xi^{(t)} = 0 \text{ for } t > 2.

    In the first two steps a point of class v counts :math:`\alpha_v = 1/(2\Pr[y = v])` times. γ is that of App. F,
    :math:`(\gamma_{+1} + \gamma_{-1})/2`. The theorem asks for σ_w² = σ̃²/poly(Dm) and leaves the polynomial open; the
    square is ours. For t > 2 it allows any λ ≤ k³/(σ̃ m^{1/3}); here it is zero. σ̃² contains dσ_ζ², so the hypothesis
    σ_ζ ≤ O(σ̃/√d) asks something only if its constant is below one. The settings take σ̃ to nine digits (ours): with
    patterns that overlap its last digits depend on the order of summation.

    Arguments:
        problem: gives k, D, d, γ, p_min, σ̃, µ and σ_ζ.
        network: gives m.
        steps: T, by default the theorem's m^{4/3}.
        batch: points in a batch for t > 2; the theorem has the exact gradient.
        readout_rate: not the theorem's: a rate of its own for the readout for t > 2, falling linearly to zero.
        failure: δ.
        error: ε.
        constant: what stands for every Ω(·) of the hypotheses; its inverse stands for every O(·). The proof asks for
            Dµ/√d ≤ 1/16, which is a constant of 16.

    >>> from beyondkernels.papers.features.problems import two_gaussians
    >>> settings = theorem34(two_gaussians(dim=10, noise_std=0.1, positive=0.8), TwoLayer(pairs=30))
    >>> settings.first.class_weights, settings.second.class_weights, settings.later.class_weights
    ((2.5000000000000004, 0.625), (2.5000000000000004, 0.625), (1.0, 1.0))

    Reference: Shi, Wei & Liang (features), Theorem 34 (Theorem 49), eqs. (295)–(300), and App. F.1.1.
    """
    applied = Application(problem, network, steps, failure, error, constant)
    moments, k = problem.moments, applied.k
    scale = settled(moments.scale)
    gamma = require_correlation(moments.gamma_balanced)
    return applied.phases(
        gamma,
        scale,
        initial_weight_std=scale / (problem.patterns * applied.m),
        first_rate=gamma**2 * moments.p_min * scale / (k * applied.m**3),
        noise_std=k**-1.5,
        class_weights=moments.class_weights,
        batch=batch,
        readout_rate=readout_rate,
        hypotheses=_hypotheses(applied, gamma),
    )


def _hypotheses(applied: Application[DictionaryProblem], gamma: float) -> tuple[Hypothesis, ...]:
    problem, k, m, c = applied.problem, applied.k, applied.m, applied.constant
    d, D, exact = problem.dim, problem.patterns, problem.moments
    assumed = {assumption.name: assumption for assumption in problem.assumptions()}
    relevant = list(exact.relevant)
    by_class = (exact.means_given_positive[relevant], exact.means_given_negative[relevant])
    size = D * m * d / (applied.failure * gamma * exact.p_min)
    return (
        Hypothesis(
            "(A1) of App. F: γ₊₁ and γ₋₁ are the same for all relevant patterns, largest difference",
            max(float(means.max() - means.min()) for means in by_class),
            0,
            at_least=False,
        ),
        Hypothesis(
            "(A2) of App. F: background patterns are independent of the relevant ones, 0 if so",
            float(not assumed["A2 of App. F"].holds),
            0,
            at_least=False,
        ),
        Hypothesis("δ ≤ O(1/k³)", applied.failure, 1 / (c * k**3), at_least=False),
        Hypothesis("µ ≤ O(√d/D)", assumed["D"].measured, math.sqrt(d) / (c * D), at_least=False),
        Hypothesis("σ_ζ ≤ O(1/σ̃)", problem.noise_std, 1 / (c * exact.scale), at_least=False),
        Hypothesis("σ_ζ ≤ O(σ̃/√d)", problem.noise_std, exact.scale / (c * math.sqrt(d)), at_least=False),
        Hypothesis("k ≥ Ω(log²(Dmd/(δγp_min)))", k, c * math.log(size) ** 2),
        Hypothesis("m ≥ Ω(k⁴)", m, c * k**4),
        Hypothesis("m ≥ D", m, D),
        Hypothesis("m ≥ d", m, d),
        Hypothesis(
            "Lemma 35, for the network that exists: (kµ/√d)(p_oD/σ̃) ≤ 1/16",
            k * assumed["D"].measured / math.sqrt(d) * (exact.background or 0.0) * D / exact.scale,
            1 / 16,
            at_least=False,
        ),
        *applied.width_and_bound("(299)"),
    )


def noise_at(share: float, variance: float, dim: int) -> float:
    r"""The noise that is a share of what Theorem 34 allows.

    .. math:: \sigma_\zeta = \text{share} \cdot \min(1/\tilde\sigma, \tilde\sigma/\sqrt d), \qquad
        \tilde\sigma^2 = \text{variance} + d \sigma_\zeta^2

    From a share of 1 on the second condition always holds.

    Arguments:
        share: of the condition.
        variance: of the patterns.
        dim: d.

    >>> round(noise_at(0.5, variance=12.5, dim=100), 4)
    0.1324

    Reference: Shi, Wei & Liang (features), Theorem 34: its condition on σ_ζ.
    """
    first = (math.sqrt(variance**2 + 4 * dim * share**2) - variance) / (2 * dim)
    second = share**2 * variance / (dim * (1 - share**2)) if share < 1 else math.inf
    return math.sqrt(min(first, second))
