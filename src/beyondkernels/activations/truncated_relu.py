"""The truncated ReLU and its Gaussian-smoothed version."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from beyondkernels.activations.base import Activation
from beyondkernels.core import require_positive
from beyondkernels.core.constraints import positive


@dataclass(frozen=True)
class TruncatedReLU(Activation):
    r"""The ReLU cut off at one.

    .. math:: \sigma(z) = \min(1, \max(z, 0)), \qquad \sigma'(z) = 1[0 < z < 1].

    >>> TruncatedReLU().value(torch.tensor([-1.0, 0.25, 3.0])).tolist()
    [0.0, 0.25, 1.0]

    Reference: Shi, Wei & Liang (features), §3.1, below eq. (2).
    """

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0, 1.0)

    def value(self, z: torch.Tensor) -> torch.Tensor:
        return z.clamp(0, 1)

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z); zero at the two kinks."""
        return ((z > 0) & (z < 1)).to(z.dtype)

    def smoothed(self, std: float) -> SmoothedTruncatedReLU:
        return SmoothedTruncatedReLU(std)


@dataclass(frozen=True)
class SmoothedTruncatedReLU(Activation):
    r"""The truncated ReLU averaged over Gaussian noise, in closed form.

    With :math:`r(u) = E[\max(u + \xi, 0)] = u\,\Phi(u/s) + s\,\varphi(u/s)` for ξ ~ N(0, s²),

    .. math:: \tilde\sigma(z) = r(z) - r(z - 1), \qquad \tilde\sigma'(z) = \Phi(z/s) - \Phi((z - 1)/s).

    Arguments:
        std: the noise level s.

    >>> SmoothedTruncatedReLU(0.1).value(torch.tensor([0.5])).item()
    0.5

    Reference: Shi, Wei & Liang (features), §3.1, eq. (3) and footnote 1.
    """

    std: Annotated[float, positive]

    @property
    def cuts(self) -> tuple[float, ...]:
        return tuple(kink + turn * self.std for kink in (0.0, 1.0) for turn in (-8, 0, 8))

    def value(self, z: torch.Tensor) -> torch.Tensor:
        """The smoothed σ(z), differentiable by its closed-form derivative."""
        result: Any = _Smoothed.apply(z, self.std)
        return result

    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        return _derivative(z, self.std)

    def smoothed(self, std: float) -> SmoothedTruncatedReLU:
        require_positive("std", std)
        return SmoothedTruncatedReLU(math.hypot(self.std, std))

    def unsmoothed(self) -> tuple[TruncatedReLU, float]:
        return TruncatedReLU(), self.std


def _derivative(z: torch.Tensor, s: float) -> torch.Tensor:
    return torch.special.ndtr(z / s) - torch.special.ndtr((z - 1) / s)


def _value(z: torch.Tensor, s: float) -> torch.Tensor:
    z = z.clamp(-40 * s, 1 + 40 * s)  # the function is flat beyond; for huge z, z − (z − 1) would lose its digits
    u, v = z / s, (z - 1) / s
    density = (torch.exp(-u * u / 2) - torch.exp(-v * v / 2)) * (s / math.sqrt(2 * math.pi))
    return z * torch.special.ndtr(u) - (z - 1) * torch.special.ndtr(v) + density


class _Smoothed(torch.autograd.Function):
    """The derivative in closed form. Automatic differentiation of ``_value`` would subtract equal terms."""

    generate_vmap_rule = True

    @staticmethod
    def forward(z: torch.Tensor, s: float) -> torch.Tensor:
        return _value(z, s)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:  # noqa: ARG004
        z, ctx.s = inputs
        ctx.save_for_backward(z)
        ctx.save_for_forward(z)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (z,) = ctx.saved_tensors
        return gradients[0] * _derivative(z, ctx.s), None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        (z,) = ctx.saved_tensors
        return tangents[0] * _derivative(z, ctx.s)
