"""Algorithm 1 on the compiled backend."""

from __future__ import annotations

import ctypes

import torch

from beyondkernels.algorithms import OnePass
from beyondkernels.core import Tensors, require, vectors
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import declared_form


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite.

    The cost besides the steps does not grow with the sample, because a run may have thousands of stops.
    """
    rule, form = member.algorithm, declared_form(member.network)
    assert isinstance(rule, OnePass)
    assert form is not None
    names = [f"{layer}.{part}" for layer in form.layers[:2] for part in ("weight", "bias")]
    readout = member.params[f"{form.layers[2]}.weight"]
    assert member.stage.order == "once"
    k, m = readout.shape
    # Each point is used once and in order, so a step's number is its point's.
    points = slice(member.steps_in_stage, member.steps_in_stage + steps)
    x, y = (_plain(part[points]) for part in (vectors(member.sample.x), member.sample.y))
    y = y.reshape(steps, -1)
    require(y.shape[1] == k, f"labels must have {k} outputs, got {y.shape[1]}")
    # The compiled step writes in place, and the member's tensors may be held by a snapshot or a predictor.
    moved, means = _copies(member.params, names), _copies(member.optimiser, names)
    seen = torch.stack([member.optimiser[name] for name in ("seen", "seen_late")])
    taken_late = member.step - (rule.steps - rule.tail_steps)  # steps of the tail so far; negative before it
    shape = torch.tensor([m, x.shape[1], k], dtype=torch.int32)
    readout = _plain(readout)
    taken = library("one_pass").bk_one_pass(
        shape.data_ptr(),
        *_pointers(moved, names),
        readout.data_ptr(),
        *_pointers(means, names),
        x.data_ptr(),
        y.data_ptr(),
        steps,
        rule.first_rate,
        rule.second_rate,
        max(0, -taken_late),
        max(0, taken_late),
        seen.data_ptr(),
    )
    member.params = member.params | moved
    member.optimiser = member.optimiser | means | {"seen": seen[0].clone(), "seen_late": seen[1].clone()}
    if taken < steps:
        member.diverged = True
    member.count(min(taken + 1, steps))


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.float32).contiguous()


def _copies(state: Tensors, names: list[str]) -> Tensors:
    return {name: _plain(state[name]).clone() for name in names if name in state}


def _pointers(state: Tensors, names: list[str]) -> list[ctypes.c_void_p]:
    # A null pointer tells the step that the network has no such bias.
    return [ctypes.c_void_p(state[name].data_ptr() if name in state else None) for name in names]
