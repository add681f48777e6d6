"""The span of finitely many functions on the cube, and how much of each parity lies in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import torch

from beyondkernels.core import InputError, require

Parity: TypeAlias = tuple[int, ...]
"""The coordinates, from 0, whose signs are multiplied."""

LARGEST_ENUMERATION = 16
"""The most coordinates of a cube that is enumerated."""

MOST_VALUES = 2**27
"""The most values of all functions at all points that are held at once: 1 GiB of float64."""

_ROUNDING = 1e-15
"""The error of float64 values of functions, relative to their largest singular value."""

_ABSENT = 1e-13
"""Directions with a singular value below this, relative to the largest, are left out: float64 sees no more."""

LARGEST_ERROR = 1e-6
"""A certificate is refused if its shares of parities are less certain than this."""


class Span(ABC):
    r"""The span V of functions :math:`f_1, \dots, f_N`, with P the orthogonal projection onto it.

    Arguments:
        dimension: of V.
        error: an estimate of the error of :math:`\|P\chi_T\|^2`, from the conditioning of the functions.
        left_out: how many directions were taken as zero because rounding cannot tell them from zero. V without them is
            smaller, so what is computed of :math:`\|P\chi_T\|^2` is at most what it is with them.
    """

    dimension: int
    error: float
    left_out: int = 0

    @abstractmethod
    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        """Pχ_T in an orthonormal basis of V, one column for each parity, shape (dimension, parities)."""


class EnumeratedSpan(Span):
    r"""The span of functions given by their values at every point of the cube.

    The functions are scaled to norm 1 and orthonormalised by a QR decomposition with a singular value decomposition
    of R. Directions whose singular value is below 1e-13 of the largest are left out, because float64 values cannot tell
    them from zero.

    Arguments:
        signs: the points, shape (points, coordinates), entries ±1; all equally likely.
        values: of the functions, shape (points, functions).

    >>> from beyondkernels.data.inputs import corners
    >>> x = corners(3)
    >>> span = EnumeratedSpan(x, torch.stack([x[:, 0] + x[:, 0] * x[:, 1], x[:, 2]], 1))
    >>> span.coordinates([(0,), (0, 1), (2,), (1,)]).square().sum(0).round(decimals=12).tolist()
    [0.5, 0.5, 1.0, 0.0]
    """

    def __init__(self, signs: torch.Tensor, values: torch.Tensor):
        require(
            values.ndim == 2 and len(values) == len(signs),
            f"values must have one row for each of the {len(signs)} points, got shape {tuple(values.shape)}",
        )
        norms = torch.linalg.vector_norm(values, dim=0)
        # A span does not know the lengths of its functions, but ranks are decided by comparing them.
        values = values[:, norms > 0] / norms[norms > 0]
        self._signs = signs
        if values.shape[1] == 0:
            self.dimension, self.error = 0, 0.0
            self._basis = values
            return
        # The singular values are those of the small R; the tall matrix is decomposed once, by the cheaper QR.
        Q, R = torch.linalg.qr(values)
        U, s, _ = torch.linalg.svd(R)
        present = s > _ABSENT * s[0]
        self.dimension = int(present.sum())
        self.left_out = values.shape[1] - self.dimension
        self.error = float(2 * _ROUNDING * s[0] / s[present].min())
        if self.error > LARGEST_ERROR:
            raise InputError(
                f"the {len(norms)} functions are too close to dependent for float64: their smallest singular value is "
                f"{float(s[present].min() / s[0]):.2g} of the largest; fewer functions would do, or for a "
                "rotation-invariant kernel on the cube the closed form"
            )
        self._basis = Q @ U[:, present]

    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        columns = [self._basis.new_zeros(self.dimension, 0)]
        for part in _parts(parities):
            values = torch.stack([self._signs[:, list(T)].prod(1) for T in part], 1)
            columns.append(self._basis.T @ values * len(self._signs) ** -0.5)
        return torch.cat(columns, 1)


def require_enumerable(coordinates: int, functions: int) -> None:
    """Ask that the cube is small enough to be enumerated; otherwise say what it would take."""
    count = 2**coordinates
    if coordinates <= LARGEST_ENUMERATION and count * functions <= MOST_VALUES:
        return
    takes = f"{said_bytes(8.0 * count * functions)} and about {said_time(2.0 * count * functions**2 / _SPEED)}"
    if coordinates > LARGEST_ENUMERATION:
        asked = f"the cube must have at most {LARGEST_ENUMERATION} varying coordinates to be enumerated"
    else:
        asked = f"the cube with {coordinates} varying coordinates takes at most {MOST_VALUES // count} functions"
    got = f"{coordinates} coordinates and {functions} functions"
    raise InputError(f"{asked}, got {got}: this would take {takes}; the bound for all kernels needs no enumeration")


_SPEED = 5e9
"""Floating-point operations in a second that a decomposition does on one core, roughly."""


def said_time(seconds: float) -> str:
    """A time in words.

    >>> said_time(90), said_time(3e10)
    ('2 minutes', '951 years')
    """
    for unit, length in (("year", 31_556_952.0), ("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= length:
            return _counted(seconds / length, unit)
    return _counted(max(seconds, 1.0), "second")


def said_bytes(size: float) -> str:
    """A size in words.

    >>> said_bytes(3 * 2**30)
    '3 GiB'
    """
    return f"{size / 2**30:.3g} GiB"


def _counted(amount: float, unit: str) -> str:
    rounded = round(amount)
    text = f"{rounded}" if rounded < 10_000 else f"{amount:.2g}"
    return f"{text} {unit}{'' if rounded == 1 else 's'}"


def _parts(parities: Sequence[Parity], size: int = 512) -> list[Sequence[Parity]]:
    return [parities[start : start + size] for start in range(0, len(parities), size)]
