"""Margins of zeros around matrices: which operations add and remove them, and how to avoid copies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from beyondkernels.engine.tape import Call, Tape, View, mapped

_aten = torch.ops.aten


def _threshold_backward(slope: Any, x: Any, threshold: float, *, out: torch.Tensor) -> torch.Tensor:
    return _aten.threshold_backward.grad_input(slope, x, threshold, grad_input=out)


EXACT: Mapping[Any, Callable[..., Any]] = {
    _aten.add.Tensor: torch.add,
    _aten.add.Scalar: torch.add,
    _aten.sub.Tensor: torch.sub,
    _aten.mul.Tensor: torch.mul,
    _aten.mul.Scalar: torch.mul,
    _aten.div.Tensor: torch.div,
    _aten.neg.default: torch.neg,
    _aten.clamp.default: torch.clamp,
    _aten.where.self: torch.where,
    _aten.logical_and.default: torch.logical_and,
    _aten.ge.Scalar: torch.ge,
    _aten.le.Scalar: torch.le,
    _aten.relu.default: functools.partial(torch.clamp_min, min=0),  # this is how torch computes it
    _aten.threshold_backward.default: _threshold_backward,
}
"""Operations that work element by element and round correctly, so the place in memory changes no bit."""

SUM = _aten.sum.dim_IntList
"""Sums. Their order follows the order of the strides, and a frame does not change that order."""


@dataclass(frozen=True)
class Frame:
    """Memory with a margin: operations write only its inside, and the margin keeps its value."""

    inside: View
    value: float


def frame(call: Call) -> Frame | None:
    """The inside and the margin of a result, if the operation adds a margin to its argument; otherwise None."""
    if call.kwargs:
        return None
    # The derivative of a slice puts the gradient of a part into zeros of the shape of the whole: a margin as well.
    if call.op is _aten.slice_backward.default:
        source, size, dim, start, _, step = call.args
        out = call.outs[0]
        stride = tuple(each * step if i == dim else each for i, each in enumerate(out.stride))
        first = start + size[dim] if start < 0 else start
        return Frame(View(out.root, source.size, stride, out.offset + first * out.stride[dim]), 0.0)
    margins = _margins(call)
    if margins is None or any(side < 0 for pair in margins for side in pair):
        return None
    source, out = call.args[0], call.outs[0]
    value = call.args[2] if len(call.args) > 2 else 0.0
    return Frame(View(out.root, source.size, out.stride, out.offset + _shift(margins, out.stride)), value)


def without_crops(tape: Tape) -> list[Call]:
    """The operations of a tape without those that remove margins: the next ones read the inside, if no bit changes."""
    # Outputs are read by others after the step, in the layout that was recorded.
    ends = {view.root for view in tape.outputs.values()}
    calls: list[Call] = []
    renamed: dict[View, View] = {}
    for i, call in enumerate(tape.calls):
        call = _renamed(call, renamed)
        margins, out = _margins(call), call.outs[0]
        if margins is None or any(side > 0 for pair in margins for side in pair) or out.root in ends:
            calls.append(call)
            continue
        users = [other for other in tape.calls[i:] if any(view.root == out.root for view in other.views())]
        # A matrix product may choose another algorithm for other strides, and then it rounds in another way.
        if all(user.op in EXACT for user in users) and all(
            view == out for user in users for view in user.views() if view.root == out.root
        ):
            source = call.args[0]
            # What is removed has a negative margin, so the minus sign moves the start inwards.
            renamed[out] = View(source.root, out.size, source.stride, source.offset - _shift(margins, source.stride))
        else:
            calls.append(call)
    return calls


def _margins(call: Call) -> list[tuple[int, int]] | None:
    """How much a padding adds before and after, for each dimension; negative where it removes something."""
    if call.op is not _aten.constant_pad_nd.default or call.kwargs:
        return None
    sides = call.args[1]  # from the last dimension on
    pairs = [(sides[i], sides[i + 1]) for i in range(0, len(sides), 2)]
    return [(0, 0)] * (len(call.args[0].size) - len(pairs)) + pairs[::-1]


def _shift(margins: list[tuple[int, int]], stride: tuple[int, ...]) -> int:
    return sum(before * step for (before, _), step in zip(margins, stride, strict=True))


def _renamed(call: Call, names: Mapping[View, View]) -> Call:
    def new(leaf: Any) -> Any:
        return names.get(leaf, leaf) if isinstance(leaf, View) else leaf

    kwargs = {name: mapped(value, new) for name, value in call.kwargs.items()}
    return replace(call, args=mapped(call.args, new), kwargs=kwargs)
