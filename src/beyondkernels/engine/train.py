"""Trains members: those that can go together as one vmapped ensemble, the others one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

from beyondkernels.algorithms import Batch, StepResult
from beyondkernels.core import Tensors
from beyondkernels.engine.member import Member

StepHook = Callable[[Member], None]
"""Called after every step at which a member asked to be looked at."""


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
            _advance(together, _segment(together, [stops[i] for i in group]))
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
    to_check = [member.steps_to_check() for member in members]
    for _ in range(steps):
        batches = [member.batch() for member in members]
        noise = _stack([member.noise() for member in members], alone)
        hyper = _stack([_hyper(member, member.step + 1) for member in members], alone)
        batch = Batch(*(_rows([getattr(b, part) for b in batches], alone) for part in ("x", "y")))
        result: StepResult = take(params, buffers, optimiser, batch, noise, hyper)
        params, buffers, optimiser = result.params, result.buffers, result.optimiser
        losses.append(result.loss.detach().reshape(-1))
        for member in members:
            member.count()
    for i, member in enumerate(members):
        member.params, member.buffers, member.optimiser = (
            _pick(part, i, alone) for part in (params, buffers, optimiser)
        )
        bad = torch.nonzero(~torch.isfinite(torch.stack(losses)[:, i]))
        if len(bad):  # the step is the member's own, wherever others made the segment end
            member.diverged, member.step = True, member.step - steps + int(bad[0]) + 1
        elif to_check[i] == steps:
            member.diverged = not all(bool(torch.isfinite(value).all()) for value in member.params.values())
            if not member.diverged:
                member.check()


def _hyper(member: Member, step: int) -> Tensors:
    dtype = next(iter(member.params.values())).dtype
    numbers = member.algorithm.hyper(member.stage, step)
    return {name: torch.tensor(value, dtype=dtype) for name, value in numbers.items()}


def _rows(tensors: Sequence[torch.Tensor], alone: bool) -> torch.Tensor:
    if alone:
        return tensors[0]
    return tensors[0].unsqueeze(0) if len(tensors) == 1 else torch.stack(list(tensors))


def _stack(states: Sequence[Tensors], alone: bool) -> Tensors:
    assert all(state.keys() == states[0].keys() for state in states), "members of one group hold the same names"
    return {name: _rows([state[name] for state in states], alone) for name in states[0]}


def _pick(state: Tensors, i: int, alone: bool) -> Tensors:
    return {name: (value if alone else value[i]).detach().clone() for name, value in state.items()}
