"""The checked eigendecomposition of a Gram matrix, in which kernel regression is diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.linalg
import torch

from beyondkernels.core import require, require_between
from beyondkernels.kernels.checks import require_finite, tensor

PSD_TOLERANCE = 1e-10
"""The negative eigenvalue that counts as rounding, relative to the largest one in size."""

_LARGEST_WORKSPACE = 32_000  # divide and conquer asks for 2n² numbers, counted in 32 bits
_ROWS = 512


@dataclass(frozen=True)
class Spectrum:
    r"""A symmetric positive semi-definite matrix in its eigenbasis, :math:`K = V \operatorname{diag}(s) V^\top`.

    Arguments:
        values: s, smallest first, none negative, shape (n,).
        vectors: V, one eigenvector a column, shape (n, n).
        clipped: how many eigenvalues came out negative within the tolerance and were set to 0.
    """

    values: torch.Tensor
    vectors: torch.Tensor
    clipped: int

    @property
    def largest(self) -> float:
        return self.values[-1].item()

    @property
    def rounding(self) -> float:
        """Eigenvalues below this, n · eps of the largest, cannot be told from zero in float64."""
        return len(self.values) * torch.finfo(torch.float64).eps * self.largest


def spectrum(gram: torch.Tensor, *, tolerance: float = PSD_TOLERANCE) -> Spectrum:
    r"""Decompose a Gram matrix, or raise an error that says why the matrix is none.

    Divide and conquer (LAPACK's ``syevd`` by SciPy) is the fastest driver on one thread.

    Arguments:
        gram: symmetric and positive semi-definite, shape (n, n).
        tolerance: how far from symmetric it may be, relative to its largest entry, and how far below zero its
            eigenvalues may lie, relative to the largest in size.

    >>> spectrum(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).values
    tensor([1., 3.], dtype=torch.float64)
    >>> spectrum(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: gram is indefinite: its smallest eigenvalue is −1 (index 0, 1 of 2 below
    zero), 0.333 of the largest 3 in size; a kernel's must not lie below −1e-10 of it
    """
    gram = as_symmetric("gram", gram, tolerance)
    require(len(gram) > 0, "gram must hold at least one point, got none")
    # the transpose of a copy is in LAPACK's order and may be overwritten
    matrix = gram.numpy().copy().T
    driver = "evd" if len(gram) <= _LARGEST_WORKSPACE else "evr"
    s, V = scipy.linalg.eigh(matrix, driver=driver, overwrite_a=True, check_finite=False)
    values = torch.from_numpy(s)
    require_not_negative("gram", values, tolerance)
    return Spectrum(values.clamp(min=0), torch.from_numpy(V), int((values < 0).sum()))


def as_symmetric(name: str, gram: torch.Tensor, tolerance: float = PSD_TOLERANCE) -> torch.Tensor:
    """A square matrix as float64, asked to be finite and symmetric up to the tolerance times its largest entry."""
    gram = tensor(name, gram)
    require(
        gram.ndim == 2 and gram.shape[0] == gram.shape[1],
        f"{name} must be square, of shape (n, n), got {tuple(gram.shape)}",
    )
    require_between("tolerance", tolerance, 0, 1, "[)")
    require_finite(name, gram)
    gram = gram.to(torch.float64)
    _require_symmetric(name, gram, tolerance)
    return gram


def require_not_negative(name: str, eigenvalues: torch.Tensor, tolerance: float = PSD_TOLERANCE) -> None:
    """Ask that no eigenvalue lies below −tolerance times the largest in size.

    Arguments:
        name: whose they are.
        eigenvalues: smallest first, shape (n,).
        tolerance: what counts as rounding.
    """
    if len(eigenvalues) == 0:
        return
    smallest, size = eigenvalues[0].item(), eigenvalues.abs().max().item()
    below = int((eigenvalues < -tolerance * size).sum())
    require(
        below == 0,
        f"{name} is indefinite: its smallest eigenvalue is −{-smallest:.3g} (index 0, {below} of {len(eigenvalues)} "
        f"below zero), {-smallest / size if size else 0:.3g} of the largest {size:.3g} in size; a kernel's must not "
        f"lie below −{tolerance:.3g} of it",
    )


def _require_symmetric(name: str, gram: torch.Tensor, tolerance: float) -> None:
    size, worst, where = 0.0, 0.0, (0, 0)
    for i in range(0, len(gram), _ROWS):  # a band at a time: no second matrix
        rows = gram[i : i + _ROWS]
        gap = (rows - gram[:, i : i + _ROWS].T).abs_()
        size, at = max(size, rows.abs().max().item()), int(gap.argmax())
        if gap.reshape(-1)[at] > worst:
            worst, where = gap.reshape(-1)[at].item(), (i + at // len(gram), at % len(gram))
    row, column = where
    require(
        worst <= tolerance * size,
        f"{name} must be symmetric, got entries that differ by {worst:.3g} at ({row}, {column}) and ({column}, {row}), "
        f"{worst / size if size else 0:.3g} of the largest entry",
    )
