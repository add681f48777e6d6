"""Kernel ridge regression: the whole path of ridges, with exact leave-one-out errors, from one eigendecomposition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from beyondkernels.core import require, unknown
from beyondkernels.kernels.checks import require_finite, tensor
from beyondkernels.kernels.solvers.spectrum import PSD_TOLERANCE, Spectrum, spectrum

RELATIVE_RIDGES = tuple(10 ** (2 - 12 * i / 29) for i in range(30))
"""100, …, 1e-10: the ridges tried when none are given, relative to the mean of the Gram matrix's diagonal."""

_LARGEST = 1e150


@dataclass(frozen=True)
class RidgePath:
    r"""Kernel ridge regression at every ridge of a grid.

    .. math:: f_\lambda(x) = \sum_i \alpha_i K(x, x_i), \qquad (K + \lambda I)\, \alpha = y

    Errors are means over points of squared differences, one column an output. Predictions have a column for each
    output too: a y of shape (n,) counts as (n, 1).

    Arguments:
        ridges: λ, the largest first, shape (r,).
        loo_errors: of each point under the fit to all others, shape (r, k).
        training_errors: of each point under the fit to all, shape (r, k).
        degrees_of_freedom: :math:`\sum_j s_j / (s_j + \lambda)`, shape (r,).
        conditions: of K + λ, :math:`(s_{\max} + \lambda) / (s_{\min} + \lambda)`, shape (r,).
        spectrum: eigenvalues s and eigenvectors V of K.
        y: what was fitted, shape (n, k).
        groups: which points are left out together, shape (n,); None leaves each out alone.
    """

    ridges: torch.Tensor
    loo_errors: torch.Tensor
    training_errors: torch.Tensor
    degrees_of_freedom: torch.Tensor
    conditions: torch.Tensor
    spectrum: Spectrum
    y: torch.Tensor
    groups: torch.Tensor | None = None

    @property
    def eigenvalues(self) -> torch.Tensor:
        """Those of the Gram matrix, smallest first, none negative."""
        return self.spectrum.values

    @property
    def clipped(self) -> int:
        """How many eigenvalues came out negative within the tolerance and were set to 0."""
        return self.spectrum.clipped

    @property
    def best(self) -> float:
        """The ridge with the least leave-one-out error summed over outputs; of equal ones the largest."""
        return self.choose()

    def choose(self, criterion: Literal["loo"] | tuple[torch.Tensor, torch.Tensor] = "loo") -> float:
        """The ridge of the grid with the least error summed over outputs; of equal ones the largest.

        Arguments:
            criterion: ``loo``, or (block, y_val) as :meth:`validation_errors` takes them.
        """
        if isinstance(criterion, str) and criterion != "loo":
            unknown("criterion", criterion, ["loo"])
        errors = self.loo_errors if isinstance(criterion, str) else self.validation_errors(*criterion)
        return self.ridges[errors.sum(1).argmin()].item()  # the first of equal ones: ridges fall

    def coefficients(self, ridge: float | None = None) -> torch.Tensor:
        """α at any ridge, of the grid or not, shape (n, k).

        Arguments:
            ridge: λ; None for the best.
        """
        return self._coefficients(_valid_ridges([self.best if ridge is None else ridge], self.spectrum))[:, 0]

    def loo_residuals(self, ridge: float | None = None) -> torch.Tensor:
        """The difference between y and the prediction of each point by the fit to all others, shape (n, k).

        Arguments:
            ridge: λ; None for the best.
        """
        ridges = _valid_ridges([self.best if ridge is None else ridge], self.spectrum)
        return _residuals(self.spectrum, self._coefficients(ridges), ridges, self.groups)[:, 0]

    def predict(self, block: torch.Tensor, ridge: float | None = None) -> torch.Tensor:
        """Predictions f at other points, shape (m, k).

        Arguments:
            block: the kernel between those points and the fitted ones, shape (m, n).
            ridge: λ; None for the best.
        """
        return self._block(block) @ self.coefficients(ridge)

    def validation_errors(self, block: torch.Tensor, y_val: torch.Tensor) -> torch.Tensor:
        """Mean squared errors at other points, for all ridges by one product with the block, shape (r, k).

        Arguments:
            block: the kernel between those points and the fitted ones, shape (m, n).
            y_val: their labels, shape (m,) or (m, k).
        """
        f = self.predictions(block)
        y = outputs("y_val", y_val, len(f))
        k = self.y.shape[1]
        require(y.shape[1] == k, f"y_val must have {k} outputs like y, got {y.shape[1]}")
        return (f - y[:, None]).square_().mean(0)

    def predictions(self, block: torch.Tensor) -> torch.Tensor:
        """Predictions at other points for all ridges, by one product with the block, shape (m, r, k).

        Arguments:
            block: the kernel between those points and the fitted ones, shape (m, n).
        """
        alpha = self._coefficients(self.ridges)  # (n, r, k)
        return (self._block(block) @ alpha.flatten(1)).unflatten(1, alpha.shape[1:])

    def loo_predictions(self) -> torch.Tensor:
        """The prediction of each point by the fit to all others, for all ridges, shape (n, r, k)."""
        alpha = self._coefficients(self.ridges)
        return self.y[:, None] - _residuals(self.spectrum, alpha, self.ridges, self.groups)

    def at(self, ridges: Sequence[float] | torch.Tensor) -> RidgePath:
        """The path at other ridges, without decomposing again.

        Arguments:
            ridges: the new grid.
        """
        return _path(self.spectrum, self.y, _valid_ridges(ridges, self.spectrum), self.groups)

    def _coefficients(self, ridges: torch.Tensor) -> torch.Tensor:
        return _coefficients(self.spectrum, self.y, ridges)

    def _block(self, block: torch.Tensor) -> torch.Tensor:
        block, n = tensor("block", block), len(self.y)
        require(
            block.ndim == 2 and block.shape[1] == n and len(block) > 0,
            f"block must have shape (m, {n}), a column for each fitted point, got {tuple(block.shape)}",
        )
        require_finite("block", block)
        return block.to(torch.float64)


def ridge_path(
    gram: torch.Tensor,
    y: torch.Tensor,
    ridges: Sequence[float] | torch.Tensor | None = None,
    *,
    tolerance: float = PSD_TOLERANCE,
    groups: torch.Tensor | None = None,
) -> RidgePath:
    r"""Fit kernel ridge regression at every ridge of a grid, by one eigendecomposition of the Gram matrix.

    .. math::
        (K + \lambda I)\, \alpha = y, \qquad
        y_i - f^{(-i)}(x_i) = \frac{[(K + \lambda I)^{-1} y]_i}{[(K + \lambda I)^{-1}]_{ii}},

    where :math:`f^{(-i)}` is fitted to all points but the i-th. In the eigenbasis both sides of the fraction are
    products with V and with its entries squared, for all ridges at once. Ridges are absolute, and belong to the
    loss :math:`\sum_i (y_i - f(x_i))^2 + \lambda |f|^2`, a sum over points. There is no intercept.

    A point that is left out while a copy of it stays says nothing of other points. With ``groups`` all copies are left
    out together. Rows of K that are equal make it as easy: with m copies and the mean :math:`\bar\alpha` of their
    coefficients,

    .. math:: y_i - f^{(-\text{copies})}(x_i) = \lambda (\alpha_i - \bar\alpha) + \frac{\bar\alpha}{c}, \qquad
              c = \tfrac1m \sum_{j, l} [(K + \lambda I)^{-1}]_{jl} \text{ over copies } j, l.

    Arguments:
        gram: the kernel on the fitted points, symmetric and positive semi-definite, shape (n, n).
        y: labels, shape (n,) or (n, k).
        ridges: λ, each once, in any order; None for the mean of the diagonal times 100, …, 1e-10 in 30 steps. Zero is
            welcome where no eigenvalue is lost to rounding.
        tolerance: how far from symmetric and positive semi-definite the Gram matrix may be (:func:`spectrum`).
        groups: a number for each point, equal for points that are copies of each other
            (:func:`~.repeats.groups_of_copies`); None if there are none.

    >>> gram = torch.tensor([[2.0, 1.0], [1.0, 2.0]])
    >>> path = ridge_path(gram, torch.tensor([1.0, 0.0]), ridges=[1.0, 0.5])
    >>> path.coefficients(1.0).T  # the inverse of [[3, 1], [1, 3]] has the first column (3, −1) / 8
    tensor([[ 0.3750, -0.1250]], dtype=torch.float64)
    >>> path.loo_residuals(1.0).T  # left alone, the second point predicts 0 for the first, the first 1/3 for the second
    tensor([[ 1.0000, -0.3333]], dtype=torch.float64)
    """
    decomposed = spectrum(gram, tolerance=tolerance)
    y = outputs("y", y, len(decomposed.values))
    if ridges is None:
        scale = decomposed.values.mean().item() or 1.0  # the mean eigenvalue is the mean of the diagonal
        ridges = [scale * ridge for ridge in RELATIVE_RIDGES]
    return _path(decomposed, y, _valid_ridges(ridges, decomposed), groups)


def outputs(name: str, y: torch.Tensor, n: int) -> torch.Tensor:
    """Labels as a matrix (n, k) of float64, from shape (n,) or (n, k), checked."""
    y = tensor(name, y)
    require(
        y.ndim in (1, 2) and len(y) == n and y.numel() > 0,
        f"{name} must have shape ({n},) or ({n}, k), a row for each point, got {tuple(y.shape)}",
    )
    require_finite(name, y)
    y = y.to(torch.float64)
    largest = y.abs().max().item()
    require(largest < _LARGEST, f"{name} must stay below {_LARGEST:g}, for errors are squared, got {largest:.3g}")
    return y[:, None] if y.ndim == 1 else y


def _path(spectrum: Spectrum, y: torch.Tensor, ridges: torch.Tensor, groups: torch.Tensor | None) -> RidgePath:
    s = spectrum.values
    alpha = _coefficients(spectrum, y, ridges)
    shifted = s + ridges[:, None]
    return RidgePath(
        ridges=ridges,
        loo_errors=_residuals(spectrum, alpha, ridges, groups).square_().mean(0),
        # Without another product with K, which would cost as much as all predictions.
        training_errors=(ridges[:, None] * alpha).square_().mean(0),  # y − Kα = λα
        degrees_of_freedom=(s / shifted).sum(1),
        # Eigenvalues are in increasing order.
        conditions=(s[-1] + ridges) / (s[0] + ridges),
        spectrum=spectrum,
        y=y,
        groups=groups,
    )


def _coefficients(spectrum: Spectrum, y: torch.Tensor, ridges: torch.Tensor) -> torch.Tensor:
    """α for all ridges, shape (n, r, k)."""
    s, V = spectrum.values, spectrum.vectors
    rotated = (V.T @ y)[:, None] / (s[:, None] + ridges)[:, :, None]
    return (V @ rotated.flatten(1)).unflatten(1, rotated.shape[1:])


def _residuals(
    spectrum: Spectrum, alpha: torch.Tensor, ridges: torch.Tensor, groups: torch.Tensor | None
) -> torch.Tensor:
    """Leave-one-out residuals for all ridges, shape (n, r, k), from their coefficients."""
    s, V = spectrum.values, spectrum.vectors
    # Dividing by the diagonal of the inverse is the whole of leave-one-out: no point is ever really left out.
    if groups is None:
        inverse_diagonal = V.square() @ (1 / (s[:, None] + ridges))
        return alpha / inverse_diagonal[:, :, None]
    m = groups.bincount().to(V.dtype)
    sums = torch.zeros(len(m), V.shape[1], dtype=V.dtype).index_add_(0, groups, V)
    c = (sums.square_() @ (1 / (s[:, None] + ridges))) / m[:, None]
    means = torch.zeros(len(m), *alpha.shape[1:], dtype=alpha.dtype).index_add_(0, groups, alpha) / m[:, None, None]
    return ridges[:, None] * (alpha - means[groups]) + (means / c[:, :, None])[groups]


def _valid_ridges(ridges: Sequence[float] | torch.Tensor, spectrum: Spectrum) -> torch.Tensor:
    """The ridges, the largest first."""
    values = torch.as_tensor(ridges, dtype=torch.float64).flatten().sort(descending=True).values
    require(len(values) > 0, "ridges must hold at least one number, got none")
    for ridge, following in zip(values.tolist(), [*values[1:].tolist(), -math.inf], strict=True):
        require(0 <= ridge < math.inf, f"ridges must be finite and not negative, got {ridge:g}")
        require(ridge != following, f"ridges must differ, got {ridge:g} twice")
    s = spectrum.values
    require(
        values[-1].item() > 0 or s[0].item() > spectrum.rounding,
        f"ridges must be positive for this gram, got 0: its smallest eigenvalue {s[0]:.3g} is not above the rounding "
        f"{spectrum.rounding:.3g} of the largest {s[-1]:.3g}",
    )
    return values
