"""The complexity of smooth functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from beyondkernels.activations.base import Activation
from beyondkernels.activations.taylor import Array, TaylorSeries, taylor_series
from beyondkernels.core import InputError, require, require_between, require_positive
from beyondkernels.core.errors import shown

STAR = 1e4
"""The paper's example of the "sufficiently large constant" C*."""

_TOLERANCE = 1e-12
_MOST = 2**21
_NOTHING = math.log(1e-300)  # a sum of zeros whose rest cannot reach this is called zero
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Complexity:
    """A sum of positive terms, possibly beyond what a float holds.

    Arguments:
        log: its natural logarithm; ∞ if it is infinite, −∞ if it is zero.
        error: a bound on its relative error: the terms left out, and rounding.
        degree: the last order that was summed.

    >>> print(Complexity(log=math.log(30.0), error=1e-12, degree=2), Complexity(1e4, 1e-10, 5))
    30 exp(10000)
    """

    log: float
    error: float
    degree: int

    @property
    def finite(self) -> bool:
        """Whether the sum converges."""
        return self.log < math.inf

    @property
    def value(self) -> float:
        """As a float: ∞ also where a finite sum is too large for one."""
        return math.exp(self.log) if self.log < 709.7 else math.inf

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if not self.finite:
            return "infinite"
        return f"{self.value:.6g}" if self.log < 709.7 else f"exp({self.log:.6g})"


def sample_complexity(function: Activation | TaylorSeries, radius: float = 1.0, *, star: float = STAR) -> Complexity:
    r"""The measure that sets sample sizes.

    .. math:: \mathfrak C_s(\phi, R) = C^* \sum_{i=0}^\infty (i + 1) R^i |c_i|

    Arguments:
        function: φ, or its Taylor series.
        radius: R; :math:`\mathfrak C_s(\phi, R) = \mathfrak C_s(z \mapsto \phi(Rz), 1)`.
        star: C*.

    >>> from beyondkernels.activations import Polynomial
    >>> print(sample_complexity(Polynomial((1.0, -2.0, 0.0, 0.5)), star=1.0))  # 1 + 2·2 + 4·0.5
    7

    Reference: Allen-Zhu & Li (resnet), §4.
    """
    _check(radius, star)
    log_star = math.log(star)
    return _total(_at(function, radius), [_Weight(lambda n: log_star + np.log(n + 1) + n * _log(radius), radius)])


def width_complexity(
    function: Activation | TaylorSeries, epsilon: float, radius: float = 1.0, *, star: float = STAR
) -> Complexity:
    r"""The measure that sets widths.

    .. math:: \mathfrak C_\varepsilon(\phi, R) = \sum_{i=0}^\infty \Bigl( (C^* R)^i +
              \Bigl(\frac{\sqrt{\log(1/\varepsilon)}}{\sqrt i} C^* R\Bigr)^i \Bigr) |c_i|

    The second term counts one at i = 0, its limit: :math:`c_0` counts twice.

    Arguments:
        function: φ, or its Taylor series.
        epsilon: ε, below one.
        radius: R.
        star: C*.

    >>> from beyondkernels.activations import Polynomial, Tanh
    >>> print(width_complexity(Polynomial((3.0, 1.0)), math.exp(-4), star=5.0))  # 3·2 + 5 + 2·5
    21
    >>> print(width_complexity(Tanh(), 0.1))  # its series converges within π/2 only
    infinite

    Reference: Allen-Zhu & Li (resnet), §4.
    """
    _check(radius, star)
    require_between("epsilon", epsilon, 0, 1, "()")
    log_b = 0.5 * math.log(math.log(1 / epsilon))
    scale = star * radius
    return _total(
        _at(function, radius),
        [
            _Weight(lambda n: n * _log(scale), scale),
            _Weight(lambda n: n * (log_b + _log(scale) - 0.5 * np.log(np.maximum(n, 1))), 0.0),
        ],
    )


def smooth_complexity(function: Activation | TaylorSeries, radius: float, *, star: float = STAR) -> Complexity:
    r"""The complexity of a smooth activation of a ground truth.

    .. math:: \mathfrak C(\phi, R) = \sum_{i=0}^\infty (CR)^i |c_i|

    Arguments:
        function: φ, or its Taylor series.
        radius: R.
        star: C, the paper's "sufficiently large constant (e.g., 10⁴)".

    A series that does not converge at CR is refused. Its truncation is a polynomial.

    >>> from beyondkernels.activations import Polynomial, Tanh
    >>> print(smooth_complexity(Polynomial((3.0, 1.0, -2.0)), 2.0, star=5.0))  # 3 + 10 + 200
    213
    >>> smooth_complexity(Tanh(), 1.0, star=2.0)
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: radius must keep C·R below 1.5708, where the series of Tanh() converges, ...
    >>> print(smooth_complexity(taylor_series(Tanh()).truncated(3), 1.0, star=2.0))  # 2 + 8/3
    4.66667

    Reference: Allen-Zhu, Li & Liang (overparam), §3, eq. (17).
    """
    _check(radius, star)
    series, scale = taylor_series(function), star * radius
    require(
        scale < series.radius,
        f"radius must keep C·R below {series.radius:.6g}, where the series of {_described(function)} converges, got "
        f"{radius:g} and C = {star:g}; taylor_series(function).truncated(degree) is a polynomial",
    )
    return _total(_at(series, radius), [_Weight(lambda n: n * _log(scale), scale)])


def largest_complexity(
    functions: Sequence[Activation | TaylorSeries], radius: float, *, star: float = STAR
) -> Complexity:
    """The largest complexity among the activations of a layer.

    Arguments:
        functions: the activations.
        radius: R.
        star: C.

    Reference: Allen-Zhu, Li & Liang (overparam), §3, eq. (18).
    """
    several = isinstance(functions, Sequence) and not isinstance(functions, str)
    require(several, f"functions must be a list of functions, got {shown(functions)}")
    require(len(functions) > 0, "functions must hold at least one function, got none")
    return max((smooth_complexity(f, radius, star=star) for f in functions), key=lambda found: found.log)


@dataclass(frozen=True)
class _Weight:
    """What multiplies |c_i|: its logarithm, concave from i = 1 on, and the limit of its ratio from i to i + 1."""

    log: Callable[[Array], Array]
    ratio: float


def _total(series: TaylorSeries, weights: list[_Weight]) -> Complexity:
    """The sum over orders and weights, with enough orders that a geometric series bounds the rest."""
    limit = _limit(series, weights)
    if limit is not None:
        return limit
    start, stop, total, size = 0, 64, -math.inf, 0.0
    while True:
        stop = stop if series.degree is None else min(stop, series.degree + 1)
        n = np.arange(start, stop, dtype=np.float64)
        c = series.logs(start, stop)
        for weight in weights:
            w = weight.log(n)
            total = float(np.logaddexp.reduce(np.append(c + w, total)))
            known = np.isfinite(c)
            size = max(size, float((np.abs(c[known]) + np.abs(w[known])).max(initial=0.0)))
        rounding = 8 * _EPS * (1 + size)
        if series.degree is not None and stop > series.degree:
            return Complexity(total, rounding, series.degree)
        rest = _rest(series, weights, stop)
        if rest - total <= math.log(_TOLERANCE):
            return Complexity(total, rounding + math.exp(rest - total), stop - 1)
        if total == -math.inf and rest < _NOTHING:
            return Complexity(total, 0.0, stop - 1)
        start, stop = stop, 2 * stop
        if stop > _MOST:
            raise InputError(f"star is too large for this series: more than {_MOST} terms count; a smaller one will do")


def _rest(series: TaylorSeries, weights: list[_Weight], start: int) -> float:
    """The logarithm of a bound on all terms from an order on; ratios of successive bounds never grow."""
    if series.envelope is None:
        return math.inf  # a polynomial: all its terms are summed
    n = np.array([start, start + 1], dtype=np.float64)
    bounds = []
    for weight in weights:
        first, second = series.envelope.log(n) + weight.log(n)
        if second >= first:
            return math.inf
        bounds.append(first - math.log(-math.expm1(second - first)))
    return float(np.logaddexp.reduce(bounds))


def _limit(series: TaylorSeries, weights: list[_Weight]) -> Complexity | None:
    """Infinity where the sum diverges, nothing where it converges; an error where that is not known."""
    envelope = series.envelope
    if series.degree is not None or envelope is None or envelope.order > 0:
        return None
    ratio = max(weight.ratio for weight in weights) * envelope.rate
    if ratio < 1:
        return None
    if envelope.sharp and ratio > 1:
        return Complexity(math.inf, 0.0, 0)
    raise InputError(
        f"envelope must decide whether the sum converges, but its terms grow by {ratio:.4g} an order at most; "
        "truncated(degree) or a sharp envelope would do"
    )


def _at(function: Activation | TaylorSeries, radius: float) -> TaylorSeries:
    series = taylor_series(function)
    return series.truncated(0) if radius == 0 else series


def _described(function: Activation | TaylorSeries) -> str:
    return "the function" if isinstance(function, TaylorSeries) else repr(function)


def _check(radius: float, star: float) -> None:
    require(0 <= radius < math.inf, f"radius must be a finite number of at least 0, got {radius}")
    require_positive("star", star)


def _log(number: float) -> float:
    return math.log(number) if number > 0 else 0.0  # zero stands for radius 0, where only order 0 is left


def slope_bound(function: Activation, radius: float) -> float:
    r"""A bound on the slope of a function on [−R, R], :math:`\sum_n n |c_n| R^{n-1}`, from its Taylor series.

    Arguments:
        function: with coefficients :math:`c_n`.
        radius: R.
    """
    if radius == 0:
        return float(abs(function.taylor(1)[1]))

    def log_weight(n: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(n) + (n - 1) * math.log(radius)

    return _total(taylor_series(function), [_Weight(log_weight, radius)]).value
