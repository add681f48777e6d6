"""The numbers of Algorithm 2: those of Lemma 5.3, and a practical choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from beyondkernels.core import Component, require, require_between, require_positive, require_whole
from beyondkernels.core.constraints import not_negative, positive, size
from beyondkernels.core.errors import shown
from beyondkernels.core.hypotheses import Hypothesis, WithHypotheses

_MOST = 10**18  # of widths, steps and samples
_SIZES = 1e-30, 1e30  # of rates and constants
_LARGEST = 600.0  # of the logarithm of a number that is to stay a float, also when it is squared or halved


@dataclass(frozen=True)
class ThreeLayerSettings(WithHypotheses, Component):
    r"""What Algorithm 2 is told besides its steps and their size.

    Arguments:
        smoothing: :math:`\sigma_w, \sigma_v`, the standard deviations of the smoothing noise.
        gradient_noise: :math:`\sigma_n`, that of the noise on the gradients.
        penalties: :math:`\lambda_w, \lambda_v`, in front of :math:`\|W_t\|_{2,4}^4` and :math:`\|V_t\|_F^2`.
        wait: :math:`T_w`; None never shrinks :math:`\lambda_t` (ours).
        draws: how many noise matrices the output is chosen from.
        hypotheses: what the lemma asks and how this case stands to it; not part of the identity.
    """

    smoothing: Annotated[tuple[float, float], not_negative] = (0.0, 0.0)
    gradient_noise: Annotated[float, not_negative] = 0.0
    penalties: Annotated[tuple[float, float], not_negative] = (0.0, 0.0)
    wait: Annotated[int, positive] | None = None
    draws: Annotated[int, size] = 1
    hypotheses: tuple[Hypothesis, ...] = field(default=(), compare=False, metadata={"identity": False})

    @property
    def radii(self) -> tuple[float, float]:
        r""":math:`\tau'_w, \tau_v`: an objective of at most 2 keeps the increments inside; ∞ without a penalty."""
        w, v = self.penalties
        return (2 / w) ** 0.25 if w else math.inf, (2 / v) ** 0.5 if v else math.inf


def waiting_time(rate: float, steps: int, epsilon: float, *, constant: float = 1.0) -> int:
    r""":math:`T_w = c\,\eta T / \log(1/\varepsilon)`, rounded up to a whole number (ours).

    Over T steps :math:`\lambda_t` then falls to about :math:`\varepsilon^{2/(3c)}`, since :math:`1.5\,T_w` steps pass
    on average between two times.

    Arguments:
        rate: η.
        steps: T.
        epsilon: ε.
        constant: c, hidden in the Θ.

    >>> waiting_time(0.01, 100_000, math.exp(-4))
    250

    Reference: Allen-Zhu, Li & Liang (overparam), Algorithm 2, line 1.
    """
    require_between("rate", rate, *_SIZES)
    _require_count("steps", steps)
    require_between("epsilon", epsilon, 0, 1, "()")
    require_between("constant", constant, *_SIZES)
    return max(1, math.ceil(constant * rate * steps / math.log(1 / epsilon)))


def lemma53(
    epsilon: float,
    width: int,
    *,
    rate: float,
    steps: int,
    complexity: float = 1.0,
    terms: tuple[int, int] = (1, 1),
    outputs: int = 1,
    gamma: float = 0.25,
    samples: int | None = None,
    degree: float = 1.0,
    exponents: tuple[float, float, float] = (1.0, 1.0, 1.0),
    noise_degree: float = 1.0,
    rate_degree: float = 1.0,
    scale_degree: float = 1.0,
    wait_constant: float = 1.0,
    draws_constant: float = 1.0,
) -> ThreeLayerSettings:
    r"""The settings of Lemma 5.3 for :math:`m_1 = m_2 = m`, with its hypotheses checked.

    .. math::
        \tau_v = (\varepsilon')^{c_1}, \quad \tau'_w = (\varepsilon')^{-c_2} m^{-3/4}, \quad
        \lambda_w = 2 / (\tau'_w)^4, \quad \lambda_v = 2 / \tau_v^2, \quad
        \sigma_v = (\varepsilon')^{c_3} m^{-1/2}, \quad \sigma_w = m^{-99/100}

    with :math:`\varepsilon' = \varepsilon / C_1`. The network has ``output_std`` :math:`\varepsilon_a = \varepsilon`.
    Polynomials that the paper does not write out are powers here (ours): :math:`C_1 = (\mathfrak C k p_1 p_2 /
    \varepsilon)^{q}`, :math:`M = (\mathfrak C / \varepsilon)^q` and :math:`\sigma_n = m^{-2 q_n}`.

    No width that can be trained meets them all: the proof asks :math:`\tau'_w \le \tau_w = \sigma_w m^{1/4}`, which is
    :math:`m^{1/100} \ge (\varepsilon')^{-c_2}`.

    Arguments:
        epsilon: ε.
        width: m.
        rate: η.
        steps: T.
        complexity: ℭ, from :func:`composed_complexity`.
        terms: p₁ and p₂.
        outputs: k.
        gamma: γ.
        samples: N; None leaves out what the theorems ask of it.
        degree: q.
        exponents: c₁, c₂, c₃, the constants in the Θ(1) of τ_v, τ′_w and σ_v.
        noise_degree: q_n.
        rate_degree: r, in the upper bound :math:`m^{-2r}` of η.
        scale_degree: s, in the lower bound :math:`(\varepsilon')^s` of λ_t. Eq. (29) has a negative exponent, a
            misprint.
        wait_constant: the constant in the Θ of T_w.
        draws_constant: c in :math:`c/\varepsilon^2`, how many noise matrices are drawn at the end.

    >>> settings = lemma53(0.1, 10_000, rate=1e-9, steps=10**12, complexity=2.0)
    >>> [f"{number:.3g}" for number in (*settings.smoothing, *settings.penalties)]
    ['0.00011', '5e-05', '1.25e+03', '8e+04']
    >>> settings.wait, settings.draws
    (435, 100)
    >>> print(settings.missed[0])
    misses by a factor 182: τ'_w ≤ τ_w (0.2 against 0.001096)

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.3, eqs. (25)–(29); Algorithm 2; Theorems 4.2 and 4.3.
    """
    require_between("epsilon", epsilon, 0, 1, "()")
    for name, value in (("width", width), ("steps", steps), ("outputs", outputs)):
        _require_count(name, value)
    for name, value in (("rate", rate), ("gamma", gamma), ("degree", degree), ("draws_constant", draws_constant)):
        require_between(name, value, *_SIZES)
    for name, value in (("noise_degree", noise_degree), ("rate_degree", rate_degree), ("scale_degree", scale_degree)):
        require_between(name, value, 0, 30)
    require_positive("complexity", complexity)
    if samples is not None:
        _require_count("samples", samples)
    p1, p2 = _require_several("terms", terms, 2)
    c1, c2, c3 = _require_several("exponents", exponents, 3)
    for value in (p1, p2):
        _require_count("terms", value)
    for value in (c1, c2, c3):
        require_between("exponents", value, *_SIZES)
    log_c1 = degree * math.log(complexity * outputs * p1 * p2 / epsilon)
    require(
        log_c1 >= 0,
        f"complexity must be at least ε/(k p₁ p₂) = {epsilon / (outputs * p1 * p2):.4g}, so that C₁ ≥ 1, "
        f"got {complexity:g}",
    )
    # In logarithms, because C₁ is a power of a power and may lie far beyond what a float holds.
    log_small = math.log(epsilon) - log_c1
    require(
        4 * max(*exponents, scale_degree) * abs(log_small) < _LARGEST,
        "complexity must keep the powers of ε' = ε/C₁ floats, got "
        f"{complexity:g}, with which ε' is exp({log_small:.4g})",
    )
    small, m = math.exp(log_small), float(width)
    tau_v, tau_w = small**c1, small**-c2 * m**-0.75
    sigma_w, sigma_v = m**-0.99, small**c3 * m**-0.5
    wait = waiting_time(rate, steps, epsilon, constant=wait_constant)
    # (1 − η)^(T/T_w): as a power of a number close to 1 it would lose the digits of a small η.
    least = math.exp(steps / wait * math.log1p(-min(rate, 1 - 1e-15)))
    needed = (complexity / epsilon) ** degree
    asked = (
        Hypothesis("ε ≤ 1/(k p₁ p₂)", epsilon, 1 / (outputs * p1 * p2), at_least=False),
        Hypothesis("m ≥ M", m, needed),
        Hypothesis("γ ≤ 1/4", gamma, 0.25, at_least=False),
        Hypothesis("η ≤ 1/poly(m)", rate, m ** (-2 * rate_degree), at_least=False),
        Hypothesis("λ_T ≥ (ε')^O(1)", least, small**scale_degree),
        Hypothesis("τ'_w ≤ τ_w", tau_w, sigma_w * m**0.25, at_least=False),
        Hypothesis("L2: (τ'_w)^(16/5) m^(23/10) + τ_v ≤ ε", tau_w**3.2 * m**2.3 + tau_v, epsilon, at_least=False),
    )
    if samples is not None:
        asked += (
            Hypothesis("L1: N ≥ M m²", samples, needed * m**2),
            Hypothesis("L2: N ≥ M", samples, needed),
        )
    return ThreeLayerSettings(
        smoothing=(sigma_w, sigma_v),
        gradient_noise=m ** (-2 * noise_degree),
        penalties=(2 / tau_w**4, 2 / tau_v**2),
        wait=wait,
        draws=max(1, math.ceil(round(draws_constant / epsilon**2, 6))),
        hypotheses=asked,
    )


def practical(
    epsilon: float,
    width: int,
    *,
    rate: float,
    steps: int,
    smoothing: float = 0.05,
    gradient_noise: float = 1e-3,
    radius: float = 30.0,
    wait_constant: float = 10.0,
    draws: int = 10,
) -> ThreeLayerSettings:
    r"""Settings for Algorithm 2 at sizes that can be run; ours.

    .. math:: \sigma_w = \sigma_v = s / \sqrt m, \quad \tau'_w = R\,m^{-1/4}, \quad \tau_v = R, \quad
              \lambda_w = 2 / (\tau'_w)^4, \quad \lambda_v = 2 / \tau_v^2

    The smoothing is a part of the standard deviation of the first weights. An increment whose rows are equally long has
    :math:`\|W\|_{2,4} = m^{-1/4} \|W\|_F`, so R bounds both increments in the Frobenius norm. The numbers come from no
    search.

    Arguments:
        epsilon: ε.
        width: m.
        rate: η.
        steps: T.
        smoothing: s.
        gradient_noise: σ_n.
        radius: R.
        wait_constant: the constant in the Θ of T_w; with 10, λ falls to about :math:`\varepsilon^{1/15}`.
        draws: how many noise matrices are drawn at the end.

    >>> settings = practical(0.01, 100, rate=0.01, steps=10_000)
    >>> settings.smoothing, settings.wait
    ((0.005, 0.005), 218)
    """
    _require_count("width", width)
    require_between("radius", radius, 1e-6, 1e30)
    require_between("smoothing", smoothing, 0, 1e30)
    std = smoothing / math.sqrt(width)
    return ThreeLayerSettings(
        smoothing=(std, std),
        gradient_noise=gradient_noise,
        penalties=(2 * width / radius**4, 2 / radius**2),
        wait=waiting_time(rate, steps, epsilon, constant=wait_constant),
        draws=draws,
    )


def with_powers(
    width: int,
    *,
    smoothing: float,
    gradient_noise: float,
    radii: tuple[float, float],
    wait: int,
    draws: int,
) -> ThreeLayerSettings:
    r"""The powers of m of Lemma 5.3, with numbers of one's own in the place of its :math:`(\varepsilon')^{\Theta(1)}`.

    .. math:: \sigma_w = m^{-0.99}, \quad \sigma_v = s\,m^{-1/2}, \quad \sigma_n = n / m^2, \quad
              \tau'_w = R_w m^{-3/4}, \quad \tau_v = R_v

    Arguments:
        width: m.
        smoothing: s.
        gradient_noise: n.
        radii: :math:`R_w` and :math:`R_v`.
        wait: T_w.
        draws: how many noise matrices are drawn at the end.

    >>> settings = with_powers(16, smoothing=0.2, gradient_noise=0.0, radii=(4.0, 2.0), wait=5, draws=1)
    >>> settings.smoothing[1], settings.radii
    (0.05, (0.5, 2.0))

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.3, eqs. (25)–(27).
    """
    return ThreeLayerSettings(
        smoothing=(width**-0.99, smoothing * width**-0.5),
        gradient_noise=gradient_noise / width**2,
        penalties=(2 * width**3 / radii[0] ** 4, 2 / radii[1] ** 2),
        wait=wait,
        draws=draws,
    )


def _require_count(name: str, value: int) -> None:
    require_whole(name, value)
    require(value <= _MOST, f"{name} must be at most {_MOST:.0e}, got {shown(value)}")


def _require_several(name: str, value: Sequence[float], count: int) -> tuple[Any, ...]:
    """As many numbers as are asked for."""
    several = isinstance(value, Sequence) and not isinstance(value, str)
    require(several and len(value) == count, f"{name} must hold {count} numbers, got {shown(value)}")
    return tuple(value)
