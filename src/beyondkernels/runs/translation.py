"""Old names in stored runs, made new on reading: the one place that knows how a run was once written.

A stored run is never rewritten, and its key says nothing about the names of its numbers. So a learner that gives them
better names leaves the old ones here. Nothing is imported for this: a class is known by the name in the description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from beyondkernels.core.contracts import Outcome

_T = TypeVar("_T")

_RIDGE = {
    "train_error": "train_loss",
    "test_error": "test_loss",
    "leave_one_out_error": "leave_one_out_loss",
    "path_error": "path_choice_loss",
    "path_test_error": "path_test_loss",
    "path_train_error": "path_train_loss",
}

RENAMED: Mapping[str, Mapping[str, str]] = {
    "beyondkernels.kernels.learner:KernelRidge": _RIDGE | {"validation_error": "held_out_loss"},
    "beyondkernels.kernels.two_step:TwoStepRidge": _RIDGE
    | {
        "test_error_best": "test_loss_best",
        "chosen_error": "choice_loss",
        "first_error": "first_loss",
        "left_out_error": "left_out_loss",
        "base_error": "base_loss",
        "left_out_base_error": "left_out_base_loss",
    },
    "beyondkernels.kernels.feature_machines.machine:RecursiveFeatureMachine": {
        "train_error": "train_loss",
        "test_error": "test_loss",
        "loo_error": "leave_one_out_loss",
        "round_train_error": "round_train_loss",
        "round_loo_error": "round_leave_one_out_loss",
        "round_validation_error": "round_held_out_loss",
    },
    "beyondkernels.kernels.classifiers:FixedFeatureClassifier": {
        "validation_accuracy": "held_out_accuracy",
        "path_validation_accuracy": "path_held_out_accuracy",
    },
}
"""For each learner, by the name in its description, what its scalars and arrays were called and are called now."""


@dataclass(frozen=True)
class _Timed:
    """Names that once held a step: the group that their series form now, and how they were written."""

    group: str
    scalars: str = ""
    arrays: str = ""
    array_ending: str = ""


_STEP = r"/(?P<step>\d+)"
_TERM = r"(first|second)_(flips|vanishing|output|matrix|radius)(_max|_bound|_ratio)?"

TIMED: Mapping[str, _Timed] = {
    "beyondkernels.measure.alignment:Alignment": _Timed(
        "alignment", rf"(?P<name>cosine|cosine_either){_STEP}", rf"(?P<name>cosines){_STEP}"
    ),
    "beyondkernels.measure.directions:Directions": _Timed("directions", arrays=rf"(?P<name>)directions{_STEP}"),
    "beyondkernels.measure.coupling:Coupling": _Timed(
        "coupling", rf"(?P<name>{_TERM}){_STEP}", rf"(?P<name>(first|second)_flips){_STEP}", "_each"
    ),
    "beyondkernels.measure.regret:Regret": _Timed("regret", rf"(?P<name>(?!{_TERM}/)\w+){_STEP}"),
    "beyondkernels.measure.norms:NormedNetwork": _Timed("norm", r"norm/(?P<step>\d+)/(?P<name>.+)"),
}
"""For learners and measurements, by the names in their descriptions, the scalars and arrays that are series now."""


def translated(description: Mapping[str, Any], outcome: Outcome) -> Outcome:
    """An outcome with the names that today's code gives.

    Arguments:
        description: of its run.
        outcome: as it was stored.

    >>> spec = {"fields": {"learner": {"class": "beyondkernels.kernels.learner:KernelRidge"}}}
    >>> translated(spec, Outcome(scalars={"test_error": 0.5})).scalars
    {'test_loss': 0.5}
    """
    names = RENAMED.get(_class_of(description, "learner"), {})
    scalars, arrays = _renamed(outcome.scalars, names), _renamed(outcome.arrays, names)
    series = dict(outcome.series)
    for part in _parts(description):
        if part in TIMED:
            _make_series(TIMED[part], scalars, arrays, series)
    return Outcome(outcome.status, scalars, series, arrays)


def _parts(description: Any) -> list[str]:
    """The names of the classes of the learner and of all measurements."""
    try:
        count = len(description["fields"]["measurements"])
    except (KeyError, TypeError, IndexError):
        count = 0
    return [_class_of(description, "learner"), *(_class_of(description, "measurements", i) for i in range(count))]


def _class_of(description: Any, *path: str | int) -> str:
    """The name of a part's class; whatever else a description holds is for others to judge."""
    try:
        part = description["fields"]
        for name in path:
            part = part[name]
        return str(part["class"])
    except (KeyError, TypeError, IndexError):
        return ""


def _make_series(timed: _Timed, scalars: dict[str, Any], arrays: dict[str, Any], series: dict[str, Any]) -> None:
    """Take what holds a step in its name out of scalars and arrays, and add it to the series."""
    found: dict[str, dict[int, Any]] = {}
    for values, pattern, ending in ((scalars, timed.scalars, ""), (arrays, timed.arrays, timed.array_ending)):
        for full_name in [name for name in values if pattern and re.fullmatch(pattern, name)]:
            match = re.fullmatch(pattern, full_name)
            assert match is not None
            name = (match["name"] or "points") + ending
            found.setdefault(name, {})[int(match["step"])] = values.pop(full_name)
    if not found:
        return
    import numpy as np

    steps = sorted(next(iter(found.values())))
    series[f"{timed.group}/step"] = np.array([float(step) for step in steps])
    for name, by_step in found.items():
        series[f"{timed.group}/{name}"] = np.array([by_step[step] for step in steps])


def _renamed(values: dict[str, _T], names: Mapping[str, str]) -> dict[str, _T]:
    """A name is an old one only where the new one is missing: it may have been given a second meaning since."""
    return {
        (names[name] if name in names and names[name] not in values else name): value for name, value in values.items()
    }
