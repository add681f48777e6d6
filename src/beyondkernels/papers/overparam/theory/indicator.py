"""Lemma 5.1: a function h of a random weight and bias that turns the gate of a neuron into a smooth function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np
from scipy.optimize import brentq

from beyondkernels.activations import Activation
from beyondkernels.activations.taylor import Array, taylor_series
from beyondkernels.core import Checked, InputError, require, require_between, require_positive
from beyondkernels.core.constraints import not_empty, positive

BIAS_STD = math.sqrt(2)
"""The standard deviation of the bias where it is not zero; the weights' is one."""

REACH = 100.0
"""The paper's constant in :math:`B_i`, beyond which Hermite polynomials are held constant."""

TAIL = 1e-12
"""The most that a Taylor polynomial may differ from its function on [−1, 1] (ours)."""

_LARGEST = 600.0  # of the logarithm of the largest Hermite polynomial
_MOST = 80  # orders; Hermite polynomials of much higher degree overflow at the ends of their ranges


@dataclass(frozen=True)
class IndicatorFunction(Checked):
    r"""The function h of Lemma 5.1 for a polynomial φ, or that of ``resnet`` Lemma E.2.

    .. math:: h(\alpha, b) = 2c_0 + \sum_{i\ \text{odd}} \frac{c_i}{p'_i} \hat h_i(\alpha)\,1[b = 0]
              + \sum_{i\ \text{even} \ge 2} \frac{c_i}{p'_i} \hat h_i(\alpha)\,1[0 < -b \le 1/(2i)]

    Here :math:`\hat h_i(\alpha)` is the Hermite polynomial :math:`h_i` up to :math:`|\alpha| = B_i`, and constant
    beyond. The factors :math:`p'_i` make

    .. math:: E\bigl[1[\alpha x + \beta\sqrt{1 - x^2} + b \ge 0]\,h(\alpha, b)\bigr] = \phi(x)

    if nothing is held constant. Without a bias there is no term of even order but :math:`c_0`.

    Arguments:
        coefficients: :math:`c_0, c_1, \dots` of φ.
        reaches: :math:`B_1, B_2, \dots`, not falling.
        biased: whether neurons have a bias, zero with probability ½ and N(0, 2) otherwise.

    >>> h = IndicatorFunction((0.0, 1.0), reaches=(100.0,))
    >>> h(np.array([1.0, 1.0]), np.array([0.0, -0.1])).round(3).tolist()  # √(8π), and nothing with a bias
    [5.013, 0.0]

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma 5.1 and App. B.1; Allen-Zhu & Li (resnet), Lemma E.2.
    """

    coefficients: Annotated[tuple[float, ...], not_empty]
    reaches: Annotated[tuple[float, ...], positive]
    biased: bool = True

    def __post_init__(self) -> None:
        require(
            len(self.reaches) == self.degree,
            f"reaches must hold a number for each of the orders 1 to {self.degree}, got {len(self.reaches)}",
        )
        require(list(self.reaches) == sorted(self.reaches), "reaches must not fall from an order to the next")
        for i in range(2, self.degree + 1, 2):
            require(
                self.biased or self.coefficients[i] == 0,
                f"coefficients must be zero at even orders from 2 on without a bias, got {self.coefficients[i]} at "
                f"order {i}; with biased=True it would do",
            )

    @property
    def degree(self) -> int:
        """The last order of φ."""
        return len(self.coefficients) - 1

    @functools.cached_property
    def weights(self) -> Array:
        r"""The factors of :math:`h_i / \sqrt{i!}`: :math:`2c_0`, then :math:`c_i \sqrt{i!} / p'_i`."""
        found = [2 * self.coefficients[0]]
        found += [c and c / hermite_factor(i, self.biased) for i, c in enumerate(self.coefficients[1:], 1)]
        return np.array(found)

    def __call__(self, alpha: Array, bias: Array | float = 0.0) -> Array:
        """The value of h at weights and biases.

        Arguments:
            alpha: the weight in the direction of φ, in units of its standard deviation.
            bias: in the same units.
        """
        alpha, bias = np.broadcast_arrays(np.asarray(alpha, dtype=float), np.asarray(bias, dtype=float))
        total = np.full(alpha.shape, self.weights[0])
        for i, values in enumerate(hermites(alpha, self.degree)):
            if i == 0 or self.weights[i] == 0:
                continue
            reach = self.reaches[i - 1]
            held = np.where(np.abs(alpha) <= reach, values, np.sign(alpha) ** i * self._at_reach[i])
            inside = (bias == 0) if i % 2 else (bias < 0) & (-bias <= 1 / (2 * i))
            total += self.weights[i] * held * (inside if self.biased else 1.0)
        return total

    @functools.cached_property
    def _at_reach(self) -> Array:
        return np.diagonal(np.array(hermites(np.array([0.0, *self.reaches]), self.degree)))

    @functools.cached_property
    def most(self) -> float:
        """A bound on |h|: the sum of the largest values of its terms."""
        return abs(self.weights[0]) + self._sum(lambda i, reach: largest_hermite(i, reach))

    @property
    def steepest(self) -> float:
        r"""A bound on the slope of h in α, in the same way; :math:`h_i' = i\,h_{i-1}`."""
        return self._sum(lambda i, reach: math.sqrt(i) * largest_hermite(i - 1, reach))

    def _sum(self, largest: Callable[[int, float], float]) -> float:
        orders = (i for i in range(1, self.degree + 1) if self.weights[i] != 0)
        return math.fsum(abs(self.weights[i]) * largest(i, self.reaches[i - 1]) for i in orders)


def indicator_function(function: Activation, epsilon: float, reach: float = REACH) -> IndicatorFunction:
    r"""The function h of Lemma 5.1 for a smooth function, by its Taylor polynomial of error at most ``TAIL``.

    .. math:: B_i = 100 \sqrt{i \log(1/\varepsilon)}

    Arguments:
        function: φ, whose Taylor series at zero must converge at one.
        epsilon: ε, below one.
        reach: the number 100; smaller ones are ours, and show what holding constant costs.

    >>> from beyondkernels.activations import Polynomial
    >>> h = indicator_function(Polynomial((1.0, 0.0, 3.0)), epsilon=0.01)
    >>> h(np.array([0.0, 2.0])).tolist()  # the bias is zero: only c₀ counts
    [2.0, 2.0]

    Reference: Allen-Zhu, Li & Liang (overparam), App. B.1, (115) to (117).
    """
    require_between("epsilon", epsilon, 0, 1, "()")
    require_between("reach", reach, 1e-30, 1e30)
    coefficients = taylor_polynomial(function)
    reaches = tuple(reach * math.sqrt(i * math.log(1 / epsilon)) for i in range(1, len(coefficients)))
    if reaches and len(reaches) * math.log(max(reaches[-1], 1.0)) > _LARGEST:
        most = math.exp(_LARGEST / len(reaches)) * reach / reaches[-1]
        raise InputError(
            f"reach must be at most {most:.2g}, so that h of degree {len(reaches)} is a float, got {reach:g}"
        )
    return IndicatorFunction(coefficients, reaches)


def unbiased_indicator_function(function: Activation, epsilon: float) -> IndicatorFunction:
    r"""The function h of ``resnet`` Lemma E.2, for neurons without bias.

    .. math:: B_i = 100 \sqrt i + 10 \sqrt{\log(1/\varepsilon)}

    Arguments:
        function: φ, with no terms of even order but the constant one.
        epsilon: ε, below one.

    Reference: Allen-Zhu & Li (resnet), Lemma E.2 and Claim E.4.
    """
    require_between("epsilon", epsilon, 0, 1, "()")
    coefficients = taylor_polynomial(function)
    reaches = (100 * math.sqrt(i) + 10 * math.sqrt(math.log(1 / epsilon)) for i in range(1, len(coefficients)))
    return IndicatorFunction(coefficients, tuple(reaches), biased=False)


def taylor_polynomial(function: Activation) -> tuple[float, ...]:
    """The Taylor coefficients of a function at zero, as many as leave out at most ``TAIL`` on [−1, 1].

    >>> from beyondkernels.activations import Sine
    >>> [round(c, 4) for c in taylor_polynomial(Sine())][:6]
    [0.0, 1.0, 0.0, -0.1667, 0.0, 0.0083]
    """
    series = taylor_series(function)
    if series.degree is not None:
        return tuple(function.taylor(series.degree).tolist())
    envelope = series.envelope
    assert envelope is not None
    require(
        envelope.order > 0 or envelope.rate < 1,
        f"function must have a Taylor series that converges at 1; that of {function} is known to converge within "
        f"{1 / envelope.rate:.4g} only",
    )
    for degree in range(1, _MOST):
        ratio = envelope.rate / (degree + 2) ** envelope.order
        first = math.exp(float(envelope.log(np.array(degree + 1.0))))
        if ratio < 1 and first / (1 - ratio) <= TAIL:
            return tuple(function.taylor(degree).tolist())
    raise InputError(
        f"function must have a Taylor polynomial of degree below {_MOST} that is within {TAIL} of it on [−1, 1], got "
        f"{function}"
    )


def least_constant(coefficients: Sequence[float], radius: float, bound: float) -> float:
    r"""The least C for which the complexity of (17) reaches a bound.

    .. math:: \sum_i (CR)^i |c_i| = \text{bound}

    Arguments:
        coefficients: :math:`c_0, c_1, \dots`.
        radius: R.
        bound: what the complexity is to reach, such as the range of h.

    >>> round(least_constant((1.0, 0.0, 2.0), radius=0.5, bound=9.0), 6)  # 1 + 2 (C/2)² = 9
    4.0
    """
    require_positive("radius", radius)
    require(len(coefficients) > 0, "coefficients must hold at least one number, got none")
    terms = [(i, math.log(abs(c))) for i, c in enumerate(coefficients) if c != 0 and i > 0]
    rest = bound - abs(coefficients[0])
    if rest <= 0 or not terms:
        return 0.0 if rest <= 0 else math.inf

    def missing(log_c: float) -> float:
        return float(np.logaddexp.reduce([log + i * (log_c + math.log(radius)) for i, log in terms])) - math.log(rest)

    # each term alone reaches the bound at its own C, and all together before the first of them
    alone = min((math.log(rest) - log) / i - math.log(radius) for i, log in terms)
    log_c = cast(float, brentq(missing, alone - math.log(len(terms)) - 1, alone + 1e-9, xtol=1e-12))
    return math.exp(log_c)


@functools.cache
def hermite_factor(order: int, biased: bool = True) -> float:
    r""":math:`p'_i / \sqrt{i!}` of Claim B.1, or of ``resnet`` Claim E.3 where there is no bias.

    .. math:: E\bigl[h_i(\alpha x + \beta\sqrt{1 - x^2})\,1[\alpha \ge t]\bigr] = x^i \int_t^\infty h_i\,\varphi
              = x^i h_{i-1}(t)\,\varphi(t)

    with φ the normal density. For odd i it is taken at t = 0, times ½ where there is a bias: the probability that it
    is zero. For even i it is averaged over the biases −t in [−1/(2i), 0).

    Arguments:
        order: i, at least one.
        biased: whether there is a bias; without one i must be odd.
    """

    def tail(t: Array) -> Array:
        return hermites(t, order - 1)[-1] / math.sqrt(order) * _normal(t)

    if order % 2:
        return float(tail(np.zeros(1))[0]) * (0.5 if biased else 1.0)
    assert biased, "no even order without a bias"
    nodes, weights = np.polynomial.legendre.leggauss(20)
    end = 1 / (2 * order)
    t = end * (nodes + 1) / 2
    return float(0.5 * end / 2 * (weights * tail(t) * _normal(t / BIAS_STD) / BIAS_STD).sum())


def hermites(z: Array, degree: int) -> list[Array]:
    r""":math:`h_i(z) / \sqrt{i!}` for i from 0 to the degree, with the probabilists' Hermite polynomials :math:`h_i`.

    >>> [value.item() for value in hermites(np.array(2.0), 2)]  # 1, z, (z² − 1)/√2
    [1.0, 2.0, 2.1213...]
    """
    values = [np.ones_like(z, dtype=float), np.asarray(z, dtype=float)]
    for i in range(1, degree):
        values.append((z * values[i] - math.sqrt(i) * values[i - 1]) / math.sqrt(i + 1))
    return values[: degree + 1]


def largest_hermite(order: int, reach: float) -> float:
    r"""The largest :math:`|h_i(z)| / \sqrt{i!}` on [−B, B]: at B, or at a zero of its derivative :math:`i\,h_{i-1}`."""
    zeros = np.polynomial.hermite_e.hermegauss(order - 1)[0] if order > 1 else np.zeros(0)
    places = np.append(zeros[np.abs(zeros) <= reach], reach)
    return float(np.abs(hermites(places, order)[-1]).max())


def _normal(t: Array) -> Array:
    return np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
