"""Gradient descent on the compiled backend, for networks and for linearised networks."""

from __future__ import annotations

import numpy as np
import torch

from beyondkernels.algorithms import GradientDescent, Layerwise
from beyondkernels.core import require
from beyondkernels.engine.compiled.layout import Layout
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import declared_form

_KEPT_NUMBERS = 2**25
"""The outputs of frozen layers at the training points are kept if they are at most so many numbers."""
_KEPT_EPOCHS = 100
"""And if each point is used so often, because they are computed again after every stop of a run."""


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    algorithm, network = member.algorithm, member.network
    form = declared_form(network)
    assert isinstance(algorithm, GradientDescent | Layerwise)
    assert form is not None
    step = library("linearised" if form.linearised else "descent")
    layout = Layout(form, member.params, int(step.bk_lanes()))
    x, y = (_plain(part) for part in (member.sample.x, member.sample.y))
    y = y.reshape(len(x), -1)
    require(y.shape[1] == layout.out_dim, f"labels must have {layout.out_dim} outputs, got {y.shape[1]}")
    rows = member.rows(0, steps)
    order = np.arange(len(x))[None] if rows is None else np.ascontiguousarray(rows.numpy())
    batch = order.shape[1]
    trained = network.trained(algorithm.descent(member.stage).group, member.params)
    rates = np.array([float(name in trained) for pair in layout.names for name in pair], dtype=np.float32)
    value, velocity = layout.pack(member.params), layout.pack(member.optimiser)
    hyper = algorithm.hyper_of(member.stage, range(member.step + 1, member.step + steps + 1))
    columns = [np.array(hyper[name], dtype=np.float32) for name in ("rate", "momentum", "decay")]
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
    member.optimiser = layout.unpack(velocity, member.optimiser)
    if taken < steps:
        member.diverged = True
    member.count(min(taken + 1, steps))


def is_kept(uses: int, points: int, numbers: int) -> bool:
    """Whether the outputs of frozen layers at the points are kept during a stage.

    Arguments:
        uses: how often points are used in the stage, summed over all points.
        points: how many points there are.
        numbers: how many numbers are kept for each point.
    """
    return uses >= _KEPT_EPOCHS * points and points * numbers <= _KEPT_NUMBERS


def _plain(tensor: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.numpy(), dtype=np.float32)


def _pointer(array: np.ndarray) -> int:
    return array.ctypes.data
