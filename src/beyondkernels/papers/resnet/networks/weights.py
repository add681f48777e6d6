"""The bottleneck ResNet as its proof writes it: three matrices with biases absorbed, and diagonal gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from beyondkernels.core import Tensors, require


@dataclass(frozen=True)
class ResNetWeights:
    r"""W (m, d + 1), V (m, k + 1) and A (k, m), the last columns of W and V their biases; all in float64.

    .. math::
        \mathrm{out}_1(x) = A D_W W (x, 1), \qquad
        \mathrm{out}(x) = \mathrm{out}_1(x) + A D_{V,W} V (\mathrm{out}_1(x), 1),

    with gates :math:`D_W = \mathrm{diag}\{1_{W(x, 1) \ge 0}\}`,
    :math:`D_{V,W} = \mathrm{diag}\{1_{V(\mathrm{out}_1(x), 1) \ge 0}\}`. W and V stand for the whole weights here,
    the proof's :math:`W^{(0)} + W` and :math:`V^{(0)} + V`. What ``ThreeLayerResNet.apply`` computes, taken apart where
    the proof takes it apart.

    Reference: Allen-Zhu & Li (resnet), §6 and App. C.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")
    """The parameters it is made of: what a run has to keep for it, as ``snapshot_names``."""

    W: torch.Tensor
    V: torch.Tensor
    A: torch.Tensor

    @classmethod
    def of(cls, params: Tensors) -> ResNetWeights:
        """From the parameters of a bottleneck ``ThreeLayerResNet`` in the standard parameterisation."""
        lost = [name for name in ("W.weight", "V.weight", "A.weight") if name not in params]
        require(not lost, f"params must hold W.weight, V.weight and A.weight, got {', '.join(params)}")

        def absorbed(name: str) -> torch.Tensor:
            weight = params[f"{name}.weight"].double()
            bias = params.get(f"{name}.bias")
            column = weight.new_zeros(len(weight), 1) if bias is None else bias.double()[:, None]
            return torch.cat([weight, column], 1)

        return cls(absorbed("W"), absorbed("V"), params["A.weight"].double())

    @property
    def width(self) -> int:
        """The neurons m of a hidden layer."""
        return self.A.shape[1]

    @property
    def outputs(self) -> int:
        """k, the dimension of the labels."""
        return self.A.shape[0]

    def first(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The gates of W, (n, m), and out₁, (n, k)."""
        h = with_one(x) @ self.W.T
        D = (h >= 0).double()
        return D, (D * h) @ self.A.T

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """out(x), (n, k)."""
        _, out1 = self.first(x)
        return out1 + self.second(out1)[1]

    def second(self, out1: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The gates of V at out₁, and what the second layer adds, A D V (out₁, 1)."""
        h = with_one(out1) @ self.V.T
        D = (h >= 0).double()
        return D, (D * h) @ self.A.T


def with_one(x: torch.Tensor) -> torch.Tensor:
    """(x, 1) for each row, in float64."""
    return torch.cat([x.double(), torch.ones(len(x), 1, dtype=torch.float64, device=x.device)], 1)
