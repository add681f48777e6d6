"""Experiments as a user might write them, with components of their own; workers load this file with ``load_file``.

A worker that loads it is given an empty stand-in for torch, which these components do not use and which takes seconds
to import.
"""

from __future__ import annotations

import math
import os
import resource
import sys
import time
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Reference, Sample
from beyondkernels.lab import At, Experiment, Finished, Label, OverTime, Picture, Runs, Statement, of, scale, setting
from beyondkernels.lab.report.claims import AtMost
from beyondkernels.store import RunSpec


class _Pretend(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: None


_main = getattr(sys.modules["__main__"], "__spec__", None)
if _main is not None and _main.name == "beyondkernels.execution.worker":
    sys.modules.setdefault("torch", _Pretend("torch"))

Behaviour = Literal["learn", "crash", "diverge", "wait", "wait on a word", "fill the disk"]
WORD = "USER_WAITS"
"""A variable of the surroundings: a learner that waits on a word waits as long as it is set."""


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
            while self.behaviour == "wait" or (self.behaviour == "wait on a word" and WORD in os.environ):
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
    behaviour: Behaviour = setting("learn", "ours")
    seeds: int = setting(3, "paper")


class Plain(Experiment):
    """Every guess with every seed."""

    id = "user/plain"
    title = "Guessing a slope"
    summary = "A line is guessed. The nearer guess is better."
    settings_class = Settings
    reference = Reference(None, "nowhere")
    scales = {"smoke": scale("paper", samples=5, seeds=2)}
    speaks_at = ("smoke", "laptop")
    seconds_per_run = {"smoke": 100.0}

    def runs(self, settings: Settings, /) -> Sequence[Runs]:
        return [Runs(guessed, {"guess": [guess_of(i) for i in range(len(settings.guesses))]}, read)]

    def claims(self, settings: Settings, /) -> Sequence[Statement]:
        value = of("error", guess="g0").number()  # so that a single seed decides
        return [Statement("error", "The error is small", value, AtMost(settings.bound), paper=0.25)]

    def figures(self, settings: Settings, /) -> Sequence[Picture]:
        return [OverTime("error", "Error", "", "", y="error", line="guess", x_label="step", y_label="error")]

    def remarks(self, settings: Settings, /) -> Sequence[str]:
        return ["A toy."]


@dataclass(frozen=True)
class Refined(Runs):
    """A second round refines the best guess of the first, seed by seed; a third comes if the best is at the edge."""

    def specs(self, settings: Settings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        specs = super().specs(settings, seeds, finished)
        for seed in seeds:
            scouts = {
                label: run for label, run in finished.items() if label[0] in self.over["guess"] and label[1] == seed
            }
            if len(scouts) < len(settings.guesses) or any(not run.outcome.scalars for run in scouts.values()):
                continue
            best = min(scouts, key=lambda label: scouts[label].outcome.scalars["error"])
            guess = settings.guesses[int(str(best[0])[1:])]
            specs["first", seed] = spec(settings, guess + 0.25, seed)
            if ("first", seed) in finished and guess == max(settings.guesses):
                specs["second", seed] = spec(settings, guess + 0.5, seed)
        return specs

    def records(self, settings: Settings, seeds: Sequence[int], finished: Finished) -> Iterator[dict[str, Any]]:
        yield from super().records(settings, seeds, finished)
        for word in ("first", "second"):
            for seed in seeds:
                yield from self._read(settings, At(guess=word, seed=seed), finished)


class Rounds(Plain):
    """Refines the best guess."""

    id = "user/rounds"

    def runs(self, settings: Settings, /) -> Sequence[Runs]:
        (first,) = super().runs(settings)
        return [Refined(first.spec, first.over, first.read)]


INSTANCE = Plain()


class Unfinished(Experiment):
    """Lacks everything."""


def guess_of(i: int) -> str:
    return f"g{i}"


def guessed(settings: Settings, at: At) -> RunSpec:
    return spec(settings, settings.guesses[int(at.guess[1:])], at.seed)


def read(settings: Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    return {"error": outcome.scalars.get("error"), "bound": outcome.scalars.get("bound")}


def spec(settings: Settings, guess: float, seed: int) -> RunSpec:
    return RunSpec(Slope(settings.slope), Guess(guess, settings.behaviour), settings.samples, 50, seed)
