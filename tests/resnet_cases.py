"""A small ResNet before and after training, and a problem that knows its two signals."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Outcome, Problem, Sample, Stream
from beyondkernels.networks import theorem_network
from beyondkernels.papers.resnet.networks import ResNetWeights

D, K, M, N = 4, 3, 12, 7


@dataclass(frozen=True)
class TwoSignals(Problem):
    """H = βF + αG(F) with F two quadratics and a line, G their products."""

    alpha: float = 0.3
    noise: float = 0.0
    beta: float = 1.0

    @property
    def in_dim(self) -> int:
        return D

    @property
    def out_dim(self) -> int:
        return K

    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x[:, 0] * x[:, 1], x[:, 2], x[:, 3] ** 2], 1)

    def composite_signal(self, h: torch.Tensor) -> torch.Tensor:
        return torch.stack([h[:, 0] * h[:, 1], h[:, 1] * h[:, 2], h[:, 2] * h[:, 0]], 1)

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.child("x").normal(n, D, dtype=torch.float64)
        F = self.base_signal(x)
        y = (
            self.beta * F
            + self.alpha * self.composite_signal(F)
            + self.noise * stream.child("noise").normal(n, K, dtype=torch.float64)
        )
        return Sample(x, y)


def parameters(moved: float, seed: int = 0, same_readout: bool = True) -> dict[str, torch.Tensor]:
    params, _ = theorem_network(M, 0.8, 1.1).init(D, K, Stream(seed))
    steps = Stream(seed).child("moved")
    return {
        name: value.double() + moved * (name != "A.weight" or not same_readout) * steps.child(name).normal(*value.shape)
        for name, value in params.items()
    }


def weights(moved: float, **kwargs) -> ResNetWeights:
    return ResNetWeights.of(parameters(moved, **kwargs))


def outcome(*courses: tuple[int, float], same_readout: bool = True) -> Outcome:
    """The outcome of a run that kept all parameters at these steps."""
    return Outcome(
        arrays={
            f"snapshot/{step}/{name}": value.numpy()
            for step, moved in courses
            for name, value in parameters(moved, same_readout=same_readout).items()
        }
    )
