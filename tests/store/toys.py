"""Tiny components for the tests of runs; workers load this file with ``load_file``.

A worker that loads it is given an empty stand-in for torch, which these toys do not use and which takes seconds to
import; set TOYS_WITH_TORCH to keep the real one.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from beyondkernels.core import (
    Case,
    Component,
    Ended,
    Learner,
    Measured,
    Outcome,
    Problem,
    Progress,
    Sample,
    Saved,
    Shape,
)
from beyondkernels.store import Store


class _Pretend(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: None


_main = getattr(sys.modules["__main__"], "__spec__", None)
if _main is not None and _main.name == "beyondkernels.execution.worker" and "TOYS_WITH_TORCH" not in os.environ:
    sys.modules.setdefault("torch", _Pretend("torch"))
if "BK_SOAK_BROKEN" in os.environ:  # the soak finds a store that publishes its files one by one

    def publish_file_by_file(store: Store, draft: Path, key: str) -> None:
        target = store.path / "runs" / key[:2] / key
        target.mkdir(parents=True)
        for name in ("done.json", *(path.name for path in draft.iterdir() if path.name != "done.json")):
            shutil.copyfile(draft / name, target / name)

    Store._publish = cast(Any, publish_file_by_file)


@dataclass(frozen=True)
class Line(Problem):
    """y = slope · (sum of x), with x standard normal."""

    dim: int = 3
    slope: float = 1.0

    @property
    def in_dim(self) -> int:
        return self.dim

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Any) -> Sample:
        x = stream.generator().standard_normal((n, self.dim))
        return Sample(cast(Any, x), cast(Any, self.slope * x.sum(axis=1)))


@dataclass(frozen=True)
class Mean(Learner):
    """Predicts the mean label; takes its time and leaves arrays of a given size."""

    seconds: float = 0.0
    numbers: int = 10
    label: Any = ""
    at_once: int = 4

    def fit(self, case: Case, progress: Progress) -> Outcome:
        end = time.monotonic() + self.seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.02))
            progress(1 - left / self.seconds)
        progress(1.0)
        mean = float(np.asarray(case.train.y).mean())
        error = float(((np.asarray(case.test.y) - mean) ** 2).mean())
        noise = case.stream.generator().standard_normal(self.numbers)
        return Outcome(
            "finished",
            {"mean": mean, "error": error, "never": float("nan"), "bound": float("inf")},
            {"step": np.arange(3), "loss": np.array([3.0, 2.0, error])},
            {"noise": noise},
        )

    def ensemble_key(self) -> str:
        return "mean"

    def members_at_once(self, samples: int, in_dim: Shape, out_dim: int = 1) -> int:
        return self.at_once


@dataclass(frozen=True)
class Diverging(Learner):
    """Ends with a number that is not finite."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        return Outcome("diverged", {"loss": float("-inf")})


@dataclass(frozen=True)
class Raising(Mean):
    """Raises an exception if its label says so, alone and in company."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        if self.label == "exit":
            sys.exit(7)
        if self.label:
            raise ValueError(f"{self.label} is wrong\n  in /home/ada/secret/place.txt")
        return super().fit(case, progress)


@dataclass(frozen=True)
class Killing(Mean):
    """Kills its own process while fewer than so many have died at this marker; label "calm" never does."""

    marker: str = ""
    deaths: int = 1

    def fit(self, case: Case, progress: Progress) -> Outcome:
        seen = len(list(Path(self.marker).parent.glob(f"{Path(self.marker).name}-*")))
        if self.label != "calm" and seen < self.deaths:
            Path(f"{self.marker}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(case, progress)


@dataclass(frozen=True)
class Saving(Mean):
    """Counts slowly and saves how far it is; may stumble or die on the way, or hate to begin at 3."""

    count: int = 10
    marker: str = ""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        saved = case.checkpoint.load() if case.checkpoint is not None else None
        began = 0 if saved is None else saved.facts["step"]
        if self.label == "hates 3" and began == 3:
            raise ValueError("three")
        if self.label == "dies of 3" and began == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        for step in range(began, self.count):
            if self.label in ("stumbles", "dies") and step == 5 and not Path(self.marker).exists():
                Path(self.marker).touch()
                if self.label == "dies":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError(f"at {step}")
            if self.label == "dies later" and step == began + 3:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.02)
            if case.checkpoint is not None and case.checkpoint.due():
                case.checkpoint.save(Saved({"step": step + 1}, {"noise": np.arange(self.numbers)}))
        return Outcome("finished", {"began": float(began), "steps": float(self.count)})


@dataclass(frozen=True)
class Walk(Mean):
    """A random walk whose step t is drawn from a stream of its own, so that it may stop and go on anywhere."""

    count: int = 40
    numbers: int = 2000
    at_once: int = 2

    def fit(self, case: Case, progress: Progress) -> Outcome:
        saved = case.checkpoint.load() if case.checkpoint is not None else None
        place = np.zeros(self.numbers) if saved is None else np.array(saved.arrays["place"])
        path = [] if saved is None else list(saved.facts["path"])
        for step in range(len(path), self.count):
            time.sleep(0.004)
            place = 0.9 * place + case.stream.child(f"step{step}").generator().standard_normal(self.numbers)
            path.append(float(place.mean()))
            progress((step + 1) / self.count)
            if case.checkpoint is not None and case.checkpoint.due():
                case.checkpoint.save(Saved({"path": path}, {"place": place}))
        series = {"step": np.arange(self.count), "mean": np.array(path)}
        # large enough that writing the run takes a moment, in which it may be killed
        return Outcome("finished", {"end": path[-1]}, series, {"place": place, "copies": np.tile(place, 200)})


@dataclass(frozen=True)
class Allocating(Mean):
    """Asks for more memory than any machine has."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        np.empty(2**57)
        return super().fit(case, progress)


@dataclass(frozen=True)
class Printing(Mean):
    """Prints in every way it can think of."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        print('{"kind": "done"}', flush=True)
        os.write(1, b"raw to one\n")
        print("to the error stream", file=sys.stderr, flush=True)
        os.write(2, b"." * 5000 + b"\n")
        assert sys.stdin.read() == ""
        return super().fit(case, progress)


@dataclass(frozen=True)
class Threads(Mean):
    """Says how many threads it may use."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        import torch

        total = float(torch.ones(1000).sum())
        variables = [int(os.environ[name]) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")]
        threads = torch.get_num_threads()
        return Outcome("finished", {"total": total, "threads": threads, "variables": max(variables)})


@dataclass(frozen=True)
class Strange(Mean):
    """Leaves something that cannot be stored."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        return Outcome("finished", {}, {}, {"objects": np.array([None])})


@dataclass(frozen=True)
class Doubled(Component):
    """A measurement: twice a scalar, and an array of it."""

    name: str = "error"

    def measure(self, run: Ended) -> Measured:
        value = 2 * run.outcome.scalars[self.name]
        return Measured({f"twice_{self.name}": value}, arrays={f"row_{self.name}": np.full(run.problem.in_dim, value)})
