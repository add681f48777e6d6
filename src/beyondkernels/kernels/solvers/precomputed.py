"""A Gram matrix that is computed once and looked up afterwards."""

from __future__ import annotations

import torch

from beyondkernels.kernels.base import Kernel


class Stored(Kernel):
    """The kernel of points that are known by their places: rows of a Gram matrix.

    An iterative solver asks for every entry once in each iteration. Where the matrix fits into memory, looking entries
    up is many times faster than computing them, above all for tangent kernels. It holds a tensor, so it is no dataclass
    and has no identity.

    Arguments:
        gram: the matrix, (n, n).

    >>> kernel = Stored(torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64))
    >>> kernel(kernel.places, kernel.places[1:]).tolist()
    [[1.0], [3.0]]
    """

    def __init__(self, gram: torch.Tensor) -> None:
        self._gram = gram

    @property
    def places(self) -> torch.Tensor:
        """The points, as the kernel takes them, (n, 1)."""
        return torch.arange(len(self._gram), dtype=torch.float64)[:, None]

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        rows, columns = _places(x1), _places(x2)
        if isinstance(rows, slice) or isinstance(columns, slice):
            return self._gram[rows, columns].clone()
        return self._gram[rows[:, None], columns]

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self._gram.diagonal()[x[:, 0].long()]


def _places(x: torch.Tensor) -> torch.Tensor | slice:
    """The numbers of points; a slice where each follows on the last, which is read a hundred times as fast."""
    numbers = x[:, 0].long()
    follow = len(numbers) > 0 and bool((numbers[1:] - numbers[:-1] == 1).all())
    return slice(int(numbers[0]), int(numbers[-1]) + 1) if follow else numbers
