"""Which runs go to one worker together."""

from __future__ import annotations

from collections.abc import Sequence

from beyondkernels.core.components import class_name
from beyondkernels.core.errors import UncacheableError
from beyondkernels.core.points import shape_of
from beyondkernels.store.spec import RunSpec


def chunks(specs: Sequence[RunSpec], workers: int) -> list[list[RunSpec]]:
    """Cut runs into chunks for ``fit_together``, the large ones first.

    Runs share a chunk if their learners are of one class with one ensemble key and all sizes agree; a chunk has as
    many members as the learner takes at once, but no more than leave every worker something to do. A run's numbers do
    not depend on its chunk.

    Arguments:
        specs: the runs; one that comes twice is done once.
        workers: how many workers there are.
    """
    groups: dict[tuple[object, ...], list[RunSpec]] = {}
    # A dictionary, not a set: it keeps the order, so the same request is always cut in the same way.
    for spec in {identity(spec): spec for spec in specs}.values():
        sizes = (
            spec.samples,
            spec.test_samples,
            spec.validation_samples,
            spec.device,
            spec.problem.in_shape,
            spec.problem.out_dim,
        )
        groups.setdefault((class_name(type(spec.learner)), _company(spec), *sizes), []).append(spec)
    result = []
    for group in groups.values():
        first = group[0]
        # The first speaks for all: what this depends on is in the key of the group.
        at_once = first.learner.members_at_once(first.samples, shape_of(first.problem.in_shape), first.problem.out_dim)
        # An ensemble is faster than its members one by one, but not than several workers side by side.
        size = max(1, min(at_once, -(-len(group) // workers)))
        result += [group[start : start + size] for start in range(0, len(group), size)]
    # A large chunk that begins last would leave all other workers idle at the end.
    return sorted(result, key=lambda chunk: -chunk[0].samples * len(chunk))


def identity(spec: RunSpec) -> str:
    """A run's key; for one that cannot be stored, who its parts are: equal for equal runs all the same."""
    try:
        return spec.key
    except UncacheableError:
        sizes = (spec.samples, spec.test_samples, spec.validation_samples, spec.seed)
        return repr((id(spec.problem), id(spec.learner), *map(id, spec.measurements), *sizes))


def _company(spec: RunSpec) -> object:
    try:
        return spec.learner.ensemble_key()
    except UncacheableError:
        return id(spec.learner)
