"""What the kernels of infinitely wide networks share: tiles, symmetry, and how large their error is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import torch

from beyondkernels.activations import Activation, activation
from beyondkernels.core import require
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.infinite.pairs import TRUST, Ball, Batch, Entries, Pairs, Selves, Tile, TileOfBalls
from beyondkernels.networks import Parameterisation
from beyondkernels.networks.parameterisation import Layer

TILE = 240
"""Points on a side of what goes through all layers at once: a few such tiles of float64 stay in the cache.

No power of two, at which the columns of a tile would share few places in the cache.
"""

Name = TypeVar("Name", int, str)


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

    The variance of a point goes through ``Activation.moments``, apart from all others, so that the diagonal is exact;
    the rest goes through the dual maps, in closed form or by quadrature.
    """

    rotation_invariant: ClassVar[bool] = True
    activation: Activation | str
    parameterisation: Parameterisation
    tolerance: float

    def __post_init__(self) -> None:
        require(0 < self.tolerance < 1, f"tolerance must lie between 0 and 1, got {self.tolerance}")
        object.__setattr__(self, "activation", activation(self.activation))

    @abstractmethod
    def _recursion(self, inner: Entries, in_dim: int, pairs: Pairs[Entries]) -> Entries:
        """The kernel from ⟨x, x′⟩, which may be written over."""

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """Tile by tile, each through all layers."""
        gram = _empty(len(x1), len(x2))
        for rows, columns, tile in self._tiles(self._tile, x1, x2):
            gram[rows, columns] = tile
        return gram

    def square(self, x: torch.Tensor) -> torch.Tensor:
        """The tiles on and above the diagonal, mirrored."""
        gram = _empty(len(x), len(x))
        for rows, columns, tile in self._tiles(self._tile, x):
            if rows == columns:
                gram[rows, rows] = tile.add_(tile.T.clone()).mul_(0.5)
            else:
                gram[rows, columns] = tile
                gram[columns, rows] = tile.T
        gram.diagonal().copy_(self.diagonal(x))
        return gram

    def diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The recursion for each point with itself."""
        return self._recursion((x * x).sum(1), x.shape[1], Selves(activation(self.activation)))

    def error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> float:
        """A bound on the absolute error of the entries of ``kernel(x1, x2)``, to first order.

        Rounding and the errors stated by the quadrature go through the layers entry by entry: an error δ of a
        covariance c counts as what the dual maps change between c − δ, c and c + δ. With closed forms only rounding is
        left, which shows where two points are almost, but not quite, the same.

        Arguments:
            x1: points, shape (n1, in_dim).
            x2: points, shape (n2, in_dim); None for x1 itself.
        """
        x1 = points("x1", x1)
        x2 = None if x2 is None else points("x2", x2)
        dims = x1.shape[1], (x1 if x2 is None else x2).shape[1]
        require(dims[0] == dims[1], f"x1 and x2 must have points of one dimension, got {dims[0]} and {dims[1]}")
        worst = 0.0
        for rows, columns, radius in self._tiles(self._radius, x1, x2):
            if x2 is None and rows == columns:
                radius.diagonal().copy_(TRUST * self.diagonal(x1[rows]).abs())
            worst = max(worst, float(radius.max()))
        return worst

    def _batch(self, x: torch.Tensor) -> Batch:
        selves = Selves(activation(self.activation))
        self._recursion((x * x).sum(1), x.shape[1], selves)
        return Batch(x, selves.variances, selves.means)

    def _tiles(
        self, values: Callable[[Batch, Batch], torch.Tensor], x1: torch.Tensor, x2: torch.Tensor | None = None
    ) -> Iterator[tuple[slice, slice, torch.Tensor]]:
        """Rows, columns and values of the tiles; with x1 alone, of those on and above the diagonal."""
        one = self._batch(x1)
        two = one if x2 is None else self._batch(x2)
        for rows in _slices(len(x1)):
            part = one.rows(rows)
            for columns in _slices(len(two.x)):
                if x2 is not None or columns.start >= rows.start:
                    yield rows, columns, values(part, two.rows(columns))

    def _tile(self, one: Batch, two: Batch) -> torch.Tensor:
        tile = Tile(activation(self.activation), self.tolerance, one, two)
        return self._recursion(one.x @ two.x.T, one.x.shape[1], tile)

    def _radius(self, one: Batch, two: Batch) -> torch.Tensor:
        tile = TileOfBalls(Tile(activation(self.activation), self.tolerance, one, two))
        inner = Ball(one.x @ two.x.T, TRUST * torch.outer(one.x.norm(dim=1), two.x.norm(dim=1)))
        return self._recursion(inner, one.x.shape[1], tile).radius


def require_width(parameterisation: Parameterisation, width: int | None) -> None:
    """Ask for a width where the tangent kernel depends on it."""
    if width is not None:
        require(isinstance(width, int) and width > 0, f"width must be a positive whole number or None, got {width!r}")
    require(
        parameterisation.kind == "ntk" or width is not None,
        "width must be given: the tangent kernel of the standard parameterisation grows with the width, got None",
    )


def trained_layers(trained: str | tuple[Name, ...], names: tuple[Name, ...]) -> tuple[Name, ...]:
    """The trained layers among those of these names, from the first to the last.

    >>> trained_layers("hidden", ("W", "U", "A"))
    ('W', 'U')
    """
    groups = {"all": names, "hidden": names[:-1], "last": names[-1:]}
    known = f"all, hidden, last, or a tuple of {', '.join(map(str, names))}"
    if isinstance(trained, str):
        require(trained in groups, f"trained must be {known}, got {trained!r}")
        trained = groups[trained]
    sound = isinstance(trained, tuple | list) and len(trained) > 0 and all(name in names for name in trained)
    require(sound, f"trained must be {known}, got {trained!r}")
    return tuple(name for name in names if name in trained)


def affine_(h: Entries, factor: float, term: float) -> Entries:
    """Factor · h + term, written over h, by no more passes than needed."""
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
