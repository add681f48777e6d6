"""Gradient descent on the compiled backend: of networks, and of their linearisations."""

from __future__ import annotations

import numpy as np
import torch

from beyondkernels.algorithms import declared_rule
from beyondkernels.core import require
from beyondkernels.engine.compiled.layout import Layout
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import declared_form

_KEPT_NUMBERS = 2**25
"""What layers that stand still make of the training points is kept up to so many numbers."""
_KEPT_EPOCHS = 100
"""And if each point is used so often: it is made anew after every stop of a run, of which there may be some dozens."""


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    algorithm, network = member.algorithm, member.network
    form, rule = declared_form(network), declared_rule(algorithm, member.stage)
    assert form is not None
    assert rule is not None
    step = library("linearised" if form.linearised else "descent")
    layout = Layout(form, member.params, int(step.bk_lanes()))
    x, y = (_plain(part) for part in (member.sample.x, member.sample.y))
    y = y.reshape(len(x), -1)
    require(y.shape[1] == layout.out_dim, f"labels must have {layout.out_dim} outputs, got {y.shape[1]}")
    rows = member.rows(0, steps)
    order = np.arange(len(x))[None] if rows is None else np.ascontiguousarray(rows.numpy())
    batch = order.shape[1]
    trained = network.trained(rule.group, member.params)
    rates = np.array([float(name in trained) for pair in layout.names for name in pair], dtype=np.float32)
    still = {name: torch.zeros_like(param) for name, param in member.params.items()}
    value, velocity = layout.pack(member.params), layout.pack(still | member.optimiser)
    hyper = algorithm.hyper_of(member.stage, range(member.step + 1, member.step + steps + 1))
    columns = [np.array(hyper.get(name, [0.0] * steps), np.float32) for name in ("rate", "momentum", "decay")]
    shape = np.array([layout.kind, layout.hidden, layout.width, x.shape[1], layout.out_dim, batch], np.int32)
    losses = np.empty(steps, dtype=np.float32)
    arguments = (
        *(_pointer(a) for a in (shape, value, velocity, rates, x, y, order)),
        len(order),
        steps,
        len(x) if is_kept(member.stage.steps * batch, len(x), layout.per_point) else 0,
        *(_pointer(a) for a in (*columns, losses)),
    )
    if form.linearised:
        at = layout.pack(member.buffers, "at.")
        taken = step.bk_linearised(*arguments, _pointer(at))
    else:
        taken = step.bk_descent(*arguments)
    member.params = layout.unpack(value, member.params)
    member.optimiser = layout.unpack(velocity, member.optimiser) if member.optimiser else {}
    if taken < steps:
        member.diverged = True
    member.count(min(taken + 1, steps))


def is_kept(uses: int, points: int, numbers: int) -> bool:
    """Whether what layers that stand still make of the points is kept: a question to the whole of a stage.

    Arguments:
        uses: how often a point is used in it, all points together.
        points: how many there are.
        numbers: what is to be kept of each.
    """
    return uses >= _KEPT_EPOCHS * points and points * numbers <= _KEPT_NUMBERS


def _plain(tensor: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.numpy(), dtype=np.float32)


def _pointer(array: np.ndarray) -> int:
    return array.ctypes.data
