"""One run as it comes back: what it was, what became of it, and what it learnt."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Ended, Learner, Measured, Outcome, Problem
from beyondkernels.core.errors import InputError, require
from beyondkernels.execution.outcomes import cases_of
from beyondkernels.learning.curves import run_pictures
from beyondkernels.learning.notebook_views import html_view, in_words
from beyondkernels.store.spec import RunSpec

if TYPE_CHECKING:
    import torch
    from pandas import DataFrame

    from beyondkernels.measure import Measurement

    Predicting = Callable[[torch.Tensor], torch.Tensor]

SHOWN = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy")
"""The scalars that say how it went, in the order in which they are read."""

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, repr=False)
class Run:
    """One learner on one problem with one seed, and its outcome. Scalars are attributes: ``run.test_accuracy``.

    Arguments:
        spec: what was run.
        outcome: what it left behind.
        reason: why there is nothing, where it crashed.
        recall: gives what was learnt, where the outcome does not hold it: what a store keeps of a trained network, or
            the end of the same run, which is computed again.
        frames: where in a user's code it crashed: file, line, function and code of each frame.
    """

    spec: RunSpec
    outcome: Outcome
    reason: str = ""
    recall: Callable[[], Predicting] | None = field(default=None, compare=False)
    frames: str = ""

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
        """The network with its algorithm, or the kernel with its solver."""
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

    @functools.cached_property
    def predictor(self) -> Predicting:
        """What was learnt, a function of points.

        A run that was read from a store has it from there if a network trained. Otherwise, and for a run that is one of
        many, the same run is computed again when this is first asked for.
        """
        if (known := self.outcome.predictor) is not None:
            return known
        if self.status != "finished" or self.recall is None:
            how = "was put together without a way to compute it" if self.status == "finished" else self.status
            raise InputError(f"this run cannot predict: it {how}")
        return self.recall()

    def predict(self, x: Any) -> Any:
        """What it makes of points (n, …), in the form of the labels that were given.

        For data this is a NumPy array: classes (n,), or numbers (n,) or (n, k). For a problem it is the tensor of
        outputs (n, out_dim).

        Arguments:
            x: the points, of the shape that the training points have; arrays, tensors and tables of numbers. They are
                read as the training points were: images of bytes are divided by 255, and columns of a table go by
                their names.
        """
        from beyondkernels.data import GivenData

        out = self.outputs(x)
        return self.problem.decoded(out) if isinstance(self.problem, GivenData) else out

    def predict_proba(self, x: Any) -> Any:
        """The probability of each class, (n, classes): of a network trained with a cross entropy, or an estimator's.

        Arguments:
            x: the points.
        """
        import torch

        from beyondkernels.algorithms import Loss

        points = self._points(x)
        if (of := getattr(self.predictor, "probabilities", None)) is not None:
            return of(points).cpu().numpy()
        loss = getattr(getattr(self.learner, "algorithm", None), "loss", None)
        found = loss.probabilities(self.outputs(x)) if isinstance(loss, Loss) else None
        if found is None:
            raise InputError(
                f"probabilities come from the cross entropy, which {in_words(self.learner)} was not trained with"
            )
        return (found.float() if found.dtype == torch.bfloat16 else found).cpu().numpy()

    def outputs(self, x: Any) -> torch.Tensor:
        """What the predictor gives for points (n, …), as it is: (n, out_dim).

        Arguments:
            x: the points.
        """
        points = self._points(x)
        try:
            return self.predictor(points)
        except IndexError as error:
            if not getattr(self.problem, "whole", False):
                raise
            raise InputError(
                f"x must hold token ids that the model knows, got ids up to {int(points.max())}: {error}"
            ) from None

    def _points(self, x: Any) -> torch.Tensor:
        """Points as the predictor takes them."""
        import numpy as np
        import torch

        from beyondkernels.data import GivenData
        from beyondkernels.data.given import are_tokens

        require(self.status == "finished", f"this run cannot predict: it {self.status}")
        if isinstance(x, torch.Tensor) and not isinstance(self.problem, GivenData):
            points = x  # in the precision of the problem, and where it is
            require(not x.is_complex(), f"x must hold real numbers, got {x.dtype}")
            require(bool(x.isfinite().all()), "x must be finite, got NaN or infinity")
        else:
            from beyondkernels.data.columns import in_order, is_frame
            from beyondkernels.data.readers import read_points

            if isinstance(self.problem, GivenData):
                x = in_order(x, self.problem.columns, "x", self.problem.target)
                if self.problem.table is not None:
                    require(is_frame(x), f"x must be a table, as the training points were, got a {type(x).__name__}")
                    return x
            inputs = self.problem.inputs if isinstance(self.problem, GivenData) else ()
            if inputs and isinstance(x, Mapping):
                x = {each: value for each, value in x.items() if each in {one.name for one in inputs}}
            points = torch.from_numpy(read_points(x, "x", inputs))
        shape, came = self.problem.in_shape, tuple(points.shape if isinstance(x, Mapping) else np.shape(x))
        require(
            tuple(points.shape[1:]) in (shape, (math.prod(shape),)),
            f"x must be points of the shape {shape}, got {came}"
            + ("; x[None] is a batch of this one point" if came == shape else ""),
        )
        if not isinstance(self.problem, GivenData):
            return points
        require(
            not self.problem.tokens or are_tokens(points.numpy()),
            "x must hold token ids, whole numbers from 0, as the training points do",
        )
        return self.problem.handed(points).to(x.device if isinstance(x, torch.Tensor) else "cpu")

    @property
    def module(self) -> torch.nn.Module:
        """The trained module, ready to predict: a copy of the one that was given, or the network as a module."""
        from beyondkernels.engine import Predictor

        predictor = self.predictor
        if not isinstance(predictor, Predictor):
            raise InputError(f"{in_words(self.learner)} leaves no module; a network does")
        return predictor.module(self.problem.in_shape, self.problem.out_dim)

    def measure(self, measurement: Measurement) -> Measured:
        """What a measurement finds in this run: scalars, series and arrays."""
        (case,) = cases_of([self.spec])
        ended = dataclasses.replace(self.outcome, predictor=self.predictor) if self.recall else self.outcome
        return measurement.measure(Ended(self.learner, case, ended))

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
        steps = f", {self.steps:.0f} steps" if "steps" in self.outcome.scalars else ""
        facts, pictures = f"n = {self.samples}, seed {self.seed}, {self.status}{steps}", run_pictures(self.outcome)
        if pictures and (points := getattr(self.learner, "record_points", None)) is not None:
            facts += f"; curves on the first {points} points of each sample, table on all"
        return html_view(title, facts, self._table(), pictures, self.reason)

    def _table(self) -> list[dict[str, Any]]:
        """A row for each score with a column for each sample, then a row for each other scalar."""
        scalars = dict(self.outcome.scalars)
        rows: dict[str, dict[str, Any]] = {}
        parts = [part for part in PARTS if any(name.startswith(f"{part}_") for name in scalars)]
        for part in parts:
            for name in [name for name in scalars if name.startswith(f"{part}_")]:
                score = name.removeprefix(f"{part}_")
                row = rows.setdefault(score, {"score": score.replace("_", " "), **dict.fromkeys(parts)})
                row[part] = scalars.pop(name)
        others = [{"score": name.replace("_", " "), "value": scalars[name]} for name in scalars if name != "steps"]
        return [*rows.values(), *others]
