"""Estimators of scikit-learn as learners."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, accuracy, later, require
from beyondkernels.core.fingerprints import fingerprint
from beyondkernels.core.libraries import is_of_a_library

_COMPLETE = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ufunc)
"""What is written out in full, and in the same way by every process."""

_READ = (
    *_COMPLETE,
    set,
    frozenset,
    torch.Tensor,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
)
"""What a fingerprint reads in full, beside arrays and containers."""


@dataclass(frozen=True)
class FromEstimator(Learner):
    """An estimator with ``fit`` and ``predict``, cloned for each run.

    If it has a ``random_state``, the seed of the run sets it. Classes are given as 0, 1, 2, …

    Arguments:
        settings: a hash of its class and parameters, and of the user's code in them.
        name: what to call it in tables.
        estimator: the estimator itself, which only this process has.
        opaque: parameters that cannot be read in full, so that runs with them are not stored.

    >>> from sklearn.linear_model import RidgeClassifier
    >>> FromEstimator.of(RidgeClassifier()).name
    'RidgeClassifier'
    """

    settings: str
    name: str
    estimator: Any = field(default=None, metadata={"identity": False}, repr=False)
    opaque: tuple[Any, ...] = later(())

    @classmethod
    def of(cls, estimator: Any, name: str | None = None) -> FromEstimator:
        """A learner around an estimator.

        Arguments:
            estimator: stays as it is.
            name: what to call it in tables; its class unless given.
        """
        name = name or type(estimator).__name__
        if _is_complete(estimator):
            return cls(_as_text(estimator), name, estimator)
        opaque = tuple(value for value in estimator.get_params(deep=False).values() if _is_opaque(value))
        return cls("" if opaque else fingerprint(_parts(estimator, {})), name, estimator, opaque)

    def __post_init__(self) -> None:
        require(
            self.estimator is not None and hasattr(self.estimator, "fit") and hasattr(type(self.estimator), "predict"),
            "an estimator is in the process that made it alone, so it cannot train in worker processes",
        )

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Fit a clone; losses are squared errors, accuracies are there when labels are classes."""
        from sklearn.base import clone

        case = case.flattened()
        estimator: Any = clone(self.estimator)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=int(case.stream.child("estimator").integers(2**31)))
        classes, y = case.has_classes, case.train.y
        estimator.fit(case.train.x.numpy(), _classes(y) if classes else y.numpy())
        progress(0.9)

        predictor = _Fitted(estimator, y, classes)
        scalars: dict[str, float] = {}
        for name, part in ({"train": case.train} | case.fresh).items():
            out = predictor(part.x)
            if classes:
                scalars[f"{name}_accuracy"] = accuracy(out, part.y)
            else:
                scalars[f"{name}_loss"] = (out - part.y.reshape(out.shape)).square().sum(1).mean().item()
        progress(1.0)
        return Outcome(scalars=scalars, predictor=predictor)


def _as_text(estimator: Any) -> str:
    """A hash of what an estimator's class and parameters are written as."""
    kind = type(estimator)
    told = f"{kind.__module__}.{kind.__qualname__} {sorted(estimator.get_params().items(), key=str)!r}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _is_complete(estimator: Any) -> bool:
    """Whether the text of an estimator says all: it is a library's, and so are the estimators in it."""
    inside = estimator.get_params().values()
    listed = {id(value) for value in inside if _is_estimator(value)}  # their own parameters are among those inside

    def complete(value: Any) -> bool:
        if isinstance(value, list | tuple):
            return all(map(complete, value))
        if isinstance(value, dict):
            return all(map(complete, (*value, *value.values())))
        if isinstance(value, type):
            return is_of_a_library(value)
        return isinstance(value, _COMPLETE) or (id(value) in listed and is_of_a_library(type(value)))

    return is_of_a_library(type(estimator)) and all(map(complete, inside))


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _is_opaque(value: Any) -> bool:
    try:
        fingerprint(_parts(value, {}))
    except Exception:  # an object of someone else's, which says in its own way that it cannot be taken apart
        return True
    return False


def _parts(value: Any, seen: dict[int, Any]) -> Any:
    """What a value is made of, down to what a fingerprint reads in full."""
    if isinstance(value, np.ufunc):
        return ["ufunc", value.__name__]
    if isinstance(value, _READ):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value
    if id(value) in seen:
        return "seen before"
    seen[id(value)] = value  # kept, so that no other object gets its id
    if isinstance(value, np.ndarray):
        return ["array", value.shape, _parts(value.tolist(), seen)]
    if isinstance(value, list | tuple):
        return [type(value), *(_parts(each, seen) for each in value)]
    if isinstance(value, Mapping):
        return [type(value), *([_parts(key, seen), _parts(value[key], seen)] for key in value)]
    if _is_estimator(value):
        return [type(value), _parts(dict(sorted(value.get_params(deep=False).items())), seen)]
    made_by, *made_from = value.__reduce_ex__(2)  # what a copy would be made from, also where it is no attribute
    return [
        type(value),
        made_by,
        *(_parts(list(each) if hasattr(each, "__next__") else each, seen) for each in made_from),
    ]


class _Fitted:
    """What an estimator that was fitted predicts.

    Arguments:
        estimator: the estimator.
        y: the labels it was fitted to.
        classes: whether they are classes.
    """

    def __init__(self, estimator: Any, y: torch.Tensor, classes: bool) -> None:
        self._estimator, self._y, self._classes = estimator, y, classes
        has_them = classes and hasattr(estimator, "predict_proba")
        self.probabilities: Callable[[torch.Tensor], torch.Tensor] | None = self._probabilities if has_them else None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Numbers, or classes as labels have them."""
        found = np.asarray(self._estimator.predict(x.flatten(1).cpu().numpy()))
        return _encoded(found, self._y) if self._classes else torch.from_numpy(found.reshape(len(x), -1)).float()

    def _probabilities(self, x: torch.Tensor) -> torch.Tensor:
        """The probability of each class, (n, classes). A class without training points has none."""
        found = torch.from_numpy(np.asarray(self._estimator.predict_proba(x.flatten(1).cpu().numpy())))
        classes = 2 if self._y.ndim == 1 or self._y.shape[1] == 1 else self._y.shape[1]
        rows = torch.zeros(len(x), classes, dtype=torch.float64)
        rows[:, torch.as_tensor(self._estimator.classes_, dtype=torch.int64)] = found.double()
        return rows


def _classes(y: torch.Tensor) -> np.ndarray:
    places = (y.reshape(-1) > 0).long() if y.ndim == 1 or y.shape[1] == 1 else y.argmax(1)
    return places.numpy()


def _encoded(places: np.ndarray, y: torch.Tensor) -> torch.Tensor:
    chosen = torch.from_numpy(places.astype(np.int64))
    if y.ndim == 1 or y.shape[1] == 1:
        return (2.0 * chosen - 1).float().reshape(-1, 1)
    return torch.nn.functional.one_hot(chosen, y.shape[1]).float()
