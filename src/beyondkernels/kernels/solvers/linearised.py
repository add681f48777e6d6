"""The linearised network, trained for any time in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from beyondkernels.core import require, require_between
from beyondkernels.kernels.checks import require_finite, tensor
from beyondkernels.kernels.solvers.ridge import outputs
from beyondkernels.kernels.solvers.spectrum import PSD_TOLERANCE, Spectrum, spectrum


@dataclass(frozen=True)
class Descent:
    r"""Full-batch gradient descent in place of gradient flow: T steps of rate η, for several T.

    Arguments:
        rate: η; the steps converge when it is below 2 over the largest eigenvalue of the Gram matrix.
        steps: the numbers of steps T.
    """

    rate: float
    steps: Sequence[int]


Times = float | Sequence[float] | torch.Tensor | Descent
"""How long to train: times of gradient flow (infinity among them), or steps of gradient descent."""


@dataclass(frozen=True)
class LinearisedTraining:
    """A linear model in the tangent features, on its way from the start to the labels; see :func:`linearised_training`.

    Arguments:
        spectrum: eigenvalues and eigenvectors of the Gram matrix, flattened to (nk, nk) where outputs are coupled.
        y: the labels, shape (n, k).
        start: the predictions at the training points before training, shape (n, k).
        coupled: whether the kernel has the full output tensor.
    """

    spectrum: Spectrum
    y: torch.Tensor
    start: torch.Tensor
    coupled: bool

    def coefficients(self, times: Times) -> torch.Tensor:
        r"""α at each time, the residuals summed up over time, :math:`\int_0^t (y - f_u) du`, shape (t, n, k).

        At time infinity, the α of least norm that interpolates.

        Arguments:
            times: how long to train.
        """
        return self._rotate_back(_factors(self.spectrum, times))

    def train(self, times: Times) -> torch.Tensor:
        """Predictions at the training points at each time, shape (t, n, k).

        Arguments:
            times: how long to train.
        """
        return self.start + self._rotate_back(self.spectrum.values * _factors(self.spectrum, times))

    def losses(self, times: Times) -> torch.Tensor:
        r"""The loss :math:`\frac12 \sum_i |f_t(x_i) - y_i|^2` at each time, shape (t,).

        Arguments:
            times: how long to train.
        """
        left = 1 - self.spectrum.values * _factors(self.spectrum, times)
        return 0.5 * left.square() @ self._rotated().square().sum(1)

    def predict(self, block: torch.Tensor, times: Times, start: torch.Tensor | None = None) -> torch.Tensor:
        """Predictions at other points at each time, shape (t, m, k).

        Arguments:
            block: the kernel between those points and the training points, shape (m, n), or (m, n, k, k) when coupled.
            times: how long to train.
            start: the predictions there before training, shape (m, k) or (m,); None for zero.
        """
        block, (n, k) = tensor("block", block), self.y.shape
        shape = (n, k, k) if self.coupled else (n,)
        require(
            block.shape[1:] == shape and block.ndim > 1,
            f"block must have shape (m, {', '.join(map(str, shape))}) to fit the gram, got {tuple(block.shape)}",
        )
        require_finite("block", block)
        block = block.to(torch.float64)
        alpha = self.coefficients(times)
        f = torch.einsum("mnab,tnb->tma", block, alpha) if self.coupled else block @ alpha
        if start is None:
            return f
        start = outputs("start", start, len(block))
        require(start.shape[1] == k, f"start must have {k} outputs like y, got {start.shape[1]}")
        return f + start

    def _rotated(self) -> torch.Tensor:
        """What is to be learned, in the eigenbasis: (n, k), or (nk, 1) when coupled."""
        missing = self.y - self.start
        return self.spectrum.vectors.T @ (missing.reshape(-1, 1) if self.coupled else missing)

    def _rotate_back(self, factors: torch.Tensor) -> torch.Tensor:
        """V diag(factors) Vᵀ (y − f₀) for each row of factors, shape (t, n, k)."""
        rotated = factors.T[:, :, None] * self._rotated()[:, None]
        moved = (self.spectrum.vectors @ rotated.flatten(1)).unflatten(1, rotated.shape[1:])
        return moved.transpose(0, 1).reshape(len(factors), *self.y.shape)


def linearised_training(
    gram: torch.Tensor, y: torch.Tensor, start: torch.Tensor | None = None, *, tolerance: float = PSD_TOLERANCE
) -> LinearisedTraining:
    r"""Train the linear model behind a tangent kernel, in closed form, from one eigendecomposition.

    The loss is :math:`\frac12 \sum_i |f(x_i) - y_i|^2`, a sum over points and outputs. Gradient flow
    on it, from Δ = 0, of the model :math:`f(x) = f_0(x) + \langle \nabla_\theta g(x), \Delta \rangle` with the kernel
    :math:`K(x, x') = \langle \nabla_\theta g(x), \nabla_\theta g(x') \rangle` stands at time t at

    .. math::
        f_t(x) = f_0(x) + K(x, X)\, V \operatorname{diag}\!\Big(\frac{1 - e^{-t s_j}}{s_j}\Big) V^\top (y - f_0(X)),
        \qquad K(X, X) = V \operatorname{diag}(s) V^\top,

    and T steps of gradient descent with rate η have :math:`(1 - (1 - \eta s_j)^T) / s_j` in the brackets. A loss that
    is a mean over n points moves n times as slowly. At :math:`s_j = 0` the brackets hold t, or ηT; at time infinity
    they hold :math:`1/s_j`, and 0 where :math:`s_j = 0`: the interpolation nearest to the start. Eigenvalues that are
    nothing but rounding (``Spectrum.rounding``) count as zero. With them, predictions elsewhere carry noise of about t
    times that rounding; once this passes 1 their brackets hold 0 at finite times too.

    Arguments:
        gram: the kernel at the training points: (n, n), the same for every output, or the full tensor (n, n, k, k).
        y: the labels, shape (n,) or (n, k).
        start: :math:`f_0(X)`, of the same shape; None for zero.
        tolerance: how far from symmetric and positive semi-definite the Gram matrix may be (:func:`spectrum`).

    >>> training = linearised_training(torch.tensor([[2.0]]), torch.tensor([1.0]))
    >>> training.train([0.0, 0.5, math.inf]).flatten()  # 1 − exp(−2t)
    tensor([0.0000, 0.6321, 1.0000], dtype=torch.float64)
    >>> training.train(Descent(rate=0.25, steps=[1, 2])).flatten()  # 1 − (1 − 1/2)^T
    tensor([0.5000, 0.7500], dtype=torch.float64)
    """
    gram = tensor("gram", gram)
    coupled = gram.ndim == 4
    y = outputs("y", y, len(gram))
    n, k = y.shape
    if coupled:
        require(gram.shape == (n, n, k, k), f"gram must have shape {(n, n, k, k)} to fit y, got {tuple(gram.shape)}")
        # Points outside, outputs inside, in the order in which labels (n, k) are flattened.
        gram = gram.transpose(1, 2).reshape(n * k, n * k)
    f_0 = torch.zeros_like(y) if start is None else outputs("start", start, n)
    require(f_0.shape == y.shape, f"start must have {k} outputs like y, got {f_0.shape[1]}")
    return LinearisedTraining(spectrum(gram, tolerance=tolerance), y, f_0, coupled)


def _factors(spectrum: Spectrum, times: Times) -> torch.Tensor:
    """The factors in the brackets, one row for each time."""
    s = spectrum.values
    # Below that an eigenvalue is noise, and dividing by it would make the noise the prediction.
    alive = s > spectrum.rounding
    # Divided by before the choice below, which both branches go through: 0/0 would be NaN even where it is not chosen.
    safe = torch.where(alive, s, 1.0)
    if isinstance(times, Descent):
        T = _valid_times("steps", times.steps)
        require(bool((T.round() == T).all() and T.isfinite().all()), "steps must be whole numbers, got others")
        # Beyond 2/s the largest mode grows with every step, and no later time is a prediction.
        eta, limit = float(times.rate), 2 / spectrum.largest if spectrum.largest > 0 else math.inf
        require_between("rate", eta, 0, limit, "()")
        t, rest = eta * T, eta * safe
        # one minus a power near one cancels, unless the power is never formed
        near = -torch.expm1(T * torch.log1p(-rest.clamp(max=0.5)))
        learned = torch.where(rest < 0.5, near, 1 - (1 - rest).pow(T))
    else:
        t = _valid_times("times", times)
        # expm1, because 1 − exp(−ts) has no digits left where ts is small.
        learned = -torch.expm1(-t * safe)
    dead = torch.where(t * spectrum.rounding <= 1, t, 0.0) if spectrum.rounding > 0 else t.nan_to_num(posinf=0.0)
    return torch.where(alive, learned / safe, dead)


def _valid_times(name: str, times: float | Sequence[float] | torch.Tensor) -> torch.Tensor:
    t = torch.as_tensor(times, dtype=torch.float64).reshape(-1, 1)
    require(len(t) > 0, f"{name} must hold at least one number, got none")
    require(bool((t >= 0).all()), f"{name} must not be negative, got {t.min().item():g}")
    return t
