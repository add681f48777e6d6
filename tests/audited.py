"""Small runs of all kinds of models, for the measurements of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from beyondkernels.algorithms import Descent, Loss, Softmax, Squared
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.core import Case, Ended, Problem, Sample, Stream
from beyondkernels.engine import TrainedNetwork
from beyondkernels.networks import FromModule, Network

Kind = Literal["classes", "signs", "numbers"]
CLASSES = 3


@dataclass(frozen=True)
class Toy(Problem):
    """Labels that depend on two directions of the points."""

    shape: tuple[int, ...] = (6,)
    kind: Kind = "classes"
    tokens: bool = False

    @property
    def in_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def out_dim(self) -> int:
        return {"classes": CLASSES, "signs": 1, "numbers": 2}[self.kind]

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.normal(n, *self.shape)
        first, second = x.flatten(1)[:, 0], x.flatten(1)[:, 1]
        if self.kind == "classes":
            y = nn.functional.one_hot((first > 0).long() + (first * second > 0).long(), CLASSES).float()
        else:
            y = torch.stack([first.sign(), first * second], 1)
        x = torch.randint(5, x.shape, generator=torch.Generator().manual_seed(0)).float() if self.tokens else x
        return Sample(x, y[:, 0] if self.kind == "signs" else y)


class Tokens(nn.Module):
    """Attention over rows of a point, behind a class token."""

    def __init__(self, d: int, out_dim: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.embed, self.attend = nn.Linear(d, 8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.read = nn.LayerNorm(8), nn.Linear(8, out_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.cat([self.token.expand(len(x), -1, -1), self.embed(x)], 1)
        return self.read(self.norm(z + self.attend(z, z, z)[0])[:, 0])


class Attentive(nn.Module):
    """Attention comes first."""

    def __init__(self, d: int, out_dim: int) -> None:
        super().__init__()
        self.attend, self.read = nn.MultiheadAttention(d, 1, batch_first=True), nn.Linear(d, out_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.read(self.attend(x, x, x)[0].mean(1))


class Words(nn.Module):
    """Points are numbers of words."""

    def __init__(self, out_dim: int) -> None:
        super().__init__()
        self.table, self.read = nn.Embedding(5, 4), nn.Linear(4, out_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.read(self.table(x.long()).mean(1))


def dense(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 12), nn.Tanh(), nn.Linear(12, 9), nn.GELU(), nn.Linear(9, out_dim))


def linear(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 7, bias=False), nn.Linear(7, out_dim, bias=False))


def convolutional(in_dim: tuple[int, ...], out_dim: int) -> nn.Module:
    c = in_dim[0]
    first = [nn.Conv2d(c, 6, 3, padding=1, stride=2), nn.BatchNorm2d(6), nn.Tanh()]
    second = [nn.Conv2d(6, 4, 2, groups=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, out_dim)]
    return nn.Sequential(*first, *second)


def grouped(in_dim: tuple[int, ...], out_dim: int) -> nn.Module:
    positions = (in_dim[1] - 2) * (in_dim[2] - 2)
    return nn.Sequential(
        nn.Conv2d(in_dim[0], 6, 3, groups=2), nn.Tanh(), nn.Flatten(), nn.Linear(6 * positions, out_dim)
    )


def headless(in_dim: tuple[int, ...], out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(in_dim[0], out_dim, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def tokens(in_dim: tuple[int, ...], out_dim: int) -> nn.Module:
    return Tokens(in_dim[1], out_dim)


def attentive(in_dim: tuple[int, ...], out_dim: int) -> nn.Module:
    return Attentive(in_dim[1], out_dim)


def words(in_dim: int, out_dim: int) -> nn.Module:
    return Words(out_dim)


def of(factory: Any) -> Network:
    return FromModule(factory, factory.__name__)


def ended(
    network: Network,
    problem: Problem,
    steps: int = 20,
    rate: float = 0.02,
    n: int = 40,
    loss: Loss | None = None,
    **more: Any,
) -> Ended:
    """A run with snapshots at its start, in its middle and at its end."""
    objective = loss or (Softmax() if getattr(problem, "kind", "") == "classes" else Squared())
    rule = Descent(steps, adam(rate), loss=objective)
    at = tuple(sorted({0, steps // 2, steps}))
    learner = TrainedNetwork(network, rule, **({"snapshot_at": at, "snapshot_names": ("all",)} | more))
    stream = Stream(0)
    samples = (problem.sample(n, stream.child(name)) for name, n in (("train", n), ("test", 30)))
    case = Case(problem, *samples, stream=stream.child("learner"))
    return Ended(learner, case, learner.fit(case, lambda _: None))
