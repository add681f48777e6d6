"""What happens inside a module while it is called: which parts are called, and what enters them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from beyondkernels.core import require
from beyondkernels.networks.linear import Reached


@contextlib.contextmanager
def calls_of(module: torch.nn.Module) -> Iterator[list[str]]:
    """List the parts of a module that are called inside the block, by their paths, in the order of their calls.

    Arguments:
        module: its own path is the empty one.
    """
    calls: list[str] = []

    def kept(path: str) -> Any:
        return lambda _part, _given: calls.append(path)

    hooks = [part.register_forward_pre_hook(kept(path)) for path, part in module.named_modules()]
    # PyTorch has a fused transformer layer that calls none of the parts of the layer.
    fused = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield calls
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def inputs_of(module: torch.nn.Module, paths: Sequence[str]) -> Iterator[dict[str, torch.Tensor]]:
    """Keep what enters some parts of a module when they are first called; the last one ends the block.

    The computation stops where the last of the parts is called. Sequences that enter a one-dimensional convolution,
    (n, channels, positions), are kept as other sequences are, (n, positions, channels).

    Arguments:
        module: the module that is called inside the block.
        paths: the parts, in the order of their calls.
    """
    found: dict[str, torch.Tensor] = {}

    def kept(path: str) -> Any:
        def hook(part: torch.nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
            if path not in found:
                found[path] = _first_tensor(path, part, (*given, *named.values()))
            if path == paths[-1]:
                raise Reached

        return hook

    parts = {path: module.get_submodule(path) for path in paths}
    hooks = [part.register_forward_pre_hook(kept(path), with_kwargs=True) for path, part in parts.items()]
    try:
        with contextlib.suppress(Reached):
            yield found
    finally:
        for hook in hooks:
            hook.remove()


def _first_tensor(path: str, part: torch.nn.Module, given: tuple[Any, ...]) -> torch.Tensor:
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    kinds = ", ".join(type(value).__name__ for value in given) or "nothing"
    require(len(tensors) > 0, f"the module {path!r} must be given a tensor to begin a block, got {kinds}")
    first = next((inner for inner in part.modules() if next(inner.parameters(recurse=False), None) is not None), None)
    channels_first = isinstance(first, torch.nn.Conv1d | torch.nn.BatchNorm1d) and tensors[0].ndim == 3
    return tensors[0].mT if channels_first else tensors[0]
