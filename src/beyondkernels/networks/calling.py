"""Call a module with tensors of one's own in place of its parameters and buffers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import torch

from beyondkernels.core import Tensors


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
