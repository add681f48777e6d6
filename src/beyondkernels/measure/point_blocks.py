"""Points in blocks that fit the cache."""

from __future__ import annotations

from collections.abc import Iterator

import torch

_BLOCK = 400_000  # hidden values at once: what stays in the cache; wide layers at many points would fill the memory


def blocks(x: torch.Tensor, width: int) -> Iterator[torch.Tensor]:
    """Points, a few at a time, so that their hidden values at this width fit the memory."""
    yield from x.split(max(1, _BLOCK // width))
