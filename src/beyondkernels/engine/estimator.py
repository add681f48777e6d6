"""Estimators of scikit-learn as learners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch

from beyondkernels.core import (
    Case,
    Learner,
    Outcome,
    Problem,
    Progress,
    Sample,
    Stream,
    UncacheableError,
    accuracy,
    later,
    require,
)
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.data import GivenData
from beyondkernels.data.columns import is_frame
from beyondkernels.data.tables import ValueTable

_WITNESS_POINTS = 64


@dataclass(frozen=True)
class FromEstimator(Learner):
    """An estimator with ``fit`` and ``predict``, cloned for each run.

    If it has a ``random_state``, the seed of the run sets it. Classes are given as 0, 1, 2, …

    Arguments:
        settings: a hash of its class and parameters, and of the user's code in them.
        name: what to call it in tables.
        estimator: the estimator itself, which only this process has.
        opaque: why it cannot be read in full, so that its runs are not stored.

    >>> from sklearn.linear_model import RidgeClassifier
    >>> FromEstimator.of(RidgeClassifier()).name
    'RidgeClassifier'
    """

    settings: str
    name: str
    estimator: Any = field(default=None, metadata={"identity": False}, repr=False)
    opaque: tuple[Any, ...] = later(())

    brought: ClassVar[bool] = True

    @classmethod
    def of(cls, estimator: Any, name: str | None = None) -> FromEstimator:
        """A learner around an estimator.

        Arguments:
            estimator: stays as it is.
            name: what to call it in tables; its class unless given.
        """
        name = name or type(estimator).__name__
        try:
            # Without what an earlier fit left behind: a clone forgets it, so it must not be part of the identity.
            return cls(fingerprint(_as_fitted(estimator)), name, estimator)
        except UncacheableError as error:  # it can be fitted all the same; the error comes up where a key is asked for
            return cls("", name, estimator, (error,))

    def __post_init__(self) -> None:
        require(
            self.estimator is not None and hasattr(self.estimator, "fit") and hasattr(type(self.estimator), "predict"),
            "an estimator is in the process that made it alone, so it cannot train in worker processes",
        )

    def witness(self, problem: Problem, samples: int) -> dict[str, torch.Tensor]:
        """What it predicts after a fit on a few points, every class among them; see ``store.witness``.

        Arguments:
            problem: where the points come from.
            samples: how many there are.
        """
        sample = problem.take("train", min(samples, 16 * _WITNESS_POINTS), 0)
        rows = list(range(len(sample)))
        if problem.has_classes(sample.y):
            _, places = np.unique(_classes(sample.y), return_index=True)
            # An estimator refuses labels of one class, and another set of classes would be another fit.
            rows = [*places.tolist(), *(row for row in rows if row not in set(places.tolist()))]
        few = Sample(sample.x[rows[:_WITNESS_POINTS]], sample.y[rows[:_WITNESS_POINTS]])
        outcome = self.fit(Case(problem, few, few, Stream(0)), lambda _: None)
        assert outcome.predictor is not None
        return {"predictions": outcome.predictor(few.x)}

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Fit a clone; losses are squared errors, accuracies are there when labels are classes."""
        from sklearn.base import clone

        case = case.flattened()
        estimator: Any = clone(self.estimator)
        if "random_state" in estimator.get_params():
            # Below 2³¹, which every estimator takes: some hand their seed to C as an int.
            estimator.set_params(random_state=int(case.stream.child("estimator").integers(2**31)))
        classes, y = case.has_classes, case.train.y
        table = case.problem.table if isinstance(case.problem, GivenData) else None
        estimator.fit(_rows(case.train.x, table), _classes(y) if classes else y.numpy())
        progress(0.9)

        predictor = _Fitted(estimator, y, classes, table)
        scalars: dict[str, float] = {}
        for name, part in ({"train": case.train} | case.fresh).items():
            out = predictor(part.x)
            if classes:
                scalars[f"{name}_accuracy"] = accuracy(out, part.y)
            else:
                scalars[f"{name}_loss"] = (out - part.y.reshape(out.shape)).square().sum(1).mean().item()
        progress(1.0)
        return Outcome(scalars=scalars, predictor=predictor)


def _as_fitted(estimator: Any) -> Any:
    """A clone, which is what is fitted: it has the parameters alone. The estimator itself where it has none."""
    from sklearn.base import clone

    try:
        return clone(estimator)
    except Exception:  # of a parameter that cannot be copied; fitting says so
        return estimator


class _Fitted:
    """What an estimator that was fitted predicts.

    Arguments:
        estimator: the estimator.
        y: the labels it was fitted to.
        classes: whether they are classes.
        table: the values of the points' cells, where it was fitted to a table.
    """

    def __init__(self, estimator: Any, y: torch.Tensor, classes: bool, table: ValueTable | None = None) -> None:
        self._estimator, self._y, self._classes, self._table = estimator, y, classes, table
        has_them = classes and hasattr(estimator, "predict_proba")
        self.probabilities: Callable[[torch.Tensor], torch.Tensor] | None = self._probabilities if has_them else None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Numbers, or classes as labels have them."""
        found = np.asarray(self._estimator.predict(_rows(x, self._table)))
        return _encoded(found, self._y) if self._classes else torch.from_numpy(found.reshape(len(x), -1)).float()

    def _probabilities(self, x: torch.Tensor) -> torch.Tensor:
        """The probability of each class, (n, classes). A class without training points has none."""
        found = torch.from_numpy(np.asarray(self._estimator.predict_proba(_rows(x, self._table))))
        classes = 2 if self._y.ndim == 1 or self._y.shape[1] == 1 else self._y.shape[1]
        rows = torch.zeros(len(x), classes, dtype=torch.float64)
        # An estimator knows the classes of its training points alone, and has columns for those.
        rows[:, torch.as_tensor(self._estimator.classes_, dtype=torch.int64)] = found.double()
        return rows


def _rows(x: Any, table: ValueTable | None) -> Any:
    """Points as an estimator takes them: an array, or a table where it was given one."""
    if is_frame(x):
        return x
    numbers = x.flatten(1).cpu().numpy()
    return numbers if table is None else table.frame(numbers)


def _classes(y: torch.Tensor) -> np.ndarray:
    places = (y.reshape(-1) > 0).long() if y.ndim == 1 or y.shape[1] == 1 else y.argmax(1)
    return places.numpy()


def _encoded(places: np.ndarray, y: torch.Tensor) -> torch.Tensor:
    chosen = torch.from_numpy(places.astype(np.int64))
    if y.ndim == 1 or y.shape[1] == 1:
        return (2.0 * chosen - 1).float().reshape(-1, 1)
    return torch.nn.functional.one_hot(chosen, y.shape[1]).float()
