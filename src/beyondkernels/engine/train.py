"""Trains members: those that can go together as one vmapped ensemble, the others one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from beyondkernels.algorithms import Algorithm, Batch, StepResult
from beyondkernels.core import Tensors
from beyondkernels.engine import compiled
from beyondkernels.engine.member import Member

StepHook = Callable[[Member], None]
"""Called after every step at which a member asked to be looked at."""

_SEGMENT = 256
"""Steps whose batches and hyper-parameters are prepared together."""


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
                _advance(together, steps)
            for i in group:
                if members[i].step in stops[i] and not members[i].diverged:
                    hook(members[i])


def _segment(members: Sequence[Member], stops: Sequence[frozenset[int]]) -> int:
    """How many steps this group can take before someone must be looked at or asked where to go."""
    step = members[0].step
    to_stop = [s - step for each in stops for s in each if s > step]
    return min([*to_stop, *(member.steps_to_check() for member in members)])


def _advance(members: Sequence[Member], steps: int) -> None:
    first = members[0]
    step = functools.partial(first.algorithm.step, first.stage, first.network)
    alone = first.network.batching == "sequential"
    take = step if alone else torch.func.vmap(step)
    params, buffers, optimiser = (
        _stack([getattr(member, part) for member in members], alone) for part in ("params", "buffers", "optimiser")
    )
    losses: list[torch.Tensor] = []
    for done in range(0, steps, _SEGMENT):
        inputs = _Inputs(members, done, min(_SEGMENT, steps - done), alone)
        for i in range(inputs.steps):
            result: StepResult = take(params, buffers, optimiser, *inputs.at(i))
            params, buffers, optimiser = result.params, result.buffers, result.optimiser
            losses.append(result.loss.detach().reshape(-1))
    finite = torch.isfinite(torch.stack(losses))
    for i, member in enumerate(members):
        member.params, member.buffers, member.optimiser = (
            _pick(part, i, alone) for part in (params, buffers, optimiser)
        )
        asked = member.steps_to_check() == steps
        member.count(steps)
        bad = torch.nonzero(~finite[:, i])
        if len(bad):  # the step is the member's own, wherever others made the segment end
            member.diverged, member.step = True, member.step - steps + int(bad[0]) + 1
        elif asked:
            _check(member)


class _Inputs:
    """What some steps of all members need besides their state.

    It is prepared together, because piece by piece it costs more than the steps of small networks.
    """

    def __init__(self, members: Sequence[Member], ahead: int, steps: int, alone: bool) -> None:
        self.steps, self._members, self._ahead, self._alone = steps, members, ahead, alone
        self._samples = [member.sample for member in members]
        self._shared = all(sample is self._samples[0] for sample in self._samples)
        self._noisy = type(members[0].algorithm).noise is not Algorithm.noise
        rows = [rows for member in members if (rows := member.rows(ahead, steps)) is not None]
        self._points = torch.stack(rows, 1) if rows else None  # (steps, members, points)
        dtype = next(iter(members[0].params.values())).dtype
        hyper = [member.algorithm.hyper_of(member.stage, member.steps_ahead(ahead, steps)) for member in members]
        self._hyper = {name: torch.tensor([each[name] for each in hyper], dtype=dtype).mT for name in hyper[0]}

    def at(self, i: int) -> tuple[Batch, Tensors, Tensors]:
        """Batch, noise and hyper-parameters of the i-th of these steps."""
        noise = _stack([member.noise(self._ahead + i) for member in self._members], self._alone) if self._noisy else {}
        hyper = {name: values[i, 0] if self._alone else values[i] for name, values in self._hyper.items()}
        return self._batch(i), noise, hyper

    def _batch(self, i: int) -> Batch:
        x, y = ([getattr(sample, part) for sample in self._samples] for part in ("x", "y"))
        if self._points is None:
            return Batch(_rows(x, self._alone), _rows(y, self._alone))
        points = self._points[i]
        if self._alone:
            return Batch(x[0][points[0]], y[0][points[0]])
        if self._shared:
            return Batch(x[0][points], y[0][points])
        return Batch(*(torch.stack([one[rows] for one, rows in zip(part, points, strict=True)]) for part in (x, y)))


def _advance_compiled(member: Member, steps: int) -> None:
    asked = member.steps_to_check() == steps
    compiled.advance(member, steps)
    if asked and not member.diverged:
        _check(member)


def _check(member: Member) -> None:
    member.diverged = not all(bool(torch.isfinite(value).all()) for value in member.params.values())
    if not member.diverged:
        member.check()


def _rows(tensors: Sequence[torch.Tensor], alone: bool) -> torch.Tensor:
    if alone:
        return tensors[0]
    return tensors[0].unsqueeze(0) if len(tensors) == 1 else torch.stack(list(tensors))


def _stack(states: Sequence[Tensors], alone: bool) -> Tensors:
    assert all(state.keys() == states[0].keys() for state in states), "members of one group hold the same names"
    return {name: _rows([state[name] for state in states], alone) for name in states[0]}


def _pick(state: Tensors, i: int, alone: bool) -> Tensors:
    return {name: (value if alone else value[i]).detach().clone() for name, value in state.items()}
