"""How far features are from others, when a rotation of them does not count."""

from __future__ import annotations

import torch

from beyondkernels.core import require


def aligned(target: torch.Tensor, found: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    r"""The unitary matrix that brings some features closest to others, and the features after it.

    .. math:: U = \arg\min_{U^\top U = I} E\|S^\star - U S\|^2 = P Q^\top
              \quad\text{where}\quad E[S^\star S^\top] = P \Sigma Q^\top

    Where the dimensions differ, the smaller features get zeros as further coordinates.

    Arguments:
        target: S*, (n, k).
        found: S, (n, m).

    Returns:
        U, (r, r) with r = max(k, m), and US at the points, (n, r).

    >>> S = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    >>> aligned(S, S.flip(1))[0]
    tensor([[0., 1.],
            [1., 0.]], dtype=torch.float64)

    Reference: Allen-Zhu & Li (bfc), Theorem 2; Schönemann (1966), A generalized solution of the orthogonal Procrustes
    problem.
    """
    _require_points(target, found)
    r = max(target.shape[1], found.shape[1])
    S_star, S = padded(target, r), padded(found, r)
    P, _, Qt = torch.linalg.svd(S_star.T @ S)
    U = P @ Qt
    return U, S @ U.T


def procrustes(target: torch.Tensor, found: torch.Tensor) -> float:
    r"""The mean squared distance of features up to a unitary matrix.

    .. math:: \min_U E\|S^\star - US\|^2 = E\|S^\star\|^2 + E\|S\|^2 - 2\,\|E[S^\star S^\top]\|_\star

    It is computed from the differences themselves: the right side subtracts nearly equal numbers where the features are
    close.

    Arguments:
        target: S*, (n, k).
        found: S, (n, m).

    >>> S = torch.eye(3, dtype=torch.float64)
    >>> procrustes(S, 2 * S)
    1.0

    Reference: Allen-Zhu & Li (bfc), Theorem 2.
    """
    U, moved = aligned(target, found)
    return (padded(target, len(U)) - moved).square().sum(1).mean().item()


def distilled(found: torch.Tensor, size: int) -> torch.Tensor:
    r"""The leading principal directions of features: what is left of an over-parameterised layer after distillation.

    .. math:: SV, \qquad V \text{ the leading eigenvectors of } E[SS^\top]

    Theorem 2 speaks of features of dimension :math:`k_\ell`, which the paper's network has after INITIAL-DISTILL. A
    plain layer has more neurons. Its further directions can carry errors of order :math:`\alpha_{\ell+1}` where the
    leading ones carry :math:`\alpha_{\ell+1}^2`. The choice by the covariance of the features is ours; the paper takes
    the singular vectors of weights.

    Arguments:
        found: S, (n, m).
        size: how many directions.

    >>> distilled(torch.tensor([[1.0, 2.0], [-1.0, 2.0]], dtype=torch.float64), 1).abs()
    tensor([[2.],
            [2.]], dtype=torch.float64)
    """
    require(size >= 1, f"size must be at least 1, got {size}")
    if size >= found.shape[1]:
        return found
    return found @ torch.linalg.eigh(found.T @ found).eigenvectors[:, -size:]


def linear_error(target: torch.Tensor, found: torch.Tensor) -> float:
    r"""What no linear map of the found features gives of the others: :math:`\min_A E\|S^\star - AS\|^2`.

    It is zero where the found features hold the others in whatever basis, also where they are more. Ours.

    Arguments:
        target: S*, (n, k).
        found: S, (n, m).

    >>> S = torch.eye(3, dtype=torch.float64)
    >>> round(linear_error(S, 2 * S), 12)
    0.0
    """
    _require_points(target, found)
    # gelsd copes with features that are zero or depend on each other
    A = torch.linalg.lstsq(found, target, driver="gelsd").solution
    return (target - found @ A).square().sum(1).mean().item()


def padded(features: torch.Tensor, dim: int) -> torch.Tensor:
    """Features with zeros as further coordinates, (n, dim)."""
    return torch.nn.functional.pad(features, (0, dim - features.shape[1]))


def _require_points(target: torch.Tensor, found: torch.Tensor) -> None:
    require(
        target.ndim == found.ndim == 2 and len(target) == len(found) > 0,
        f"features must be matrices with a row for each point, got shapes {tuple(target.shape)} "
        f"and {tuple(found.shape)}",
    )
