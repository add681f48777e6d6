"""Records the plain operations of a step, after vmap and derivatives are resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_BYTES = 250_000_000
"""How many bytes a recording may keep. A step that needs more gains nothing from being recorded."""

_BY_SHAPE = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
"""Operations that use the shape of their argument, not its values."""

_IN_PLACE = {"logical_and_", "logical_or_", "logical_not_", "mul_", "add_", "sub_", "div_", "neg_"}
"""Operations that change their first argument in place. Without the underscore they return the result instead."""


class UnrecordableError(Exception):
    """A step cannot be repeated from a recording."""


@dataclass(frozen=True)
class View:
    """A view of a root, where a root is the result of an operation: all of it, a slice, or a transposition."""

    root: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, root: int, tensor: torch.Tensor) -> View:
        """The position of a tensor in its root."""
        return cls(root, tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()))


@dataclass(frozen=True)
class Call:
    """An operation, its arguments with views instead of tensors, and the roots of its results."""

    op: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outs: tuple[View, ...]

    def views(self) -> list[View]:
        """The tensors among the arguments."""
        return [leaf for leaf in leaves((self.args, tuple(self.kwargs.values()))) if isinstance(leaf, View)]


@dataclass(frozen=True)
class Tape:
    """A step as a list of operations.

    Arguments:
        calls: the operations in their order. Each gives new results; views need no operation.
        inputs: root and shape of every input.
        outputs: where every output lies.
        constants: roots that are the same in every step.
        dtypes: of the roots.
    """

    calls: tuple[Call, ...]
    inputs: dict[Any, tuple[int, tuple[int, ...]]]
    outputs: dict[Any, View]
    constants: dict[int, torch.Tensor]
    dtypes: dict[int, torch.dtype]


def record(
    step: Callable[[dict[Any, torch.Tensor]], dict[Any, torch.Tensor]], inputs: dict[Any, torch.Tensor]
) -> tuple[dict[Any, torch.Tensor], Tape]:
    """Take a step and record its operations.

    Arguments:
        step: a pure function of tensors. Its operations must not depend on their values.
        inputs: contiguous tensors that share no memory.
    """
    with _Recorder() as recorder:
        outputs = step(inputs)
    if recorder.full:
        raise UnrecordableError("the step needs too much memory")
    return outputs, _Writer(inputs).write(recorder.calls, outputs)


class _Recorder(TorchDispatchMode):
    """Receives the plain operations on plain tensors, below vmap and derivatives."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []
        self.full, self._bytes = False, 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.full:  # tensors are recognised by their identity, so all are kept until the step is over
            self.calls.append((func, args, kwargs or {}, result))
            results = [leaf for leaf in leaves(result) if isinstance(leaf, torch.Tensor)]
            self._bytes += sum(each.numel() * each.element_size() for each in results)
            if self._bytes > _BYTES:
                self.full, self.calls = True, []
        return result


@dataclass
class _Writer:
    """Turns the recorded operations into a tape. It recognises views by their memory."""

    inputs: dict[Any, torch.Tensor]
    calls: list[Call] = field(default_factory=list)
    roots: dict[int, int] = field(default_factory=dict)
    dtypes: dict[int, torch.dtype] = field(default_factory=dict)
    constants: dict[int, torch.Tensor] = field(default_factory=dict)
    seen: dict[Any, tuple[View, ...]] = field(default_factory=dict)

    def write(self, calls: Iterable[tuple[Any, Any, Any, Any]], outputs: dict[Any, torch.Tensor]) -> Tape:
        """The tape of these calls, without operations that are repeated or not used."""
        inputs = {name: (self._new(tensor), tuple(tensor.shape)) for name, tensor in self.inputs.items()}
        for call in calls:
            self._add(*call)
        ends = {name: self._view(tensor) for name, tensor in outputs.items()}
        needed, kept = {view.root for view in ends.values()}, []
        # From the end backwards, so that what feeds nothing but dropped operations is dropped as well.
        for call in reversed(self.calls):
            if any(out.root in needed for out in call.outs):
                needed |= {view.root for view in call.views()}
                kept.append(call)
        constants = {root: value for root, value in self.constants.items() if root in needed}
        return Tape(tuple(reversed(kept)), inputs, ends, constants, self.dtypes)

    def _add(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if torch.Tag.nondeterministic_seeded in op.tags:
            raise UnrecordableError(f"{op} draws random numbers")
        if op._schema.is_mutable:  # noqa: SLF001 - torch has no other word for it
            self._add_in_place(op, args, kwargs)
            return
        results = [result] if isinstance(result, torch.Tensor) else result
        # A number that Python has seen may have decided which operations came next, and a repetition would not ask
        # again.
        if not isinstance(results, Sequence) or not all(isinstance(each, torch.Tensor) for each in results):
            raise UnrecordableError(f"{op} reads a number back")
        seen_args = mapped(args, self._seen)
        seen_kwargs = {name: mapped(value, self._seen) for name, value in kwargs.items()}
        # Results in memory that is already known are views, and views need no operation of their own.
        fresh = [each for each in results if _storage(each) not in self.roots]
        if not fresh:
            return
        if len(fresh) != len(results):
            raise UnrecordableError(f"{op} returns some results as views and some not")
        views = [leaf for leaf in leaves((seen_args, tuple(seen_kwargs.values()))) if isinstance(leaf, View)]
        # What depends on no input is computed once, while recording. That includes operations without any tensor
        # argument.
        if _name(op) in _BY_SHAPE or all(view.root in self.constants for view in views):
            for each in fresh:
                self.constants[self._new(each)] = each
            return
        # vmap and grad ask for many things more than once, such as copies of one operand in another layout.
        key = repr((str(op), seen_args, sorted(seen_kwargs.items())))
        if key in self.seen:  # a repeated operation: the new memory is another name for the old
            for each, before in zip(fresh, self.seen[key], strict=True):
                self.roots[_storage(each)] = before.root
            return
        outs = tuple(View.of(self._new(each), each) for each in fresh)
        self.seen[key] = outs
        self.calls.append(Call(op, seen_args, seen_kwargs, outs))

    def _add_in_place(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Replace an intermediate result that is changed as a whole by a new one, with the same memory and views."""
        seen_args = mapped(args, self._seen)
        seen_kwargs = {name: mapped(value, self._seen) for name, value in kwargs.items()}
        target = seen_args[0]
        # Inputs and constants must survive the step, and a change of a part would have to show in views of the whole.
        if _name(op) not in _IN_PLACE or not any(out == target for call in self.calls for out in call.outs):
            raise UnrecordableError(f"{op} changes what it is given")
        packet, overload = _name(op)[:-1], str(op).split(".")[2]
        functional = getattr(getattr(torch.ops.aten, packet), overload)
        # The memory gets a new root here, so that later views of it mean the changed numbers, earlier ones the old.
        self.calls.append(Call(functional, seen_args, seen_kwargs, (replace(target, root=self._new(args[0])),)))

    def _seen(self, leaf: Any) -> Any:
        return self._view(leaf) if isinstance(leaf, torch.Tensor) else leaf

    def _view(self, tensor: torch.Tensor) -> View:
        """The place of a tensor. A tensor that no operation computed is a constant."""
        if _storage(tensor) not in self.roots:
            self.constants[self._new(tensor)] = tensor
        root = self.roots[_storage(tensor)]
        if tensor.dtype != self.dtypes[root]:
            raise UnrecordableError("memory is looked at as another kind of number")
        return View.of(root, tensor)

    def _new(self, tensor: torch.Tensor) -> int:
        root = len(self.dtypes)
        self.roots[_storage(tensor)], self.dtypes[root] = root, tensor.dtype
        return root


def _storage(tensor: torch.Tensor) -> int:
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_conj() or tensor.is_neg():
        raise UnrecordableError("only plain tensors are recorded")
    return tensor.untyped_storage()._cdata  # noqa: SLF001 - all zeros that are never written down have one data pointer


def _name(op: Any) -> str:
    """The name of an operation, such as ``add`` for ``aten.add.Tensor``."""
    return str(op).split(".")[1]


def leaves(tree: Any) -> Iterable[Any]:
    """The items in nested tuples and lists."""
    if isinstance(tree, tuple | list):
        for branch in tree:
            yield from leaves(branch)
    else:
        yield tree


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same nested tuples and lists, with a function applied to each item."""
    if isinstance(tree, tuple | list):
        return type(tree)(mapped(branch, change) for branch in tree)
    return change(tree)
