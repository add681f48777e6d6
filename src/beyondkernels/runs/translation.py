"""Old names in stored runs, made new on reading: the one place that knows how a run was once written.

A stored run is never rewritten, and its key says nothing about the names of its numbers. So a learner that gives them
better names leaves the old ones here. Nothing is imported for this: a class is known by the name in the description.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def translated(description: Mapping[str, Any], outcome: Outcome) -> Outcome:
    """An outcome with the names that today's code gives.

    Arguments:
        description: of its run.
        outcome: as it was stored.

    >>> spec = {"fields": {"learner": {"class": "beyondkernels.kernels.learner:KernelRidge"}}}
    >>> translated(spec, Outcome(scalars={"test_error": 0.5})).scalars
    {'test_loss': 0.5}
    """
    names = RENAMED.get(_learner(description), {})
    return Outcome(outcome.status, _renamed(outcome.scalars, names), outcome.series, _renamed(outcome.arrays, names))


def _learner(description: Any) -> str:
    """The name of the learner's class; whatever else a description holds is for others to judge."""
    try:
        return str(description["fields"]["learner"]["class"])
    except (KeyError, TypeError, IndexError):
        return ""


def _renamed(values: dict[str, _T], names: Mapping[str, str]) -> dict[str, _T]:
    """A name is an old one only where the new one is missing: it may have been given a second meaning since."""
    return {
        (names[name] if name in names and names[name] not in values else name): value for name, value in values.items()
    }
