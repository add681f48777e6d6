"""Smooth functions for targets besides the activations: exponential, sigmoid, rescaled, and parts of functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations.base import Activation
from beyondkernels.activations.erf import Erf
from beyondkernels.activations.polynomial import Polynomial
from beyondkernels.activations.sine import Sine
from beyondkernels.activations.tanh import Tanh
from beyondkernels.core import later, require
from beyondkernels.core.constraints import not_zero

_NEAR = 1e-3  # for smaller z, nearly equal numbers would be subtracted; the Taylor series avoids that


@dataclass(frozen=True)
class Exponential(Activation):
    r"""The exponential, without its constant term unless that is asked for.

    .. math:: \phi(z) = e^{cz} - 1 \quad\text{or}\quad \phi(z) = e^{cz}

    Arguments:
        rate: c, of either sign.
        constant: whether the constant term 1 is kept.

    >>> Exponential(2.0).taylor(3).tolist()
    [0.0, 2.0, 2.0, 1.333...]
    >>> Exponential(constant=True).value(torch.zeros(1)).item()
    1.0

    Reference: Allen-Zhu & Li (resnet), Example 4.1.
    """

    rate: Annotated[float, not_zero] = 1.0
    constant: bool = later(False)

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return torch.exp(self.rate * z) if self.constant else torch.expm1(self.rate * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return self.rate * torch.exp(self.rate * z)

    def taylor(self, degree: int) -> torch.Tensor:
        """c^k / k! for k ≥ 1, and 1 for k = 0 where the constant term is kept."""
        require(degree >= 0, f"degree must not be negative, got {degree}")
        a = torch.zeros(degree + 1, dtype=torch.float64)
        a[0] = float(self.constant)
        term = 1.0
        for k in range(1, degree + 1):
            term *= self.rate / k
            a[k] = term
        return a


@dataclass(frozen=True)
class Sigmoid(Activation):
    r"""The logistic function.

    .. math:: \phi(z) = \frac{1}{1 + e^{-z}} = \frac{1}{2} + \frac{1}{2}\tanh\frac{z}{2}

    >>> Sigmoid().taylor(3).tolist()
    [0.5, 0.25, 0.0, -0.0208...]

    Reference: Allen-Zhu & Li (resnet), Example 4.1.
    """

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(z) * torch.sigmoid(-z)

    def taylor(self, degree: int) -> torch.Tensor:
        a = Tanh().taylor(degree) * 0.5 ** torch.arange(1, degree + 2, dtype=torch.float64)
        a[0] = 0.5
        return a


@dataclass(frozen=True)
class Rescaled(Activation):
    r"""A function with its argument and its value multiplied by constants. Use :func:`rescaled` to make one.

    .. math:: \phi'(z) = A\,\phi(Bz)

    Arguments:
        function: φ.
        inside: B.
        outside: A.

    Reference: Allen-Zhu & Li (resnet), footnote 10.
    """

    function: Activation
    inside: Annotated[float, not_zero] = 1.0
    outside: Annotated[float, not_zero] = 1.0

    @property
    def kinks(self) -> tuple[float, ...]:
        """The kinks of φ, divided by B."""
        return tuple(sorted(kink / self.inside for kink in self.function.kinks))

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return self.outside * self.function.value(self.inside * z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return self.outside * self.inside * self.function.derivative(self.inside * z)

    def taylor(self, degree: int) -> torch.Tensor:
        """The coefficients of φ, times A B^k."""
        return self.outside * self.function.taylor(degree) * self.inside ** torch.arange(degree + 1).double()


def rescaled(function: Activation, inside: float = 1.0, outside: float = 1.0) -> Activation:
    """A φ(Bz). The result is a polynomial if φ is one, and rescaling twice gives one rescaling.

    >>> rescaled(Polynomial((0.0, 1.0, 3.0)), inside=2.0, outside=0.5)
    Polynomial(coefficients=(0.0, 1.0, 6.0))
    """
    if isinstance(function, Polynomial):
        return Polynomial(tuple(outside * a * inside**i for i, a in enumerate(function.coefficients)))
    if isinstance(function, Rescaled):
        return rescaled(function.function, inside * function.inside, outside * function.outside)
    return function if inside == outside == 1 else Rescaled(function, inside, outside)


@dataclass(frozen=True)
class ZeroAndOdd(Activation):
    r"""The terms of order zero and of odd order.

    .. math:: \phi^+(z) = \sum_{i = 0, 1, 3, 5, \dots} c_i z^i = \phi(0) + \frac{\phi(z) - \phi(-z)}{2}

    Arguments:
        function: φ.

    Reference: Allen-Zhu & Li (resnet), proof of Lemma A.2.
    """

    function: Activation

    def value(self, z: torch.Tensor) -> torch.Tensor:
        f = self.function.value
        return f(torch.zeros_like(z)) + (f(z) - f(-z)) / 2

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return (self.function.derivative(z) + self.function.derivative(-z)) / 2

    def taylor(self, degree: int) -> torch.Tensor:
        """The coefficients of φ, with zeros at the even orders from the second on."""
        a = self.function.taylor(degree)
        a[2::2] = 0
        return a


@dataclass(frozen=True)
class EvenShifted(Activation):
    r"""The terms of even order from the second on, divided by z: only odd orders are left.

    .. math:: \phi^-(z) = \sum_{i = 2, 4, 6, \dots} c_i z^{i-1}
        = \frac{1}{z}\Bigl(\frac{\phi(z) + \phi(-z)}{2} - \phi(0)\Bigr)

    Arguments:
        function: φ.

    Reference: Allen-Zhu & Li (resnet), proof of Lemma A.2.
    """

    function: Activation

    def value(self, z: torch.Tensor) -> torch.Tensor:
        f, near = self.function.value, z.abs() < _NEAR
        even = (f(z) + f(-z)) / 2 - f(torch.zeros_like(z))
        return torch.where(near, Polynomial(tuple(self.taylor(9).tolist())).value(z), even / z.where(~near, 1.0))

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        slope, near = self.function.derivative, z.abs() < _NEAR
        even = (slope(z) - slope(-z)) / 2 - self.value(z)
        return torch.where(near, Polynomial(tuple(self.taylor(9).tolist())).derivative(z), even / z.where(~near, 1.0))

    def taylor(self, degree: int) -> torch.Tensor:
        """The coefficients of φ of even order, each moved one order down."""
        a = self.function.taylor(degree + 1)[1:].clone()
        a[0::2] = 0
        return a


def split(function: Activation) -> tuple[Activation, Activation]:
    r"""φ⁺ and φ⁻, both with terms of order zero and odd order only, such that :math:`\phi = \phi^+ + z\phi^-`.

    >>> plus, minus = split(Polynomial((1.0, 2.0, 3.0, 4.0, 5.0)))
    >>> plus.coefficients, minus.coefficients
    ((1.0, 2.0, 0.0, 4.0), (0.0, 3.0, 0.0, 5.0))

    Reference: Allen-Zhu & Li (resnet), proof of Lemma A.2.
    """
    if _without_even_terms(function):
        return function, Polynomial((0.0,))
    if not isinstance(function, Polynomial):
        return ZeroAndOdd(function), EvenShifted(function)
    c = function.coefficients
    plus = [a if i == 0 or i % 2 else 0.0 for i, a in enumerate(c)]
    minus = [0.0, *(0.0 if i % 2 else a for i, a in enumerate(c) if i >= 2)]  # c₂ now stands at z
    return Polynomial(_trimmed(plus)), Polynomial(_trimmed(minus))


def _without_even_terms(function: Activation) -> bool:
    inner = function.function if isinstance(function, Rescaled) else function
    return isinstance(inner, Sine | Tanh | Erf | Sigmoid)


def _trimmed(coefficients: list[float]) -> tuple[float, ...]:
    while len(coefficients) > 1 and coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    return tuple(coefficients)
