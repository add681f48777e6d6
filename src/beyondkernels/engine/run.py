"""The Python front door: fit one learner, compare several."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from beyondkernels.algorithms import Algorithm
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Stream, require, require_whole
from beyondkernels.engine.learner import TrainedNetwork
from beyondkernels.kernels import Kernel, KernelRidge
from beyondkernels.networks import Network


@dataclass(frozen=True)
class Run:
    """One learner on one problem with one seed, and its outcome. Scalars are attributes: ``run.test_accuracy``."""

    problem: Problem
    learner: Learner
    samples: int
    seed: int
    outcome: Outcome

    def __getattr__(self, name: str) -> float:
        scalars = self.__dict__["outcome"].scalars if "outcome" in self.__dict__ else {}
        if name in scalars:
            return scalars[name]
        raise AttributeError(f"this run has no {name!r}; it has {', '.join(sorted(scalars))}")

    @property
    def status(self) -> str:
        """``finished`` or ``diverged``."""
        return self.outcome.status


def fit(
    learner: Learner | Network | Kernel,
    problem: Problem,
    n: int,
    *,
    algorithm: Algorithm | None = None,
    seed: int = 0,
    test: int = 10_000,
    progress: Progress = lambda _: None,
    **recording: Any,
) -> Run:
    """Draw a sample, learn from it, and test on fresh points.

    Arguments:
        learner: a learner, a network that ``algorithm`` trains, or a kernel for :class:`KernelRidge`.
        problem: where the samples come from.
        n: the size of the training sample.
        algorithm: the training rule of a network.
        seed: everything random is a function of it.
        test: the size of the test sample.
        progress: called with the fraction that is done.
        recording: further fields of :class:`TrainedNetwork`, such as ``snapshot_at``.

    >>> import beyondkernels as bk
    >>> problem = bk.problems.DictionaryParity(dim=8, patterns=6, relevant=3)
    >>> rule = bk.algorithms.GradientDescent(steps=20, learning_rate=0.1)
    >>> run = bk.fit(bk.networks.TwoLayer(pairs=4), problem, n=100, algorithm=rule)
    >>> run.status, run.steps
    ('finished', 20.0)
    """
    require_whole("n", n)
    require_whole("test", test)
    if isinstance(learner, Kernel):
        learner = KernelRidge(learner)
    if isinstance(learner, Network):
        require(
            algorithm is not None, "a network needs an algorithm that trains it: fit(network, problem, n, algorithm=…)"
        )
        assert algorithm is not None
        learner = TrainedNetwork(learner, algorithm, **recording)
    else:
        given = [name for name in ("algorithm", *recording) if name != "algorithm" or algorithm is not None]
        require(
            not given, f"{type(learner).__name__} knows how to learn; {', '.join(given)} can be given with a network"
        )
    learner.check(problem, n, test)
    stream = Stream(seed)
    case = Case(
        problem,
        train=problem.sample(n, stream.child("train")),
        test=problem.sample(test, stream.child("test")),
        stream=stream.child("learner"),
    )
    return Run(problem, learner, n, seed, learner.fit(case, progress))


@dataclass(frozen=True)
class Comparison:
    """The runs of several learners on one problem, by name."""

    runs: Mapping[str, tuple[Run, ...]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each learner: every scalar's mean over the finished runs, and its spread (standard deviation)."""
        rows = []
        for name, runs in self.runs.items():
            ended = [run for run in runs if run.status == "finished"]
            row: dict[str, Any] = {"learner": name, "seeds": len(runs), "diverged": len(runs) - len(ended)}
            for scalar in ended[0].outcome.scalars if ended else ():
                values = [run.outcome.scalars[scalar] for run in ended]
                row[scalar] = statistics.fmean(values)
                row[f"{scalar}_spread"] = statistics.stdev(values) if len(values) > 1 else None
            rows.append(row)
        return rows

    def __str__(self) -> str:
        rows = self.rows
        accurate = any("test_accuracy" in row for row in rows)
        what = "accuracy" if accurate else "loss"  # of regressions no accuracy is known
        width = max(len("learner"), *(len(row["learner"]) for row in rows))
        lines = [f"{'learner':{width}} {'train':>8} {'test':>8} {'spread':>8}"]
        for row in rows:
            numbers = (row.get(f"train_{what}"), row.get(f"test_{what}"), row.get(f"test_{what}_spread"))
            cells = [
                "–" if value is None else f"{100 * value:.2f}%" if accurate else f"{value:.3g}" for value in numbers
            ]
            lines.append(f"{row['learner']:{width}} " + " ".join(f"{cell:>8}" for cell in cells))
        return "\n".join(lines)


def compare(
    problem: Problem,
    n: int,
    *,
    learners: Mapping[str, Learner | Kernel],
    seeds: int | Iterable[int] = 5,
    test: int = 10_000,
) -> Comparison:
    """Give several learners the same samples, seed by seed; the spread is the standard deviation over seeds.

    Arguments:
        problem: where the samples come from.
        n: the size of the training samples.
        learners: learners by name; a kernel stands for ridge regression with it.
        seeds: how many, or which.
        test: the size of the test samples.
    """
    which = range(seeds) if isinstance(seeds, int) else list(seeds)
    require(len(which) > 0, f"seeds must give at least one seed, got {seeds}")
    require(isinstance(learners, Mapping) and len(learners) > 0, "learners must hold at least one learner by name")
    for name, learner in learners.items():
        require(
            isinstance(learner, Learner | Kernel),
            f"{name} must be a learner or a kernel, got a {type(learner).__name__}; a network becomes one with "
            "TrainedNetwork(network, algorithm)",
        )
    return Comparison(
        {
            name: tuple(fit(learner, problem, n, seed=seed, test=test) for seed in which)
            for name, learner in learners.items()
        }
    )
