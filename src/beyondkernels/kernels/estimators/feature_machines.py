"""Recursive feature machines as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.estimators.arguments import as_tensor, seed_of, whole_number, yes_or_no
from beyondkernels.kernels.estimators.targets import TargetClassifier, TargetEstimator, TargetRegressor
from beyondkernels.kernels.feature_machines.machine import FeatureMachineFit, fit_feature_machine


class _Machine(TargetEstimator):
    """The parameters of a recursive feature machine, and its rounds as scikit-learn's ``fit``."""

    def __init__(
        self,
        kernel: str = "laplace",
        bandwidth: float | None = None,
        rounds: int = 5,
        ridge: float | None = None,
        diagonal: bool = False,
        validation: float | None = None,
        fit_intercept: bool = True,
        memory: int = MEMORY,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.rounds = rounds
        self.ridge = ridge
        self.diagonal = diagonal
        self.validation = validation
        self.fit_intercept = fit_intercept
        self.memory = memory
        self.random_state = random_state

    def _fit_targets(self, x: np.ndarray, y: np.ndarray) -> None:
        self.fit_: FeatureMachineFit = fit_feature_machine(
            as_tensor(x),
            as_tensor(y),
            kernel=cast(Any, self.kernel),
            bandwidth=self.bandwidth,
            rounds=whole_number("rounds", self.rounds),
            ridge=self.ridge,
            diagonal=bool(self.diagonal),
            validation=self.validation,
            fit_intercept=yes_or_no("fit_intercept", self.fit_intercept),
            stream=Stream(seed_of(self.random_state)).child("validation"),
            memory=whole_number("memory", self.memory),
        )
        self.intercept_ = self.fit_.intercept.numpy() if y.ndim == 2 else self.fit_.intercept.item()
        self.metric_: np.ndarray = self.fit_.metric.numpy()
        self.round_: int = self.fit_.best
        self.ridge_: float = self.fit_.record[self.round_ - 1].ridge
        self.loo_errors_ = np.array([this.loo_error for this in self.fit_.record])

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        fit = replace(self.fit_, intercept=torch.zeros_like(self.fit_.intercept))  # it is added afterwards
        values = fit.predict(as_tensor(x), memory=whole_number("memory", self.memory)).numpy()
        return values if np.ndim(self.intercept_) else values[:, 0]


class RecursiveFeatureMachineRegressor(TargetRegressor, _Machine):
    """Recursive feature machine for numbers, one or several a point.

    Every round fits an intercept that is not penalised, unless ``fit_intercept`` is False. After ``fit``: ``metric_``
    is M of the round that won, ``round_`` its number from 1, ``ridge_`` its ridge, ``intercept_`` its intercept,
    ``loo_errors_`` the errors of all rounds.

    Arguments are those of :func:`fit_feature_machine`; ``random_state`` says which points ``validation`` holds out,
    None is 0.

    >>> x = np.random.default_rng(0).normal(size=(200, 10))
    >>> machine = RecursiveFeatureMachineRegressor("gaussian").fit(x, x[:, 0] * x[:, 1])
    >>> bool(machine.metric_.diagonal()[:2].sum() > 9.9)
    True
    """


class RecursiveFeatureMachineClassifier(TargetClassifier, _Machine):
    """Recursive feature machine for classes: one column of ±1 for two, a column of ±1 for each of more.

    Arguments and fitted attributes are those of :class:`RecursiveFeatureMachineRegressor`, and ``classes_``.
    """
