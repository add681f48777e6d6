"""What tensors must be before anything is computed from them."""

from __future__ import annotations

import torch

from beyondkernels.core import require

MEMORY = 2**31
"""Bytes that a computation may take beside its input and its result, unless told otherwise."""


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
