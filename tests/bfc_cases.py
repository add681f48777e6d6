"""Two layers of squares by hand, as a target and as a network: the least that measurements of layers need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from beyondkernels.core import Sample, Shape, Stream, Tensors
from beyondkernels.networks import Network
from fitting import Sized

WIDTHS = {2: 2, 3: 1}
ALPHAS = {2: 1.0, 3: 0.3}
TRUTH = {
    "A": torch.tensor([[1.0, 0.5, 0.0], [0.0, 1.0, -0.5]], dtype=torch.float64),
    "B": torch.tensor([[0.7, 0.2]], dtype=torch.float64),
}


def layers(params: Mapping[str, torch.Tensor], scale: torch.Tensor, x: torch.Tensor) -> dict[int, torch.Tensor]:
    """S₂ = A(x² − 1) and S₃ = scale · B S₂²."""
    S2 = (x.square() - 1) @ params["A"].T
    return {2: S2, 3: scale * S2.square() @ params["B"].T}


def sums(S: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    return {layer: ALPHAS[layer] * value.square().sum(1) for layer, value in S.items()}


@dataclass(frozen=True)
class Target(Sized):
    """What the network can compute with the right weights."""

    in_dim = 3

    def features(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        return layers(TRUTH, torch.ones((), dtype=torch.float64), x)

    def contributions(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        return sums(self.features(x))

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.child("x").uniform(n, 3, dtype=torch.float64) * 3.4 - 1.7
        return Sample(x, sum(self.contributions(x).values(), torch.zeros(n, dtype=torch.float64))[:, None])


@dataclass(frozen=True)
class Net(Network):
    """Parameters A, B and a buffer, which is part of the third layer."""

    width: int = 2

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        shapes = {"A": (self.width, 3), "B": (1, self.width)}
        draws = {name: stream.child(name).normal(*shape, dtype=torch.float64) for name, shape in shapes.items()}
        return draws, {"scale": torch.full((), 0.5, dtype=torch.float64)}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        return torch.stack([*self.contributions(params, buffers, x).values()]).sum(0)[:, None], buffers

    def hidden(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        return layers(params, buffers["scale"], x)

    def contributions(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> dict[int, torch.Tensor]:
        return sums(self.hidden(params, buffers, x))

    @property
    def footprint(self) -> int:
        return 3 * self.width + 2

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        return {"layer2": ("A",), "layer3": ("B",)}
