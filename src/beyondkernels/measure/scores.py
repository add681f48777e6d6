"""Scores by name, the same for networks, kernels and estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from beyondkernels.algorithms import Loss
from beyondkernels.core import Ended, Measured
from beyondkernels.measure.base import Measurement


def squared_error(predicted: torch.Tensor, y: torch.Tensor) -> float:
    r"""The mean squared distance of predictions and labels, summed over outputs.

    .. math:: \frac1n \sum_{i=1}^n \|\hat y_i - y_i\|^2

    For classes this is the Brier score: labels are rows with a single one, and predictions are probabilities, or the
    outputs of a regression on such rows.

    Arguments:
        predicted: predictions, (n, k).
        y: labels, (n, k).

    >>> squared_error(torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]]))
    0.5
    """
    return (predicted.double() - y.double()).square().sum(1).mean().item()


def r2(predicted: torch.Tensor, y: torch.Tensor) -> float:
    r"""The share of the labels' variance that predictions explain.

    .. math:: R^2 = 1 - \frac{\sum_i \|\hat y_i - y_i\|^2}{\sum_i \|y_i - \bar y\|^2}

    1 is perfect, 0 is as good as the mean of these labels, and below 0 is worse.

    Arguments:
        predicted: predictions, (n, k).
        y: labels, (n, k), not all the same.

    >>> r2(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[1.0], [2.0], [3.0]]))
    0.5
    """
    y = y.double()
    spread = (y - y.mean(0)).square().sum(1).mean().item()
    return 1 - squared_error(predicted, y) / spread if spread > 0 else float("nan")


def log_loss(probabilities: torch.Tensor, y: torch.Tensor) -> float:
    r"""The mean of :math:`-\log p_c`, where :math:`p_c` is the probability given to the right class.

    Arguments:
        probabilities: of each class, (n, k).
        y: labels, rows with a single one.

    >>> round(log_loss(torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])), 4)
    0.6931
    """
    right = (probabilities.double() * y.double()).sum(1)
    return -right.clamp(min=torch.finfo(torch.float64).tiny).log().mean().item()


SCORES: Mapping[str, Callable[[torch.Tensor, torch.Tensor], float]] = {
    "squared_error": squared_error,
    "r2": r2,
    "log_loss": log_loss,
}
"""Every score by its name. ``accuracy`` is beside them in :mod:`beyondkernels.core.scores`."""


@dataclass(frozen=True)
class Scores(Measurement):
    """What learners of all kinds can be compared by, on the test points.

    ``test_loss`` is the loss that a learner minimises: not the same number for a cross entropy and for a kernel's ridge
    regression. This adds

    - ``test_squared_error``, for every learner. Classes are rows with a single one. A network that was trained with a
      cross entropy is judged by its probabilities. A network that was trained with a hinge loss has no such number.
    - ``test_log_loss``, where there are probabilities.
    - ``test_r2``, where labels are numbers.
    """

    def measure(self, run: Ended) -> Measured:
        test = run.case.test
        if not len(test):
            return Measured({}, {}, {})
        y = test.y if test.y.ndim == 2 else test.y[:, None]
        with torch.no_grad():
            out, probabilities = _predicted(run, classes=run.case.has_classes)
        found: dict[str, float] = {}
        if not run.case.has_classes:
            assert out is not None
            found = {"test_squared_error": squared_error(out, y), "test_r2": r2(out, y)}
        else:
            rows = class_rows(y) if y.shape[1] == 1 else y
            if out is not None:
                found["test_squared_error"] = squared_error(class_rows(out) if out.shape[1] == 1 else out, rows)
            if probabilities is not None:
                found["test_log_loss"] = log_loss(probabilities, rows)
        return Measured(found, {}, {})


def class_rows(signs: torch.Tensor) -> torch.Tensor:
    """Rows for two classes, (n, 2), from one output (n, 1) in which −1 and +1 stand for them.

    >>> class_rows(torch.tensor([[1.0], [0.0]])).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    above = (1 + signs) / 2
    return torch.cat([1 - above, above], 1)


def _predicted(run: Ended, classes: bool) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """What a learner says about the test labels, as rows; and as probabilities, if it has them."""
    loss = getattr(getattr(run.learner, "algorithm", None), "loss", None)
    if classes and (of := getattr(run.predictor, "probabilities", None)) is not None:
        probabilities = of(run.case.test.x)
        return probabilities, probabilities
    out = run.predictions("test")
    out = out if out.ndim == 2 else out[:, None]
    if not classes or not isinstance(loss, Loss):
        return out, None
    probabilities = loss.probabilities(out)
    if probabilities is not None:
        return probabilities, probabilities
    return (None, None) if loss.margins else (out, None)
