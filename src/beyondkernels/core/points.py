"""Points have a shape, vectors (d,) or images (channels, height, width), and tensors have a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import torch

    from beyondkernels.core.contracts import Tensors

Shape: TypeAlias = int | tuple[int, ...]
"""The shape of a point; that of a vector is its dimension alone."""


def shape_of(in_shape: tuple[int, ...]) -> Shape:
    """A shape as networks are told it: an image's as it is, a vector's as its dimension.

    >>> shape_of((3, 8, 8)), shape_of((5,))
    ((3, 8, 8), 5)
    """
    return in_shape[0] if len(in_shape) == 1 else tuple(in_shape)


def size_of(shape: Shape) -> int:
    """How many numbers a point has.

    >>> size_of((3, 8, 8)), size_of(5)
    (192, 5)
    """
    return shape if isinstance(shape, int) else math.prod(shape)


def batch_shape(n: int, shape: Shape) -> tuple[int, ...]:
    """The shape of n points side by side.

    >>> batch_shape(10, 5), batch_shape(10, (3, 8, 8))
    ((10, 5), (10, 3, 8, 8))
    """
    return (n, shape) if isinstance(shape, int) else (n, *shape)


def vectors(x: torch.Tensor) -> torch.Tensor:
    """Points (n, …) as vectors (n, d), for those that want vectors: a view, nothing is copied."""
    return x if x.ndim <= 2 else x.flatten(1)


def on_device(tensors: Tensors, device: torch.device) -> Tensors:
    """Named tensors where they are wanted; those that are there already are not copied."""
    return {name: value.to(device) for name, value in tensors.items()}
