"""Two devices on a machine that has one: tensors are told apart by where the code says they are.

Inside the mode every tensor is on the processor, unless it was created with ``device=DEVICE``, moved there, or computed
from tensors that were. What a real second device would refuse is refused: operations on tensors of both, and a device's
numbers read as NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves

from beyondkernels.networks import module

DEVICE = "cpu:0"
"""A name of the processor that nobody else uses."""

_MOVING = ("torch.Tensor.to", "torch.Tensor.cpu")
_LOOKING = ("__get__", "torch.Tensor.untyped_storage", "torch.Tensor.__repr__", "torch.Tensor.size")


class MixedError(Exception):
    """An operation that two devices would refuse."""


class TwoDevices(TorchFunctionMode):
    """Follows which memory is on the second device."""

    def __init__(self) -> None:
        super().__init__()
        self.there: dict[int, Any] = {}  # the memory is kept, so that no other tensor gets the same place
        self.operations = 0
        module._one_pass.cache_clear()  # a number that an earlier second device kept is not on this one

    def is_there(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is on the second device."""
        return _memory(tensor).data_ptr() in self.there

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = resolve_name(func) or str(func)
        if name == "torch.Tensor.device.__get__":
            return torch.device(DEVICE) if self.is_there(args[0]) else func(*args, **kwargs)
        if name.endswith(_LOOKING):
            return func(*args, **kwargs)
        if name == "torch.Tensor.numpy" and self.is_there(args[0]):
            raise MixedError("the numbers of a device are read as a NumPy array")
        if name in _MOVING:
            wanted = [leaf for leaf in tree_leaves((args[1:], kwargs)) if isinstance(leaf, str | torch.device)]
            target = "cpu" if name.endswith("cpu") else str(wanted[0]) if wanted else None
            there = self.is_there(args[0]) if target is None else target == DEVICE
            result = func(*args, **kwargs)
            moved = there != self.is_there(args[0])
            return self._mark(result.clone() if moved else result, there)  # other memory, as it would be
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        places = {self.is_there(tensor) for tensor in given if _memory(tensor).data_ptr()}
        if len(places) > 1 and name != "torch.Tensor.copy_":
            raise MixedError(f"{name} on two devices, shapes {[tuple(tensor.shape) for tensor in given]}")
        result = func(*args, **kwargs)
        self.operations += 1
        where = str(kwargs["device"]) == DEVICE if kwargs.get("device") is not None else places == {True}
        return self._mark(result, where)

    def _mark(self, result: Any, there: bool) -> Any:
        for leaf in tree_leaves(result) if there else ():
            memory = _memory(leaf) if isinstance(leaf, torch.Tensor) else None
            if memory is not None and memory.data_ptr():
                self.there[memory.data_ptr()] = memory
        return result


def _memory(tensor: torch.Tensor) -> Any:
    """Where its numbers lie, also of a tensor that vmap or a derivative has wrapped."""
    functorch: Any = getattr(torch._C, "_functorch")  # noqa: B009
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor.untyped_storage()
