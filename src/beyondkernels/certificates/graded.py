"""Levels of a kernel's span, and a triangular factor of its functions, where Gram matrices lose too many digits."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath
import torch

from beyondkernels.certificates.coefficients import DegreeCoefficients
from beyondkernels.certificates.profiles import Real
from beyondkernels.certificates.restricted import Key, RestrictedParities
from beyondkernels.core import InputError

_ZERO, _NOT_ZERO = 1e-26, 1e-20
"""Squared singular values relative to the sum of all: zero below the first, not zero above the second.

Rounding leaves about 1e-31. No training set has been seen with anything between 1e-29 and 1e-15.
"""

_ENUMERATED = 16
"""Up to so many classes of coordinates, all their products are used; beyond it, those of the levels' degrees."""

_DIGITS = 60


@dataclass(frozen=True)
class Level:
    r"""Directions of weights that one degree adds: those that all degrees before it map to zero.

    Arguments:
        degree: j.
        weights: orthonormal columns, the directions.
        sizes: by which their functions are divided, about the length of their degree-j parts without
            :math:`\lambda_j`.
    """

    degree: int
    weights: torch.Tensor
    sizes: torch.Tensor


class GradedLevels:
    r"""The levels from singular values of parities, instead of eigenvalues of :math:`\mathcal K_j(h)`.

    Let :math:`P_j` hold the values of the parities of degree j at the training points, so that
    :math:`\mathcal K_j(h) = P_j P_j^\top`. A direction whose eigenvalue is the share :math:`\epsilon` of the trace has
    a singular value of :math:`\sqrt\epsilon`. Rounding is 1e-16 in both, so singular values show shares of 1e-30, and
    eigenvalues show those of 1e-15. Two more things keep the digits:

    - Parities that agree on the training set are one column of :math:`P_j` (:class:`RestrictedParities`), and those
      that an earlier degree has had are left out: they are zero. Neither changes which directions are mapped to zero.
    - The Gram matrix of all functions is never formed. Its triangular factor comes from a QR decomposition of the
      functions' parts in all parities, of which the condition number is the root of the Gram matrix's.

    Arguments:
        signs: the training points, shape (n, d), entries ±1, all different.
        coefficients: of the kernel.
    """

    def __init__(self, signs: torch.Tensor, coefficients: DegreeCoefficients):
        self._coefficients = coefficients
        self._order = coefficients.ordered()
        self._parities = RestrictedParities(signs)
        self._multiplicities = {key: self._parities.multiplicities(key) for key in self._parities.every_key()}
        self._products: dict[Key, torch.Tensor] = {}
        self._held = 0
        self.levels: list[Level] = []
        """In the order of the degrees."""
        self.left = torch.eye(len(signs), dtype=torch.float64)
        """The directions that no degree reaches."""
        self.spread = 1.0
        """The largest ratio of two singular values of one level."""
        self.used: list[int] = []
        """The degrees that were looked at."""
        for degree in self._order:
            if self.left.shape[1] == 0:
                break
            self.used.append(degree)
            self._add(degree)

    def first(self, key: Key) -> int:
        """The place in the order of the first degree in which products of a key occur."""
        row = self._multiplicities[key]
        return next((place for place, degree in enumerate(self._order) if row[degree]), len(self._order))

    def factor(self, tail: torch.Tensor | None = None) -> torch.Tensor:
        """The lower triangular L with L Lᵀ the Gram matrix of the functions, each divided by its size and its λ.

        Arguments:
            tail: the part of that Gram matrix from degrees that were not looked at, if these are too many to list.
        """
        levels = self.levels
        R = self.left.new_zeros(0, sum(level.weights.shape[1] for level in levels))
        keys = self._listed()
        for key in sorted(keys, key=self.first):
            scales = self._scales(key, whole=tail is None)
            if not any(scales):
                continue
            values = self._taken(key)
            row = [
                scale * (values.T @ level.weights) / level.sizes for scale, level in zip(scales, levels, strict=True)
            ]
            # Block by block: RᵀR grows by the products of the new rows, and the rows of all parities need never be held
            # at once.
            R = torch.linalg.qr(torch.cat([R, torch.cat(row, 1)]), mode="r").R
        if tail is not None:
            eigenvalues, vectors = torch.linalg.eigh(tail)
            R = torch.linalg.qr(torch.cat([R, eigenvalues.clamp(min=0).sqrt()[:, None] * vectors.T]), mode="r").R
        # A QR decomposition leaves the signs of the rows open; with a positive diagonal the factor is Cholesky's.
        return (R * R.diagonal().sign()[:, None]).T.contiguous()

    @property
    def complete(self) -> bool:
        """Whether all products of the classes are listed, so that there is no tail."""
        return self._parities.classes <= _ENUMERATED

    def _listed(self) -> list[Key]:
        rows = self._multiplicities.items()
        return [key for key, row in rows if self.complete or any(row[degree] for degree in self.used)]

    def _scales(self, key: Key, whole: bool) -> list[float]:
        """Norms of a product's coefficients in the functions of each level, over λ of the level; 0 where it is past."""
        values, row, first = self._coefficients.values, self._multiplicities[key], self.first(key)
        degrees = range(len(values)) if whole else self.used
        with mpmath.workdps(_DIGITS):
            # Coefficients of high degrees underflow, but their ratio to a level's own is what counts and is a float
            # again.
            norm: Real = mpmath.sqrt(mpmath.fsum(values[j] ** 2 * row[j] for j in degrees if row[j]))
            return [
                float(norm / values[level.degree]) if self._order.index(level.degree) <= first else 0.0
                for level in self.levels
            ]

    def _taken(self, key: Key) -> torch.Tensor:
        if key not in self._products:
            self._held += self._parities.count(key)
            self._parities.require_few(self._held)
            self._products[key] = self._parities.products(key)
        return self._products[key]

    def _add(self, degree: int) -> None:
        place = self._order.index(degree)
        new = [key for key, row in self._multiplicities.items() if row[degree] and self.first(key) == place]
        if not new:
            return
        values = torch.cat([self._taken(key) for key in new], 1)
        # In the directions that are left alone: what an earlier degree reaches belongs to its level, whatever this one
        # adds.
        parts = self.left.T @ values
        vectors, singular, _ = torch.linalg.svd(parts, full_matrices=parts.shape[0] > parts.shape[1])
        # Entries are ±1, so the sum of all squared singular values is their number, before anything was projected away.
        share = singular.square() / values.numel()
        unclear = (share > _ZERO) & (share < _NOT_ZERO)
        if bool(unclear.any()):
            raise InputError(
                f"the rank of {len(values)} training points in degree {degree} cannot be decided in float64: "
                f"{int(unclear.sum())} singular values lie between {_ZERO**0.5:.1g} and {_NOT_ZERO**0.5:.1g} of the "
                "whole; another number of points would do"
            )
        rank = int((share >= _NOT_ZERO).sum())
        if not rank:
            return
        self.levels.append(Level(degree, self.left @ vectors[:, :rank], singular[:rank]))
        self.spread = max(self.spread, float(singular[0] / singular[rank - 1]))
        self.left = self.left @ vectors[:, rank:]
