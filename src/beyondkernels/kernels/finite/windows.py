"""The windows of a convolution: what each position of its output sees of its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name


def paddings(padding: Any, kernel: Sequence[int], dilation: Any) -> list[tuple[int, int]]:
    """How many zeros a convolution adds before and after each dimension.

    Arguments:
        padding: as PyTorch's convolutions take it: a number, one for each dimension, ``"valid"`` or ``"same"``.
        kernel: the window's size in each dimension.
        dilation: a number, or one for each dimension.

    >>> paddings("same", (4, 3), 1), paddings(2, (5,), 1)
    ([(1, 2), (1, 1)], [(2, 2)])
    """
    if padding == "same":
        wide = [d * (k - 1) for k, d in zip(kernel, _each(dilation, len(kernel)), strict=True)]
        return [(w // 2, w - w // 2) for w in wide]
    return [(p, p) for p in _each(0 if padding == "valid" else padding, len(kernel))]


def windows(
    x: torch.Tensor, kernel: Sequence[int], stride: Any, padding: Sequence[tuple[int, int]], dilation: Any
) -> torch.Tensor:
    """All windows of a batch (n, channels, …), shape (n, channels · window, positions).

    This is ``torch.nn.functional.unfold`` for any number of dimensions.

    Arguments:
        x: the batch.
        kernel: the window's size in each dimension.
        stride: a number, or one for each dimension.
        padding: zeros before and after each dimension.
        dilation: a number, or one for each dimension.

    >>> windows(torch.tensor([[[1.0, 2.0, 3.0]]]), (2,), 1, [(0, 0)], 1)
    tensor([[[1., 2.],
             [2., 3.]]])
    """
    dims = len(kernel)
    strides, dilations = _each(stride, dims), _each(dilation, dims)
    if any(before or after for before, after in padding):
        x = F.pad(x, [amount for pair in reversed(padding) for amount in pair])
    if all(k == 1 for k in kernel) and all(s == 1 for s in strides):
        return x.flatten(2)
    sizes = [
        (size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ]
    steps = x.stride()[2:]
    view = x.as_strided(
        (*x.shape[:2], *kernel, *sizes),
        (
            *x.stride()[:2],
            *(step * d for step, d in zip(steps, dilations, strict=True)),
            *(step * s for step, s in zip(steps, strides, strict=True)),
        ),
        x.storage_offset(),
    )
    return view.flatten(2 + dims).flatten(1, 1 + dims)


def _each(value: Any, dims: int) -> tuple[int, ...]:
    """One number for each dimension. PyTorch takes a list of one number for all of them."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * dims if len(values) == 1 else values
