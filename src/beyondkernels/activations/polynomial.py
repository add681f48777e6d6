"""Polynomials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations.base import Activation, Moments, require_degree, require_variances
from beyondkernels.activations.moments import ROUNDING
from beyondkernels.core import require_positive
from beyondkernels.core.constraints import not_empty


@dataclass(frozen=True)
class Polynomial(Activation):
    r"""A polynomial in the monomial basis.

    .. math:: \sigma(z) = \sum_i a_i z^i

    With :math:`m_k(q) = E\,\sigma^{(k)}(\sqrt q z) = \sum_j a_{k+2j} \frac{(k + 2j)!}{2^j j!} q^j`, its dual maps are

    .. math::
        E[\sigma(u)\,\sigma(v)] = \sum_k \frac{c^k}{k!}\, m_k(q_1)\, m_k(q_2), \qquad
        E[\sigma'(u)\,\sigma'(v)] = \sum_k \frac{c^k}{k!}\, m_{k+1}(q_1)\, m_{k+1}(q_2).

    Arguments:
        coefficients: a₀, a₁, …; ``identity`` is (0, 1), ``quadratic`` is (0, 0, 1).

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> value, slope = quadratic.dual(one, one, one)
    >>> value.item(), slope.item()  # E z⁴, E (2z)²
    (3.0, 4.0)

    Reference: Price (1958), A useful theorem for nonlinear devices having Gaussian inputs; applied k times.
    """

    coefficients: Annotated[tuple[float, ...], not_empty]
    closed_form = True

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return _horner(self.coefficients, z)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return _horner([i * a for i, a in enumerate(self.coefficients)][1:] or [0.0], z)

    def smoothed(self, std: float) -> Polynomial:
        r"""The polynomial with coefficients :math:`m_k(s^2) / k!`."""
        require_positive("std", std)
        s2 = torch.tensor(std**2, dtype=torch.float64)
        return Polynomial(tuple(float(self._mean(k, s2)) / math.factorial(k) for k in range(len(self.coefficients))))

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        degree = len(self.coefficients) - 1
        value, rest = torch.zeros_like(c), torch.zeros_like(c) if slope else None
        for k in range(degree, -1, -1):
            product = self._mean(k, q1) * self._mean(k, q2)
            value.mul_(c).add_(product, alpha=1 / math.factorial(k))
            if rest is not None and k > 0:
                rest.mul_(c).add_(product, alpha=1 / math.factorial(k - 1))
        return value, rest

    def closed_moments(self, q: torch.Tensor) -> Moments:
        value, slope = self.dual(q, q, q)
        assert slope is not None
        return self._mean(0, q), value, slope

    def moments_error(self, q: torch.Tensor) -> Moments:
        """The rounding error, relative to the size of the terms, because terms of different signs may cancel."""
        require_variances("q", q)
        terms = Polynomial(tuple(abs(a) for a in self.coefficients)).closed_moments(q)
        mean, second, slope_second = (ROUNDING * moment for moment in terms)
        return mean, second, slope_second

    def hermite(self, q: torch.Tensor, degree: int) -> torch.Tensor:
        r""":math:`a_k = q^{k/2}\, m_k(q) / \sqrt{k!}`."""
        require_variances("q", q)
        require_degree(degree)
        a = torch.zeros(*q.shape, degree + 1, dtype=torch.float64)
        for k in range(min(degree + 1, len(self.coefficients))):
            a[..., k] = self._mean(k, q) * q ** (k / 2) / math.sqrt(math.factorial(k))
        return a

    def taylor(self, degree: int) -> torch.Tensor:
        require_degree(degree)
        a = torch.zeros(max(degree + 1, len(self.coefficients)), dtype=torch.float64)
        a[: len(self.coefficients)] = torch.tensor(self.coefficients, dtype=torch.float64)
        return a[: degree + 1]

    def _mean(self, k: int, q: torch.Tensor) -> torch.Tensor:
        """m_k(q)."""
        of_q = [
            a * math.factorial(k + 2 * j) / (2**j * math.factorial(j)) for j, a in enumerate(self.coefficients[k::2])
        ]
        return _horner(of_q or [0.0], q)


def _horner(coefficients: tuple[float, ...] | list[float], z: torch.Tensor) -> torch.Tensor:
    total = torch.full_like(z, coefficients[-1])
    for a in coefficients[-2::-1]:
        total = total * z + a
    return total


identity = Polynomial((0.0, 1.0))
"""σ(z) = z."""

quadratic = Polynomial((0.0, 0.0, 1.0))
"""σ(z) = z²."""
