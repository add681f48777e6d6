"""Trains members: those that can go together as one ensemble, the others one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch

from beyondkernels.core import DivergedError
from beyondkernels.engine import compiled
from beyondkernels.engine.ensemble import Ensemble
from beyondkernels.engine.inputs import Inputs
from beyondkernels.engine.member import Member

StepHook = Callable[[Member], None]
"""Called after every step at which a member asked to be looked at."""

_SEGMENT = 256
"""Steps whose batches and hyper-parameters are prepared together."""

_KEPT = 8
"""Ensembles whose recorded steps are kept."""


def train(members: Sequence[Member], stops: Sequence[frozenset[int]], hook: StepHook, until: int | None = None) -> None:
    """Train members to their end, or to a step.

    Arguments:
        members: started members.
        stops: for each member the steps after which ``hook`` looks at it.
        hook: called with the member at these steps; it must not change the member.
        until: the step to stop at; None goes on to the end.

    A member whose loss stops being finite is marked as diverged and frozen; the others go on. Every member gives
    bitwise the same numbers alone and in any company.
    """
    if until is not None:
        stops = [each | {until} for each in stops]
    ensembles = _Ensembles()
    while active := [i for i, member in enumerate(members) if member.active and member.step != until]:
        groups: dict[object, list[int]] = {}
        for i in active:
            groups.setdefault(members[i].group(), []).append(i)
        for group in groups.values():
            together = [members[i] for i in group]
            steps = _segment(together, [stops[i] for i in group])
            if together[0].backend == "compiled":
                _advance_compiled(together[0], steps)
            else:
                to_go = together[0].stage.steps - together[0].steps_in_stage
                if until is not None:
                    to_go = min(to_go, until - together[0].step)
                _advance(together, steps, to_go, ensembles)
            for i in group:
                if members[i].step in stops[i] and not members[i].diverged:
                    hook(members[i])


def _segment(members: Sequence[Member], stops: Sequence[frozenset[int]]) -> int:
    """How many steps this group can take before someone must be looked at or asked where to go."""
    step = members[0].step
    to_stop = [s - step for each in stops for s in each if s > step]
    return min([*to_stop, *(member.steps_to_check() for member in members)])


def _advance(members: Sequence[Member], steps: int, to_go: int, ensembles: _Ensembles) -> None:
    ensemble = ensembles.of(members)
    ensemble.load(members)
    losses = []
    for done in range(0, steps, _SEGMENT):
        inputs = Inputs(members, done, min(_SEGMENT, steps - done), members[0].network.batching == "sequential")
        losses.append(ensemble.advance(inputs, to_go - done))
    finite = torch.isfinite(torch.cat(losses))
    for i, member in enumerate(members):
        member.params, member.buffers, member.optimiser = ensemble.state(i)
        asked = member.steps_to_check() == steps
        member.count(steps)
        bad = torch.nonzero(~finite[:, i])
        if len(bad):  # the step is the member's own, wherever others made the segment end
            member.diverged, member.step = True, member.step - steps + int(bad[0]) + 1
        elif asked:
            _check(member)


class _Ensembles:
    """The ensembles of a call, so that a step is written down once and not for every stretch between two stops."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Ensemble] = {}

    def of(self, members: Sequence[Member]) -> Ensemble:
        """The ensemble for these members, the same one as long as their step and all shapes are the same."""
        first = members[0]
        sample = tuple((tuple(part.shape), part.dtype) for part in (first.sample.x, first.sample.y))
        program = first.algorithm.program(first.stage)
        key = (id(first.network), program, first.stage, first.shapes(), sample, len(members))
        ensemble = self._kept.pop(key, None) or Ensemble(members)
        self._kept[key] = ensemble
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]  # the one that was not used for longest
        return ensemble


def _advance_compiled(member: Member, steps: int) -> None:
    asked = member.steps_to_check() == steps
    compiled.advance(member, steps)
    if asked and not member.diverged:
        _check(member)


def _check(member: Member) -> None:
    """Ask where to go next, unless there is nowhere to go from; what comes out must be finite too."""
    member.diverged = not _finite(member)
    if member.diverged:
        return
    try:
        member.check()
    except DivergedError:
        member.diverged = True
    else:
        member.diverged = not _finite(member)


def _finite(member: Member) -> bool:
    return all(bool(torch.isfinite(value).all()) for value in member.params.values())
