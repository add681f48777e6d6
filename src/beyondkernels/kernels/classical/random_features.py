"""Random-feature kernels: an expectation over random features, estimated from finitely many of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import Activation, activation
from beyondkernels.core import Component, Stream, require
from beyondkernels.core.constraints import any_number, at_least, not_negative, positive
from beyondkernels.kernels.base import Kernel, points, symmetric
from beyondkernels.kernels.checks import require_finite

_LARGEST_PHASE = 1e10
"""Where the rounding of a phase reaches 1e-6."""


class RandomFeatures(Component, ABC):
    r"""A distribution of features :math:`\phi_w`, and how many are drawn from it.

    Arguments:
        count: how many.
    """

    count: int

    @abstractmethod
    def draw(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        r""":math:`\phi_w(x_i)` for every point and draw, shape (n, count), a function of the point and the stream."""

    def features(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        r"""The matrix :math:`\Phi = \phi_w(x_i) / \sqrt{\text{count}}`, so that the estimated kernel is ΦΦᵀ.

        Arguments:
            x: points, shape (n, in_dim).
            stream: where the draws come from; the same for every batch.
        """
        phi = self.draw(points("x", x), stream)
        require(
            tuple(phi.shape) == (len(x), self.count) and phi.dtype == torch.float64,
            f"features must be float64 of shape {(len(x), self.count)}, "
            f"got {str(phi.dtype).removeprefix('torch.')} of shape {tuple(phi.shape)}",
        )
        require_finite("features", phi)
        return phi / math.sqrt(self.count)


@dataclass(frozen=True)
class Neurons(RandomFeatures):
    """Features of neurons with Gaussian weights."""

    count: Annotated[int, at_least(1)]
    activation: Activation | str = "relu"
    weight_std: Annotated[float, positive] | None = None
    bias_std: Annotated[float, not_negative] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", activation(self.activation))

    def _arguments(self, x: torch.Tensor, neurons: int, stream: Stream) -> torch.Tensor:
        """⟨w, x⟩ + b for so many neurons, shape (n, neurons)."""
        in_dim = x.shape[1]
        w = stream.child("weights").normal(neurons, in_dim, dtype=torch.float64)
        # So that ⟨w, x⟩ is of the size of an entry of x in every dimension; points without coordinates must not divide
        # by zero.
        w *= 1 / math.sqrt(max(1, in_dim)) if self.weight_std is None else self.weight_std
        b = self.bias_std * stream.child("biases").normal(neurons, dtype=torch.float64)
        return torch.addmm(b, x, w.T)


@dataclass(frozen=True)
class GaussianFeatures(Neurons):
    r"""Neurons with Gaussian weights.

    .. math:: \phi_{w,b}(x) = \sigma(\langle w, x\rangle + b), \qquad
              w \sim N(0, s_w^2 I),\ b \sim N(0, s_b^2)

    Arguments:
        count: how many neurons.
        activation: σ, an activation or its name.
        weight_std: :math:`s_w`; None for :math:`1/\sqrt{\text{in\_dim}}`.
        bias_std: :math:`s_b`.

    >>> GaussianFeatures(count=3).features(torch.ones(2, 4), Stream(0)).shape
    torch.Size([2, 3])
    """

    def draw(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        """σ(⟨w, x⟩ + b)."""
        return activation(self.activation).value(self._arguments(x, self.count, stream))


@dataclass(frozen=True)
class FourierFeatures(RandomFeatures):
    r"""Random waves, whose kernel tends to the Gaussian one (:class:`Gaussian` with the same bandwidth h).

    .. math:: \phi_{w,b}(x) = \sqrt2 \cos(\langle w, x\rangle + b), \qquad
              w \sim N(0, \tfrac2h I),\ b \sim U[0, 2\pi), \qquad
              E[\phi_{w,b}(x)\,\phi_{w,b}(y)] = e^{-|x - y|^2/h}

    Arguments:
        count: how many waves.
        bandwidth: h, a squared length.

    >>> K = RandomFeatureKernel(FourierFeatures(count=20_000, bandwidth=2.0), seed=0)
    >>> round(K(torch.tensor([[0.0], [1.0]]))[0, 1].item(), 2), round(math.exp(-1 / 2), 2)
    (0.61, 0.61)

    Reference: Rahimi & Recht (2007), Random features for large-scale kernel machines.
    """

    count: Annotated[int, at_least(1)]
    bandwidth: Annotated[float, positive]

    def draw(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        """√2 cos(⟨w, x⟩ + b)."""
        w = stream.child("weights").normal(self.count, x.shape[1], dtype=torch.float64)
        w *= math.sqrt(2 / self.bandwidth)
        b = stream.child("phases").uniform(self.count, dtype=torch.float64).mul_(2 * math.pi)
        phases = torch.addmm(b, x, w.T)
        largest = float(phases.abs().max()) if phases.numel() else 0.0
        require(
            largest < _LARGEST_PHASE,
            f"points must give waves of bandwidth {self.bandwidth:g} phases below {_LARGEST_PHASE:g}, above which "
            f"rounding decides, got {largest:.3g}; smaller points or a larger bandwidth would do",
        )
        return phases.cos_().mul_(math.sqrt(2))


@dataclass(frozen=True)
class FunctionFeatures(RandomFeatures):
    r"""A user's features :math:`\phi_w` of a user's distribution of w.

    Arguments:
        count: how many.
        weights: a function of (stream, count, in_dim) that draws all w, as a tensor of any shape.
        function: of (w, x), giving :math:`\phi_w(x_i)`, shape (n, count), float64; both must be named functions of a
            module where runs are to be stored.

    >>> def signs(stream, count, in_dim):
    ...     return stream.bernoulli(0.5, count, in_dim).double() * 2 - 1
    >>> def parity(w, x):
    ...     return (x @ w.T).sign()
    >>> FunctionFeatures(5, signs, parity).features(torch.ones(2, 3), Stream(0)).shape
    torch.Size([2, 5])
    """

    count: Annotated[int, at_least(1)]
    weights: Callable[[Stream, int, int], torch.Tensor]
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

    def draw(self, x: torch.Tensor, stream: Stream) -> torch.Tensor:
        """φ_w(x) as the function says."""
        return self.function(self.weights(stream, self.count, x.shape[1]), x)


@dataclass(frozen=True)
class RandomFeatureKernel(Kernel):
    r"""The kernel of finitely many random features, an unbiased estimate of their expectation.

    .. math:: K(x, y) = \frac1m \sum_{j=1}^m \phi_{w_j}(x)\,\phi_{w_j}(y) \approx E_w[\phi_w(x)\,\phi_w(y)]

    The draws are fixed by the seed, so this is one kernel, positive semi-definite and the same in every batch, of rank
    at most m. It is not rotation-invariant, even where its expectation is.

    Arguments:
        features: what is drawn, and how often (m).
        seed: of the draws.

    >>> K = RandomFeatureKernel(GaussianFeatures(count=100), seed=1)
    >>> x = torch.ones(1, 4)
    >>> bool(abs(K(x).item() - 1 / 2) < 5 * K.standard_error(x).item())
    True

    Reference: Allen-Zhu & Li (resnet), §3.1, kernel (4).
    """

    features: RandomFeatures
    seed: Annotated[int, any_number] = 0

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return self.feature_matrix(x1) @ self.feature_matrix(x2).T

    def square(self, x: torch.Tensor) -> torch.Tensor:
        phi = self.feature_matrix(x)
        return symmetric(phi @ phi.T, phi.square().sum(1))

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The squared norms of the rows of Φ."""
        return self.feature_matrix(x).square_().sum(1)

    def feature_matrix(self, x: torch.Tensor) -> torch.Tensor:
        """Φ, shape (n, m), divided by √m."""
        return self.features.features(x, Stream(self.seed).child("features"))

    def standard_error(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        r"""The standard error of every entry as an estimate of the expectation, shape (n1, n2).

        .. math:: \sqrt{\frac{1}{m(m-1)} \sum_j \bigl(\phi_{w_j}(x)\phi_{w_j}(y) - K(x, y)\bigr)^2}

        The square is expanded into two matrix products, so below 1e-8 of the largest products it is rounding.

        Arguments:
            x1: points, shape (n1, in_dim).
            x2: points, shape (n2, in_dim); None for x1 itself.
        """
        m = self.features.count
        require(m >= 2, f"a standard error needs a count of at least 2, got {m}")
        phi1 = self.feature_matrix(x1)
        phi2 = phi1 if x2 is None else self.feature_matrix(x2)
        variance = m * (phi1.square() @ phi2.square().T) - (phi1 @ phi2.T).square_()
        return variance.div_(m - 1).clamp_(min=0).sqrt_()
