"""Kernel ridge regression as a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, accuracy, require, require_between, unknown
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.solvers.ridge import RidgePath, outputs, ridge_path

_ROWS = 1024
_CHOICES = ("leave_one_out", "validation")


@dataclass(frozen=True)
class KernelRidge(Learner):
    r"""Kernel ridge regression with the ridge chosen on the training sample alone.

    .. math:: \min_f \sum_i |y_i - f(x_i)|^2 + \lambda |f|_K^2

    The ridge is the one with the least leave-one-out error, or the least error on held-out training points, after
    which all of them are fitted with it; of equal ones the largest. While the best sits on the edge of the grid, the
    grid grows there by its own step, up to the limits, and never below the rounding of the eigenvalues.

    Arguments:
        kernel: as it is; a kernel with a seed of its own keeps it.
        ridges: λ, absolute; none for the mean of the Gram matrix's diagonal times 100, …, 1e-10 in 30 steps.
        choose: ``leave_one_out`` or ``validation``.
        validation: the fraction of the training sample held out to choose by.
        smallest: the grid does not grow below this times the mean of the diagonal.
        largest: nor above this times it.
    """

    kernel: Kernel
    ridges: tuple[float, ...] = ()
    choose: Literal["leave_one_out", "validation"] = "leave_one_out"
    validation: float = 0.2
    smallest: float = 1e-12
    largest: float = 1e6

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridges", tuple(float(ridge) for ridge in self.ridges))  # 1 and 1.0 are one identity
        if self.choose not in _CHOICES:
            unknown("choice of the ridge", self.choose, _CHOICES)
        require_between("validation", self.validation, 0, 1, "()")
        require(
            0 < self.smallest <= self.largest,
            f"smallest must lie in (0, largest = {self.largest}], got {self.smallest}",
        )
        for ridge in self.ridges:
            require_between("ridges", ridge, 0, float("inf"), "[)")

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Choose the ridge, fit, and measure.

        Errors are means over points of the squared error summed over outputs, without the ½ (resnet, §8.1). Accuracies
        are there when all labels are ±1 and there is one output. ``ridge_on_edge`` is 1 when the best ridge is the
        last one that the limits allow, ``condition`` is that of K + λ. The path's errors are those it was chosen by.
        """
        y, y_test = (outputs("y", part.y, len(part)) for part in (case.train, case.test))
        require(
            y_test.shape[1] == y.shape[1], f"test labels must have {y.shape[1]} outputs like y, got {y_test.shape[1]}"
        )
        gram = self.kernel(case.train.x)
        progress(0.2)
        if self.choose == "leave_one_out":
            path = self._grown(ridge_path(gram, y, self.ridges or None), lambda path: path.loo_errors)
            errors, best, fitted = path.loo_errors.sum(1), path.best, path
        else:
            inside, outside = self._split(case)
            held_out, y_held = gram[outside][:, inside], y[outside]
            path = self._grown(
                ridge_path(gram[inside][:, inside], y[inside], self.ridges or None),
                lambda path: path.validation_errors(held_out, y_held),
            )
            errors = path.validation_errors(held_out, y_held).sum(1)
            best = path.ridges[errors.argmin()].item()
            fitted = ridge_path(gram, y, [best])
        progress(0.8)

        at = fitted.ridges.tolist().index(best)
        alpha = fitted.coefficients(best)
        f_test = torch.cat([self.kernel(x, case.train.x) @ alpha for x in case.test.x.split(_ROWS)])
        scalars = {
            "train_error": fitted.training_errors[at].sum().item(),
            "test_error": (f_test - y_test).square().sum(1).mean().item(),
            "leave_one_out_error": fitted.loo_errors[at].sum().item(),
            "ridge": best,
            "ridge_on_edge": float(best in (path.ridges[0].item(), path.ridges[-1].item())),
            "condition": fitted.conditions[at].item(),
            "degrees_of_freedom": fitted.degrees_of_freedom[at].item(),
        }
        if self.choose == "validation":
            scalars["validation_error"] = errors.min().item()
        if y.shape[1] == 1 and bool((torch.cat([y, y_test]).abs() == 1).all()):
            scalars["train_accuracy"] = accuracy(y - best * alpha, y)  # y − Kα = λα
            scalars["test_accuracy"] = accuracy(f_test, y_test)
        progress(1.0)
        return Outcome(
            scalars=scalars,
            arrays={
                "path_ridge": path.ridges.numpy(),
                "path_error": errors.numpy(),
                "path_train_error": path.training_errors.sum(1).numpy(),
                "path_degrees_of_freedom": path.degrees_of_freedom.numpy(),
                "path_condition": path.conditions.numpy(),
                "eigenvalues": np.ascontiguousarray(fitted.eigenvalues.numpy()),
            },
        )

    def _split(self, case: Case) -> tuple[torch.Tensor, torch.Tensor]:
        n = len(case.train)
        held = round(self.validation * n)
        require(0 < held < n, f"validation must leave points on both sides, got {self.validation} of {n}")
        order = case.stream.child("validation").permutation(n)
        return order[held:].sort().values, order[:held].sort().values

    def _grown(self, path: RidgePath, measure: Callable[[RidgePath], torch.Tensor]) -> RidgePath:
        """The path with ridges added at the edge where the best one sits."""
        scale = path.eigenvalues.mean().item()
        low = max(self.smallest * scale, path.spectrum.rounding)
        high, slack = self.largest * scale, 1 + 1e-9  # steps are rounded
        while True:
            ridges, at = path.ridges.tolist(), int(measure(path).sum(1).argmin())
            smaller = ridges[-1] * (ridges[-1] / ridges[-2] if len(ridges) > 1 else 0.1)
            larger = ridges[0] * (ridges[0] / ridges[1] if len(ridges) > 1 and ridges[1] > 0 else 10.0)
            if at == len(ridges) - 1 and smaller > 0 and smaller * slack >= low:
                path = path.at([*ridges, smaller])
            elif at == 0 and 0 < larger <= high * slack:
                path = path.at([larger, *ridges])
            else:
                return path
