"""Repeats a recorded step many times, in memory that is allocated once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from beyondkernels.engine.frames import EXACT, SUM, Frame, frame, without_crops
from beyondkernels.engine.tape import Call, Tape, UnrecordableError, View, mapped

_aten = torch.ops.aten

_INTO: Mapping[Any, Callable[..., Any]] = {
    **EXACT,
    SUM: torch.sum,
    _aten.bmm.default: torch.bmm,
    _aten.pow.Tensor_Scalar: torch.pow,
    _aten.exp.default: torch.exp,
    _aten.tanh.default: torch.tanh,
    _aten.erf.default: torch.erf,
    _aten.sin.default: torch.sin,
    _aten.cos.default: torch.cos,
}
"""Operations that can write into given memory. The results of all others are copied there."""


class Replay:
    """A recorded step, ready to be run.

    Arguments:
        tape: the step. Outputs with the name of an input are the state: they become that input of the next step.

    Every operation runs on the same numbers in the same layout as in the recorded step, with two exceptions. Margins of
    zeros are written once. Sums and correctly rounded operations may read and write inside such a margin.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape, self._calls = tape, without_crops(tape)
        self._uses: dict[int, list[tuple[int, View]]] = {}
        for i, call in enumerate(self._calls):
            for view in call.views():
                self._uses.setdefault(view.root, []).append((i, view))
        self._made = {out.root: (i, out) for i, call in enumerate(self._calls) for out in call.outs}
        self._given = {root: View(root, size, _contiguous(size), 0) for root, size in tape.inputs.values()}
        self._ends = {view.root for view in tape.outputs.values()}
        self._memory: dict[int, torch.Tensor] = dict(tape.constants)
        self._inside: dict[int, View] = {}
        self._program: list[functools.partial[Any]] = []
        # The order of these four matters, because each decides only about what has no place yet: margins bind the most
        # operations, then inputs, then the state that may lie over them, then all other results.
        frames = self._place_frames()
        for root, whole in self._given.items():
            if root not in self._inside:
                self._memory[root] = torch.zeros(_extent(whole), dtype=tape.dtypes[root])
        copies = self._place_state()
        self._lay_out(frames)
        # Last, when every operation that reads the old state has run.
        for target, source in copies:
            self._program.append(functools.partial(self._tensor(target).copy_, self._tensor(source)))
        self.inputs = {name: self._tensor(self._given[root]) for name, (root, _) in tape.inputs.items()}
        """Where to write the inputs before a step."""
        self.outputs = {
            name: self.inputs[name] if name in self.inputs else self._tensor(view)
            for name, view in tape.outputs.items()
        }
        """Where to read the outputs after a step."""

    def run(self) -> None:
        """One step, from the inputs to the outputs."""
        # Everything is decided and bound beforehand. What remains is one Python call for each operation, and no
        # allocation.
        for operation in self._program:
            operation()

    def _place_frames(self) -> dict[int, Frame]:
        """Write the margins once, and find the results that can be placed inside them."""
        frames: dict[int, Frame] = {}
        for i, call in enumerate(self._calls):
            made = frame(call)
            if made is None or call.outs[0].root in self._ends:
                continue
            frames[i] = made
            out, source = call.outs[0], call.args[0]
            self._memory[out.root] = torch.full((_extent(out),), made.value, dtype=self._tape.dtypes[out.root])
            if source.root not in self._inside and self._movable(source):
                self._inside[source.root] = made.inside
        return frames

    def _movable(self, source: View) -> bool:
        """Whether a whole result or input can be moved in memory without changing any other operand."""
        if source.root in self._given:
            whole = self._given[source.root]
        elif source.root in self._made and self._calls[self._made[source.root][0]].op in EXACT:
            whole = self._made[source.root][1]
        else:
            return False
        uses = self._uses.get(source.root, [])
        # Whoever reads it must read the whole: a slice of it has strides of its own, which would have to move as well.
        calls, views = [self._calls[i] for i, _ in uses], [view for _, view in uses]
        views += [view for view in self._tape.outputs.values() if view.root == source.root]
        return all(view == whole for view in views) and all(
            call.op in EXACT or call.op is SUM or frame(call) is not None for call in calls
        )

    def _place_state(self) -> list[tuple[View, View]]:
        """Write new state over the old one where possible, and return what must be copied instead."""
        copies = []
        for name, view in self._tape.outputs.items():
            whole = self._given[self._tape.inputs[name][0]] if name in self._tape.inputs else None
            # A step that returns a state unchanged has nothing to write.
            if view == whole:
                continue
            if view.root in self._given:
                raise UnrecordableError("an input becomes another output, and may be overwritten before")
            if whole is None:
                continue
            if not self._fits(view, whole):
                copies.append((whole, view))
            elif whole.root in self._inside:
                self._inside[view.root] = self._inside[whole.root]
            else:
                self._memory[view.root] = self._memory[whole.root]
        return copies

    def _fits(self, view: View, whole: View) -> bool:
        """Whether a result can be written over an input, because no operation reads the input afterwards."""
        if view.root not in self._made or view.root in self._memory or view.root in self._inside:
            return False
        i, out = self._made[view.root]
        exact = self._calls[i].op in EXACT
        return (
            view == out == replace(whole, root=view.root)
            and self._tape.dtypes[view.root] == self._tape.dtypes[whole.root]
            # An operation that works element by element may write where it reads; no other one may.
            and all(j < i or (j == i and exact and used == whole) for j, used in self._uses.get(whole.root, []))
            and (whole.root not in self._inside or (exact and self._movable(view) and self._frame_is_over(whole, i)))
        )

    def _frame_is_over(self, whole: View, i: int) -> bool:
        """Whether no operation reads the frame around an input from some operation on."""
        return all(j < i for j, _ in self._uses.get(self._inside[whole.root].root, []))

    def _lay_out(self, frames: Mapping[int, Frame]) -> None:
        """Give every result a place in memory, use places again that are no longer needed, and bind the operations."""
        free: list[torch.Tensor] = []
        pooled: dict[int, torch.Tensor] = {}
        last = {root: uses[-1][0] for root, uses in self._uses.items()}
        for i, call in enumerate(self._calls):
            # Roots without any use die at once. They become free only after the call is bound, so a result never shares
            # memory with an argument of its own operation unless that is harmless.
            dying = [root for root in pooled if last.get(root, -1) <= i and root not in self._ends]
            for out in call.outs:
                if out.root not in self._memory and out.root not in self._inside:
                    over = next((root for root in dying if root in pooled and self._takes_over(call, out, root)), None)
                    memory = self._taken(free, out) if over is None else pooled.pop(over)
                    self._memory[out.root] = pooled[out.root] = memory
            self._bind(call, frames.get(i))
            free += [pooled.pop(root) for root in dying if root in pooled]

    def _takes_over(self, call: Call, out: View, root: int) -> bool:
        """Whether a result may be written over an argument that is not needed afterwards."""
        views = [view for view in call.views() if view.root == root]
        return (
            call.op in EXACT
            and len(views) > 0
            and all(view == self._made[root][1] == replace(out, root=root) for view in views)
            and self._tape.dtypes[root] == self._tape.dtypes[out.root]
        )

    def _taken(self, free: list[torch.Tensor], out: View) -> torch.Tensor:
        """Memory for a result: the smallest free piece that is large enough, or a new one."""
        dtype, needed = self._tape.dtypes[out.root], _extent(out)
        fitting = [i for i, memory in enumerate(free) if memory.dtype == dtype and memory.numel() >= needed]
        if not fitting:
            return torch.zeros(needed, dtype=dtype)
        # The smallest that fits leaves the large pieces to large results.
        return free.pop(min(fitting, key=lambda i: free[i].numel()))

    def _bind(self, call: Call, framed: Frame | None) -> None:
        if framed is not None:
            source = call.args[0]
            # A result that was written inside its margin in the first place needs no copy: that is what frames are for.
            if self._inside.get(source.root) != framed.inside:
                inside = self._tensor(framed.inside)
                self._program.append(functools.partial(inside.copy_, self._tensor(source)))
            return
        args = mapped(call.args, self._resolved)
        kwargs = {name: mapped(value, self._resolved) for name, value in call.kwargs.items()}
        outs = [self._tensor(out) for out in call.outs]
        if call.op in _INTO:
            self._program.append(functools.partial(_INTO[call.op], *args, **kwargs, out=outs[0]))
        else:
            self._program.append(functools.partial(_copied, call.op, args, kwargs, outs))

    def _resolved(self, leaf: Any) -> Any:
        return self._tensor(leaf) if isinstance(leaf, View) else leaf

    def _tensor(self, view: View) -> torch.Tensor:
        # A root that was moved is used as a whole only (_movable), so its own size and strides can be replaced.
        view = self._inside.get(view.root, view)
        return torch.as_strided(self._memory[view.root], view.size, view.stride, view.offset)


def _copied(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outs: list[torch.Tensor]) -> None:
    result = op(*args, **kwargs)
    for out, each in zip(outs, [result] if isinstance(result, torch.Tensor) else result, strict=True):
        out.copy_(each)


def _contiguous(size: tuple[int, ...]) -> tuple[int, ...]:
    return torch.empty(size, device="meta").stride()


def _extent(view: View) -> int:
    """How many numbers lie between the first and the last element of a view."""
    if 0 in view.size:
        return view.offset
    return view.offset + 1 + sum((size - 1) * stride for size, stride in zip(view.size, view.stride, strict=True))
