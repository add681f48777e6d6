"""How much memory a computation takes at its peak, by watching what torch allocates."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_bytes(work: Callable[[], Any]) -> int:
    """The most bytes that tensors made by ``work`` hold at one time.

    What libraries use inside one operation is not seen.

    >>> peak_bytes(lambda: [torch.zeros(100) + i for i in range(3)])  # three results, and one more in the making
    1600
    """
    with _Watch() as watch:
        work()
    return watch.peak


class _Watch(TorchDispatchMode):
    """Follows every storage from the operation that made it to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._now = 0
        self._alive: dict[int, Any] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        inputs = {leaf.untyped_storage()._cdata for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)}  # noqa: SLF001
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor) and leaf.untyped_storage()._cdata not in inputs:  # noqa: SLF001
                self._follow(leaf.untyped_storage())
        return out

    def _follow(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()  # noqa: SLF001
        if key in self._alive:
            return

        def end() -> None:
            self._now -= size
            self._alive.pop(key, None)

        self._alive[key] = weakref.finalize(storage, end)
        self._now += size
        self.peak = max(self.peak, self._now)
