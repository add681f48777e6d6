"""The base of all kernels: a function of two batches of points that returns their Gram matrix."""

from __future__ import annotations

import functools
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Component, Problem, require, vectors
from beyondkernels.core.constraints import not_empty, not_negative
from beyondkernels.kernels.checks import Numbers, require_finite, require_representable, tensor


class Kernel(Component, ABC):
    r"""A positive semi-definite function of two points. Called with two batches, it returns a matrix of float64.

    ``kernel(x)`` is the symmetric Gram matrix (n, n) of one batch, ``kernel(x1, x2)`` the block (n1, n2) of two.
    Kernels add and multiply: ``2 * a + b * c`` is a kernel. Points of other shapes than vectors are flattened. A kernel
    that looks at neighbouring pixels has the shape among its fields, folds vectors back, and overrides ``for_shape``.

    A subclass is a frozen dataclass with ``block`` and ``_diagonal``. Points reach these as float64, finite and of one
    dimension; values that overflow are refused after them. What they return is fresh: a caller may write to it. A
    subclass may override ``square`` where symmetry saves work; with :func:`square_by_tiles` any kernel can.
    :func:`check_kernel` says whether a kernel keeps all this.
    """

    rotation_invariant: ClassVar[bool] = False
    """Whether K(Qx, Qx′) = K(x, x′) for every orthogonal Q."""

    accuracy: ClassVar[float] = 1e-12
    """How much an entry may change with the batch it is computed in, relative to √(K(x, x) K(x′, x′))."""

    def __call__(self, x1: Numbers, x2: Numbers | None = None) -> torch.Tensor:
        """The Gram matrix of x1 with x2, or with itself.

        Arguments:
            x1: points, shape (n1, in_dim).
            x2: points, shape (n2, in_dim); None for x1 itself.
        """
        given = tensor("x1", x1)
        if given.ndim > 2 and (shaped := self.for_shape(tuple(given.shape[1:]))) is not self:
            return shaped(given, x2)
        x1 = points("x1", given)
        if x2 is None:
            return require_representable(type(self).__name__, self.square(x1), x1)
        x2 = points("x2", x2)
        require(
            x1.shape[1] == x2.shape[1],
            f"x1 and x2 must have points of one dimension, got {x1.shape[1]} and {x2.shape[1]}",
        )
        return require_representable(type(self).__name__, self.block(x1, x2), x1, x2)

    def diagonal(self, x: Numbers) -> torch.Tensor:
        """K(x_i, x_i), shape (n,), without the rest of the matrix.

        Arguments:
            x: points, shape (n, in_dim).
        """
        given = tensor("x", x)
        if given.ndim > 2 and (shaped := self.for_shape(tuple(given.shape[1:]))) is not self:
            return shaped.diagonal(given)
        x = points("x", given)
        return require_representable(type(self).__name__, self._diagonal(x), x)

    def witness(self, problem: Problem, samples: int) -> dict[str, torch.Tensor]:
        """Its Gram matrix on a few points; see ``store.witness``.

        Arguments:
            problem: where the points come from.
            samples: how many there are.
        """
        return {"gram": self(problem.take("train", min(samples, 8), 0).x)}

    def for_shape(self, in_shape: tuple[int, ...]) -> Kernel:
        """The kernel for points of this shape, which reach ``block`` as vectors: itself, unless the shape matters.

        Arguments:
            in_shape: the shape of a point, such as (3, 32, 32).
        """
        return self

    @abstractmethod
    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """K(x1_i, x2_j), shape (n1, n2)."""

    @abstractmethod
    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """K(x_i, x_i), shape (n,)."""

    def square(self, x: torch.Tensor) -> torch.Tensor:
        """The symmetric matrix of one batch. Its diagonal equals ``diagonal`` exactly."""
        return symmetric(self.block(x, x), self._diagonal(x))

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        """An absolute error of the entries of ``kernel(x1, x2)`` beyond ``accuracy``: 0 unless a subclass says more.

        Arguments:
            x1: points, shape (n1, in_dim).
            x2: points, shape (n2, in_dim); None for x1 itself.
        """
        return 0.0

    def __add__(self, other: Kernel) -> Kernel:
        return Sum((*_terms(self), *_terms(other))) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: int) -> Kernel:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # what the built-in sum begins with

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product((*_factors(self), *_factors(other)))
        return Scaled(self, float(other)) if isinstance(other, numbers.Real) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True)
class Composed(Kernel):
    """A kernel whose entries are made from those of others by one operation."""

    kernels: Annotated[tuple[Kernel, ...], not_empty]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation_invariant", all(kernel.rotation_invariant for kernel in self.kernels))

    @staticmethod
    @abstractmethod
    def _joined(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
        """The operation, entry by entry. The first tensor is fresh, so it can hold the result."""

    def for_shape(self, in_shape: tuple[int, ...]) -> Kernel:
        kernels = tuple(kernel.for_shape(in_shape) for kernel in self.kernels)
        return self if kernels == self.kernels else replace(self, kernels=kernels)

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return self._joined(kernel.block(x1, x2) for kernel in self.kernels)

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return self._joined(kernel.square(x) for kernel in self.kernels)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self._joined(kernel.diagonal(x) for kernel in self.kernels)


@dataclass(frozen=True)
class Sum(Composed):
    r"""Kernels added up.

    .. math:: K(x, y) = K_1(x, y) + K_2(x, y) + \dots

    Arguments:
        kernels: the terms.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "accuracy", max(kernel.accuracy for kernel in self.kernels))

    @staticmethod
    def _joined(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
        return functools.reduce(torch.Tensor.add_, tensors)

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        return sum(kernel.error(x1, x2) for kernel in self.kernels)


@dataclass(frozen=True)
class Product(Composed):
    r"""Kernels multiplied. By Schur's theorem the product is a kernel.

    .. math:: K(x, y) = K_1(x, y) \cdot K_2(x, y) \cdots

    Arguments:
        kernels: the factors.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        # to first order the relative errors of the factors of a product add up
        object.__setattr__(self, "accuracy", sum(kernel.accuracy for kernel in self.kernels))

    @staticmethod
    def _joined(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
        return functools.reduce(torch.Tensor.mul_, tensors)

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        """Each error times the largest values of the other factors, to first order."""
        errors = [kernel.error(x1, x2) for kernel in self.kernels]
        if not any(errors):
            return 0.0
        batches = [points("x1", x1)] if x2 is None else [points("x1", x1), points("x2", x2)]
        largest = [max(float(kernel.diagonal(x).max()) for x in batches) for kernel in self.kernels]
        return sum(error * math.prod(largest[:i] + largest[i + 1 :]) for i, error in enumerate(errors))


@dataclass(frozen=True)
class Scaled(Kernel):
    """A kernel times a number that is not negative.

    Arguments:
        kernel: what is scaled.
        factor: the number.
    """

    kernel: Kernel
    factor: Annotated[float, not_negative]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation_invariant", self.kernel.rotation_invariant)
        object.__setattr__(self, "accuracy", self.kernel.accuracy)

    def for_shape(self, in_shape: tuple[int, ...]) -> Kernel:
        kernel = self.kernel.for_shape(in_shape)
        return self if kernel == self.kernel else replace(self, kernel=kernel)

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return self.kernel.block(x1, x2).mul_(self.factor)

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return self.kernel.square(x).mul_(self.factor)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * self.kernel.diagonal(x)

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        return self.factor * self.kernel.error(x1, x2)


def symmetric(gram: torch.Tensor, diagonal: torch.Tensor) -> torch.Tensor:
    """A matrix that rounding has made a little asymmetric, symmetric again, and with a diagonal known better."""
    gram = (gram + gram.T).mul_(0.5)
    gram.diagonal().copy_(diagonal)
    return gram


def square_by_tiles(kernel: Kernel, x: torch.Tensor, rows: int = 256) -> torch.Tensor:
    """The symmetric matrix from its blocks on and above the diagonal: half the work of ``block(x, x)``.

    Arguments:
        kernel: whose matrix.
        x: points, shape (n, in_dim), float64.
        rows: of a strip of blocks.
    """
    n = len(x)
    gram = torch.empty(n, n, dtype=torch.float64)
    for start in range(0, n, rows):
        end = min(start + rows, n)
        # From the diagonal on, to the right: what is below is the same by symmetry.
        strip = kernel.block(x[start:end], x[start:])
        corner, rest = strip[:, : end - start], strip[:, end - start :]
        # The corner is symmetric only up to rounding, and eigensolvers read just one triangle of a matrix.
        torch.add(corner, corner.T, out=gram[start:end, start:end]).mul_(0.5)
        gram[start:end, end:] = rest
        gram[end:, start:end] = rest.T
    gram.diagonal().copy_(kernel.diagonal(x))
    return gram


def points(name: str, x: Numbers) -> torch.Tensor:
    """A batch of points as float64, checked, without history: no gradient flows into a Gram matrix."""
    x = vectors(tensor(name, x))
    require(x.ndim == 2, f"{name} must have shape (n, in_dim), got {tuple(x.shape)}")
    require(not x.is_complex(), f"{name} must be real, got {str(x.dtype).removeprefix('torch.')}")
    require_finite(name, x)
    return x.to(torch.float64)


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.kernels if isinstance(kernel, Sum) else (kernel,)


def _factors(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.kernels if isinstance(kernel, Product) else (kernel,)
