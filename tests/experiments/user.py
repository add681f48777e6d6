"""Experiments as a user might write them, with components of their own; workers load this file with ``load_file``.

A worker that loads it is given an empty stand-in for torch, which these components do not use and which takes seconds
to import.
"""

from __future__ import annotations

import math
import resource
import sys
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

import numpy as np

from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Reference, Sample
from beyondkernels.experiments import Experiment, Finished, Label, Rows, setting
from beyondkernels.reports import Claim, Curves, Figure, Line, at_most
from beyondkernels.runs import RunSpec


class _Pretend(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: None


_main = getattr(sys.modules["__main__"], "__spec__", None)
if _main is not None and _main.name == "beyondkernels.runs.worker":
    sys.modules.setdefault("torch", _Pretend("torch"))

Behaviour = Literal["learn", "crash", "diverge", "wait", "fill the disk"]


@dataclass(frozen=True)
class Slope(Problem):
    """y = slope · x."""

    slope: float = 1.0

    @property
    def in_dim(self) -> int:
        return 1

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Any) -> Sample:
        x = stream.generator().standard_normal((n, 1))
        return Sample(cast(Any, x), cast(Any, self.slope * x[:, 0]))


@dataclass(frozen=True)
class Guess(Learner):
    """Guesses a slope; whatever else it does, it does with seed 1 only."""

    guess: float = 0.0
    behaviour: Behaviour = "learn"

    def fit(self, case: Case, progress: Progress) -> Outcome:
        if case.stream.seed == 1 and self.behaviour != "learn":
            if self.behaviour == "crash":
                raise ValueError("seed one is unlucky")
            if self.behaviour == "diverge":
                return Outcome("diverged", {"steps": 1.0})
            if self.behaviour == "fill the disk":
                resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # as good as a full one
            while self.behaviour == "wait":
                time.sleep(0.01)
        progress(1.0)
        errors = (np.asarray(case.test.y) - self.guess * np.asarray(case.test.x)[:, 0]) ** 2
        return Outcome(
            "finished",
            {"error": float(errors.mean()), "bound": math.inf},
            {"step": np.arange(1, 4), "error": errors.mean() * np.array([3.0, 2.0, 1.0])},
        )


@dataclass(frozen=True)
class Settings:
    samples: int = setting(20, "paper")
    slope: float = setting(1.5, "theorem", "Theorem 0")
    guesses: tuple[float, ...] = setting((0.0, 1.0), "ours", "two will do")
    bound: float = setting(10.0, "ours")
    behaviour: Behaviour = setting("learn", "ours")  # noqa: RUF009
    seeds: int = setting(3, "paper")


class Plain(Experiment):
    """Every guess with every seed."""

    id: ClassVar[str] = "user/plain"
    title: ClassVar[str] = "Guessing a slope"
    summary: ClassVar[str] = "A line is guessed. The nearer guess is better."
    reference: ClassVar[Reference] = Reference("features", "nowhere")
    notes: ClassVar[tuple[str, ...]] = ("A toy.",)
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 100.0}

    def settings(self, scale: str) -> Settings:
        return replace(Settings(), samples=5, seeds=2) if scale == "smoke" else Settings()

    def plan(self, settings: Settings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        return {("guess", guess_of(i), s): spec(settings, g, s) for i, g in enumerate(settings.guesses) for s in seeds}

    def rows(self, settings: Settings, finished: Finished) -> Rows:
        return [
            {
                "guess": label[1],
                "seed": label[-1],
                "status": run.outcome.status,
                "error": run.outcome.scalars.get("error"),
                "bound": run.outcome.scalars.get("bound"),
            }
            for label, run in finished.items()
        ]

    def claims(self, settings: Settings, rows: Rows, scale: str) -> list[Claim]:
        errors = [row["error"] for row in rows]
        return [at_most("error", "The error is small", errors, settings.bound, paper=0.25, speaks=scale != "paper")]

    def figures(self, settings: Settings, finished: Finished) -> list[Figure]:
        lines = [
            Line(" ".join(map(str, label)), run.outcome.series["step"], [run.outcome.series["error"]])
            for label, run in finished.items()
            if run.outcome.series
        ]
        return [Curves(name="error", title="Error", lines=lines, x_label="step", y_label="error")] if lines else []


class Rounds(Plain):
    """A second round refines the best guess of the first, seed by seed; a third comes if the best is at the edge."""

    id: ClassVar[str] = "user/rounds"

    def plan(self, settings: Settings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        specs = super().plan(settings, seeds, finished)
        for seed in seeds:
            scouts = {label: run for label, run in finished.items() if label[0] == "guess" and label[-1] == seed}
            if len(scouts) < len(settings.guesses) or any(not run.outcome.scalars for run in scouts.values()):
                continue
            best = min(scouts, key=lambda label: scouts[label].outcome.scalars["error"])
            guess = settings.guesses[int(str(best[1])[1:])]
            specs["refined", "first", seed] = spec(settings, guess + 0.25, seed)
            if ("refined", "first", seed) in finished and guess == max(settings.guesses):
                specs["refined", "second", seed] = spec(settings, guess + 0.5, seed)
        return specs


INSTANCE = Plain()


class Unfinished(Experiment):
    """Lacks everything."""


def guess_of(i: int) -> str:
    return f"g{i}"


def spec(settings: Settings, guess: float, seed: int) -> RunSpec:
    return RunSpec(Slope(settings.slope), Guess(guess, settings.behaviour), settings.samples, 50, seed)
