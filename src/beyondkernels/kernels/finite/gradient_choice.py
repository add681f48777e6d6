"""The gradient of any function in its parameters: the fastest way that is right, which is found out at a few points."""

from __future__ import annotations

from collections.abc import Callable

import torch

from beyondkernels.core import Stream, Tensors
from beyondkernels.kernels.finite.factors import JacobianGradient, OneByOneGradient
from beyondkernels.kernels.finite.memory import peak_bytes


def checked_jacobian(
    function: Callable[[Tensors, torch.Tensor], torch.Tensor], params: Tensors, x: torch.Tensor, dtype: torch.dtype
) -> tuple[JacobianGradient, int]:
    """torch.func's Jacobian where it holds, otherwise one point and output at a time; and the bytes the check took.

    Arguments:
        function: (parameters, one point) ↦ (k,).
        params: the parameters in which derivatives are taken.
        x: points, which say the shape and the size of inputs.
        dtype: of all arithmetic.
    """
    gradient = JacobianGradient(function, params, dtype)
    if not len(x):
        return gradient, 0
    right = False

    def check() -> None:
        nonlocal right
        right = gradient.holds(_points_to_check(function, params, x, dtype))

    checking = peak_bytes(check)
    return (gradient if right else OneByOneGradient(function, params, dtype)), checking


def others(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Three points like the given ones: random if they are real numbers, otherwise some of the given ones.

    Points of the user's own could hide a mistake: at zero, or where all neurons are silent, every gradient agrees.
    """
    if not x.is_floating_point():
        return _three_of(x)
    drawn = Stream(0).child("check").normal(3, *x.shape[1:], dtype=torch.float64)
    return (drawn * (x.square().mean().sqrt() or 1.0)).to(dtype)


def _points_to_check(
    function: Callable[[Tensors, torch.Tensor], torch.Tensor], params: Tensors, x: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """Three points at which the function has a value. A module may not take random ones."""
    found = others(x, dtype)
    try:
        with torch.no_grad():
            for point in found:
                function(params, point)
    except Exception:  # whatever the user's module raises
        return _three_of(x)
    return found


def _three_of(x: torch.Tensor) -> torch.Tensor:
    return x[torch.arange(3) % len(x)]
