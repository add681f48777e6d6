"""Points that come more than once."""

from __future__ import annotations

import torch


def groups_of_copies(x: torch.Tensor) -> torch.Tensor | None:
    """A number for each point, the same for equal points, shape (n,); None if all points are different.

    Arguments:
        x: points, (n, …).

    >>> groups_of_copies(torch.tensor([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]]))
    tensor([0, 1, 0])
    >>> groups_of_copies(torch.tensor([[0.0], [1.0]]))
    """
    rows = (x.detach().reshape(len(x), -1) + 0).cpu().numpy()  # −0.0 + 0 is 0.0
    places: dict[bytes, int] = {}
    groups = [places.setdefault(row.tobytes(), len(places)) for row in rows]
    return torch.tensor(groups) if len(places) < len(x) else None
