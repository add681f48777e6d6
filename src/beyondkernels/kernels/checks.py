"""Checks of tensors before and after a computation."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from beyondkernels.core import InputError, require

MEMORY = 2**31
"""Bytes that a computation may take beside its input and its result, unless told otherwise."""


Numbers: TypeAlias = torch.Tensor | npt.ArrayLike
"""What :func:`tensor` takes: tensors, arrays, lists of numbers."""


def tensor(name: str, values: Numbers) -> torch.Tensor:
    """Numbers as a tensor without history. Tensors and arrays keep their precision; lists of numbers become float64.

    Arguments:
        name: what to call them in errors.
        values: a tensor, an array, or anything NumPy makes an array of numbers from.

    >>> tensor("x", [[0.1, 1]]).dtype, tensor("x", torch.ones(1, 2)).dtype
    (torch.float64, torch.float32)
    >>> tensor("x", [[0.1], [1, 2]])
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: x must be a tensor, an array or lists of numbers of one length, got a list
    """
    if isinstance(values, torch.Tensor):
        return values.detach()
    try:
        array = np.asarray(values)
        unknown = (array.dtype.kind == "f" and array.dtype.itemsize > 8) or array.dtype.kind == "u"
        array = np.ascontiguousarray(array, np.float64 if unknown else None)
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InputError(
            f"{name} must be a tensor, an array or lists of numbers of one length, got a {kind}"
        ) from error


def require_representable(what: str, values: torch.Tensor, *points: torch.Tensor | None) -> torch.Tensor:
    """Ask that values computed from finite points are finite. If they are not, numbers grew too large on the way.

    Arguments:
        what: whose values they are.
        values: what was computed; handed back.
        points: what it was computed from.
    """
    # a sum costs one pass; only where finite numbers overflow in it does each have to be looked at
    if not values.sum().isfinite() and not values.isfinite().all():
        largest = max(float(x.abs().max()) for x in points if x is not None and x.numel())
        precision = str(values.dtype).removeprefix("torch.")
        raise InputError(
            f"values of {what} overflow {precision} at these points, whose entries reach {largest:.3g}; "
            "smaller points would do"
        )
    return values


def require_finite(name: str, values: torch.Tensor) -> None:
    """Ask that no entry is infinite or NaN."""
    if not torch.isfinite(values).all():
        bad = int((~torch.isfinite(values)).sum())
        require(False, f"{name} must be finite, got {bad} infinite or NaN entries")


def require_neurons(W: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> None:
    """Ask that weights, biases and points fit together."""
    require(W.ndim == 2, f"W must have shape (neurons, in_dim), got {tuple(W.shape)}")
    require(b.shape == W.shape[:1], f"b must have shape ({len(W)},) like the rows of W, got {tuple(b.shape)}")
    require(
        x.ndim == 2 and x.shape[1] == W.shape[1], f"x must have shape (n, {W.shape[1]}) to fit W, got {tuple(x.shape)}"
    )
    for name, values in (("W", W), ("b", b), ("x", x)):
        require_finite(name, values)


def require_labels(y: torch.Tensor, n: int) -> None:
    """Ask for n labels ±1 of both kinds."""
    require(y.shape == (n,), f"y must have shape ({n},), got {tuple(y.shape)}")
    kinds = sorted({float(value) for value in torch.unique(y)})
    require(set(kinds) <= {-1.0, 1.0}, f"labels must be −1 or +1, got {', '.join(f'{k:g}' for k in kinds[:5])}")
    require(
        len(kinds) == 2,
        f"labels must be of both classes, got only {kinds[0]:+g}" if kinds else "labels must not be empty",
    )
