"""One run as it comes back: what it was, what became of it, and what it learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Ended, Learner, Measured, Outcome, Problem
from beyondkernels.core.errors import InputError
from beyondkernels.runs.perform import cases_of
from beyondkernels.runs.spec import RunSpec
from beyondkernels.runs.views import html_view, in_words

if TYPE_CHECKING:
    import torch
    from pandas import DataFrame

    from beyondkernels.measure import Measurement

SHOWN = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy")
"""The scalars that say how it went, in the order in which they are read."""


@dataclass(frozen=True, repr=False)
class Run:
    """One learner on one problem with one seed, and its outcome. Scalars are attributes: ``run.test_accuracy``.

    Arguments:
        spec: what was run.
        outcome: what it left behind.
        reason: why there is nothing, where it crashed.
    """

    spec: RunSpec
    outcome: Outcome
    reason: str = ""

    def __getattr__(self, name: str) -> float:
        scalars = self.__dict__["outcome"].scalars if "outcome" in self.__dict__ else {}
        if name in scalars:
            return scalars[name]
        raise AttributeError(f"this run has no {name!r}; it has {', '.join(sorted(scalars))}")

    @property
    def problem(self) -> Problem:
        """Where the samples came from."""
        return self.spec.problem

    @property
    def learner(self) -> Learner:
        """What learnt."""
        return self.spec.learner

    @property
    def samples(self) -> int:
        """The size of the train sample."""
        return self.spec.samples

    @property
    def seed(self) -> int:
        """Of which everything random is a function."""
        return self.spec.seed

    @property
    def status(self) -> str:
        """``finished``, ``diverged`` or ``crashed``."""
        return "crashed" if self.reason else self.outcome.status

    def predict(self, x: torch.Tensor) -> torch.Tensor:
        """What it makes of points (n, …): predictions (n, out_dim).

        Arguments:
            x: the points, of the shape that the problem's have.
        """
        if self.outcome.predictor is None:
            how = {"finished": "was read from a store, which keeps no predictor", "diverged": "diverged"}
            raise InputError(f"this run cannot predict: it {how.get(self.status, 'crashed')}")
        return self.outcome.predictor(x)

    def measure(self, measurement: Measurement) -> Measured:
        """What a measurement finds in this run: scalars, series and arrays."""
        (case,) = cases_of([self.spec])
        return measurement.measure(Ended(self.learner, case, self.outcome))

    def as_row(self) -> dict[str, Any]:
        """Status and scalars; of a run that crashed the reason."""
        return {"status": self.status, **({"reason": self.reason} if self.reason else self.outcome.scalars)}

    def to_frame(self) -> DataFrame:
        """A table of one row: learner, problem, sizes, seed, status and scalars."""
        import pandas as pd

        return pd.DataFrame([self._coordinates() | self.as_row()])

    def _coordinates(self) -> dict[str, Any]:
        names = {"learner": in_words(self.learner), "problem": in_words(self.problem)}
        return names | {"n": self.samples, "seed": self.seed}

    def __repr__(self) -> str:
        numbers = {name: self.outcome.scalars[name] for name in SHOWN if name in self.outcome.scalars}
        found = self.reason or ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())
        what = f"{in_words(self.learner)} on {in_words(self.problem)}, n={self.samples}, seed={self.seed}"
        return f"<Run {what}: {self.status}{f', {found}' if found else ''}>"

    def _repr_html_(self) -> str:
        title = f"{in_words(self.learner)} on {in_words(self.problem)}"
        rows = [{"scalar": name, "value": value} for name, value in self.outcome.scalars.items()]
        return html_view(title, f"n = {self.samples}, seed {self.seed}, {self.status}", rows)
