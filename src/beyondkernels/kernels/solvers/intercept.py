"""Ridge regression with a fitted intercept, the ridge chosen by exact leave-one-out errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from beyondkernels.core import require
from beyondkernels.kernels.base import points
from beyondkernels.kernels.checks import tensor
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES, RidgePath, outputs, ridge_path
from beyondkernels.kernels.solvers.spectrum import PSD_TOLERANCE


@dataclass(frozen=True)
class RidgeSolution:
    r"""The predictor :math:`f(x) = b + \sum_i \alpha_i K(x, x_i)`, or :math:`b + \langle w, \phi(x)\rangle`.

    Arguments:
        ridge: the one of the grid with the least leave-one-out error. Errors are known up to rounding, eps times the
            condition; of ridges that are equal within it the largest is taken.
        coefficients: α, shape (n, k), or w, shape (features, k).
        intercept: b, shape (k,); zeros where none was fitted.
        loo_errors: squared leave-one-out errors, means over points and outputs, shape (r,).
        loo_residuals: y minus the prediction of each point by the fit to all others, at the chosen ridge, (n, k).
        condition: of the matrix that was decomposed, plus the ridge.
        path: of that matrix, for the targets minus their mean where an intercept was fitted.
    """

    ridge: float
    coefficients: torch.Tensor
    intercept: torch.Tensor
    loo_errors: torch.Tensor
    loo_residuals: torch.Tensor
    condition: float
    path: RidgePath


def solve_gram(
    gram: torch.Tensor,
    y: torch.Tensor,
    ridges: Sequence[float] | None = None,
    *,
    fit_intercept: bool = True,
    tolerance: float = PSD_TOLERANCE,
) -> RidgeSolution:
    r"""Fit :math:`\min_{f, b} \sum_i |y_i - b - f(x_i)|^2 + \lambda |f|^2`: the intercept b is not penalised.

    With :math:`G = (K + \lambda I)^{-1}` the minimum is at

    .. math:: b = \frac{1^\top G y}{1^\top G 1}, \qquad \alpha = G (y - b 1),

    and the fit to all points but the i-th, with an intercept of its own, misses that point by

    .. math:: y_i - f^{(-i)}(x_i) = \frac{\alpha_i}{G_{ii} - [G 1]_i^2 / (1^\top G 1)}.

    Without an intercept b is 0 and the denominator is :math:`G_{ii}`.

    Arguments:
        gram: the kernel on the fitted points, shape (n, n).
        y: targets, shape (n, k).
        ridges: λ; None for the grid of :func:`ridge_path`.
        fit_intercept: whether b is fitted; otherwise it is 0.
        tolerance: how far from symmetric and positive semi-definite the Gram matrix may be.

    >>> solution = solve_gram(torch.zeros(3, 3), torch.tensor([[0.0], [0.0], [3.0]]), [1.0])
    >>> round(solution.intercept.item(), 12)
    1.0
    >>> solution.loo_residuals.T  # each point is predicted by the mean of the others
    tensor([[-1.5000, -1.5000,  3.0000]], dtype=torch.float64)

    Reference: Cawley (2006), Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs.
    """
    gram = tensor("gram", gram)
    # The intercept absorbs any constant, so this changes no result; but less is lost to rounding when the mean is
    # large.
    mean, targets = _centred(outputs("y", y, len(gram)), fit_intercept)
    path = ridge_path(gram, targets, ridges, tolerance=tolerance)
    s, V = path.spectrum.values, path.spectrum.vectors
    shrunk = 1 / (s[:, None] + path.ridges)  # (n, r)
    solved, diagonal = _from_basis(V, (V.T @ targets)[:, None] * shrunk[:, :, None]), V.square() @ shrunk
    offset = torch.zeros_like(solved[0])  # (r, k)
    if fit_intercept:
        ones = V.sum(0)  # the vector of ones in the eigenbasis
        total = ones.square() @ shrunk  # 1ᵀG1, (r,)
        offset = torch.einsum("n,nr,nk->rk", ones, shrunk, V.T @ targets) / total[:, None]
        solved_ones = V @ (ones[:, None] * shrunk)  # G1, (n, r)
        solved -= offset * solved_ones[:, :, None]
        diagonal -= solved_ones.square() / total
    at, errors, residuals = _chosen(path, solved, diagonal)
    return RidgeSolution(
        ridge=path.ridges[at].item(),
        coefficients=solved[:, at].clone(),
        intercept=mean + offset[at],
        loo_errors=errors,
        loo_residuals=residuals,
        condition=path.conditions[at].item(),
        path=path,
    )


def solve_features(
    features: torch.Tensor, y: torch.Tensor, ridges: Sequence[float] | None = None, *, fit_intercept: bool = True
) -> RidgeSolution:
    r"""Fit :math:`\min_{w, b} |y - b 1 - \Phi w|^2 + \lambda |w|^2`, by the smaller of two matrices.

    With fewer points than features this is :func:`solve_gram` of :math:`\Phi \Phi^\top`, and
    :math:`w = \Phi^\top \alpha`. Otherwise the means are subtracted from features and targets,

    .. math::
        w = A\,\Phi_c^\top y_c, \qquad b = \bar y - \langle \bar\phi, w \rangle, \qquad
        A = (\Phi_c^\top \Phi_c + \lambda I)^{-1},

    and a point that is left out is missed by

    .. math:: y_i - f^{(-i)}(x_i) = \frac{[y_c - \Phi_c w]_i}{1 - \tfrac1n - [\Phi_c A \Phi_c^\top]_{ii}}.

    Without an intercept nothing is subtracted, b is 0, and 1/n is missing in the denominator.

    Arguments:
        features: Φ, one row a point, shape (n, features).
        y: targets, shape (n, k).
        ridges: λ; None for the mean of the squared norms of the rows times 100, …, 1e-10.
        fit_intercept: whether b is fitted; otherwise it is 0.

    >>> features, y = torch.arange(5.0, dtype=torch.float64)[:, None], torch.arange(5.0, dtype=torch.float64)[:, None]
    >>> solution = solve_features(features, 2 * y + 7, [0.0])
    >>> round(solution.coefficients.item(), 12), round(solution.intercept.item(), 12)
    (2.0, 7.0)
    """
    features = points("features", features)
    n, m = features.shape
    y = outputs("y", y, n)
    if ridges is None:  # the mean eigenvalue differs between the two matrices, the grid must not
        scale = features.square().sum().item() / n or 1.0
        ridges = [scale * ridge for ridge in RELATIVE_RIDGES]
    if n <= m:
        dual = solve_gram(features @ features.T, y, ridges, fit_intercept=fit_intercept)
        return replace(dual, coefficients=features.T @ dual.coefficients)
    mean, targets = _centred(y, fit_intercept)
    feature_mean, centred = _centred(features, fit_intercept)
    path = ridge_path(centred.T @ centred, centred.T @ targets, ridges)
    s, V = path.spectrum.values, path.spectrum.vectors
    shrunk = 1 / (s[:, None] + path.ridges)
    # Once, for fitted values of all ridges and for the shares left in the residuals.
    rotated = centred @ V
    fitted = _from_basis(rotated, (rotated.T @ targets)[:, None] * shrunk[:, :, None])
    left = 1 - rotated.square_() @ shrunk - (1 / n if fit_intercept else 0.0)
    at, errors, residuals = _chosen(path, targets[:, None] - fitted, left)
    ridge = path.ridges[at].item()
    w = path.coefficients(ridge)
    return RidgeSolution(
        ridge, w, mean - feature_mean @ w, errors, residuals, condition=path.conditions[at].item(), path=path
    )


def _centred(values: torch.Tensor, fit_intercept: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean over points and what is left; with no intercept the mean counts as zero."""
    require(len(values) > 1, f"y must hold at least two points to leave one out, got {len(values)}")
    if not fit_intercept:
        return torch.zeros_like(values[0]), values
    mean = values.mean(0)
    return mean, values - mean


def _from_basis(basis: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Coordinates (m, r, k) times a basis (n, m) of columns: (n, r, k)."""
    return (basis @ values.flatten(1)).unflatten(1, values.shape[1:])


def _chosen(path: RidgePath, residuals: torch.Tensor, share: torch.Tensor) -> tuple[int, torch.Tensor, torch.Tensor]:
    """The index of the best ridge, the errors of all, and the residuals of the best.

    Arguments:
        path: the ridges, the largest first, and their conditions.
        residuals: of the fit to all points, shape (n, r, k), up to a factor for each ridge.
        share: what of each of them is left in the residual when its point is fitted too, shape (n, r), same factor.
    """
    # A share that rounding made negative becomes zero, and the error infinite: such a ridge is not chosen.
    left_out = residuals / torch.where(share > 0, share, 0.0)[:, :, None]
    errors = left_out.square().mean((0, 2)).nan_to_num(nan=math.inf, posinf=math.inf)
    # Errors at small ridges are known only up to the condition times the precision: what cannot be told apart counts as
    # equal, and of equal ridges the largest is the safest.
    at_most = errors * (1 + torch.finfo(errors.dtype).eps * path.conditions)
    best = int((errors <= at_most.min()).to(torch.uint8).argmax())  # the first of equal ones: ridges fall
    require(
        math.isfinite(errors[best].item()),
        f"ridges must be larger for these features, got at most {path.ridges[0]:g}: some point cannot be left out",
    )
    return best, errors, left_out[:, best]
