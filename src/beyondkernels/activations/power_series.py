"""Smooth functions of the ground truths, besides the activations: sinh, and power series that a user gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations.base import Activation
from beyondkernels.activations.cosine import Cosine
from beyondkernels.activations.polynomial import Polynomial
from beyondkernels.activations.sine import Sine
from beyondkernels.activations.smooth import Exponential, Sigmoid
from beyondkernels.activations.tanh import Tanh
from beyondkernels.core import InputError, require, unknown
from beyondkernels.core.constraints import not_negative, not_zero, positive
from beyondkernels.core.errors import shown

_MOST = 4096  # terms of a series; more are needed only close to the radius of convergence
_ROUNDING = 1e-17


@dataclass(frozen=True)
class Sinh(Activation):
    r"""The hyperbolic sine.

    .. math:: \phi(z) = \sinh(cz) = \frac{e^{cz} - e^{-cz}}{2}

    Arguments:
        rate: c, of either sign.

    >>> Sinh().taylor(3).tolist()
    [0.0, 1.0, 0.0, 0.1666...]

    Reference: Allen-Zhu, Li & Liang (overparam), §4.1.
    """

    rate: Annotated[float, not_zero] = 1.0

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return torch.sinh(self.rate * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return self.rate * torch.cosh(self.rate * z)

    def taylor(self, degree: int) -> torch.Tensor:
        """c^k / k! for odd k."""
        a = Exponential(self.rate).taylor(degree)
        a[0::2] = 0
        return a


@dataclass(frozen=True)
class PowerSeries(Activation):
    r"""A function by its power series, with a bound on all coefficients.

    .. math:: \phi(z) = \sum_{n=0}^\infty c_n z^n, \qquad |c_n| \le M \rho^n / (n!)^s

    The bound says how many terms are needed: they are summed until what is left out is below rounding. With s = 0 the
    series is known to converge within 1/ρ alone, and φ(z) is refused elsewhere.

    Arguments:
        coefficient: n ↦ c_n; a named, importable function, so that runs can be stored.
        bound: M.
        rate: ρ.
        order: s; positive for entire functions.
        sharp: whether the series diverges beyond 1/ρ where s = 0.

    >>> def geometric(n: int) -> float:
    ...     return 0.5**n
    >>> phi = PowerSeries(geometric, bound=1.0, rate=0.5, sharp=True)  # 1 / (1 − z/2), |z| < 2
    >>> phi.value(torch.tensor([1.0])).item()
    2.0
    >>> phi.value(torch.tensor([3.0]))
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: z must lie within the radius 2 where the series converges, got |z| = 3

    Reference: Allen-Zhu, Li & Liang (overparam), §3, eq. (17).
    """

    coefficient: Callable[[int], float]
    bound: Annotated[float, positive] = 1.0
    rate: Annotated[float, positive] = 1.0
    order: Annotated[float, not_negative] = 0.0
    sharp: bool = False

    @property
    def radius(self) -> float:
        """Where the series is known to converge: 1/ρ, or everywhere."""
        return math.inf if self.order > 0 else 1 / self.rate

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return Polynomial(tuple(self.taylor(self._degree(z)).tolist())).value(z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return Polynomial(tuple(self.taylor(self._degree(z)).tolist())).derivative(z)

    def taylor(self, degree: int) -> torch.Tensor:
        require(degree >= 0, f"degree must not be negative, got {degree}")
        a = torch.tensor([self._number(n) for n in range(degree + 1)], dtype=torch.float64)
        n = torch.arange(degree + 1, dtype=torch.float64)
        log_bound = math.log(self.bound) + n * math.log(self.rate) - self.order * torch.lgamma(n + 1)
        over = a.abs().log() > log_bound + 1e-9 * (1 + n)
        if bool(over.any()):
            raise InputError(
                f"bound, rate and order must bound every coefficient, but that of order {int(n[over][0])} exceeds them"
            )
        return a

    def _number(self, n: int) -> float:
        found = self.coefficient(n)
        try:
            return float(found)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"coefficient must give a number for each order, got {shown(found)} for {n}") from None

    def _degree(self, z: torch.Tensor) -> int:
        """The last order that counts at these arguments, for φ′ as well as for φ."""
        largest = float(z.abs().max()) if z.numel() else 0.0
        require(
            largest < self.radius,
            f"z must lie within the radius {self.radius:g} where the series converges, got |z| = {largest:g}",
        )
        step, log_term = self.rate * largest, 0.0
        for n in range(1, _MOST):
            ratio = step / n**self.order * (1 + 1 / n)  # of successive bounds on n |c_n| |z|^n
            log_term += math.log(ratio) if ratio > 0 else -math.inf
            if ratio < 1 and log_term - math.log1p(-ratio) < math.log(_ROUNDING):
                return n
        raise InputError(
            f"z must lie further inside the radius {self.radius:g} (more than {_MOST} terms count at |z| = {largest:g})"
        )


NAMED: dict[str, Activation] = {
    "sin": Sine(),
    "cos": Cosine(),
    "exp": Exponential(constant=True),
    "sinh": Sinh(),
    "sigmoid": Sigmoid(),
    "tanh": Tanh(),
    "identity": Polynomial((0.0, 1.0)),
}
"""The smooth functions that a ground truth accepts by name."""


def smooth_function(name_or_function: str | Activation) -> Activation:
    """The smooth function of that name; a function is returned as it is.

    >>> smooth_function("sinh")
    Sinh(rate=1.0)
    """
    if isinstance(name_or_function, Activation):
        return name_or_function
    if name_or_function not in NAMED:
        unknown("smooth function", name_or_function, NAMED)
    return NAMED[name_or_function]
