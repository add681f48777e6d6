"""Points that are token ids: does a module know all of them?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from beyondkernels.core.errors import require

if TYPE_CHECKING:
    import torch

    from beyondkernels.data import GivenData

_MOST_POINTS = 64
"""So many points are tried for ids that a module does not know."""


def looks_up(module: torch.nn.Module) -> bool:
    """Whether a module looks something up by whole numbers."""
    return len(_embeddings(module)) > 0


def points_with_largest(problem: GivenData) -> torch.Tensor:
    """The points of all parts at which some coordinate is largest, the largest of all first; a few dozen must do.

    Arguments:
        problem: where they are.
    """
    import numpy as np
    import torch

    x = np.concatenate([problem.arrays[f"{part}_x"] for part in ("train", "validation", "test")])
    flat = x.reshape(len(x), -1)
    rows = flat.argmax(0)[np.argsort(-flat.max(0), kind="stable")]
    return problem.handed(torch.from_numpy(x[list(dict.fromkeys(rows.tolist()))[:_MOST_POINTS]]))


@contextlib.contextmanager
def refusing_unknown_ids(module: torch.nn.Module, name: str) -> Iterator[None]:
    """While this lasts, the module refuses ids that an embedding has no row for, in a sentence.

    Arguments:
        module: is called meanwhile.
        name: what to call it.
    """
    import torch

    def look(part: Any, given: tuple[Any, ...]) -> None:
        ids = given[0] if given else None
        if not isinstance(ids, torch.Tensor) or ids.is_floating_point() or not ids.numel():
            return
        rows, least, largest = part.num_embeddings, int(ids.min()), int(ids.max())
        require(
            least >= 0 and largest < rows,
            f"{name} looks up the id {largest if largest >= rows else least} in a torch.nn.{type(part).__name__} of "
            f"{rows} rows, which has the ids 0 to {rows - 1}",
        )

    hooks = [part.register_forward_pre_hook(look) for part in _embeddings(module)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def wants_whole_numbers(error: Exception) -> bool:
    """Whether a module refused numbers of single precision because it looks something up by them.

    Arguments:
        error: what it raised.
    """
    return "indices" in str(error) or "Long" in str(error) or isinstance(error, AssertionError)


def _embeddings(module: torch.nn.Module) -> list[torch.nn.Module]:
    import torch

    return [part for part in module.modules() if isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag)]
