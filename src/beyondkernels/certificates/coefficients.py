"""A kernel on the cube in the basis of parities: one coefficient for each degree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath
import torch

from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.certificates.profiles import Digits, Real, exact_profile, has_exact_profile
from beyondkernels.core import require
from beyondkernels.kernels import Kernel

_RESOLVED = 1e4
"""A coefficient counts as known if it is so many times larger than its error."""

_RELEVANT = 100
"""Degrees for which there must be digits: fewer than 2^(m+1) points are told apart by degrees up to m already."""

_FLOAT_ROUNDING = 2e-15
"""The error of a float64 value of a kernel, relative to its largest value; the kernel's own error comes on top."""


@dataclass(frozen=True)
class DegreeCoefficients:
    r"""The coefficients of a kernel that depends on the Hamming distance alone.

    .. math:: K(a, b) = \kappa(h(a, b)) = \sum_j \lambda_j\,\mathcal K_j(h(a, b)), \qquad
              \lambda_j = 2^{-d} \sum_h \kappa(h)\,\mathcal K_h(j)

    So :math:`\lambda_{|T|}` is the eigenvalue of the parity :math:`\chi_T` under the uniform distribution.

    Arguments:
        values: :math:`\lambda_0, \dots, \lambda_d` in extended precision.
        error: a bound on the error of each of them.
        exact: whether κ was computed in extended precision. Then what does not rise above the error counts as zero.
    """

    values: tuple[Real, ...]
    error: Real
    exact: bool

    @property
    def dim(self) -> int:
        return len(self.values) - 1

    def is_known(self, degree: int) -> bool:
        """Whether a coefficient rises above its error."""
        return abs(self.values[degree]) > _RESOLVED * self.error

    def ordered(self) -> list[int]:
        """The degrees with known coefficients, the largest coefficient first."""
        return sorted(filter(self.is_known, range(self.dim + 1)), key=lambda j: -abs(self.values[j]))


def degree_coefficients(kernel: Kernel, dim: int, uniform: int | None = None) -> DegreeCoefficients:
    r"""The coefficients of a rotation-invariant kernel on :math:`\{\pm 1/\sqrt d\}^d`.

    Arguments:
        kernel: a rotation-invariant kernel.
        dim: d.
        uniform: how many coordinates vary; the others are constant. All, if not given.

    >>> from beyondkernels.kernels import PolynomialKernel
    >>> [float(value) for value in degree_coefficients(PolynomialKernel(degree=2, offset=0.0), 4).values]
    [0.25, 0.0, 0.125, 0.0, 0.0]
    """
    require(
        kernel.rotation_invariant,
        f"kernel must be rotation-invariant, so that it depends on the Hamming distance alone, got {kernel}; "
        "enumeration of the cube takes any kernel",
    )
    varying = dim if uniform is None else uniform
    profile, table = profile_of(kernel, dim, varying), krawtchouk(varying)
    with _digits(varying).work():
        scale = mpmath.mpf(2) ** -varying
        values = tuple(
            scale * mpmath.fsum(kappa * table[h][j] for h, kappa in enumerate(profile.values))
            for j in range(varying + 1)
        )
    return DegreeCoefficients(values, profile.error, profile.exact)


@dataclass(frozen=True)
class KernelProfile:
    """A kernel as a function of the Hamming distance.

    Arguments:
        values: κ(0), …, κ(d) in extended precision.
        error: a bound on the error of each of them.
        exact: whether they were computed in extended precision, or come from float64.
    """

    values: tuple[Real, ...]
    error: Real
    exact: bool


def profile_of(kernel: Kernel, dim: int, varying: int) -> KernelProfile:
    """A rotation-invariant kernel at all distances that points with so many varying coordinates have.

    Arguments:
        kernel: a rotation-invariant kernel.
        dim: d.
        varying: how many coordinates vary; the others are constant.
    """
    exact, digits = has_exact_profile(kernel), _digits(varying)
    with digits.work():
        if exact:
            values = exact_profile(kernel, digits.cosines(dim, varying))
            error = max(map(abs, values)) * mpmath.mpf(10) ** (20 - digits.count)
        else:
            values, noise = _float_profile(kernel, dim, varying)
            error = max(map(abs, values)) * mpmath.mpf(_FLOAT_ROUNDING) + mpmath.mpf(noise)
    return KernelProfile(tuple(values), error, exact)


def _digits(varying: int) -> Digits:
    return Digits(60 + 5 * min(varying, _RELEVANT))


def _float_profile(kernel: Kernel, dim: int, varying: int) -> tuple[list[Real], float]:
    """κ(0), …, κ(d) as the kernel computes them, and the error that it states."""
    signs = torch.ones(varying + 1, dim, dtype=torch.float64)
    for h in range(varying + 1):
        signs[h, :h] = -1
    points = signs / math.sqrt(dim)
    values = kernel(points[:1], points)[0]
    values[0] = kernel.diagonal(points[:1])[0]
    return [mpmath.mpf(value) for value in values.tolist()], kernel.error(points[:1], points)
