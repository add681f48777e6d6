"""Weights that make a random hidden layer write a given function: what Lemma C.2 says exist, on a sample."""

from __future__ import annotations

import torch

from beyondkernels.core import require


def least_witness(
    readout: torch.Tensor, initial: torch.Tensor, points: torch.Tensor, values: torch.Tensor, ridge: float = 1e-9
) -> torch.Tensor:
    r"""The weights of smallest Frobenius norm with which frozen random gates write given values.

    .. math:: M^\star = \arg\min_M \|M\|_F^2 \quad\text{such that}\quad
              A\,\mathrm{diag}\{1_{M^{(0)}(z_i, 1) \ge 0}\}\,M\,(z_i, 1) = v_i \text{ for all } i

    Lemma C.2 proves that weights of norm at most τ/10 exist that do so for a smooth function at all points; these do
    it at the points given, with the least norm, so that their norm is a lower bound on that of any which write these
    values. (W* is the case of the inputs and F(x), V* that of F(x) and αG(F(x)).) They are found as kernel regression
    with the Gram matrix :math:`(z_i \cdot z_j + 1)\sum_l A_{rl} A_{sl} D_{il} D_{jl}` over points and outputs.

    Arguments:
        readout: A, (k, m).
        initial: :math:`M^{(0)}`, (m, p + 1), its last column the biases.
        points: :math:`z_i`, (n, p).
        values: :math:`v_i`, (n, k).
        ridge: added to the Gram matrix as this part of its mean diagonal; above zero values are met nearly.

    >>> A, M = torch.tensor([[1.0, -2.0]]), torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> least_witness(A, M, torch.tensor([[1.0]]), torch.tensor([[3.0]]))[0]  # the second neuron is silent there
    tensor([1.5000, 1.5000], dtype=torch.float64)

    Reference: Allen-Zhu & Li (resnet), Lemma C.2.
    """
    require(ridge >= 0, f"ridge must not be negative, got {ridge}")
    A, M0, v = readout.double(), initial.double(), values.double()
    z = torch.cat([points.double(), points.new_ones(len(points), 1).double()], 1)
    require(
        M0.shape == (A.shape[1], z.shape[1]) and v.shape == (len(z), A.shape[0]),
        f"shapes must fit as (k, m), (m, p + 1), (n, p), (n, k), got {tuple(readout.shape)}, {tuple(initial.shape)}, "
        f"{tuple(points.shape)}, {tuple(values.shape)}",
    )
    (n, k), D = v.shape, (z @ M0.T >= 0).double()
    B = (A * D[:, None, :]).reshape(n * k, -1)
    gram = ((B @ B.T).reshape(n, k, n, k) * (z @ z.T)[:, None, :, None]).reshape(n * k, n * k)
    gram.diagonal().add_(ridge * gram.diagonal().mean())
    factor, wrong = torch.linalg.cholesky_ex(gram)
    require(int(wrong) == 0, f"ridge must be larger for these {n} points and {k} outputs, got {ridge}")
    c = torch.cholesky_solve(v.reshape(n * k, 1), factor).reshape(n, k)
    return (D * (c @ A)).T @ z
