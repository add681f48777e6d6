"""What a run has learnt, where it is not in memory: kept by a store, or computed again."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Outcome
from beyondkernels.core.errors import warn
from beyondkernels.store.checkpoints import Checkpoints
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store

if TYPE_CHECKING:
    from beyondkernels.learning.run import Predicting

_SAME = 1e-3
"""A number of a run that was computed again may differ by so much, relative to it, before a warning says so."""


class RecallWarning(UserWarning):
    """A run that was computed again is not the one that was stored."""


def keep_predictor(store: Store, spec: RunSpec, outcome: Outcome) -> None:
    """Keep the parameters and buffers of a trained network beside its run; of other learners nothing is kept.

    A disk that is full costs the predictor alone, which can be computed again.

    Arguments:
        store: where the run is.
        spec: the run.
        outcome: with what was learnt.
    """
    from beyondkernels.engine import Predictor, TrainedNetwork
    from beyondkernels.engine.state import saved_predictor

    if isinstance(spec.learner, TrainedNetwork) and isinstance(outcome.predictor, Predictor):
        with contextlib.suppress(OSError):  # with what it was made stands in the run
            store.predictors.write(spec.key, saved_predictor(outcome.predictor), {}, 0.0)


def recalling(spec: RunSpec, outcome: Outcome, store: Store | None = None, key: str = "") -> Callable[[], Predicting]:
    """A function that gives what a run has learnt.

    Arguments:
        spec: the run.
        outcome: what is known of its end.
        store: where its predictor may be kept; None computes the run again.
        key: under which it is stored.
    """

    def recall() -> Predicting:
        kept = None if store is None else _kept(spec, store.predictors, key)
        return _computed_again(spec, outcome) if kept is None else kept

    return recall


def _kept(spec: RunSpec, predictors: Checkpoints, key: str) -> Predicting | None:
    from beyondkernels.engine import TrainedNetwork
    from beyondkernels.engine.state import restored_predictor

    found = predictors.read(key, None)
    if found is None or not isinstance(spec.learner, TrainedNetwork):
        return None
    return restored_predictor(spec.learner.network, found[0])


def _computed_again(spec: RunSpec, outcome: Outcome) -> Predicting:
    from beyondkernels.learning.batch import run_specs

    (run,) = run_specs([dataclasses.replace(spec, measurements=())])
    changed = {name: value for name, value in run.outcome.scalars.items() if not _alike(value, outcome.scalars, name)}
    if changed:
        name, value = next(iter(changed.items()))
        warn(
            f"the run was computed again to predict, and its {name} is {value:.6g} where the stored run has "
            f"{outcome.scalars[name]:.6g}; the predictions are those of the new run. Another processor or version of "
            "torch does this",
            RecallWarning,
        )
    return run.predictor


def _alike(value: float, stored: dict[str, Any], name: str) -> bool:
    return name not in stored or math.isclose(value, stored[name], rel_tol=_SAME, abs_tol=_SAME)
