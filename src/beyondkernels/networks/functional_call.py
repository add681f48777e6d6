"""Call a module with tensors of one's own in place of its parameters and buffers."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from beyondkernels.core import InputError, Tensors
from beyondkernels.data.named_inputs import NamedInput, unpack


class Slots:
    """The places in a module where its parameters and buffers are.

    ``torch.func.functional_call`` does the same and looks for the places at every call. For a small module that takes
    longer than its arithmetic.

    Arguments:
        module: the module whose places are used. Its own tensors are put back after each call.
        names: for every parameter and buffer of the module, the name under which its tensor is given. Two names with
            one tensor, as in tied weights, are given under one of them. Each name stands for itself unless given.
    """

    def __init__(self, module: torch.nn.Module, names: Mapping[str, str] | None = None) -> None:
        names = names or {}
        self.module = module
        self._places: list[tuple[torch.nn.Module, bool, str, str, bool]] = []
        for prefix, part in module.named_modules():
            # An LSTM keeps a list of its weights, which it mends when they are set as attributes.
            plain = type(part).__setattr__ is torch.nn.Module.__setattr__
            for held, is_buffer in ((_held(part, False), False), (_held(part, True), True)):
                for name, value in held.items():
                    if value is not None:
                        full = f"{prefix}.{name}" if prefix else name
                        self._places.append((part, plain, name, names.get(full, full), is_buffer))

    @contextlib.contextmanager
    def filled(self, tensors: Tensors) -> Iterator[Tensors]:
        """Put tensors into their places; gives a dictionary that holds the buffers when the block is over.

        Arguments:
            tensors: parameters and buffers by name.
        """
        before = []
        buffers: Tensors = {}
        try:
            for part, plain, name, full, is_buffer in self._places:
                held = _held(part, is_buffer)
                before.append((part, plain, name, held[name], held))
                _put(part, plain, name, tensors[full], held)
            yield buffers
            for part, _, name, full, is_buffer in self._places:
                if is_buffer and (value := _held(part, True).get(name)) is not None:
                    buffers[full] = value
        finally:
            for part, plain, name, value, held in before:
                _put(part, plain, name, value, held)


def called(
    module: torch.nn.Module,
    x: torch.Tensor,
    inputs: Sequence[NamedInput] = (),
    output: str | int | None = None,
    name: str = "model",
) -> torch.Tensor:
    """The output of a module as a tensor, whatever form it has.

    Arguments:
        module: is given the points as they are, or the named arrays that they are packed from: as arguments of these
            names if its ``forward`` has them, otherwise as one dictionary.
        x: the points.
        inputs: the named arrays of a point; none where it is one array.
        output: which of several outputs, see :func:`output_of`.
        name: what to call the module in error messages.
    """
    return output_of(raw(module, x, inputs), output, name)


def raw(module: torch.nn.Module, x: torch.Tensor, inputs: Sequence[NamedInput] = ()) -> Any:
    """What a module gives, in its own form; the arguments are those of :func:`called`."""
    if not inputs:
        return module(x)
    named = unpack(x, inputs)
    try:
        inspect.signature(module.forward).bind(**named)
    except TypeError:
        return module(named)
    return module(**named)


def output_of(out: Any, output: str | int | None, name: str) -> torch.Tensor:
    """The tensor among what a module gives.

    A tensor is taken as it is. Of anything else ``logits`` is taken, an attribute or a key. Otherwise the only tensor
    in it is taken, and with several of them ``output`` has to say which.

    Arguments:
        out: what the module gave: a tensor, a dictionary, a tuple, or an object with attributes.
        output: a key, an attribute or a place.
        name: what to call the module in error messages.

    >>> output_of((torch.ones(2), None), None, "model"), output_of({"a": 1, "logits": torch.zeros(1)}, None, "model")
    (tensor([1., 1.]), tensor([0.]))
    """
    if isinstance(out, torch.Tensor) and output is None:
        return out
    parts = _parts(out)
    wanted = "logits" if output is None else output
    if isinstance(found := parts.get(wanted, getattr(out, str(wanted), None)), torch.Tensor):
        return found
    tensors = [each for each, value in parts.items() if isinstance(value, torch.Tensor)]
    if output is None and len(tensors) == 1:
        return parts[tensors[0]]
    known = f" with {', '.join(map(repr, tensors[:6]))}" if tensors else " without a tensor in it"
    raise InputError(
        f"{name} must give a tensor of outputs{'' if output is None else f' as {output!r}'}, got a "
        f"{type(out).__name__}{known}; FromCopy.of(module, output={(tensors or ['logits'])[0]!r}) of "
        "bk.networks takes one of several, and a module whose forward picks it would do"
    )


def _parts(out: Any) -> dict[Any, Any]:
    """What a module gave, by keys, places or attributes."""
    if isinstance(out, Mapping):
        return dict(out)
    if isinstance(out, tuple | list):
        return dict(enumerate(out))
    return {} if isinstance(out, torch.Tensor) else dict(getattr(out, "__dict__", {}))


def tied_names(module: torch.nn.Module) -> dict[str, str]:
    """For every parameter and buffer of a module, the first name of the same tensor.

    Arguments:
        module: whose names are taken.

    >>> line = torch.nn.Linear(2, 2, bias=False)
    >>> tied_names(torch.nn.Sequential(line, torch.nn.ReLU(), line))
    {'0.weight': '0.weight', '2.weight': '0.weight'}
    """
    first: dict[int, str] = {}
    names = {}
    for every in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, value in every:
            names[name] = first.setdefault(id(value), name)
    return names


def _held(part: torch.nn.Module, buffers: bool) -> dict[str, torch.Tensor | None]:
    """The dictionary in which a part of a module keeps its own parameters or buffers."""
    return vars(part)["_buffers" if buffers else "_parameters"]


def _put(
    part: torch.nn.Module, plain: bool, name: str, value: torch.Tensor | None, held: dict[str, torch.Tensor | None]
) -> None:
    if plain:
        held[name] = value
        return
    del held[name]  # torch refuses to replace a parameter by a tensor
    setattr(part, name, value)
    part.__dict__.pop(name, None)
    held[name] = value
