"""The accuracy of a classifier, defined once for all learners."""

from __future__ import annotations

import torch


def accuracy(out: torch.Tensor, y: torch.Tensor) -> float:
    """The share of points with the right sign. An output of zero is undecided and counts one half.

    Arguments:
        out: predictions, (n,) or (n, 1).
        y: labels ±1, of either shape.

    >>> accuracy(torch.tensor([2.0, -1.0, 0.0]), torch.tensor([1.0, 1.0, -1.0]))
    0.5
    """
    margin = (out.reshape(-1) * y.reshape(-1)).double()
    return ((margin > 0).double() + 0.5 * (margin == 0).double()).mean().item()
