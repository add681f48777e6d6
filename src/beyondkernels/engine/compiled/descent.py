"""Gradient descent on the compiled backend, for networks and for linearised networks."""

from __future__ import annotations

import numpy as np
import torch

from beyondkernels.algorithms import Loss, PseudoHuber, Scaled, Squared, declared_rule
from beyondkernels.core import Tensors, require, vectors
from beyondkernels.engine.compiled.layout import Layout
from beyondkernels.engine.compiled.library import library
from beyondkernels.engine.member import Member
from beyondkernels.networks import declared_form

LOSSES: dict[type[Loss], int] = {Squared: 0, PseudoHuber: 1}
"""The losses of the compiled steps, by the numbers that the steps know."""

_KEPT_NUMBERS = 2**25
"""The outputs of frozen layers at the training points are kept if they are at most so many numbers."""
_KEPT_EPOCHS = 100
"""And if each point is used so often, because they are computed again after every stop of a run."""


def advance(member: Member, steps: int) -> None:
    """Take steps; mark the member as diverged at the first loss that is not finite."""
    form = declared_form(member.network)
    assert form is not None
    step = library("linearised" if form.linearised else "descent")
    work = Work(member, steps, int(step.bk_lanes()))
    # Without momentum the step keeps a velocity all the same, µ = 0 times the last one and the gradient; it is dropped
    # below.
    velocity = work.packed(member.optimiser)
    columns = [work.column(name) for name in ("rate", "momentum", "decay")]
    arguments = (*work.pointers(velocity), *(pointer(each) for each in (*columns, work.losses)))
    if form.linearised:
        at = work.layout.pack(member.buffers, "at.")
        taken = step.bk_linearised(*arguments, pointer(at))
    else:
        taken = step.bk_descent(*arguments)
    member.optimiser = work.layout.unpack(velocity, member.optimiser) if member.optimiser else {}
    work.finish(taken)


def advance_by_adam(member: Member, steps: int) -> None:
    """Take steps of Adam, with the averages' bias corrections computed here; otherwise as :func:`advance`."""
    rule, state = declared_rule(member.algorithm, member.stage), member.optimiser
    assert rule is not None
    step = library("adam")
    work = Work(member, steps, int(step.bk_lanes()))
    kinds = ("mean", "square")
    moments = np.stack([work.layout.pack(state, f"{kind}/") for kind in kinds])
    averages = {f"{kind}_{part}": work.column(f"{kind}_{part}") for kind in kinds for part in ("keep", "add")}
    weights = {}
    # In float32 and one step after the other, as the eager rule does it: a closed form with powers rounds differently.
    for kind in kinds:  # the same averages of ones
        weight, found = np.float32(state[f"{kind}_weight"]), []
        for keep, add in zip(averages[f"{kind}_keep"], averages[f"{kind}_add"], strict=True):
            weight = keep * weight + add
            found.append(weight)
        weights[kind] = np.array(found, np.float32)
    decays = [work.column(name) for name in rule.decays]
    columns = (work.column("rate"), *decays, *averages.values(), work.column("epsilon"), *weights.values())
    # One row a step, in the order of the fields of Pace in network.h.
    numbers = np.ascontiguousarray(np.stack(columns, 1))
    ends = (moments.shape[1], pointer(numbers), pointer(work.losses))
    taken = step.bk_adam(*work.pointers(moments), *ends)
    after = {f"{kind}_weight": torch.tensor(weights[kind][-1]) for kind in kinds}
    for kind, packed in zip(kinds, moments, strict=True):
        own = {name: state[f"{kind}/{name}"] for name in member.params}
        after |= {f"{kind}/{name}": value for name, value in work.layout.unpack(packed, own).items()}
    member.optimiser = {name: after[name] for name in state}
    work.finish(taken)


class Work:
    """What some steps of a member need, laid out for the compiled steps.

    Arguments:
        member: between two steps.
        steps: how many are to be taken.
        lanes: how many numbers a vector holds.

    Attributes:
        layout: the order of the numbers.
        value: all weights, in that order; steps change them.
        losses: where steps write their losses.
        weight: the factor in front of the loss.
    """

    def __init__(self, member: Member, steps: int, lanes: int) -> None:
        form, rule = declared_form(member.network), declared_rule(member.algorithm, member.stage)
        assert form is not None
        assert rule is not None
        self._member, self._steps = member, steps
        # Layers that are never trained are buffers in some networks, but the passes need them like any other.
        tensors = member.params | {name: value for name, value in member.buffers.items() if name in sum(form.names, ())}
        self.layout = layout = Layout(form, tensors, lanes)
        self._x, y = (_plain(part) for part in (vectors(member.sample.x), member.sample.y))
        self._y = y.reshape(len(self._x), -1)
        outputs = self._y.shape[1]
        require(outputs == layout.out_dim, f"labels must have {layout.out_dim} outputs, got {outputs}")
        rows = member.rows(0, steps)
        self._order = np.arange(len(self._x))[None] if rows is None else np.ascontiguousarray(rows.numpy())
        trained = member.network.trained(rule.group, member.params)
        # Zero leaves a tensor as it is; a missing bias thus stays at the zeros it is packed as.
        self._rates = np.array([float(name in trained) for pair in layout.names for name in pair], np.float32)
        self.value = layout.pack(tensors)
        self._hyper = member.algorithm.hyper_of(member.stage, member.steps_ahead(0, steps))
        batch = self._order.shape[1]
        loss, self.weight = without_factor(member.algorithm.loss)
        sizes = [layout.kind, layout.hidden, layout.width, self._x.shape[1], layout.out_dim, batch, LOSSES[type(loss)]]
        self._shape = np.array(sizes, np.int32)
        # By the steps of the whole stage, not of this call: what is kept must not depend on where a run stops to be
        # saved.
        kept = is_kept(member.stage.steps * batch, len(self._x), layout.per_point)
        self._counts = (len(self._order), steps, len(self._x) if kept else 0)
        self.losses = np.empty(steps, dtype=np.float32)

    def packed(self, state: Tensors) -> np.ndarray:
        """A part of the optimiser's state; zeros where there is nothing."""
        still = {name: torch.zeros_like(value) for name, value in self._member.params.items()}
        return self.layout.pack(still | state)

    def column(self, name: str) -> np.ndarray:
        """One of the algorithm's numbers in all steps; zeros where there is none of that name."""
        return np.array(self._hyper.get(name, [0.0] * self._steps), np.float32)

    def pointers(self, state: np.ndarray) -> tuple[int, ...]:
        """What every compiled step takes first."""
        arrays = (self._shape, self.value, state, self._rates, self._x, self._y, self._order)
        return (*(pointer(array) for array in arrays), *self._counts)

    def finish(self, taken: int) -> None:
        """Give the member its parameters back, and count the steps."""
        member = self._member
        member.params = self.layout.unpack(self.value, member.params)
        if taken < self._steps:
            member.diverged = True
        # The step whose loss was not finite counts as taken, as it does on the eager backend.
        member.count(min(taken + 1, self._steps))


def without_factor(loss: Loss) -> tuple[Loss, float]:
    """A loss without the factor in front of it, and that factor."""
    # The compiled steps know each loss once and take its factor as a number.
    return (loss.loss, loss.factor) if isinstance(loss, Scaled) else (loss, 1.0)


def is_kept(uses: int, points: int, numbers: int) -> bool:
    """Whether the outputs of frozen layers at the points are kept during a stage.

    Arguments:
        uses: how often points are used in the stage, summed over all points.
        points: how many points there are.
        numbers: how many numbers are kept for each point.
    """
    return uses >= _KEPT_EPOCHS * points and points * numbers <= _KEPT_NUMBERS


def _plain(tensor: torch.Tensor) -> np.ndarray:
    # C++ is told where an array begins and nothing of strides or types.
    return np.ascontiguousarray(tensor.numpy(), dtype=np.float32)


def pointer(array: np.ndarray) -> int:
    """Where an array lies in memory."""
    return array.ctypes.data
