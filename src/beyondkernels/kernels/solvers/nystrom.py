"""A low-rank factor of a Gram matrix that is never formed, and the preconditioner it gives."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Stream, require
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.solvers.definiteness import INDEFINITE, require_above_rounding, trace_rounding

_CUTOFF = 1e-11  # what is left below this at a point, relative to the largest diagonal entry, is rounding
_KEPT = 1e-4
"""Directions with less than this, relative to the most that is left at a point, are not kept. Rounding grows by the
root of that ratio in every block of pivots. After a few blocks it would look like a negative eigenvalue."""


@dataclass(frozen=True)
class NystromFactor:
    r"""A Nyström approximation from below, :math:`F F^\top = K_{nS} K_{SS}^{+} K_{Sn} \preceq K`.

    Arguments:
        factor: F, shape (n, rank).
        centres: the points S, shape (at least rank,).
        trace_left: the trace of :math:`K - F F^\top` as a fraction of the trace of K.
    """

    factor: torch.Tensor
    centres: torch.Tensor
    trace_left: float


def pivots_at_once(centres: int) -> int:
    """How many centres are drawn together: enough for fast products, few enough to use what earlier draws explain."""
    return max(1, min(128, centres // 10))


def nystrom_factor(kernel: Kernel, x: torch.Tensor, centres: int, stream: Stream, *, tile: int = 512) -> NystromFactor:
    r"""Choose centres at random where the approximation is worst, several at a time (block RPCholesky).

    .. math:: \Pr[i \in S] \propto [K - F F^\top]_{ii}, \qquad
              F \leftarrow [F,\; G H^{-1/2}], \quad G = [K - F F^\top]_{nS},\ H = G_S

    A point that the centres explain already is not drawn again, so clusters of equal points cost nothing, and the
    diagonal of what is missing is known all along. Directions of H that are rounding are left out.

    Arguments:
        kernel: K.
        x: points, float64, shape (n, in_dim).
        centres: how many to draw; fewer when fewer explain everything.
        stream: draws them.
        tile: rows of K computed at a time.

    >>> from beyondkernels.kernels.classical.gaussian import Gaussian
    >>> x = torch.tensor([[0.0], [0.0], [1.0]], dtype=torch.float64)
    >>> nystrom_factor(Gaussian(1.0), x, 3, Stream(0)).factor.shape  # two points coincide
    torch.Size([3, 2])

    Reference: Chen, Epperly, Tropp & Webber, Randomly pivoted Cholesky (2022), Algorithm 2.1 and its block form.
    """
    n = len(x)
    left = kernel.diagonal(x).clone()
    size, trace = left.max().item(), left.sum().item()
    require(left.min().item() >= 0, f"kernel is indefinite: K(x, x) is {left.min().item():.3g} at one of the points")
    F, rank, chosen = torch.empty(n, centres, dtype=torch.float64), 0, []
    taken = 0
    while taken < centres and left.max().item() > _CUTOFF * size:
        together = min(pivots_at_once(centres), centres - taken)
        # the smallest of exponential waiting times at these rates: a draw without replacement
        wait = -torch.log1p(-stream.at(taken).uniform(n, dtype=torch.float64)) / left
        S = wait.topk(together, largest=False).indices
        S = S[left[S] > _CUTOFF * size]
        taken += together
        G = torch.empty(n, len(S), dtype=torch.float64)
        for i in range(0, n, tile):
            G[i : i + tile] = kernel.block(x[i : i + tile], x[S])
        G.addmm_(F[:, :rank], F[S, :rank].T, alpha=-1)
        s, U = torch.linalg.eigh((G[S] + G[S].T) / 2)
        require(
            s[0].item() >= -INDEFINITE * size,
            f"kernel is indefinite: {len(S)} of the points have a Gram matrix with the eigenvalue {s[0].item():.3g} "
            "after what other points explain",
        )
        keep = s > max(_CUTOFF * size, _KEPT * left.max().item())
        new = G @ (U[:, keep] * s[keep].rsqrt())
        F[:, rank : rank + new.shape[1]] = new
        rank += new.shape[1]
        left.sub_(new.square().sum(1)).clamp_(min=0)
        left[S] = 0
        chosen.append(S)
    centre_indices = torch.cat(chosen) if chosen else torch.zeros(0, dtype=torch.int64)
    return NystromFactor(F[:, :rank], centre_indices, left.sum().item() / trace if trace > 0 else 0.0)


class Preconditioner:
    r"""The inverse of :math:`F F^\top + \lambda I`, applied.

    .. math:: (F F^\top + \lambda I)^{-1} r = \frac1\lambda \big(r - F (F^\top F + \lambda I)^{-1} F^\top r\big)

    Arguments:
        factor: F, shape (n, rank).
        ridge: λ.
    """

    def __init__(self, factor: torch.Tensor, ridge: float) -> None:
        self._F, self._lam = factor, ridge
        rank = factor.shape[1]
        A = torch.empty(rank, rank, dtype=torch.float64)
        for j in range(0, rank, 256):  # the lower half is what the Cholesky decomposition reads
            torch.mm(factor[:, j:].T, factor[:, j : j + 256], out=A[j:, j : j + 256])
        rounding = trace_rounding(A.trace().item())
        A.diagonal().add_(ridge)
        self._L, failed = torch.linalg.cholesky_ex(A)
        require_above_rounding(ridge, rounding, not failed.item())

    def __call__(self, r: torch.Tensor) -> torch.Tensor:
        """Applied to each column."""
        F = self._F
        return r.sub(F @ torch.cholesky_solve(F.T @ r, self._L)).div_(self._lam)
