"""Kernels by name, for the command line."""

from __future__ import annotations

from collections.abc import Callable

from beyondkernels.core import unknown
from beyondkernels.kernels import (
    Arcsin,
    Gaussian,
    InfiniteConjugate,
    InfiniteTangent,
    InversePolynomial,
    Kernel,
    Laplace,
    PolynomialKernel,
)

KERNELS: dict[str, Callable[[], Kernel]] = {
    "gaussian": lambda: Gaussian(bandwidth=1.0),
    "laplace": lambda: Laplace(bandwidth=1.0),
    "arcsin": Arcsin,
    "inverse-polynomial": InversePolynomial,
    "quadratic": lambda: PolynomialKernel(degree=2),
    "cubic": lambda: PolynomialKernel(degree=3),
    "quartic": lambda: PolynomialKernel(degree=4),
    "conjugate2": lambda: InfiniteConjugate(depth=2),
    "conjugate3": lambda: InfiniteConjugate(depth=3),
    "tangent2": lambda: InfiniteTangent(depth=2),
    "tangent3": lambda: InfiniteTangent(depth=3),
}
"""The kernels with the settings that the command takes; the numbers behind conjugate and tangent are depths."""


def named_kernel(name: str) -> Kernel:
    """The kernel with this name.

    >>> named_kernel("gaussian")
    Gaussian(bandwidth=1.0)
    >>> named_kernel("gauss")
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: unknown kernel 'gauss', did you mean gaussian?
    """
    if name not in KERNELS:
        unknown("kernel", name, [*KERNELS, "any"])
    return KERNELS[name]()
