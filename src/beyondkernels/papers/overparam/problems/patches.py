"""Patches of a matrix: fixed sets of its rows, which share the weights of a convolutional layer."""

from __future__ import annotations

import torch

from beyondkernels.core import require, require_whole

Patches = tuple[tuple[int, ...], ...]
"""S₁, …, S_{d′}: sets of rows of one size."""


def windows(rows: int, size: int, stride: int = 1) -> Patches:
    """All windows of neighbouring rows.

    Arguments:
        rows: how many rows a point has.
        size: the rows of a window.
        stride: how far one window begins after another.

    >>> windows(rows=5, size=3)
    ((0, 1, 2), (1, 2, 3), (2, 3, 4))
    """
    for name, value in (("rows", rows), ("size", size), ("stride", stride)):
        require_whole(name, value)
    require(1 <= size <= rows, f"size must lie in [1, {rows}], the number of rows, got {size}")
    return tuple(tuple(range(start, start + size)) for start in range(0, rows - size + 1, stride))


def require_patches(patches: Patches) -> None:
    """Ask for sets of rows of one size."""
    require(len(patches) > 0, "patches must hold at least one set of rows, got none")
    size = len(patches[0])
    for i, patch in enumerate(patches):
        good = len(patch) == size > 0 and len({*patch}) == size and min(patch) >= 0
        require(good, f"patches must be sets of {size} different rows each, got {patch} as number {i}")


def gathered(x: torch.Tensor, patches: Patches) -> torch.Tensor:
    """The rows of every patch, one after the other: from (n, d, s) to (n, d′, k·s).

    Arguments:
        x: points, (n, d, s).
        patches: d′ sets of k rows.

    >>> gathered(torch.arange(6.0).view(1, 3, 2), ((0, 1), (1, 2))).tolist()
    [[[0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0, 5.0]]]
    """
    last = max(map(max, patches))
    require(
        x.dim() == 3 and last < x.shape[1],
        f"points must be matrices of at least {last + 1} rows to hold every patch, got shape {tuple(x.shape)}",
    )
    return x[:, torch.tensor(patches, device=x.device)].flatten(2)
