"""From specifications to outcomes: draw, learn, measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from beyondkernels.core.components import canonical_json
from beyondkernels.core.contracts import Case, Checkpoint, Ended, Measured, Outcome, Problem, Progress, Sample
from beyondkernels.core.errors import UncacheableError, require, shown
from beyondkernels.core.threads import one_thread
from beyondkernels.store.spec import RunSpec

if TYPE_CHECKING:
    from beyondkernels.measure import Measurement


@one_thread()
def perform(
    specs: Sequence[RunSpec],
    progress: Progress = lambda _: None,
    checkpoints: Sequence[Checkpoint] | None = None,
) -> list[Outcome]:
    """The outcomes of runs whose learners are of one class, learnt together.

    The train sample comes from the stream ``Stream(seed).child("train")``, the test sample from ``child("test")``, the
    validation sample from ``child("validation")``, and the learner is given ``child("learner")``, so that a run's
    numbers do not depend on its company. Everything is computed with one thread, so that they do not depend on the
    process either. Members with the same problem, size and seed share one sample. An outcome that
    diverged is not measured: it has no end state.

    Arguments:
        specs: the runs.
        progress: told the fraction of the work that is done.
        checkpoints: where each run keeps its state while it lasts.
    """
    if not specs:
        return []
    kind = type(specs[0].learner)
    for spec in specs:
        # Again, although executors have checked: this function is public, and refusing costs less than half a training.
        spec.learner.check(spec.problem, spec.samples, spec.fresh_samples)
    require(
        all(type(spec.learner) is kind for spec in specs),
        f"runs performed together need learners of one class, got {_classes(specs)}",
    )
    cases = cases_of(specs, checkpoints)
    outcomes = kind.fit_together([spec.learner for spec in specs], cases, progress)
    require(len(outcomes) == len(specs), f"{kind.__name__} gave {len(outcomes)} outcomes for {len(specs)} runs")
    for spec, case, outcome in zip(specs, cases, outcomes, strict=True):
        if outcome.status == "finished":
            _measure(spec, case, outcome)
    return outcomes


def cases_of(specs: Sequence[RunSpec], checkpoints: Sequence[Checkpoint] | None = None) -> list[Case]:
    """What the learners of some runs are given: the same however often it is asked for."""
    from beyondkernels.core.streams import Stream

    drawn: dict[tuple[object, int, int, str, str], Sample] = {}

    def draw(spec: RunSpec, n: int, name: str) -> Sample:
        # Learners that are compared on one problem see one object. It saves memory, and the engine can gather batches
        # at once.
        identity = (_identity(spec.problem), n, spec.seed, name, spec.device)
        if identity not in drawn:
            sample = spec.problem.take(name, n, spec.seed)
            drawn[identity] = sample if spec.device == "cpu" else sample.to(spec.device)
        return drawn[identity]

    return [
        Case(
            problem=spec.problem,
            train=draw(spec, spec.samples, "train"),
            test=draw(spec, spec.test_samples, "test"),
            stream=Stream(spec.seed).child("learner"),
            checkpoint=checkpoint,
            validation=draw(spec, spec.validation_samples, "validation") if spec.validation_samples else None,
        )
        for spec, checkpoint in zip(specs, checkpoints or [None] * len(specs), strict=True)
    ]


def _identity(problem: Problem) -> object:
    """Equal for equal problems; one that no other process could find again is equal to itself."""
    try:
        return canonical_json(problem)
    except UncacheableError:
        return id(problem)


def _measure(spec: RunSpec, case: Case, outcome: Outcome) -> None:
    for component in spec.measurements:
        measured = cast("Measurement", component).measure(Ended(spec.learner, case, outcome))
        require(
            isinstance(measured, Measured),
            f"{type(component).__name__} must give a Measured(scalars, series, arrays), got {shown(measured)}",
        )
        for kind in ("scalars", "series", "arrays"):
            _merge(getattr(outcome, kind), getattr(measured, kind), component)


def _merge(old: dict[str, Any], new: Mapping[str, Any], component: object) -> None:
    # Two measurements with one name would silently leave the number of the one that came last.
    twice = sorted(old.keys() & new.keys())
    require(not twice, f"{type(component).__name__} gives {', '.join(twice)}, which the run has already")
    old.update(new)


def _classes(specs: Sequence[RunSpec]) -> str:
    return ", ".join(sorted({type(spec.learner).__name__ for spec in specs}))
