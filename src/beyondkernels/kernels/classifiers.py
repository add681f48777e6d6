"""Learners that train a linear classifier on fixed features, and one that trains nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from beyondkernels.core import (
    Case,
    DivergedError,
    Learner,
    Outcome,
    Progress,
    accuracy,
    require,
    require_between,
    vectors,
)
from beyondkernels.core.constraints import between, not_empty, positive
from beyondkernels.kernels.features import FeatureSource
from beyondkernels.kernels.ridge_validation import RIDGES, choose_ridge


@dataclass(frozen=True)
class FixedFeatureClassifier(Learner):
    r"""The strongest linear classifier on fixed features that hinge loss and a ridge can give.

    .. math:: \min_{v, c} \frac1n \sum_i \max(0, 1 - y_i (\langle v, \phi(x_i)\rangle + c)) + \frac\lambda2 |v|^2

    with the ridge chosen on held-out training points (:func:`choose_ridge`), the intercept free, and every fit
    solved to a relative duality gap. What training schedules, step sizes and early stopping could hide is absent.
    Hinge loss and accuracy need not agree: on small samples the last fit may classify worse than the one that won.
    Ridges are relative to the features' spread and features are centred: nearly constant features count in full.

    Arguments:
        source: which features.
        ridges: relative ridges to begin with; the grid grows when its largest or smallest does best.
        smallest: below which the grid does not grow.
        largest: above which it does not grow.
        validation: the fraction of the training sample that is held out.
        tolerance: the relative duality gap of every fit.
        max_iterations: of every fit.
    """

    source: FeatureSource
    ridges: Annotated[tuple[float, ...], not_empty] = RIDGES
    smallest: float = 1e-6
    largest: float = 1e2
    validation: Annotated[float, between(0, 1, "()")] = 0.2
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-4
    max_iterations: Annotated[int, positive] = 2000

    def __post_init__(self) -> None:
        require(
            0 < self.smallest <= self.largest,
            f"smallest must lie in (0, largest = {self.largest}], got {self.smallest}",
        )
        for ridge in self.ridges:
            require_between("ridges", ridge, self.smallest, self.largest)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Choose the ridge, fit, and count the errors.

        ``held_out_accuracy`` is that of the part of the training sample by which the ridge was chosen, before the last
        fit. ``duality_gap`` is the relative gap of the last fit, ``iterations`` are those of all fits together,
        ``converged`` is 1 when the last fit met the tolerance, ``ridge_on_edge`` is 1 when the best ridge is a limit.
        """
        case = case.flattened()
        try:
            feature_map = self.source.feature_map(case)
        except DivergedError:
            return Outcome("diverged")
        y, fresh = labels(case.train.y), {name: (part.x, labels(part.y)) for name, part in case.fresh.items()}
        choice = choose_ridge(
            feature_map,
            case.train.x,
            y,
            self.ridges,
            stream=case.stream.child("validation"),
            validation=self.validation,
            limits=(self.smallest, self.largest),
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            progress=progress,
        )

        def predictor(x: torch.Tensor) -> torch.Tensor:
            return (feature_map(vectors(x)).forward(choice.weights) + choice.intercept).reshape(-1, 1)

        def correct(x: torch.Tensor, y: torch.Tensor) -> float:
            return accuracy(predictor(x), y)

        return Outcome(
            scalars={
                "train_accuracy": correct(case.train.x, y),
                **{f"{name}_accuracy": correct(*part) for name, part in fresh.items()},
                "held_out_accuracy": choice.validation_accuracy,
                "ridge": choice.ridge,
                "ridge_on_edge": float(choice.on_edge),
                "duality_gap": choice.solution.relative_gap,
                "converged": float(choice.solution.converged),
                "iterations": float(choice.iterations),
            },
            arrays={
                "path_ridge": np.array([trial.ridge for trial in choice.path]),
                "path_held_out_accuracy": np.array([trial.validation_accuracy for trial in choice.path]),
                "path_duality_gap": np.array([trial.solution.relative_gap for trial in choice.path]),
            },
            predictor=predictor,
        )


@dataclass(frozen=True)
class ConstantClassifier(Learner):
    """Predicts the majority class of the training sample for every input, +1 if both classes are equally large."""

    def fit(self, case: Case, progress: Progress) -> Outcome:
        by_name = {name: labels(part.y) for name, part in ({"train": case.train} | case.fresh).items()}
        majority = 1.0 if by_name["train"].sum() >= 0 else -1.0
        progress(1.0)
        return Outcome(
            scalars={f"{name}_accuracy": accuracy(torch.full_like(y, majority), y) for name, y in by_name.items()},
            predictor=lambda x: torch.full((len(x), 1), majority, dtype=torch.float64, device=x.device),
        )


def labels(y: torch.Tensor) -> torch.Tensor:
    """Labels as a vector of float64, from shape (n,) or (n, 1)."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    require(y.ndim == 1, f"labels must have shape (n,) or (n, 1), got {tuple(y.shape)}")
    y = y.to(torch.float64)
    require(bool(((y == 1) | (y == -1)).all()), "labels must be −1 or +1, got other values")
    return y
