"""Matrices of the form RᵀR, compared and decomposed without being formed."""

from __future__ import annotations

import torch


def outer_cosine(first: torch.Tensor, second: torch.Tensor) -> float:
    r"""The cosine of two matrices that are given by their factors, as vectors of all their entries.

    .. math:: \frac{\langle R^\top R, W^\top W \rangle}{\|R^\top R\|_F\, \|W^\top W\|_F}
              = \frac{\|R W^\top\|_F^2}{\|R R^\top\|_F\, \|W W^\top\|_F}

    It is 0 where one of them is zero. The right side needs no matrix of inputs by inputs.

    Arguments:
        first: R, shape (r, d).
        second: W, shape (m, d).

    >>> outer_cosine(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 0.0], [0.0, 3.0]]))
    0.7071...
    """
    R, W = _unit(first), _unit(second)
    size = (R @ R.T).norm() * (W @ W.T).norm()
    return ((R @ W.T).square().sum() / size).item() if size > 0 else 0.0


def root_cosine(first: torch.Tensor, second: torch.Tensor) -> float:
    r"""The cosine of the square root of one matrix with another one, both given by their factors.

    .. math:: \frac{\langle (R^\top R)^{1/2}, W^\top W \rangle}{\|(R^\top R)^{1/2}\|_F\, \|W^\top W\|_F}
              = \frac{\sum_j s_j \|W v_j\|^2}{\|R\|_F\, \|W W^\top\|_F}, \qquad R = U \,\mathrm{diag}(s)\, V^\top

    It is 0 where one of them is zero.

    Arguments:
        first: R, shape (r, d).
        second: W, shape (m, d).

    >>> R = torch.tensor([[4.0, 0.0], [0.0, 1.0]])  # the root of RᵀR is R
    >>> root_cosine(R, torch.tensor([[2.0, 0.0], [0.0, 1.0]]))  # WᵀW = R
    1.0
    """
    R, W = _unit(first), _unit(second)
    _, s, Vt = torch.linalg.svd(R, full_matrices=False)
    size = R.norm() * (W @ W.T).norm()
    return ((s * (Vt @ W.T).square().sum(1)).sum() / size).item() if size > 0 else 0.0


def top_directions(factor: torch.Tensor, top: int) -> tuple[torch.Tensor, torch.Tensor]:
    r"""The leading eigenvectors of :math:`R^\top R`, and the share of each eigenvalue in their sum.

    The entry of an eigenvector that is largest in size is positive. Shares of the zero matrix are 0.

    Arguments:
        factor: R, shape (r, d).
        top: how many at most.

    >>> top_directions(torch.tensor([[0.0, -3.0], [1.0, 0.0]]), top=1)
    (tensor([[0., 1.]], dtype=torch.float64), tensor([0.9000], dtype=torch.float64))
    """
    _, s, Vt = torch.linalg.svd(_unit(factor), full_matrices=False)
    vectors = Vt[:top]
    signs = vectors.gather(1, vectors.abs().argmax(1, keepdim=True)).sign()
    total = s.square().sum()
    return vectors * signs, s[:top].square() / total if total > 0 else torch.zeros_like(s[:top])


def factor_of(matrix: torch.Tensor) -> torch.Tensor:
    """R with RᵀR equal to a matrix that is symmetric and positive semi-definite, up to rounding.

    Arguments:
        matrix: shape (d, d).
    """
    s, V = torch.linalg.eigh((matrix + matrix.T) / 2)
    return s.clamp(min=0).sqrt()[:, None] * V.T


def _unit(factor: torch.Tensor) -> torch.Tensor:
    """In float64 and of size one, so that no power of a tiny number is lost."""
    factor = factor.double()
    size = factor.norm()
    return factor / size if size > 0 else factor
