"""What the soak runs: a learner that takes its time, saves its state on the way, and gives the same numbers resumed.

A worker that loads this file is given an empty stand-in for torch, which takes seconds to import and is not used.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, Sample, Saved, Shape
from beyondkernels.store import Store


class _Pretend(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: None


_main = getattr(sys.modules["__main__"], "__spec__", None)
if _main is not None and _main.name == "beyondkernels.execution.worker":
    sys.modules.setdefault("torch", _Pretend("torch"))
    if "BK_SOAK_BROKEN" in os.environ:

        def publish_file_by_file(store: Store, draft: Path, key: str) -> None:
            target = store.path / "runs" / key[:2] / key
            target.mkdir(parents=True)
            for name in ("done.json", *(path.name for path in draft.iterdir() if path.name != "done.json")):
                shutil.copyfile(draft / name, target / name)

        Store._publish = cast(Any, publish_file_by_file)


@dataclass(frozen=True)
class Noise(Problem):
    """Points and labels that have nothing to do with each other."""

    dim: int = 3

    @property
    def in_dim(self) -> int:
        return self.dim

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Any) -> Sample:
        generator = stream.generator()
        return Sample(cast(Any, generator.standard_normal((n, self.dim))), cast(Any, generator.standard_normal(n)))


@dataclass(frozen=True)
class Walk(Learner):
    """A random walk whose step t is drawn from a stream of its own, so that it may stop and go on anywhere."""

    steps: int = 40
    numbers: int = 2000
    at_once: int = 2

    def fit(self, case: Case, progress: Progress) -> Outcome:
        saved = case.checkpoint.load() if case.checkpoint is not None else None
        place = np.zeros(self.numbers) if saved is None else np.array(saved.arrays["place"])
        path = [] if saved is None else list(saved.facts["path"])
        for step in range(len(path), self.steps):
            time.sleep(0.004)
            place = 0.9 * place + case.stream.child(f"step{step}").generator().standard_normal(self.numbers)
            path.append(float(place.mean()))
            progress((step + 1) / self.steps)
            if case.checkpoint is not None and case.checkpoint.due():
                case.checkpoint.save(Saved({"path": path}, {"place": place}))
        series = {"step": np.arange(self.steps), "mean": np.array(path)}
        # large enough that writing the run takes a moment, in which it may be killed
        return Outcome("finished", {"end": path[-1]}, series, {"place": place, "copies": np.tile(place, 200)})

    def ensemble_key(self) -> str:
        return "walk"

    def members_at_once(self, samples: int, in_dim: Shape, out_dim: int = 1) -> int:
        return self.at_once
