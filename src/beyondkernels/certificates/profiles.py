"""Rotation-invariant kernels on the cube as functions of the cosine, in extended precision.

Coefficients of high degree are differences of many values of a kernel. Smooth kernels have coefficients far below the
rounding of float64, so these kernels are written here a second time, with as many digits as needed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import mpmath

from beyondkernels.activations import ReLU
from beyondkernels.core import InputError
from beyondkernels.kernels import (
    Arcsin,
    Gaussian,
    InfiniteConjugate,
    InfiniteTangent,
    InversePolynomial,
    Kernel,
    Laplace,
    PolynomialKernel,
    Product,
    Scaled,
    Sum,
)
from beyondkernels.kernels.infinite.base import Scales, trained_layers
from beyondkernels.networks import Parameterisation

Real: TypeAlias = Any
"""A number of mpmath, which declares no types."""

Profile: TypeAlias = Sequence[Real]
"""One number for each distance h = 0, …, d."""


@dataclass(frozen=True)
class Digits:
    """So many decimal digits.

    Arguments:
        count: how many.
    """

    count: int

    def work(self) -> AbstractContextManager[None]:
        """A context in which mpmath computes with these digits."""
        return mpmath.workdps(self.count)

    def cosines(self, dim: int, varying: int) -> list[Real]:
        """⟨x, y⟩ of two points of the cube with norm 1 that differ in h coordinates, for h = 0, …, varying."""
        return [mpmath.mpf(dim - 2 * h) / dim for h in range(varying + 1)]


@functools.singledispatch
def exact_profile(kernel: Kernel, cosines: Profile) -> list[Real]:  # noqa: ARG001
    """K(x, y) for unit vectors with these cosines, in the precision that mpmath has been set to.

    Arguments:
        kernel: one of the kernels that are written out here, or a sum or product of them.
        cosines: ⟨x, y⟩; the first is 1.
    """
    raise InputError(f"kernel must be one that is known in extended precision, got {kernel}")


def has_exact_profile(kernel: Kernel) -> bool:
    """Whether :func:`exact_profile` knows a kernel."""
    if isinstance(kernel, Sum | Product):
        return all(map(has_exact_profile, kernel.kernels))
    if isinstance(kernel, Scaled):
        return has_exact_profile(kernel.kernel)
    if isinstance(kernel, InfiniteConjugate | InfiniteTangent):
        # The recursion is written out for the ReLU alone; other activations have their dual functions in float64.
        return isinstance(kernel.activation, ReLU)
    return exact_profile.dispatch(type(kernel)) is not exact_profile.dispatch(Kernel)


@exact_profile.register
def _(kernel: Sum, cosines: Profile) -> list[Real]:
    terms = [exact_profile(term, cosines) for term in kernel.kernels]
    return [mpmath.fsum(values) for values in zip(*terms, strict=True)]


@exact_profile.register
def _(kernel: Product, cosines: Profile) -> list[Real]:
    factors = [exact_profile(factor, cosines) for factor in kernel.kernels]
    return [mpmath.fprod(values) for values in zip(*factors, strict=True)]


@exact_profile.register
def _(kernel: Scaled, cosines: Profile) -> list[Real]:
    return [mpmath.mpf(kernel.factor) * value for value in exact_profile(kernel.kernel, cosines)]


@exact_profile.register
def _(kernel: Gaussian, cosines: Profile) -> list[Real]:
    return [mpmath.exp(-(2 - 2 * c) / mpmath.mpf(kernel.bandwidth)) for c in cosines]


@exact_profile.register
def _(kernel: Laplace, cosines: Profile) -> list[Real]:
    return [mpmath.exp(-mpmath.sqrt(2 - 2 * c) / mpmath.mpf(kernel.bandwidth)) for c in cosines]


@exact_profile.register
def _(kernel: PolynomialKernel, cosines: Profile) -> list[Real]:
    return [(mpmath.mpf(kernel.scale) * c + mpmath.mpf(kernel.offset)) ** kernel.degree for c in cosines]


@exact_profile.register
def _(kernel: InversePolynomial, cosines: Profile) -> list[Real]:
    values = list(cosines)
    for _ in range(kernel.depth):
        values = [1 / (2 - value) for value in values]
    return values


@exact_profile.register
def _(kernel: Arcsin, cosines: Profile) -> list[Real]:  # noqa: ARG001
    return [mpmath.asin(c) for c in cosines]


@exact_profile.register
def _(kernel: InfiniteConjugate, cosines: Profile) -> list[Real]:
    first, *later = _layers(kernel.depth, kernel.parameterisation, cosines)
    K = _covariance(first, cosines)
    for layer in later:
        K = _covariance(layer, _arc_cosines(K)[0])
    return K


@exact_profile.register
def _(kernel: InfiniteTangent, cosines: Profile) -> list[Real]:
    layers = _layers(kernel.depth, kernel.parameterisation, cosines, kernel.width)
    names = (*(f"layer{number}" for number in range(1, kernel.depth)), "output")
    trained = trained_layers(kernel.group, names)
    S, K = list(cosines), _covariance(layers[0], cosines)
    theta = _gains(layers[0], S) if 1 in trained else [mpmath.mpf(0)] * len(S)
    for number, layer in enumerate(layers[1:], start=2):
        S, slopes = _arc_cosines(K)
        theta = [mpmath.mpf(layer.variance) * slope * value for slope, value in zip(slopes, theta, strict=True)]
        if number in trained:
            theta = [value + gain for value, gain in zip(theta, _gains(layer, S), strict=True)]
        K = _covariance(layer, S)
    return theta


def _layers(depth: int, parameterisation: Parameterisation, cosines: Profile, width: int | None = None) -> list[Scales]:
    """The scales of the layers; the number of inputs follows from the step between two cosines, 2/d."""
    in_dim = int(mpmath.nint(2 / (cosines[0] - cosines[1])))
    first = Scales.of(parameterisation.layer(in_dim, readout=depth == 1, of_inputs=True))
    later = [parameterisation.layer(1, readout=number == depth) for number in range(2, depth + 1)]
    return [first, *(Scales.of(layer, width) for layer in later)]


def _covariance(layer: Scales, h: Profile) -> list[Real]:
    return [mpmath.mpf(layer.variance) * value + mpmath.mpf(layer.bias) for value in h]


def _gains(layer: Scales, h: Profile) -> list[Real]:
    return [mpmath.mpf(layer.gain) * value + mpmath.mpf(layer.bias_gain) for value in h]


def _arc_cosines(K: Profile) -> tuple[list[Real], list[Real]]:
    """E[σ(u)σ(v)] and E[σ′(u)σ′(v)] of the ReLU, for variances K[0] and covariances K."""
    values, slopes, q = [], [], K[0]
    for c in K:
        # Rounding of the covariances may pass ±1 by a digit, where acos would turn complex.
        rho = max(min(c / q, mpmath.mpf(1)), mpmath.mpf(-1))
        theta = mpmath.acos(rho)
        values.append(q * (mpmath.sqrt(1 - rho**2) + (mpmath.pi - theta) * rho) / (2 * mpmath.pi))
        slopes.append((mpmath.pi - theta) / (2 * mpmath.pi))
    return values, slopes
