"""Kernels by name, for the command line."""

from __future__ import annotations

from collections.abc import Callable

from beyondkernels import kernels
from beyondkernels.core import unknown

KERNELS: dict[str, Callable[[], kernels.Kernel]] = {
    "gaussian": lambda: kernels.Gaussian(bandwidth=1.0),
    "laplace": lambda: kernels.Laplace(bandwidth=1.0),
    "arcsin": kernels.Arcsin,
    "inverse-polynomial": kernels.InversePolynomial,
    "quadratic": lambda: kernels.PolynomialKernel(degree=2),
    "cubic": lambda: kernels.PolynomialKernel(degree=3),
    "quartic": lambda: kernels.PolynomialKernel(degree=4),
    "conjugate2": lambda: kernels.InfiniteConjugate(depth=2),
    "conjugate3": lambda: kernels.InfiniteConjugate(depth=3),
    "tangent2": lambda: kernels.InfiniteTangent(depth=2),
    "tangent3": lambda: kernels.InfiniteTangent(depth=3),
}
"""The kernels with the settings that the command takes; the numbers behind conjugate and tangent are depths."""


def named_kernel(name: str) -> kernels.Kernel:
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
