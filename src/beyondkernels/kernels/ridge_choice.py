"""What a ridge is chosen by: the squared error, or the accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import accuracy
from beyondkernels.kernels.solvers.ridge import RidgePath


@dataclass(frozen=True)
class RidgeChoice:
    """The ridge that a sample chooses, and what it was chosen from.

    Arguments:
        ridge: λ.
        path: the fits that chose it, at every ridge that was tried.
        errors: the squared errors that it was chosen by, shape (r,).
        accuracies: the accuracies that it was chosen by, shape (r,), where they were asked for.
        fitted: fits to all training points, at this ridge among others.
    """

    ridge: float
    path: RidgePath
    errors: torch.Tensor
    accuracies: torch.Tensor | None
    fitted: RidgePath


def best_place(errors: torch.Tensor, accuracies: torch.Tensor | None) -> int:
    """The place of the best ridge: the most accurate one, of equal ones that with the least error, then the largest.

    Arguments:
        errors: of each ridge, the largest ridge first, shape (r,).
        accuracies: of each ridge, shape (r,); None if errors alone count.

    >>> best_place(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([0.5, 0.5, 0.75]))
    2
    """
    if accuracies is not None:
        errors = torch.where(accuracies == accuracies.max(), errors, torch.inf)
    return int(errors.argmin())  # the first of equal ones: ridges fall


def path_accuracies(out: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The accuracy for each ridge, shape (r,).

    Arguments:
        out: predictions, (m, r, k).
        labels: that are classes, (m, k).
    """
    return torch.tensor([accuracy(out[:, i], labels) for i in range(out.shape[1])], dtype=torch.float64)
