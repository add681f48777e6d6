"""A second route for verification: plain linear algebra without any of the structure that the first routes use."""

from __future__ import annotations

from collections.abc import Sequence

import scipy.linalg
import torch

from beyondkernels.certificates.span import Parity, Span

_ABSENT = 1e-13


class LeastSquaresSpan(Span):
    """The span of functions given by their values at every point, by a QR decomposition with pivoting.

    Arguments:
        signs: the points, shape (points, coordinates), entries ±1.
        values: of the functions, shape (points, functions).
    """

    def __init__(self, signs: torch.Tensor, values: torch.Tensor):
        # Another route to the same span on purpose: a check with the decomposition that it checks would share its
        # mistakes.
        Q, R, _ = map(torch.from_numpy, scipy.linalg.qr(values.numpy(), mode="economic", pivoting=True))
        sizes = R.diagonal().abs()
        present = sizes > _ABSENT * sizes[0]
        self._signs = signs
        self._basis = Q[:, present]
        self.dimension = int(present.sum())
        self.error = 1e-14 * float(sizes[0] / sizes[present].min())

    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        values = torch.stack([self._signs[:, list(T)].prod(1) for T in parities], 1)
        return self._basis.T @ values / len(self._signs) ** 0.5
