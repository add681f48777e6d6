"""Matrices as components hold them, and random ones with given singular values."""

from __future__ import annotations

import functools

import torch

from beyondkernels.core import Stream, require

Matrix = tuple[tuple[float, ...], ...]
"""A matrix as rows of numbers, the form in which a component holds it."""


def conditioned(rows: int, columns: int, kappa: float, stream: Stream) -> torch.Tensor:
    r"""A random matrix :math:`U \Lambda V` whose singular values are spread evenly in logarithm from κ to 1/κ.

    U and V are uniformly random with orthonormal rows. A single singular value is 1.

    Reference: Allen-Zhu & Li (bfc), Remark 3.1; the spacing of the singular values is ours.
    """
    r = min(rows, columns)
    spaced = torch.linspace(1, -1, r, dtype=torch.float64) if r > 1 else torch.zeros(1, dtype=torch.float64)
    left, right = _orthonormal(rows, r, stream.child("left")), _orthonormal(columns, r, stream.child("right"))
    return (left * float(kappa) ** spaced) @ right.T


def _orthonormal(rows: int, columns: int, stream: Stream) -> torch.Tensor:
    """Orthonormal columns, uniformly random."""
    q, r = torch.linalg.qr(stream.normal(rows, columns, dtype=torch.float64))
    return q * r.diagonal().sign()


def require_root(name: str, root: Matrix) -> None:
    """Ask for an invertible square matrix."""
    sizes = {len(row) for row in root}
    require(
        len(root) > 0 and sizes == {len(root)},
        f"{name} must be a square matrix, got {len(root)} rows of {sorted(sizes)} numbers",
    )
    values = torch.linalg.svdvals(matrix(root))
    require(
        bool(values.isfinite().all()) and float(values[-1]) > 1e-9 * float(values[0]),
        f"{name} must have positive singular values, got {float(values[-1]):.3g} beside {float(values[0]):.3g}",
    )


def require_size(name: str, root: float | Matrix, dim: int) -> None:
    """Ask that a matrix has the size of the inputs."""
    size = len(root) if isinstance(root, tuple) else dim
    require(size == dim, f"{name} must be {dim} × {dim} for inputs of dimension {dim}, got {size} × {size}")


@functools.lru_cache(maxsize=64)
def matrix(rows: tuple[tuple[float, ...], ...]) -> torch.Tensor:
    """A matrix from its rows, float64. It is shared, so do not write to it."""
    return torch.tensor(rows, dtype=torch.float64)


def root_of(root: float | Matrix, dim: int) -> torch.Tensor:
    """Σ, (d, d) float64; a number stands for that multiple of the identity."""
    return matrix(root) if isinstance(root, tuple) else float(root) * torch.eye(dim, dtype=torch.float64)


def nested(values: torch.Tensor) -> Matrix:
    """The rows of a matrix as tuples."""
    return tuple(tuple(row) for row in values.tolist())
