"""Second routes for verification: plain linear algebra without any of the structure that the first routes use."""

from __future__ import annotations

from collections.abc import Sequence

import scipy.linalg
import torch

from beyondkernels.core import InputError
from beyondkernels.theory.certificates.coefficients import DegreeCoefficients
from beyondkernels.theory.certificates.krawtchouk import krawtchouk
from beyondkernels.theory.certificates.span import Parity, Span

_ABSENT = 1e-13
_LARGEST_CONDITION = 1e11


class LeastSquaresSpan(Span):
    """The span of functions given by their values at every point, by a QR decomposition with pivoting.

    Arguments:
        signs: the points, shape (points, coordinates), entries ±1.
        values: of the functions, shape (points, functions).
    """

    def __init__(self, signs: torch.Tensor, values: torch.Tensor):
        Q, R, _ = map(torch.from_numpy, scipy.linalg.qr(values.numpy(), mode="economic", pivoting=True))
        sizes = R.diagonal().abs()
        present = sizes > _ABSENT * sizes[0]
        self._signs = signs
        self._basis = Q[:, present]
        self.dimension = int(present.sum())
        self.error = 1e-14 * float(sizes[0] / sizes[present].min())

    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        """Means over the cube of basis functions times parities."""
        values = torch.stack([self._signs[:, list(T)].prod(1) for T in parities], 1)
        return self._basis.T @ values / len(self._signs) ** 0.5


class PlainGramSpan(Span):
    r"""The span of K(·, a) for signs a from the eigenvectors of :math:`\sum_j \lambda_j^2 \mathcal K_j(h)` in float64.

    Eigenvalues below 1e-13 of the largest count as absent. A condition number above 1e11 of the rest is refused.

    Arguments:
        signs: the training points, shape (n, d), entries ±1.
        coefficients: of the kernel.
    """

    def __init__(self, signs: torch.Tensor, coefficients: DegreeCoefficients):
        signs = torch.unique(signs, dim=0)
        d, table = signs.shape[1], krawtchouk(signs.shape[1])
        squares = [value**2 for value in coefficients.values]
        by_distance = [sum(square * table[j][h] for j, square in enumerate(squares)) for h in range(d + 1)]
        distances = ((d - signs @ signs.T) / 2).round().long()
        gram = torch.tensor([float(value) for value in by_distance], dtype=torch.float64)[distances]
        eigenvalues, vectors = torch.linalg.eigh(gram)
        present = eigenvalues > _ABSENT * eigenvalues[-1]
        condition = float(eigenvalues[-1] / eigenvalues[present].min())
        if not condition <= _LARGEST_CONDITION:
            raise InputError(f"the Gram matrix has condition {condition:.2g}, float64 bears {_LARGEST_CONDITION:g}")
        self._signs, self._coefficients = signs, coefficients
        self._vectors, self._roots = vectors[:, present], eigenvalues[present].sqrt()
        self.dimension, self.error = int(present.sum()), 1e-15 * condition

    def coordinates(self, parities: Sequence[Parity]) -> torch.Tensor:
        """The components along the eigenvectors."""
        scales = torch.tensor([float(self._coefficients.values[len(T)]) for T in parities], dtype=torch.float64)
        values = torch.stack([self._signs[:, list(T)].prod(1) for T in parities], 1) * scales
        return self._vectors.T @ values / self._roots[:, None]
