"""Taylor series at zero with a bound on what is left out, as complexity measures need them."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, zeta

from beyondkernels.activations.base import Activation
from beyondkernels.activations.cosine import Cosine
from beyondkernels.activations.erf import Erf
from beyondkernels.activations.polynomial import Polynomial
from beyondkernels.activations.power_series import PowerSeries, Sinh
from beyondkernels.activations.sine import Sine
from beyondkernels.activations.smooth import EvenShifted, Exponential, Rescaled, Sigmoid, ZeroAndOdd
from beyondkernels.activations.tanh import Tanh
from beyondkernels.core import InputError, require, require_positive

Array = np.ndarray


@dataclass(frozen=True)
class Envelope:
    r"""A bound on all Taylor coefficients.

    .. math:: |c_n| \le M \rho^n / (n!)^s

    Arguments:
        bound: M.
        rate: ρ; with s = 0 the series converges within 1/ρ at least.
        order: s; zero for geometric decay, positive for entire functions.
        sharp: whether :math:`\limsup |c_n|^{1/n} = \rho` where s = 0, so that the series diverges beyond 1/ρ.
    """

    bound: float
    rate: float
    order: float = 0.0
    sharp: bool = False

    def __post_init__(self) -> None:
        require_positive("bound", self.bound)
        require_positive("rate", self.rate)
        require(self.order >= 0, f"order must not be negative, got {self.order}")

    def log(self, n: Array) -> Array:
        return math.log(self.bound) + n * math.log(self.rate) - self.order * gammaln(n + 1)


@dataclass(frozen=True)
class TaylorSeries:
    r"""A function by its Taylor coefficients at zero, :math:`\phi(z) = \sum_n c_n z^n`.

    Complexity measures ask for :math:`|c_n|` up to orders where it underflows, hence logarithms.

    Arguments:
        log_coefficient: takes orders n (float64 array), gives log |c_n|, −∞ where a coefficient is zero.
        envelope: a bound on all coefficients; None only for a polynomial.
        degree: the last order, None if there are infinitely many.

    >>> TaylorSeries.polynomial([0, 0, 5.0]).degree
    2
    >>> arctanh = TaylorSeries.of(lambda n: n % 2 / max(n, 1), Envelope(1.0, 1.0, sharp=True))
    """

    log_coefficient: Callable[[Array], Array]
    envelope: Envelope | None = None
    degree: int | None = None

    def __post_init__(self) -> None:
        require(
            self.degree is not None or self.envelope is not None,
            "envelope must be given for a series without a degree: without a bound on its coefficients no sum of them "
            "is known to converge",
        )

    @classmethod
    def polynomial(cls, coefficients: Sequence[float]) -> TaylorSeries:
        """From all its coefficients c₀, c₁, …."""
        require(len(coefficients) > 0, "coefficients must hold at least one number, got none")
        logs = np.array([_log(c) for c in coefficients])
        return cls(lambda n: logs[n.astype(np.int64)], degree=len(logs) - 1)

    @classmethod
    def of(cls, coefficient: Callable[[int], float | Fraction], envelope: Envelope) -> TaylorSeries:
        """From a function of the order and a bound on its values.

        Arguments:
            coefficient: n ↦ c_n; fractions do not underflow where floats do.
            envelope: what bounds them; checked at every order that is summed.
        """

        def logs(n: Array) -> Array:
            return np.array([_log(coefficient(int(i))) for i in n])

        return cls(logs, envelope)

    @property
    def radius(self) -> float:
        """The radius within which the series is known to converge: ∞ for polynomials and entire functions."""
        if self.degree is not None or self.envelope is None or self.envelope.order > 0:
            return math.inf
        return 1 / self.envelope.rate

    def truncated(self, degree: int) -> TaylorSeries:
        """Its terms up to an order."""
        require(degree >= 0, f"degree must not be negative, got {degree}")
        return dataclasses.replace(self, degree=degree if self.degree is None else min(degree, self.degree))

    def logs(self, start: int, stop: int) -> Array:
        """Compute log |c_n| for n from ``start`` up to but not including ``stop``."""
        n = np.arange(start, stop, dtype=np.float64)
        found = self.log_coefficient(n)
        if self.envelope is not None:
            over = found > self.envelope.log(n) + 1e-9 * (1 + n)
            if over.any():
                raise InputError(
                    f"envelope must bound every coefficient, but that of order {int(n[over][0])} exceeds it"
                )
        return found


@functools.singledispatch
def taylor_series(function: Activation | TaylorSeries) -> TaylorSeries:
    """The Taylor series of a function: polynomials, sin, cos, exp, sinh, tanh, sigmoid, erf, and what is made of them.

    >>> series = taylor_series(Sine(frequency=2.0))
    >>> np.exp(series.logs(0, 4)).round(4).tolist()  # 2z − (4/3)z³ + …
    [0.0, 2.0, 0.0, 1.3333]
    """
    if isinstance(function, TaylorSeries):
        return function
    known = ", ".join(sorted(cls.__name__ for cls in taylor_series.registry if cls is not object))
    raise InputError(
        f"function must have a known Taylor series ({known}) or be a TaylorSeries, got {type(function).__name__}"
    )


@taylor_series.register
def _(function: Polynomial) -> TaylorSeries:
    return TaylorSeries.polynomial(function.coefficients)


@taylor_series.register(Sine)
@taylor_series.register(Cosine)
def _(function: Sine | Cosine) -> TaylorSeries:
    A, omega, first = abs(function.amplitude), function.frequency, int(isinstance(function, Sine))
    envelope = Envelope(A, omega, order=1.0)
    return TaylorSeries(lambda n: np.where(n % 2 == first, envelope.log(n), -math.inf), envelope)


@taylor_series.register
def _(function: Exponential) -> TaylorSeries:
    envelope = Envelope(1.0, abs(function.rate), order=1.0)
    return TaylorSeries(lambda n: np.where((n > 0) | function.constant, envelope.log(n), -math.inf), envelope)


@taylor_series.register
def _(function: Sinh) -> TaylorSeries:
    envelope = Envelope(1.0, abs(function.rate), order=1.0)
    return TaylorSeries(lambda n: np.where(n % 2 == 1, envelope.log(n), -math.inf), envelope)


@taylor_series.register
def _(function: PowerSeries) -> TaylorSeries:
    envelope = Envelope(function.bound, function.rate, function.order, function.sharp)
    return TaylorSeries.of(function.coefficient, envelope)


@taylor_series.register
def _(_function: Tanh) -> TaylorSeries:
    # |c_{2j−1}| = 4^j (4^j − 1) |B_{2j}| / (2j)! = 2 (2/π)^{2j} (1 − 4^{−j}) ζ(2j), and (1 − 4^{−j}) ζ(2j) ≤ π²/8
    def logs(n: Array) -> Array:
        j2 = n + 1
        series = math.log(2) + j2 * math.log(2 / math.pi) + np.log1p(-(0.5**j2)) + np.log(zeta(np.maximum(j2, 2)))
        return np.where(n % 2 == 1, series, -math.inf)

    return TaylorSeries(logs, Envelope(math.pi / 2, 2 / math.pi, sharp=True))


@taylor_series.register
def _(_function: Sigmoid) -> TaylorSeries:
    tanh = taylor_series(Tanh())
    assert tanh.envelope is not None

    def logs(n: Array) -> Array:
        return np.where(n == 0, math.log(0.5), tanh.log_coefficient(n) - (n + 1) * math.log(2))

    return TaylorSeries(logs, dataclasses.replace(tanh.envelope, bound=math.pi / 4, rate=1 / math.pi))


@taylor_series.register
def _(function: Erf) -> TaylorSeries:
    # c_{2j+1} = (2/√π) a^{2j+1} / (j! (2j + 1)), and 1/j! ≤ √(2j + 1) 2^j / √((2j + 1)!) as C(2j, j) ≤ 4^j
    def logs(n: Array) -> Array:
        j = np.maximum(n - 1, 0) / 2
        series = math.log(2 / math.sqrt(math.pi)) + n * math.log(function.scale) - gammaln(j + 1) - np.log(2 * j + 1)
        return np.where(n % 2 == 1, series, -math.inf)

    return TaylorSeries(logs, Envelope(math.sqrt(2 / math.pi), math.sqrt(2) * function.scale, order=0.5))


@taylor_series.register
def _(function: Rescaled) -> TaylorSeries:
    plain = taylor_series(function.function)
    A, B = abs(function.outside), abs(function.inside)
    envelope = plain.envelope
    if envelope is not None:
        envelope = dataclasses.replace(envelope, bound=A * envelope.bound, rate=B * envelope.rate)
    return TaylorSeries(lambda n: math.log(A) + n * math.log(B) + plain.log_coefficient(n), envelope, plain.degree)


@taylor_series.register
def _(function: ZeroAndOdd) -> TaylorSeries:
    plain = taylor_series(function.function)
    kept = dataclasses.replace(plain.envelope, sharp=False) if plain.envelope else None  # the even ones may be decisive
    return TaylorSeries(
        lambda n: np.where((n == 0) | (n % 2 == 1), plain.log_coefficient(n), -math.inf), kept, plain.degree
    )


@taylor_series.register
def _(function: EvenShifted) -> TaylorSeries:
    plain = taylor_series(function.function)
    envelope = plain.envelope
    if envelope is not None:
        # |c_{n+1}| ≤ M ρ^{n+1} / ((n + 1)!)^s ≤ Mρ · ρ^n / (n!)^s
        envelope = dataclasses.replace(envelope, bound=envelope.bound * envelope.rate, sharp=False)
    degree = None if plain.degree is None else max(plain.degree - 1, 0)

    def logs(n: Array) -> Array:
        inside = n % 2 == 1
        return np.where(inside, plain.log_coefficient(np.where(inside, n + 1, 0)), -math.inf)

    return TaylorSeries(logs, envelope, degree)


def _log(c: float | Fraction) -> float:
    if c == 0:
        return -math.inf
    if isinstance(c, Fraction):
        return math.log(abs(c.numerator)) - math.log(c.denominator)
    require(math.isfinite(c), f"coefficients must be finite, got {c}")
    return math.log(abs(c))
