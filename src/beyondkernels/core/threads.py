"""One thread for whatever computes, so that sums have one order and a run gives the same bits in every process."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let every numerical library use one thread inside the block, and as many as before after it."""
    import torch  # here, because the command line often does without

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # NumPy, SciPy and scikit-learn bring pools of their own; looking for them takes 10 ms.
        with _pools(tuple(name in sys.modules for name in _WITH_POOLS)).limit(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def _pools(_loaded: tuple[bool, ...]) -> ThreadpoolController:
    """The thread pools of all libraries, anew when another one was loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_WITH_POOLS = ("torch", "numpy", "scipy.linalg", "sklearn")
