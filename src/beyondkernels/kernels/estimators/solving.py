"""Ridge regression of targets minus their mean, the ridge chosen by exact leave-one-out errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from beyondkernels.core import require
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES, RidgePath, ridge_path


@dataclass(frozen=True)
class CentredRidge:
    r"""The predictor :math:`f(x) = \bar y + \sum_i \alpha_i K(x, x_i)`, or :math:`\bar y + \langle w, \phi(x)\rangle`.

    Arguments:
        ridge: the one of the grid with the least leave-one-out error. Errors are known up to rounding, eps times the
            condition; of ridges that are equal within it the largest is taken.
        coefficients: α, shape (n, k), or w, shape (features, k).
        intercept: ȳ, shape (k,).
        loo_errors: squared leave-one-out errors, means over points and outputs, shape (r,).
        loo_residuals: y minus the prediction of each point by the fit to all others, at the chosen ridge, (n, k).
        condition: of the matrix that was solved with.
        path: of that matrix.
    """

    ridge: float
    coefficients: torch.Tensor
    intercept: torch.Tensor
    loo_errors: torch.Tensor
    loo_residuals: torch.Tensor
    condition: float
    path: RidgePath


def solve_gram(
    gram: torch.Tensor, y: torch.Tensor, ridges: Sequence[float] | None = None, *, tolerance: float = 1e-10
) -> CentredRidge:
    r"""Fit :math:`\alpha = (K + \lambda I)^{-1} (y - \bar y)`.

    The fit without point i has another mean, :math:`\bar y - c_i / (n - 1)` with :math:`c = y - \bar y`. The errors are
    exact in this too: with :math:`G = (K + \lambda I)^{-1}`,

    .. math:: y_i - f^{(-i)}(x_i) = \frac{[G c]_i + \frac{c_i}{n - 1} [G 1]_i}{G_{ii}}.

    Arguments:
        gram: the kernel on the fitted points, shape (n, n).
        y: targets, shape (n, k).
        ridges: λ; None for the grid of :func:`ridge_path`.
        tolerance: how far from symmetric and positive semi-definite the Gram matrix may be.
    """
    mean, centred = _centred(y)
    path = ridge_path(gram, centred, ridges, tolerance=tolerance)
    s, V = path.spectrum.values, path.spectrum.vectors
    shrunk = 1 / (s[:, None] + path.ridges)  # (n, r)
    rotated = (V.T @ _and_ones(centred))[:, None] * shrunk[:, :, None]
    solved = (V @ rotated.flatten(1)).unflatten(1, rotated.shape[1:])
    return _chosen(path, mean, centred, solved, V.square() @ shrunk)


def solve_features(features: torch.Tensor, y: torch.Tensor, ridges: Sequence[float] | None = None) -> CentredRidge:
    r"""Fit :math:`w = (\Phi^\top \Phi + \lambda I)^{-1} \Phi^\top (y - \bar y)`, by the smaller of two matrices.

    With fewer points than features, :math:`w = \Phi^\top \alpha` with α of the kernel :math:`\Phi \Phi^\top`. Otherwise
    the errors are those of :func:`solve_gram` with

    .. math:: \lambda G = I - \Phi\,(\Phi^\top\Phi + \lambda I)^{-1}\,\Phi^\top.

    Arguments:
        features: Φ, one row a point, shape (n, features).
        y: targets, shape (n, k).
        ridges: λ; None for the mean of the squared norms of the rows times 100, …, 1e-10.
    """
    n, m = features.shape
    if ridges is None:  # the mean eigenvalue differs between the two matrices, the grid must not
        scale = features.square().sum().item() / n or 1.0
        ridges = [scale * ridge for ridge in RELATIVE_RIDGES]
    if n <= m:
        dual = solve_gram(features @ features.T, y, ridges)
        return replace(dual, coefficients=features.T @ dual.coefficients)
    mean, centred = _centred(y)
    path = ridge_path(features.T @ features, features.T @ centred, ridges)
    s, V = path.spectrum.values, path.spectrum.vectors
    shrunk = 1 / (s[:, None] + path.ridges)
    rotated = features @ V
    targets = _and_ones(centred)
    fitted = (rotated.T @ targets)[:, None] * shrunk[:, :, None]
    left = targets[:, None] - (rotated @ fitted.flatten(1)).unflatten(1, fitted.shape[1:])
    return _chosen(path, mean, centred, left, 1 - rotated.square() @ shrunk)


def _centred(y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    require(len(y) > 1, f"y must hold at least two points to leave one out, got {len(y)}")
    mean = y.mean(0)
    return mean, y - mean


def _and_ones(centred: torch.Tensor) -> torch.Tensor:
    return torch.cat([centred, torch.ones_like(centred[:, :1])], 1)


def _chosen(
    path: RidgePath, mean: torch.Tensor, centred: torch.Tensor, solved: torch.Tensor, diagonal: torch.Tensor
) -> CentredRidge:
    """The best ridge, from G c and G 1 (n, r, k + 1) and the diagonal of G (n, r), up to a factor for each ridge."""
    learned = centred / (len(centred) - 1)
    residuals = (solved[..., :-1] + learned[:, None] * solved[..., -1:]) / diagonal[:, :, None]
    errors = residuals.square().mean((0, 2)).nan_to_num(nan=math.inf, posinf=math.inf)
    at_most = errors * (1 + torch.finfo(errors.dtype).eps * path.conditions)
    best = int((errors <= at_most.min()).to(torch.uint8).argmax())  # the first of equal ones: ridges fall
    ridge = path.ridges[best].item()
    require(
        math.isfinite(errors[best].item()),
        f"ridges must be larger for these features, got at most {path.ridges[0]:g}: some point cannot be left out",
    )
    return CentredRidge(
        ridge, path.coefficients(ridge), mean, errors, residuals[:, best], path.conditions[best].item(), path
    )
