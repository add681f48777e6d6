"""The nouns every layer shares: sample, problem, learner, outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from beyondkernels.core.components import Component, digest

if TYPE_CHECKING:  # the command line reads outcomes without waiting for torch
    import numpy as np
    import torch

    from beyondkernels.core.streams import Stream

Tensors: TypeAlias = "dict[str, torch.Tensor]"
"""Named tensors: the parameters, buffers or optimiser state of one network."""

Progress = Callable[[float], None]
"""Called with the fraction of the work that is done."""


@dataclass(frozen=True)
class Sample:
    """n draws from a problem: inputs (n, in_dim), labels (n,) or (n, out_dim), and the hidden variables behind them."""

    x: torch.Tensor
    y: torch.Tensor
    hidden: Mapping[str, torch.Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.x)


class Problem(Component, ABC):
    """A distribution of (x, y) with everything that is known about it."""

    @property
    @abstractmethod
    def in_dim(self) -> int:
        """The dimension of an input."""

    @property
    @abstractmethod
    def out_dim(self) -> int:
        """The dimension of a prediction."""

    @abstractmethod
    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points."""


@dataclass
class Outcome:
    """What one run leaves behind.

    Arguments:
        status: ``finished``, or ``diverged`` when a number stopped being finite.
        scalars: its end, number by number.
        series: its record over time; ``series["step"]`` is the time axis of the others.
        arrays: snapshots and measured arrays.
    """

    status: Literal["finished", "diverged"] = "finished"
    scalars: dict[str, float] = field(default_factory=dict)
    series: dict[str, np.ndarray] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One problem with its train and test sample and the run's stream: what a learner is given."""

    problem: Problem
    train: Sample
    test: Sample
    stream: Stream


class Learner(Component, ABC):
    """What takes a sample and gives a predictor; here, all the way to the outcome of a run."""

    @abstractmethod
    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Learn from the train sample, and say how it went on the test sample."""

    @classmethod
    def fit_together(cls, learners: Sequence[Learner], cases: Sequence[Case], progress: Progress) -> list[Outcome]:
        """One outcome for each learner and its case: the same numbers as ``fit`` gives alone, sooner if possible."""
        n = len(cases)
        return [
            learner.fit(case, lambda fraction, i=i: progress((i + fraction) / n))
            for i, (learner, case) in enumerate(zip(learners, cases, strict=True))
        ]

    def ensemble_key(self) -> str:
        """Learners of one class with equal keys, on samples of equal sizes, may go to one ``fit_together``."""
        return digest(self)

    def members_at_once(self, samples: int, in_dim: int) -> int:
        """How many cases of this size one ``fit_together`` should be given: more than one only where it is faster."""
        return 1
