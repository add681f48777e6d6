"""The expectation that Lemma 5.1 speaks of, by quadrature and by Monte Carlo."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import ndtr

from beyondkernels.activations.taylor import Array
from beyondkernels.core import Stream, require
from beyondkernels.papers.overparam.theory.indicator import BIAS_STD, IndicatorFunction

_NODES = np.polynomial.legendre.leggauss(16)
_BIAS_NODES = np.polynomial.legendre.leggauss(5)
_STEP = np.array([-6.0, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0])  # where the normal distribution function bends
_BLOCK = 2**18  # draws at once


def gated_mean(h: IndicatorFunction, x: Array) -> Array:
    r"""What the gate and h give on average, by quadrature.

    .. math:: E\bigl[1[\alpha x + \beta\sqrt{1 - x^2} + b \ge 0]\,h(\alpha, b)\bigr]
              = E_{\alpha, b}\Bigl[\Phi\Bigl(\frac{\alpha x + b}{\sqrt{1 - x^2}}\Bigr)\,h(\alpha, b)\Bigr]

    Arguments:
        h: the function.
        x: points in [−1, 1], (n,).

    >>> h = IndicatorFunction((0.0, 0.0, 1.0), reaches=(30.0, 40.0))
    >>> gated_mean(h, np.array([-0.5, 1.0])).round(9).tolist()  # x²
    [0.25, 1.0]

    Reference: Allen-Zhu, Li & Liang (overparam), (20).
    """
    x = _points(x)
    constant = h.weights[0]
    bias, mass = bias_rule(h)
    found = np.full(len(x), constant / 2)  # by symmetry the gate is open half of the time
    for i, at in enumerate(x):
        alpha, weight = _alpha_rule(h, at, bias)
        more = h(alpha, bias[:, None]) - constant
        found[i] += mass @ (weight * _open(alpha, at, bias[:, None]) * more).sum(1)
    return found


def sloped_mean(h: IndicatorFunction, x: Array) -> Array:
    r"""What the neuron and the slope of h give on average, by quadrature.

    .. math:: E\bigl[\partial_\alpha h(\alpha, b)\,\sigma(z + b)\bigr]
              = E\bigl[\alpha\,h(\alpha, b)\,\sigma(z + b)\bigr] - x\,E\bigl[1[z + b \ge 0]\,h(\alpha, b)\bigr],
              \qquad z = \alpha x + \beta\sqrt{1 - x^2}

    by Stein's identity, with the ReLU σ.

    Arguments:
        h: the function.
        x: points in [−1, 1], (n,).
    """
    x = _points(x)
    constant = h.weights[0]
    bias, mass = bias_rule(h)
    found = np.zeros(len(x))
    for i, at in enumerate(x):
        alpha, weight = _alpha_rule(h, at, bias)
        more, gate, rest = h(alpha, bias[:, None]) - constant, _open(alpha, at, bias[:, None]), math.sqrt(1 - at**2)
        reach = alpha * at + bias[:, None]
        density = np.exp(-((reach / rest) ** 2) / 2) / math.sqrt(2 * math.pi) if rest > 0 else np.zeros_like(reach)
        relu = reach * gate + rest * density
        found[i] = mass @ (weight * more * (alpha * relu - at * gate)).sum(1)
    return found


def second_moment(h: IndicatorFunction) -> float:
    r""":math:`E\,h(\alpha, b)^2`, by quadrature."""
    constant = h.weights[0] ** 2
    bias, mass = bias_rule(h)
    alpha, weight = _alpha_rule(h, 0.0, bias)
    return float(constant + mass @ (weight * (h(alpha, bias[:, None]) ** 2 - constant)).sum(1))


def sampled_mean(h: IndicatorFunction, x: Array, draws: int, stream: Stream) -> tuple[Array, Array]:
    """The same expectation by Monte Carlo, and its standard error; all points share the draws.

    Arguments:
        h: the function.
        x: points in [−1, 1], (n,).
        draws: how many weights and biases.
        stream: where they come from.
    """
    x = _points(x)
    require(draws >= 2, f"draws must be at least 2, got {draws}")
    total, squares, random = np.zeros(len(x)), np.zeros(len(x)), stream.generator()
    for start in range(0, draws, _BLOCK):
        n = min(_BLOCK, draws - start)
        alpha, beta, bias = random.standard_normal((3, n))
        bias = np.where(random.random(n) < 0.5, 0.0, BIAS_STD * bias) if h.biased else np.zeros(n)
        values = h(alpha, bias)
        for i, at in enumerate(x):
            kept = values[alpha * at + beta * math.sqrt(1 - at**2) + bias >= 0]
            total[i] += kept.sum()
            squares[i] += (kept**2).sum()
    mean = total / draws
    return mean, np.sqrt((squares / draws - mean**2) / (draws - 1))


def bias_rule(h: IndicatorFunction) -> tuple[Array, Array]:
    """Biases at which h is more than its constant, and the masses that a quadrature gives them."""
    if not h.biased:
        return np.zeros(1), np.ones(1)
    even = [i for i in range(2, h.degree + 1, 2) if h.weights[i] != 0]
    ends = [0.0, *(1 / (2 * i) for i in reversed(even))]
    places, masses = [np.zeros(1)], [np.array([0.5])]
    nodes, weights = _BIAS_NODES
    for low, high in itertools.pairwise(ends):
        t = low + (high - low) * (nodes + 1) / 2
        density = np.exp(-((t / BIAS_STD) ** 2) / 2) / (math.sqrt(2 * math.pi) * BIAS_STD)
        places.append(-t)
        masses.append(0.5 * (high - low) / 2 * weights * density)
    return np.concatenate(places), np.concatenate(masses)


def _alpha_rule(h: IndicatorFunction, x: float, bias: Array) -> tuple[Array, Array]:
    """For each bias Gauss and Legendre's rule for a normal variable, with pieces that end where the integrand bends."""
    end = 2 * math.sqrt(h.degree) + 10
    held = np.array([reach for reach in h.reaches if reach < end])
    fixed = np.concatenate([np.linspace(-end, end, 2 * int(end) + 1), held, -held])
    cuts = np.broadcast_to(fixed, (len(bias), len(fixed)))
    if x != 0:
        steps = (-bias[:, None] + _STEP * math.sqrt(1 - x**2)) / x
        cuts = np.concatenate([cuts, np.clip(steps, -end, end)], 1)
    cuts = np.sort(cuts, axis=1)  # pieces of length zero do no harm
    nodes, weights = _NODES
    half = np.diff(cuts, axis=1)[:, :, None] / 2
    alpha = (cuts[:, :-1, None] + half * (nodes + 1)).reshape(len(bias), -1)
    return alpha, (half * weights).reshape(len(bias), -1) * np.exp(-(alpha**2) / 2) / math.sqrt(2 * math.pi)


def _open(alpha: Array, x: float, bias: Array) -> Array:
    """The probability that the gate is open, given α and b."""
    reach = alpha * x + bias
    rest = math.sqrt(1 - x**2)
    return ndtr(reach / rest) if rest > 0 else (reach >= 0).astype(float)


def _points(x: Array) -> Array:
    x = np.atleast_1d(np.asarray(x, dtype=float))
    wrong = x[~(np.abs(x) <= 1)]
    require(len(wrong) == 0, f"x must lie in [−1, 1], got {(*wrong, 0.0)[0]}")
    return x
