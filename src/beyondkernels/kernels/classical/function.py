"""A user's own kernel function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from beyondkernels.core import require
from beyondkernels.kernels.base import Kernel, symmetric
from beyondkernels.kernels.checks import require_finite, tensor

_ROWS = 32
"""Rows of the small matrices whose diagonals are taken."""

_SYMMETRY = 1e-10
"""The asymmetry that counts as rounding, relative to the largest entry."""


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """A kernel from a function of two batches.

    The function is asked for blocks of any shape; what it returns is checked and copied. Symmetry is checked on every
    square matrix; :func:`check_kernel` checks the rest.

    Arguments:
        function: of x1 (n1, in_dim) and x2 (n2, in_dim), float64, giving their block (n1, n2) in float64, as a tensor
            or an array; a named function of a module where runs are to be stored.
        name: what to call it in tables and errors.

    >>> def cubic(x1, x2):
    ...     return (x1 @ x2.T) ** 3
    >>> FunctionKernel(cubic, "cubic")(torch.tensor([[1.0], [2.0]])).tolist()
    [[1.0, 8.0], [8.0, 64.0]]
    """

    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor | np.ndarray]
    name: str

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        out = tensor(f"what {self.name} returns", self.function(x1, x2))
        shape = (len(x1), len(x2))
        require(
            tuple(out.shape) == shape and out.dtype == torch.float64,
            f"{self.name} must return float64 of shape {shape} for batches of {len(x1)} and {len(x2)} points, "
            f"got {str(out.dtype).removeprefix('torch.')} of shape {tuple(out.shape)}",
        )
        require_finite(f"what {self.name} returns", out)
        return out.clone()  # the function may keep what it returned, or return what it was given

    def square(self, x: torch.Tensor) -> torch.Tensor:
        gram = self.block(x, x)
        asymmetry = (gram - gram.T).abs_()
        if len(x):
            worst, largest = float(asymmetry.max()), float(gram.abs().max())
            i, j = divmod(int(asymmetry.argmax()), len(x))
            require(
                worst <= _SYMMETRY * largest,
                f"{self.name} must be symmetric to be a kernel, got K(x{i}, x{j}) = {float(gram[i, j]):.6g} and "
                f"K(x{j}, x{i}) = {float(gram[j, i]):.6g}, the largest asymmetry ({worst:.3g})",
            )
        return symmetric(gram, self._diagonal(x))

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(len(x), dtype=torch.float64)
        for start in range(0, len(x), _ROWS):
            part = x[start : start + _ROWS]
            out[start : start + _ROWS] = self.block(part, part).diagonal()
        return out
