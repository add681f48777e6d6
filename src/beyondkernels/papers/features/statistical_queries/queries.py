"""Queries: functions of a point and its label with values in [−1, 1]."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

from beyondkernels.core import InputError, require, shown

Query: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""From points (n, d) and labels (n,) to values (n,), or (n, q) for q queries at once, all in [−1, 1]."""

Factor: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""From points (n, d) to values (n, b) in [−1, 1]."""

SLACK = 1e-5
"""By how much rounding may carry a value beyond [−1, 1], or change it from one call to the next."""


def values_of(name: str, values: object, count: int) -> torch.Tensor:
    """The values of one or several functions as (n, q), checked and cut to [−1, 1] where rounding carried them beyond.

    Arguments:
        name: of the functions, for the sentence.
        values: what they gave.
        count: n.
    """
    if not isinstance(values, torch.Tensor) or values.is_complex():
        raise InputError(f"{name} must give a tensor of real numbers, got {shown(values)}")
    require(
        values.ndim in (1, 2) and len(values) == count and values.numel() > 0,
        f"{name} must give a value for each of the {count} points, in shape ({count},) or ({count}, q), got shape "
        f"{tuple(values.shape)}",
    )
    found = values.detach().to(torch.float64 if values.dtype == torch.float64 else torch.float32)
    found = found[:, None] if found.ndim == 1 else found
    low, high = (float(end) for end in torch.aminmax(found))
    require(
        low >= -1 - SLACK and high <= 1 + SLACK,
        f"{name} must have values in [-1, 1], got values from {low:.4g} to {high:.4g}",
    )
    return found if low >= -1 and high <= 1 else found.clamp(-1, 1)


def weighted_mean(left: torch.Tensor, right: torch.Tensor | None, weights: torch.Tensor) -> torch.Tensor:
    """The weighted mean of all products, (a, b) float64."""
    weighted = left.T * weights.to(left.dtype)
    if right is None:
        return weighted.sum(1, keepdim=True, dtype=torch.float64)
    return (weighted @ right.to(left.dtype)).double()
