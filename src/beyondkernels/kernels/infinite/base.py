"""Shared by the kernels of infinitely wide networks: tiles, symmetry, and bounds on their error."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from beyondkernels.activations import Activation, activation
from beyondkernels.core import InputError, require
from beyondkernels.core.errors import shown
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.infinite.pairs import (
    TRUST,
    Ball,
    Batch,
    Entries,
    Pairs,
    Selves,
    SelvesOfBalls,
    Tile,
    TileOfBalls,
)
from beyondkernels.networks import Parameterisation
from beyondkernels.networks.parameterisation import Layer

TILE = 240
"""Points on a side of what goes through all layers at once: a few such tiles of float64 stay in the cache.

No power of two, at which the columns of a tile would share few places in the cache.
"""


GROUPS = ("all", "hidden", "last")
"""Names of groups of layers in every network."""


@dataclass(frozen=True)
class Scales:
    """What a layer makes of the mean of h h′ over its inputs (of ⟨x, x′⟩ in the first layer).

    Arguments:
        variance: its factor in the covariance of the layer's outputs, by the weights.
        bias: what the biases add there.
        gain: its factor in the tangent kernel of the layer, by the weights.
        bias_gain: what the biases add there.
    """

    variance: float
    bias: float
    gain: float
    bias_gain: float

    @staticmethod
    def of(layer: Layer, width: int | None = None) -> Scales:
        """The scales of a layer for one input; ``width`` inputs share its gain in the standard parameterisation."""
        gain = layer.weight_gain * (width or 1) if layer.kind == "standard" else layer.weight_gain
        return Scales(layer.weight_variance, layer.bias_variance or 0.0, gain, layer.bias_gain)

    def covariance(self, h: Entries) -> Entries:
        """The covariance of the layer's outputs, written over h."""
        return affine_(h, self.variance, self.bias)

    def tangent(self, h: Entries, below: Entries | None = None) -> Entries:
        """The tangent kernel of the layer's parameters, added to what comes from below where there is something."""
        if below is None:
            return affine_(h.clone(), self.gain, self.bias_gain)
        return affine_(below.add_(h, alpha=self.gain), 1.0, self.bias_gain)


class InfiniteWidth(Kernel):
    """The kernel of an infinitely wide network; its entries follow from ⟨x, x′⟩, ‖x‖ and ‖x′‖.

    The variance of a point goes through ``Activation.moments``, apart from all others, so that the diagonal is as
    exact as these; the rest goes through the dual maps, in closed form or by quadrature.
    """

    rotation_invariant: ClassVar[bool] = True
    remedy: ClassVar[str] = "smaller inputs or a smaller weight_variance"
    """What keeps values from overflowing."""

    activation: Activation | str
    parameterisation: Parameterisation
    tolerance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", activation(self.activation))

    @abstractmethod
    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        """The kernel from ⟨x, x′⟩, which may be written over."""

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        gram = _empty(len(x1), len(x2))
        for rows, columns, tile in self._tiles(x1, x2):
            gram[rows, columns] = tile
        return gram

    def square(self, x: torch.Tensor) -> torch.Tensor:
        gram = _empty(len(x), len(x))
        for rows, columns, tile in self._tiles(x):
            if rows == columns:
                gram[rows, rows] = tile.mul_(0.5).add_(tile.T.clone())  # in this order no sum overflows
            else:
                gram[rows, columns] = tile
                gram[columns, rows] = tile.T
        gram.diagonal().copy_(self.diagonal(x))
        return gram

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        values, _ = self._selves(x)
        self._require_finite(values)
        return values

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        """A bound on the absolute error of the entries of ``kernel(x1, x2)``, to first order; infinite if not known.

        Rounding and the errors stated by the quadrature, of moments and of dual maps, go through the layers entry by
        entry: an error δ of a covariance c counts as what the dual maps change between c − δ, c and c + δ, and errors
        of variances likewise. With closed forms only rounding is left, which shows where two points are almost, but
        not quite, the same.
        """
        x1 = points("x1", x1)
        x2 = None if x2 is None else points("x2", x2)
        dims = x1.shape[1], (x1 if x2 is None else x2).shape[1]
        require(dims[0] == dims[1], f"x1 and x2 must have points of one dimension, got {dims[0]} and {dims[1]}")
        worst = 0.0
        (diagonal, one), (_, two) = self._balls(x1), self._balls(x1 if x2 is None else x2)
        for rows, columns in _places(len(x1), None if x2 is None else len(x2)):
            square = x2 is None and rows == columns
            ball = self._tile_of_balls(one.rows(rows), two.rows(columns), square)
            if square:
                ball.middle.diagonal().copy_(diagonal.middle[rows])
                ball.radius.diagonal().copy_(diagonal.radius[rows])
            self._require_finite(ball.middle)
            worst = max(worst, float(ball.radius.nan_to_num(torch.inf, torch.inf).max()))
        return worst

    def _selves(self, x: torch.Tensor) -> tuple[torch.Tensor, Batch[torch.Tensor]]:
        selves = Selves(activation(self.activation), self._require_finite)
        diagonal = self._recursion((x * x).sum(1), x.shape[1], selves)
        return diagonal, Batch(x, selves.variances, selves.means)

    def _balls(self, x: torch.Tensor) -> tuple[Ball, Batch[Ball]]:
        selves = SelvesOfBalls(activation(self.activation), self._require_finite)
        squares = (x * x).sum(1)
        diagonal = self._recursion(Ball(squares, TRUST * squares), x.shape[1], selves)
        return diagonal, Batch(x, selves.variances, selves.means)

    def _tiles(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> Iterator[tuple[slice, slice, torch.Tensor]]:
        """Rows, columns and values of the tiles; with x1 alone, of those on and above the diagonal."""
        _, one = self._selves(x1)
        _, two = (None, one) if x2 is None else self._selves(x2)
        for rows, columns in _places(len(x1), None if x2 is None else len(x2)):
            part, other = one.rows(rows), two.rows(columns)
            tile = Tile(activation(self.activation), self.tolerance, part, other)
            values = self._recursion(part.x @ other.x.T, x1.shape[1], tile)
            self._require_finite(values)
            yield rows, columns, values

    def _tile_of_balls(self, one: Batch[Ball], two: Batch[Ball], square: bool) -> Ball:
        tile = TileOfBalls(activation(self.activation), self.tolerance, one, two)
        inner = Ball(one.x @ two.x.T, TRUST * torch.outer(one.x.norm(dim=1), two.x.norm(dim=1)))
        if square:  # its diagonal comes from elsewhere, and quadrature finds nothing harder than parallel points
            inner.middle.fill_diagonal_(0.0)
        return self._recursion(inner, one.x.shape[1], tile)

    def _require_finite(self, values: torch.Tensor) -> None:
        # a sum costs one pass; only where finite numbers overflow in it does each have to be looked at
        if not values.sum().isfinite() and not values.isfinite().all():
            raise InputError(f"values of the {self} overflow float64; {self.remedy} would do")


def require_width(parameterisation: Parameterisation, width: int | None) -> None:
    """Ask for a width where the tangent kernel depends on it."""
    require(
        parameterisation.kind == "ntk" or width is not None,
        "width must be given: the tangent kernel of the standard parameterisation grows with the width, got None",
    )


def trained_layers(group: str | Sequence[int | str], names: tuple[str, ...]) -> tuple[int, ...]:
    """The numbers, from 1 on, of the layers in a group, from the first to the last.

    Arguments:
        group: ``all``, ``hidden`` (all but the last), ``last``, the name of a layer, or a tuple of names or numbers.
        names: what the layers are called.

    >>> trained_layers("hidden", ("W", "U", "A")), trained_layers(("A", 1), ("W", "U", "A"))
    ((1, 2), (1, 3))
    """
    numbers = tuple(range(1, len(names) + 1))
    named = {"all": numbers, "hidden": numbers[:-1], "last": numbers[-1:]}
    if isinstance(group, str):
        chosen = named.get(group, (group,))
    else:
        chosen = tuple(group) if isinstance(group, Sequence) else ()
    require(
        len(chosen) > 0 and all(layer in numbers or layer in names for layer in chosen),
        f"group must be all, hidden, last, {', '.join(names)}, or a tuple of layers by name or by number "
        f"from 1 to {len(names)}, got {shown(group)}",
    )
    return tuple(number for number, name in zip(numbers, names, strict=True) if number in chosen or name in chosen)


def affine_(h: Entries, factor: float, term: float) -> Entries:
    """Factor · h + term, written over h, in as few passes as possible."""
    if factor != 1.0:
        h.mul_(factor)
    if term != 0.0:
        h.add_(term)
    return h


def _empty(rows: int, columns: int) -> torch.Tensor:
    # NumPy asks for huge pages: on a large matrix the first touch of small ones costs more than a layer
    return torch.from_numpy(np.empty((rows, columns)))


def _slices(n: int) -> list[slice]:
    return [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]


def _places(n1: int, n2: int | None) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the tiles; without n2, of those on and above the diagonal of a square."""
    for rows in _slices(n1):
        for columns in _slices(n1 if n2 is None else n2):
            if n2 is not None or columns.start >= rows.start:
                yield rows, columns
