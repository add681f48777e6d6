"""How a model starts: whether its outputs depend on the input at all, and whether they have a sensible size."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Stream, shape_of
from beyondkernels.engine.member import Member
from beyondkernels.engine.train import train
from beyondkernels.lab.declaration.runs import FIRST_SEARCH_SEED

_POINTS, _STEPS = 256, 20
"""Training points that are looked at, and the steps that a start is given to come to life: a last layer of zeros is a
usual start, and needs one step."""


@dataclass(frozen=True)
class Start:
    """A fresh start of a model.

    Arguments:
        loss: at the start, on training points.
        loss_of_zero: of outputs that are all zero.
        flat: the share of points at which no output changes with the input, to first order, at the start and after a
            few steps: the derivative in the input is exactly zero; None where points are no numbers.
        steps: how many these are.
    """

    loss: float
    loss_of_zero: float
    flat: float | None
    steps: int


def start_of(subject: Subject) -> Start | None:
    """Draw the model once and look; None where a user's module does not allow it.

    Arguments:
        subject: what is audited.
    """
    try:
        return _start_of(subject)
    except Exception:  # whatever a user's module raises: a check that cannot be made is no obstacle
        return None


def _start_of(subject: Subject) -> Start:
    sample = subject.problem.take("train", subject.samples, FIRST_SEARCH_SEED)
    member = Member(subject.network, subject.rule, sample, Stream(FIRST_SEARCH_SEED).child("learner"))
    member.start(shape_of(subject.problem.in_shape), subject.problem.out_dim)
    out, flat = _looked_at(member)
    y = sample.y[:_POINTS]
    loss, zero = (float(subject.rule.loss.each(each, y).mean()) for each in (out, torch.zeros_like(out)))
    steps = 0
    if flat is not None and flat > 0 and not member.diverged:
        steps = min(_STEPS, subject.steps)
        with torch.no_grad():
            train([member], [frozenset()], lambda _: None, until=steps)
        if not member.diverged:
            flat = min(flat, _looked_at(member)[1] or 0.0)
    return Start(loss, zero, flat, steps)


def _looked_at(member: Member) -> tuple[torch.Tensor, float | None]:
    """The outputs at a few points, and the share of these at which their derivative in the input is zero."""
    x = member.sample.x[:_POINTS]
    numbers = x.is_floating_point()
    if numbers:
        x = x.to(next(iter(member.params.values())).dtype).clone().requires_grad_()
    with torch.enable_grad():
        out = member.network.apply(member.params, member.buffers, x, False)[0]
        # with factors of their own, so that outputs that add up to a constant do not look flat
        factors = torch.linspace(1, 2, out[0].numel(), dtype=out.dtype).reshape(out[0].shape)
        if not numbers:
            return out.detach(), None
        if not out.requires_grad:  # the input is not used
            return out, 1.0
        slopes = torch.autograd.grad((out * factors).sum(), x)[0]
    return out.detach(), float((slopes.flatten(1) == 0).all(1).double().mean())
