"""The last layer of a module: the linear layer whose output is the module's output."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch

from beyondkernels.core import InputError

Forward = Callable[[], torch.Tensor]
"""Calls a module with some points and gives its output."""


def last_linear(module: torch.nn.Module, forward: Forward) -> str:
    """The path of the linear layer whose output is the module's output; an ``InputError`` if there is none.

    The layer that is called last is asked to give other numbers. If these are the module's output then, nothing comes
    after the layer: neither an activation nor another branch. Equal outputs at some points would not show this, because
    a layer that starts at zero gives zero before and after an activation.

    Arguments:
        module: the module.
        forward: calls it.
    """
    with _linear_calls(module) as calls:
        forward()
    if not calls:
        raise InputError("no torch.nn.Linear is called")
    path, given = calls[-1]
    if given.ndim != 2:
        raise InputError(f"the linear layer {path!r} is called last and given {tuple(given.shape)}, not (n, features)")
    numbers: list[torch.Tensor] = []

    def other(_part: torch.nn.Module, _given: object, output: torch.Tensor) -> torch.Tensor:
        count = output.numel()
        numbers[:] = [torch.linspace(-100, 200, count, dtype=output.dtype, device=output.device).view_as(output)]
        return numbers[0]

    hook = module.get_submodule(path).register_forward_hook(other)
    try:
        out = forward()
    finally:
        hook.remove()
    if out.numel() != numbers[0].numel() or not torch.equal(out, numbers[0].reshape(out.shape).to(out.dtype)):
        raise InputError(f"the linear layer {path!r} is called last, but its output is not the output of the module")
    return path


def entering_last(module: torch.nn.Module, path: str, forward: Forward) -> torch.Tensor:
    """What enters a linear layer when it is called for the last time.

    Arguments:
        module: the module.
        path: that of the layer.
        forward: calls the module.
    """
    with _linear_calls(module) as calls:
        forward()
    return next(given for called, given in reversed(calls) if called == path)


@contextlib.contextmanager
def _linear_calls(module: torch.nn.Module) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """List the calls of linear layers inside the block: the path of the layer, and what it is given."""
    calls: list[tuple[str, torch.Tensor]] = []

    def kept(path: str) -> Callable[[torch.nn.Module, tuple[torch.Tensor, ...], dict[str, torch.Tensor]], None]:
        return lambda _part, given, named: calls.append((path, (*given, *named.values())[0]))

    hooks = [
        part.register_forward_pre_hook(kept(path), with_kwargs=True)
        for path, part in module.named_modules()
        if isinstance(part, torch.nn.Linear)
    ]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()
