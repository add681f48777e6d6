"""Lemma 6 of the feature-learning paper: what the first two gradient steps make of each pattern, in expectation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from beyondkernels.core import require
from beyondkernels.papers.features.problems import DictionaryProblem, Orthonormal

_PERIOD = 16.0  # pre-activations have deviations of 1/k and less, so none comes near half of this
_CUT = 8.5  # where the Gaussian factor of ξ is 2e-16


def pattern_gradients(
    problem: DictionaryProblem, weights: torch.Tensor, biases: torch.Tensor, noise_std: float
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""The components of a neuron's gradient along the patterns, as exact expectations.

    .. math::
        \frac{\partial L}{\partial w} = -a \sum_j M_j T_j, \qquad \frac{\partial L}{\partial b} = -a T_b, \qquad
        T_j = E\big[y\,\phi_j\, 1[\langle \phi, q\rangle + b + \xi \in (0, 1)]\big]

    That holds while :math:`y\,g(x) \le 1` for every x. The indicator is written as a Fourier integral, in which the
    expectation over independent patterns is a product, and over the relevant ones with their label a sum over counts:

    .. math::
        T_j = \frac1\pi \mathrm{Re} \int_0^\infty \frac{1 - e^{-i\omega}}{i\omega}\, e^{i\omega b -
        \sigma_\xi^2 \omega^2/2}\, E[y\,\phi_j\, e^{i\omega\langle\phi, q\rangle}]\, d\omega

    The integrand is smooth and its transform lies within one period, so that the trapezoidal rule is exact up to
    rounding.

    Arguments:
        problem: with orthonormal patterns and without noise.
        weights: :math:`q_j = \langle w, M_j\rangle`, a row for each neuron, (n, D).
        biases: b, (n,).
        noise_std: :math:`\sigma_\xi`.

    Returns:
        T (n, D) and T_b (n,), float64.

    >>> from beyondkernels.papers.features.problems import DictionaryParity
    >>> problem = DictionaryParity(8, 6, relevant=3)
    >>> T, T_b = pattern_gradients(problem, torch.zeros(1, 6), torch.zeros(1), noise_std=0.2)
    >>> expected = 0.5 * problem.moments.gamma / problem.moments.scale  # β γ/σ̃, where β = Pr[ξ ∈ (0, 1)]
    >>> [round(float(T[0, j]) / expected, 4) for j in problem.relevant_set]
    [1.0, 1.0, 1.0]

    Reference: Shi, Wei & Liang (features), Lemma 6 and eqs. (54), (55), (78), (90), (146), (152), (170).
    """
    require(
        isinstance(problem.dictionary, Orthonormal) and problem.noise_std == 0 and problem.negative_ratio is None,
        "problem must have an Orthonormal dictionary, no noise and no class ratio for Lemma 6, got "
        f"{problem.dictionary}, noise_std {problem.noise_std} and negative_ratio {problem.negative_ratio}",
    )
    omega, window = _window(noise_std)
    found = [_one(problem, q.double(), omega, window, float(b)) for q, b in zip(weights, biases, strict=True)]
    return torch.stack([T for T, _ in found]), torch.stack([T_b for _, T_b in found])


def first_error(problem: DictionaryProblem, pairs: int, failure: float) -> float:
    r"""ε_e of Lemma 15, in which the lemma states what is left of the other patterns after step one.

    .. math:: \epsilon_e = \frac{k \log^{1/2}(Dm/\delta) + \log^{3/2}(Dm/\delta)}{\sqrt{p_o(1 - p_o)(D - k)}}

    Arguments:
        problem: gives k, D and p_o.
        pairs: m.
        failure: δ.

    Reference: Shi, Wei & Liang (features), Lemma 15; there p_o(1 − p_o) is written σ_φ²σ̃².
    """
    k, D, p_o = problem.relevant, problem.patterns, problem.moments.background
    require(p_o is not None, f"problem must have background patterns, got {k} relevant of {D} patterns")
    assert p_o is not None
    size = math.log(D * pairs / failure)
    return (k * size**0.5 + size**1.5) / math.sqrt(p_o * (1 - p_o) * (D - k))


def activation_shares(
    problem: DictionaryProblem, weights: torch.Tensor, biases: torch.Tensor, noise_std: float
) -> torch.Tensor:
    r"""β of each neuron: how often the background alone activates it, (n,).

    .. math:: \beta = \Pr[\langle \phi_{-A}, q_{-A}\rangle + b + \xi \in (0, 1)]

    Reference: Shi, Wei & Liang (features), eq. (76).
    """
    omega, window = _window(noise_std)
    background, exact = problem.moments.background_indices, problem.moments
    shares = []
    for q, b in zip(weights.double(), biases.tolist(), strict=True):
        total = torch.zeros_like(omega, dtype=torch.complex128)
        for part in problem.hidden.products(problem.patterns, problem.relevant_set):
            absent, present = _characters(part.probabilities, exact.means, exact.scale, q, omega)
            total += part.weight * (absent + present)[:, background].prod(1)
        shares.append((window * torch.exp(1j * omega * (b - 0.5)) * total).real.sum())
    return torch.stack(shares)


def _window(noise_std: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Frequencies, and what every integrand is multiplied by there: trapezoidal weight, ξ, and the interval (0, 1).

    Of the last, (1 − e^{−iω})/(iω) = e^{−iω/2} sin(ω/2)/(ω/2), the first factor goes to the bias.
    """
    step = 2 * math.pi / _PERIOD
    omega = step * torch.arange(math.ceil(_CUT / (noise_std * step)) + 1, dtype=torch.float64)
    weight = torch.full_like(omega, step / math.pi)
    weight[0] /= 2
    return omega, weight * torch.special.sinc(omega / (2 * math.pi)) * torch.exp(-((noise_std * omega) ** 2) / 2)


def _one(
    problem: DictionaryProblem, q: torch.Tensor, omega: torch.Tensor, window: torch.Tensor, bias: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """T and T_b of one neuron."""
    exact, A = problem.moments, list(problem.relevant_set)
    background = exact.background_indices
    kernel = window * torch.exp(1j * omega * (bias - 0.5))
    values = -exact.means / exact.scale, (1 - exact.means) / exact.scale  # of φ_j, absent and present
    T, T_b = torch.zeros(problem.patterns, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    for part in problem.hidden.products(problem.patterns, A):
        absent, present = _characters(part.probabilities, exact.means, exact.scale, q, omega)
        each = absent + present
        rest = part.weight * kernel * each[:, background].prod(1)
        labelled = _labelled(absent[:, A], present[:, A], exact.signs)
        T_b += (rest * labelled).real.sum()
        ratio = (absent * values[0] + present * values[1])[:, background] / each[:, background]
        T[background] += ((rest * labelled)[:, None] * ratio).real.sum(0)
        for place, j in enumerate(A):
            low, high = absent[:, A].clone(), present[:, A].clone()
            low[:, place] *= values[0][j]
            high[:, place] *= values[1][j]
            T[j] += (rest * _labelled(low, high, exact.signs)).real.sum()
    return T, T_b


def _characters(
    probabilities: torch.Tensor, means: torch.Tensor, scale: float, q: torch.Tensor, omega: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """E[e^{iωφ_j q_j}] in its two parts, pattern absent and pattern present, (frequencies, D) each."""
    turn = torch.outer(omega, q / scale)
    absent = (1 - probabilities) * torch.exp(-1j * turn * means)
    return absent, probabilities * torch.exp(1j * turn * (1 - means))


def _labelled(absent: torch.Tensor, present: torch.Tensor, signs: Sequence[float] | torch.Tensor) -> torch.Tensor:
    """E[y ∏ …] over the relevant patterns: a distribution of the count, pattern by pattern, then the labels."""
    counts = torch.zeros(len(absent), len(signs), dtype=torch.complex128)
    counts[:, 0] = 1.0
    for low, high in zip(absent.T, present.T, strict=True):
        more = counts * low[:, None]
        more[:, 1:] += counts[:, :-1] * high[:, None]
        counts = more
    return counts @ torch.as_tensor(signs, dtype=torch.complex128)
