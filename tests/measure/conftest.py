from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from beyondkernels.core import Outcome, Problem, Sample, Stream


@dataclass(frozen=True)
class Pointing(Problem):
    """A problem that knows a direction and nothing else."""

    towards: tuple[float, ...] = (1.0, 0.0, 0.0)

    @property
    def in_dim(self) -> int:
        return len(self.towards)

    @property
    def out_dim(self) -> int:
        return 1

    @property
    def direction(self) -> torch.Tensor:
        return torch.tensor(self.towards, dtype=torch.float64)

    def sample(self, n: int, stream: Stream) -> Sample:
        raise NotImplementedError


@dataclass(frozen=True)
class Lost(Pointing):
    direction = None  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@pytest.fixture
def pointing() -> Problem:
    return Pointing()


@pytest.fixture
def lost() -> Problem:
    return Lost()


@pytest.fixture
def outcome_of() -> Callable[..., Outcome]:
    """An outcome that kept these weights by step, beside arrays that are no such snapshots."""

    def make(**weights: list[list[float]]) -> Outcome:
        arrays = {
            f"snapshot/{step.removeprefix('at')}/hidden.weight": np.array(w, dtype=np.float32)
            for step, w in weights.items()
        }
        others = {"snapshot/0/hidden.bias": np.zeros(3), "features/0/hidden.weight": np.zeros((3, 3))}
        return Outcome(arrays=others | arrays)

    return make
