"""Trains members. Those that fit together train as one ensemble, the others one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch

from beyondkernels.core import DivergedError
from beyondkernels.engine import compiled
from beyondkernels.engine.ensemble import Ensemble
from beyondkernels.engine.inputs import Inputs
from beyondkernels.engine.member import Member

StepHook = Callable[[Member], None]
"""A function that is called with a member at each of its stops."""

_SEGMENT = 256
"""For how many steps batches and hyper-parameters are prepared together."""

_KEPT = 8
"""How many ensembles keep their recorded step."""


def train(members: Sequence[Member], stops: Sequence[frozenset[int]], hook: StepHook, until: int | None = None) -> None:
    """Train members to their end, or up to a step.

    Arguments:
        members: started members.
        stops: for each member, the steps after which ``hook`` is called.
        hook: called with the member at these steps; it must not change the member.
        until: the step to stop at; None goes on to the end.

    A member with a loss that is not finite is marked as diverged and stops; the others go on. Every member gives the
    same bits alone and among others.
    """
    if until is not None:
        # As a stop, so that a segment ends exactly there.
        stops = [each | {until} for each in stops]
    ensembles = _Ensembles()
    while active := [i for i, member in enumerate(members) if member.active and member.step != until]:
        # Anew for every segment: members end, diverge and change stage at different steps.
        groups: dict[object, list[int]] = {}
        for i in active:
            groups.setdefault(members[i].group(), []).append(i)
        for group in groups.values():
            together = [members[i] for i in group]
            # A group goes on together until the first of its members has something else to do.
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
    """How many steps this group can take until a member has a stop or a transition."""
    step = members[0].step
    to_stop = [s - step for each in stops for s in each if s > step]
    return min([*to_stop, *(member.steps_to_check() for member in members)])


def _advance(members: Sequence[Member], steps: int, to_go: int, ensembles: _Ensembles) -> None:
    ensemble = ensembles.of(members)
    ensemble.load(members)
    losses = []
    for done in range(0, steps, _SEGMENT):
        # Some hundred steps at a time: enough to hide the cost of preparing, and few enough to hold in memory.
        inputs = Inputs(members, done, min(_SEGMENT, steps - done), members[0].network.batching == "sequential")
        losses.append(ensemble.advance(inputs, to_go - done))
    # Looked at once a segment, because asking after every step would cost more than many steps. A diverged member
    # computes on until then, which disturbs nobody: vmap keeps members apart.
    finite = torch.isfinite(torch.cat(losses))
    for i, member in enumerate(members):
        member.params, member.buffers, member.optimiser = ensemble.state(i)
        asked = member.steps_to_check() == steps
        member.count(steps)
        bad = torch.nonzero(~finite[:, i])
        if len(bad):  # the step at which this member diverged, before the segment ended
            member.diverged, member.step = True, member.step - steps + int(bad[0]) + 1
        elif asked:
            _check(member)


class _Ensembles:
    """The ensembles of a call. They are kept, so that a step is recorded once and not again after every stop."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Ensemble] = {}

    def of(self, members: Sequence[Member]) -> Ensemble:
        """The ensemble for these members. It stays the same while their step and all shapes stay the same."""
        first = members[0]
        sample = tuple((tuple(part.shape), part.dtype) for part in (first.sample.x, first.sample.y))
        program = first.algorithm.program(first.stage)
        # The network by its identity, because a recording holds its constants; networks live as long as their members
        # do.
        key = (id(first.network), program, first.stage, first.shapes(), sample, len(members))
        ensemble = self._kept.pop(key, None) or Ensemble(members)
        self._kept[key] = ensemble
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]  # the one that was unused for the longest time
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
