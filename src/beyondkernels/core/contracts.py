"""The classes that every package shares: sample, problem, learner, outcome."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from beyondkernels.core.components import Component, digest
from beyondkernels.core.errors import InputError, require, unknown
from beyondkernels.core.points import Shape, vectors

if TYPE_CHECKING:  # the command line reads outcomes without importing torch
    from pathlib import Path

    import numpy as np
    import torch

    from beyondkernels.core.streams import Stream

Tensors: TypeAlias = "dict[str, torch.Tensor]"
"""Named tensors: the parameters, buffers or optimiser state of one network."""

Progress = Callable[[float], None]
"""A function that is called with the fraction of the work that is done."""


@dataclass(frozen=True)
class Sample:
    """n draws from a problem.

    Arguments:
        x: points, (n, *in_shape).
        y: labels, (n,) or (n, out_dim).
        hidden: the variables behind them.
    """

    x: torch.Tensor
    y: torch.Tensor
    hidden: Mapping[str, torch.Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.x)

    def to(self, device: str | torch.device) -> Sample:
        """The same points on a device."""
        return Sample(
            self.x.to(device), self.y.to(device), {name: value.to(device) for name, value in self.hidden.items()}
        )


class Problem(Component, ABC):
    """A distribution of (x, y) with everything that is known about it.

    It says ``in_dim`` if its points are vectors, and ``in_shape`` if they have another shape.
    """

    @property
    def in_dim(self) -> int:
        """How many numbers an input has: the dimension of a vector."""
        if type(self).in_shape is Problem.in_shape:
            raise TypeError(f"{type(self).__name__} must say in_dim, or in_shape if its points are no vectors")
        return math.prod(self.in_shape)

    @property
    def in_shape(self) -> tuple[int, ...]:
        """The shape of an input: (in_dim,), unless points are images or the like."""
        return (self.in_dim,)

    @property
    @abstractmethod
    def out_dim(self) -> int:
        """The dimension of a prediction."""

    @abstractmethod
    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points."""

    def take(self, part: str, n: int, seed: int) -> Sample:
        """The n points of one part of a run's data.

        A distribution draws them anew. A finite data set takes them from what it has put aside for that part.

        Arguments:
            part: ``train``, ``validation`` or ``test``.
            n: how many.
            seed: of the run.
        """
        from beyondkernels.core.streams import Stream

        return self.sample(n, Stream(seed).child(part))

    def has_classes(self, y: torch.Tensor) -> bool:
        """Whether labels are classes, which their numbers tell unless the problem knows it.

        Arguments:
            y: labels of the problem, (n,) or (n, out_dim).
        """
        from beyondkernels.core.scores import are_classes

        return are_classes(y)

    def shared(self, folder: Path) -> Problem:
        """The same problem, such that other processes can make it from its fields.

        Arguments:
            folder: for files that they need; it lasts as long as they do.
        """
        return self


class ScalarProblem(Problem):
    """A problem on vectors of ``dim`` numbers, with one output."""

    dim: int

    @property
    def in_dim(self) -> int:
        """The dimension d of an input."""
        return self.dim

    @property
    def out_dim(self) -> int:
        """One output; where labels are ±1, its sign is the prediction."""
        return 1


@dataclass(repr=False)
class Outcome:
    """What one run leaves behind.

    Arguments:
        status: ``finished``, or ``diverged`` when a number stopped being finite.
        scalars: the numbers at the end of the run, by name.
        series: its record over time, the first dimension of each; ``series["step"]`` is the time axis, and
            ``series["norm/step"]`` that of ``series["norm/W"]`` and all others whose names begin so.
        arrays: snapshots and measured arrays.
        predictor: what was learnt, from points (n, …) to predictions (n, out_dim); it is not stored.
        predicted: its predictions on the samples of the run that the learner has made already, by ``train``,
            ``validation`` and ``test``; they are not stored.
    """

    status: Literal["finished", "diverged"] = "finished"
    scalars: dict[str, float] = field(default_factory=dict)
    series: dict[str, np.ndarray] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    predictor: Callable[[torch.Tensor], torch.Tensor] | None = field(default=None, compare=False, repr=False)
    predicted: Mapping[str, torch.Tensor] = field(default_factory=dict, compare=False, repr=False)

    @property
    def summary(self) -> str:
        """How it ended, its first scalars, and how much more there is.

        >>> Outcome("finished", {"test_loss": 0.25, "steps": 600.0}).summary
        'finished: test_loss=0.25, steps=600'
        """
        shown = [f"{name}={value:.4g}" for name, value in list(self.scalars.items())[:3]]
        more = len(self.scalars) - len(shown) + len(self.series) + len(self.arrays)
        rest = [f"{more} more"] if more else []
        return f"{self.status}: {', '.join([*shown, *rest])}" if shown or rest else self.status

    def __repr__(self) -> str:
        return f"<Outcome {self.summary}>"

    def over(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The steps of a series, and the series.

        >>> import numpy as np
        >>> record = {"step": np.array([0, 5]), "test_loss": np.array([1.0, 0.5])}
        >>> Outcome(series=record).over("test_loss")[0]
        array([0, 5])
        """
        if name not in self.series:
            unknown("series", name, self.series)
        group, joint, _ = name.rpartition("/")
        return self.series[f"{group}{joint}step"], self.series[name]

    def at(self, name: str, step: int, missing: Any = ...) -> Any:
        """A series at one step: a number, or an array where each step has one.

        Arguments:
            name: of the series.
            step: after which.
            missing: what to give where there is no such number; an error, unless it is said.

        >>> import numpy as np
        >>> record = {"step": np.array([0, 5]), "test_loss": np.array([1.0, 0.5])}
        >>> Outcome(series=record).at("test_loss", 5)
        0.5
        """
        if missing is not ... and name not in self.series:
            return missing
        steps, values = self.over(name)
        found = [i for i, each in enumerate(steps) if each == step]
        if missing is not ... and not found:
            return missing
        require(len(found) > 0, f"{name} was looked at after steps {_few(steps)}, not after {step}")
        value = values[found[0]]
        return value if value.ndim else value.item()


def _few(steps: np.ndarray) -> str:
    shown = ", ".join(f"{step:g}" for step in steps[:8])
    return f"{shown}, …" if len(steps) > 8 else shown


@dataclass(frozen=True)
class Saved:
    """The state of a run that is not over.

    Arguments:
        facts: plain JSON data.
        arrays: everything else.
    """

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Checkpoint(ABC):
    """Where the state of a run is saved while the run lasts, so that an interrupted run can go on.

    A learner that takes long loads the saved state at its start, if there is one, and saves its state when that is due.
    A learner that does neither starts from the beginning after an interruption. An interrupted run must give the same
    bits as an undisturbed one: the clock decides when a state is saved, and never what the result is.
    """

    @abstractmethod
    def load(self) -> Saved | None:
        """The state that was saved last, or None if there is none."""

    @abstractmethod
    def due(self) -> bool:
        """Whether enough seconds of work have passed since the last save."""

    @abstractmethod
    def save(self, state: Saved) -> None:
        """Save a state in place of the previous one. If this fails, the run goes on without it."""


@dataclass(frozen=True)
class Case:
    """What a learner is given.

    Arguments:
        problem: where the samples come from.
        train: what it learns from.
        test: fresh points that say how well.
        stream: all that is random in it comes from here.
        checkpoint: where to save.
        validation: more fresh points, by which someone else chooses among learners; it is only scored on them.
    """

    problem: Problem
    train: Sample
    test: Sample
    stream: Stream
    checkpoint: Checkpoint | None = None
    validation: Sample | None = None

    def flattened(self) -> Case:
        """The same case for a learner that wants vectors."""
        if self.train.x.ndim <= 2:
            return self

        def flat(part: Sample) -> Sample:
            return replace(part, x=vectors(part.x))

        validation = None if self.validation is None else flat(self.validation)
        return replace(self, train=flat(self.train), test=flat(self.test), validation=validation)

    @property
    def fresh(self) -> dict[str, Sample]:
        """The samples a learner must not learn from, by name: ``test``, and ``validation`` where there is one."""
        return {"test": self.test} | ({} if self.validation is None else {"validation": self.validation})

    @functools.cached_property
    def has_classes(self) -> bool:
        """Whether the labels of all samples are classes."""
        return all(self.problem.has_classes(part.y) for part in (self.train, *self.fresh.values()))


class Learner(Component, ABC):
    """What turns a sample into a predictor: it learns, evaluates the predictor, and returns the outcome of the run."""

    @abstractmethod
    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Learn from the train sample, and say how it went.

        All learners call the same numbers by the same names: ``train_loss``, ``test_loss``, ``validation_loss``, and
        ``train_accuracy``, ``test_accuracy``, ``validation_accuracy`` where labels are ±1.
        """

    @classmethod
    def fit_together(cls, learners: Sequence[Learner], cases: Sequence[Case], progress: Progress) -> list[Outcome]:
        """One outcome for each learner and its case: the same numbers as from ``fit``, faster where possible."""
        n = len(cases)
        return [
            learner.fit(case, lambda fraction, i=i: progress((i + fraction) / n))
            for i, (learner, case) in enumerate(zip(learners, cases, strict=True))
        ]

    def runs_on(self, device: str) -> bool:
        """Whether it computes on a device; any on the processor, few elsewhere."""
        return device.partition(":")[0] == "cpu"

    def ensemble_key(self) -> str:
        """Learners of one class that have equal keys and samples of equal size may share one ``fit_together``."""
        return digest(self)

    def members_at_once(self, samples: int, in_dim: Shape, out_dim: int = 1) -> int:
        """How many cases of this size to pass to one ``fit_together``: more than one only where that is faster."""
        return 1

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that this learner can learn from so many points of a problem, before anything is drawn.

        Raises an :class:`InputError` if sizes do not fit together, or if more memory is needed than is allowed.

        Arguments:
            problem: where points come from.
            samples: how many there are to learn from.
            test_samples: how many fresh ones, for the test and for validation.
        """

    def prepare(self) -> None:
        """Make what learning needs on this machine, such as a compiled library, before the first run starts.

        Raises an :class:`InputError` that says what is missing and what to install or set.
        """


@dataclass(frozen=True)
class Ended:
    """A run that has ended, as a measurement sees it.

    Arguments:
        learner: what learnt.
        case: the problem, the samples and the run's stream.
        outcome: what the learner left, and what earlier measurements found.
    """

    learner: Learner
    case: Case
    outcome: Outcome

    @property
    def problem(self) -> Problem:
        """Where the samples came from."""
        return self.case.problem

    @property
    def predictor(self) -> Callable[[torch.Tensor], torch.Tensor]:
        """What was learnt, from points to predictions; of a network it also has ``params`` and ``buffers``."""
        if self.outcome.predictor is None:
            raise InputError(f"{type(self.learner).__name__} left no predictor behind; stored runs have none")
        return self.outcome.predictor

    def predictions(self, part: str) -> torch.Tensor:
        """Predictions on a sample of the run. They are computed only if the learner has not made them already.

        Arguments:
            part: ``train``, ``validation`` or ``test``.
        """
        known = self.outcome.predicted.get(part)
        return self.predictor(getattr(self.case, part).x) if known is None else known


@dataclass(frozen=True)
class Measured:
    """What a measurement gives.

    Arguments:
        scalars: numbers.
        series: arrays over time, as ``measure.over_steps`` makes them.
        arrays: whatever has no time axis.
    """

    scalars: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, np.ndarray] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
