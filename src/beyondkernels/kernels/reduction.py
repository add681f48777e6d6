"""Exact reductions of a feature map: inputs to their span, equal neurons to one."""

from __future__ import annotations

import torch

from beyondkernels.core import require_between
from beyondkernels.kernels.checks import require_finite, tensor


def span_basis(x: torch.Tensor, tolerance: float = 1e-5) -> torch.Tensor:
    r"""An orthonormal basis of the span of the rows of x, shape (in_dim, rank), in float64.

    The eigenvectors of :math:`x^\top x` with eigenvalues above tolerance² times the largest. Weights that a ridge
    classifier gives to x lie in the span of the train inputs, so that ⟨w, x⟩ = ⟨Qᵀw, Qᵀx⟩ for every x, in the span
    or not. Inputs of full rank, or whose rows leave the found span by more than tolerance times the largest norm,
    give the identity: no reduction.

    Arguments:
        x: inputs, shape (n, in_dim).
        tolerance: the relative length below which a direction counts as rounding.

    >>> span_basis(torch.tensor([[3.0, 4.0], [6.0, 8.0]])).abs().round(decimals=6).T.tolist()
    [[0.6, 0.8]]
    """
    require_between("tolerance", tolerance, 0, 1, "()")
    x = tensor("x", x).to(torch.float64)
    require_finite("x", x)
    eigenvalues, Q = torch.linalg.eigh(x.T @ x)
    Q = Q[:, eigenvalues > tolerance**2 * eigenvalues.max().clamp(min=0)]
    norms = x.square().sum(1)
    outside = (norms - (x @ Q).square().sum(1)).max()  # |x − QQᵀx|², good to float64's rounding of |x|²
    exact = bool(outside <= tolerance**2 * norms.max())
    if 0 < Q.shape[1] < x.shape[1] and exact:
        return Q
    return torch.eye(x.shape[1], dtype=torch.float64)


def merge_neurons(
    W: torch.Tensor, b: torch.Tensor, a: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    r"""One neuron for each group of neurons with bitwise equal (w, b).

    With a ridge on all weights, features :math:`s_1 f, \dots, s_c f` have the kernel of the one feature
    :math:`\sqrt{s_1^2 + \dots + s_c^2}\, f`, so they give the same predictions. For neurons :math:`s_i = 1`, for the
    derivatives with respect to w and b :math:`s_i = a_i`.

    Arguments:
        W: weights, shape (neurons, in_dim).
        b: biases, shape (neurons,).
        a: second-layer weights, shape (neurons,); ones if not given.

    Returns:
        W and b of the groups, their sizes, and the root of their sums of a².

    Reference: the unbiased initialisation of Shi, Wei & Liang (features), §3.1, repeats every neuron with −a.
    """
    a = torch.ones_like(b) if a is None else a
    groups, inverse, counts = torch.unique(
        torch.cat([W, b[:, None]], 1), dim=0, return_inverse=True, return_counts=True
    )
    squares = torch.zeros(len(groups), dtype=W.dtype).index_add_(0, inverse, a.square())
    return groups[:, :-1], groups[:, -1], counts.to(W.dtype), squares.sqrt()
