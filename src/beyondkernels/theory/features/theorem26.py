"""Theorem 26 of the feature-learning paper: settings from problem and network, and its hypotheses."""

from __future__ import annotations

import math

from beyondkernels.core import require, require_between, require_positive
from beyondkernels.networks import Symmetric, TwoLayer
from beyondkernels.problems import DictionaryProblem
from beyondkernels.theory.features.process import ProcessSettings, StepSettings
from beyondkernels.theory.hypotheses import Hypothesis

_ROUNDING = 1e-12  # exact moments are sums of a few hundred float64 terms


def theorem26(
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
        failure: δ.
        error: ε.
        constant: what stands for every Ω(·) of the hypotheses.

    Reference: Shi, Wei & Liang (features), Theorem 26, eqs. (276)–(280), and §3.1 for the initial scales.
    """
    require(isinstance(network, TwoLayer), f"network must be a TwoLayer, got {type(network).__name__}")
    require_between("failure", failure, 0, 1, "()")
    require_between("error", error, 0, 1, "()")
    require_positive("constant", constant)
    k, m = problem.relevant, network.pairs
    T = steps if steps is not None else math.ceil(m ** (4 / 3))
    require_positive("steps", T)
    gamma, scale = problem.moments.gamma, problem.moments.scale
    # Without structure γ is zero, if only up to rounding, and the theorem sets no scale; the run then uses that of a
    # problem with structure.
    require_positive("the correlation γ of relevant patterns and label", gamma if abs(gamma) > _ROUNDING else 0)
    return process26(
        relevant=k,
        gamma=gamma,
        scale=scale,
        pairs=m,
        steps=T,
        batch=batch,
        readout_rate=readout_rate,
        hypotheses=_hypotheses(problem, network, T, failure, error, constant),
    )


def process26(
    *,
    relevant: int,
    gamma: float,
    scale: float,
    pairs: int,
    steps: int,
    batch: int,
    readout_rate: float | None = None,
    hypotheses: tuple[Hypothesis, ...] = (),
) -> ProcessSettings:
    """The formulas of Theorem 26 alone, for problems outside its setting too.

    Arguments:
        relevant: k.
        gamma: γ; outside (A1), where the correlations differ, what the caller takes for it.
        scale: σ̃.
        pairs: m.
        steps: T.
        batch: points in a batch for t > 2.
        readout_rate: as in :func:`theorem26`.
        hypotheses: what is kept with the numbers.

    Reference: Shi, Wei & Liang (features), Theorem 26, eqs. (276)–(280), and §3.1 for the initial scales.
    """
    k, m, T = relevant, pairs, steps
    first = gamma**2 * scale**2 / (k * m**3)
    eta = k**2 / (T * m ** (1 / 3))
    return ProcessSettings(
        initial=Symmetric(weight_std=1 / k, bias_std=1 / k**2, output_std=scale**2 / (gamma * k**2)),
        first=StepSettings(first, first, keep_hidden=0.0, keep_output=1.0, noise_std=1 / k**2),
        second=StepSettings(1.0, 1.0, keep_hidden=0.0, keep_output=0.0, noise_std=1 / k**2),
        later=StepSettings(eta, eta if readout_rate is None else readout_rate),
        steps=T,
        batch=batch,
        fading=readout_rate is not None,
        hypotheses=hypotheses,
    )


def _hypotheses(
    problem: DictionaryProblem, network: TwoLayer, T: int, failure: float, error: float, constant: float
) -> tuple[Hypothesis, ...]:
    k, D, m = problem.relevant, problem.patterns, network.pairs
    gamma, background = problem.moments.gamma, problem.moments.background or 0.0
    logarithm = math.log(D / (failure * gamma)) ** 2
    risk = k**8 / m ** (2 / 3) + k**3 * T / m**2 + k**2 * m ** (2 / 3) / T
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
        Hypothesis("k ≥ Ω(log²(D/(δγ)))", k, constant * logarithm),
        Hypothesis("p_o ≥ Ω(k²/D)", background, constant * k**2 / D),
        Hypothesis("m ≥ Ω(k⁴)", m, constant * k**4),
        Hypothesis("m ≥ D", m, D),
        Hypothesis("m ≥ Ω(k¹²/ε^(3/2))", m, constant * k**12 / error**1.5),
        Hypothesis(
            "the bound of (279), O(k⁸/m^(2/3) + k³T/m² + k²m^(2/3)/T) ≤ ε", constant * risk, error, at_least=False
        ),
    )
