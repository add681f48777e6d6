"""The accuracy of a classifier, and which scores are better the larger they are, defined once for all learners."""

from __future__ import annotations

import torch

from beyondkernels.core.boundary import check_exports as _check_exports


def are_classes(y: torch.Tensor) -> bool:
    """Whether labels are classes: ±1 in one output, or in each row a single one among zeros.

    Arguments:
        y: labels, (n,) or (n, out_dim).

    >>> are_classes(torch.tensor([1.0, -1.0])), are_classes(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    (True, True)
    >>> are_classes(torch.tensor([0.5, 1.0])), are_classes(torch.tensor([[1.0, 1.0]]))
    (False, False)
    """
    if y.ndim < 2 or y.shape[1] == 1:
        return bool((y.abs() == 1).all())
    return bool(((y == 0) | (y == 1)).all()) and bool((y.sum(1) == 1).all())


def larger_is_better(name: str) -> bool:
    """Whether a score of this name is better the larger it is: accuracies and R². All others are errors or costs.

    Arguments:
        name: a score, also of one of the samples.

    >>> larger_is_better("test_accuracy"), larger_is_better("test_loss")
    (True, False)
    """
    return name.split("_")[-1] in ("accuracy", "r2")


def accuracy(out: torch.Tensor, y: torch.Tensor) -> float:
    """The share of points that are put into the right class, the mean of :func:`hits`.

    Arguments:
        out: predictions, (n,), (n, 1) or (n, classes).
        y: labels ±1, (n,) or (n, 1), or for several classes (n, classes) with a single one among zeros in each row.

    >>> accuracy(torch.tensor([2.0, -1.0, 0.0]), torch.tensor([1.0, 1.0, -1.0]))
    0.5
    """
    return hits(out, y).mean().item()


def hits(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """For each point, 1 if it is put into the right class and 0 if not, shape (n,).

    With one output the sign decides, and an output of zero counts one half. With several the largest decides, and t
    equally large ones count 1/t if the right class is among them.

    Arguments:
        out: predictions, as in :func:`accuracy`.
        y: labels, as in :func:`accuracy`.

    >>> hits(torch.tensor([2.0, -1.0, 0.0]), torch.tensor([1.0, 1.0, -1.0])).tolist()
    [1.0, 0.0, 0.5]
    >>> hits(torch.tensor([[0.1, 0.7], [0.4, 0.4]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [1.0, 0.5]
    """
    if y.ndim == 2 and y.shape[1] > 1:
        largest = (out == out.amax(1, keepdim=True)).double()
        return (largest * (y == 1)).sum(1) / largest.sum(1)
    margin = (out.reshape(-1) * y.reshape(-1)).double()
    return (margin > 0).double() + 0.5 * (margin == 0).double()


_check_exports(globals())
