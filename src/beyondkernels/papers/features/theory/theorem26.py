"""Theorem 26 of the feature-learning paper: settings from problem and network, and its hypotheses."""

from __future__ import annotations

import math
from typing import Any

from beyondkernels.algorithms.feature_learning_steps import ProcessSettings
from beyondkernels.core.hypotheses import Hypothesis
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import DictionaryProblem, RepresentationLabels
from beyondkernels.papers.features.theory.application import Application, require_correlation


def theorem26(
    problem: DictionaryProblem,
    network: TwoLayer,
    *,
    steps: int | None = None,
    batch: int = 1000,
    readout_rate: float | None = None,
    weighted: bool = False,
    failure: float = 0.1,
    error: float = 0.1,
    constant: float = 1.0,
) -> ProcessSettings:
    r"""The numbers Theorem 26 sets for a problem and a network, with its hypotheses checked one by one.

    .. math::
        \sigma_w = 1/k,\ \sigma_b = 1/k^2,\ \sigma_a = \tilde\sigma^2/(\gamma k^2);\qquad
        \eta^{(1)} = \gamma^2\tilde\sigma^2/(k m^3),\ \lambda_a^{(1)} = 0,\ \lambda_w^{(1)} = 1/(2\eta^{(1)});\qquad
        \eta^{(2)} = 1,\ \lambda_a^{(2)} = \lambda_w^{(2)} = 1/2;\qquad
        \sigma_\xi^{(1)} = \sigma_\xi^{(2)} = 1/k^2;\qquad
        \eta^{(t)} = k^2/(T m^{1/3}),\ \sigma_\xi^{(t)} = 0 \text{ for } t > 2.

    For t > 2 the theorem allows any λ ≤ k³/(σ̃ m^{1/3}); here it is zero.

    Arguments:
        problem: gives k, D, p_o, γ and σ̃.
        network: gives m.
        steps: T, by default the theorem's m^{4/3}.
        batch: points in a batch for t > 2; the theorem has the exact gradient.
        readout_rate: not the theorem's: a rate of its own for the readout for t > 2, falling linearly to zero.
        weighted: not the theorem's, which asks for equal classes: whether the first two steps weight the classes as in
            App. F.1.1. γ is then that of App. F.
        failure: δ.
        error: ε.
        constant: what stands for every Ω(·) of the hypotheses.

    Reference: Shi, Wei & Liang (features), Theorem 26, eqs. (276)–(280), and §3.1 for the initial scales.
    """
    applied = Application(problem, network, steps, failure, error, constant)
    moments = problem.moments
    gamma = require_correlation(moments.gamma_balanced if weighted else moments.gamma)
    weights = moments.class_weights if weighted else (1.0, 1.0)
    return _process(applied, gamma, batch, readout_rate, _hypotheses(applied, gamma), weights)


def as_theorem26(
    problem: RepresentationLabels,
    network: TwoLayer,
    *,
    steps: int | None = None,
    batch: int = 1000,
    readout_rate: float | None = None,
) -> ProcessSettings:
    """The formulas of Theorem 26 for a problem to which the theorem does not apply, so without hypotheses.

    (A1) fails there: the relevant patterns correlate with the label by different amounts, some of them negatively. The
    root mean square of these correlations stands for γ.

    Arguments:
        problem: gives k, γ and σ̃.
        network: gives m.
        steps: T, by default the theorem's m^{4/3}.
        batch: points in a batch for t > 2.
        readout_rate: as in :func:`theorem26`.

    Reference: Shi, Wei & Liang (features), App. E.3.1 for the problem; its settings are not stated.
    """
    applied = Application(problem, network, steps, failure=0.1, error=0.1, constant=1.0)
    return _process(applied, require_correlation(problem.moments.typical_gamma), batch, readout_rate, ())


def direction_cosine(problem: RepresentationLabels, samples: int) -> float:
    r"""The cosine of the mean of yx over a sample with its expectation g, by its moments.

    .. math:: |g| \big/ \sqrt{E\,|\text{mean}|^2}, \qquad E\,|\text{mean}|^2 = |g|^2 + (1 - |g|^2)/n

    because the inputs have E|x|² = 1.

    Arguments:
        problem: gives g.
        samples: n.

    Reference: Shi, Wei & Liang (features), §5.2, first remark: the gradient is roughly the mean of yx.
    """
    moments = problem.moments
    g = float(moments.correlations.square().sum()) / moments.variance
    return math.sqrt(g / (g + (1 - g) / samples))


def _process(
    applied: Application[Any],
    gamma: float,
    batch: int,
    readout_rate: float | None,
    hypotheses: tuple[Hypothesis, ...],
    class_weights: tuple[float, float] = (1.0, 1.0),
) -> ProcessSettings:
    k, scale = applied.k, applied.problem.moments.scale
    return applied.phases(
        gamma,
        scale,
        initial_weight_std=1 / k,
        first_rate=gamma**2 * scale**2 / (k * applied.m**3),
        noise_std=1 / k**2,
        class_weights=class_weights,
        batch=batch,
        readout_rate=readout_rate,
        hypotheses=hypotheses,
    )


def _hypotheses(applied: Application[DictionaryProblem], gamma: float) -> tuple[Hypothesis, ...]:
    problem, k, D, m, c = applied.problem, applied.k, applied.problem.patterns, applied.m, applied.constant
    assumed = {assumption.name: assumption for assumption in problem.assumptions()}
    return (
        Hypothesis("(A0): Pr[y = +1] is 1/2, distance from it", abs(problem.moments.positive - 0.5), 0, at_least=False),
        Hypothesis(
            "(A2): background patterns are independent of all others, 0 if so",
            float(not assumed["A2"].holds),
            0,
            at_least=False,
        ),
        Hypothesis("M is orthonormal: its coherence µ is 0", assumed["D"].measured, 0, at_least=False),
        Hypothesis("inputs carry no noise: σ_ζ is 0", problem.noise_std, 0, at_least=False),
        Hypothesis("k ≥ Ω(log²(D/(δγ)))", k, c * math.log(D / (applied.failure * gamma)) ** 2),
        Hypothesis("p_o ≥ Ω(k²/D)", problem.moments.background or 0.0, c * k**2 / D),
        Hypothesis("m ≥ Ω(k⁴)", m, c * k**4),
        Hypothesis("m ≥ D", m, D),
        *applied.width_and_bound("(279)"),
    )
