"""The ridge, chosen on a held-out part of the training sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from beyondkernels.core import Progress, Stream, accuracy, require, require_between
from beyondkernels.kernels.checks import require_labels
from beyondkernels.kernels.features import FeatureMap
from beyondkernels.kernels.solvers.hinge import HingeSolution, solve_hinge

RIDGES = tuple(10 ** (-i / 2) for i in range(9))
"""1, 0.316, 0.1, …, 0.0001, relative to the features' spread."""


@dataclass(frozen=True)
class RidgeTrial:
    """One ridge of a path: how its classifier did on the held-out points, and how well it was solved."""

    ridge: float
    validation_accuracy: float
    solution: HingeSolution


@dataclass(frozen=True)
class ChosenClassifier:
    r"""The classifier :math:`\langle v, \phi(x)\rangle + c` at the chosen ridge, fitted to the whole sample.

    Arguments:
        weights: v.
        intercept: c, for features as the map gives them (not centred).
        ridge: the chosen one, relative to the features' spread.
        validation_accuracy: on the held-out points, of the classifier fitted without them.
        on_edge: whether the best ridge is the last one that the limits allow.
        solution: of the last fit, on centred features.
        path: every ridge tried, the largest first.
        iterations: all of them together.
    """

    weights: torch.Tensor
    intercept: float
    ridge: float
    validation_accuracy: float
    on_edge: bool
    solution: HingeSolution
    path: tuple[RidgeTrial, ...]
    iterations: int


def choose_ridge(
    feature_map: FeatureMap,
    x: torch.Tensor,
    y: torch.Tensor,
    ridges: Sequence[float] = RIDGES,
    *,
    stream: Stream,
    validation: float = 0.2,
    limits: tuple[float, float] = (1e-6, 1e2),
    tolerance: float = 1e-4,
    max_iterations: int = 2000,
    progress: Progress = lambda _: None,
) -> ChosenClassifier:
    r"""Fit hinge loss plus ridge on fixed features, with the ridge that does best on held-out points.

    Ridges are relative: :math:`\lambda = \rho\, \frac1n \sum_i |\phi_i - \bar\phi|^2`, so that neither the scale of
    the features nor a large constant part matters. The intercept is free, which makes centring exact. From the
    largest ridge to the smallest, each solution starts the next. While the largest or the smallest ridge tried does
    as well as the best, the grid grows there by its own step, and downwards while nothing beats the constant
    classifier. The best ridge wins, of equal ones the largest, and is given the whole sample.

    Arguments:
        feature_map: from inputs to features.
        x: the training inputs, shape (n, in_dim).
        y: their labels ±1, shape (n,).
        ridges: relative ridges :math:`\rho`.
        stream: draws the held-out points.
        validation: their fraction.
        limits: the grid grows within these.
        tolerance: the relative duality gap of every fit; accuracies at large ridges are not settled at 1e-3.
        max_iterations: of every fit.
        progress: told the fraction done.
    """
    require_labels(y, len(x))
    grid = _valid_ridges(ridges, limits)
    require_between("validation", validation, 0, 1, "()")
    held = round(validation * len(x))
    require(0 < held < len(x), f"validation must leave points on both sides, got {validation} of {len(x)}")
    order = stream.permutation(len(x))
    inside, outside = order[held:].sort().values, order[:held].sort().values

    fit = _Fit(feature_map, x[inside], y[inside], tolerance, max_iterations)
    held_out, y_held = feature_map(x[outside]), y[outside]
    trials: dict[float, RidgeTrial] = {}

    def attempt(ridge: float, start: HingeSolution | None) -> HingeSolution:
        solution = fit.at(ridge, start)
        f = held_out.forward(solution.weights) + fit.intercept(solution)
        trials[ridge] = RidgeTrial(ridge, accuracy(f, y_held), solution)
        progress(len(trials) / (max(len(trials), len(grid)) + 1))
        return solution

    solution = None
    for ridge in grid:
        solution = attempt(ridge, solution)
    constant = accuracy(torch.full_like(y_held, 1.0 if y[inside].sum() >= 0 else -1.0), y_held)
    while (ridge := _next_ridge(trials, constant, limits)) is not None:
        attempt(ridge, trials[min(trials) if ridge < min(trials) else max(trials)].solution)
    best = max(trials.values(), key=lambda trial: (trial.validation_accuracy, trial.ridge))

    del fit  # its memory is needed again
    fit = _Fit(feature_map, x, y, tolerance, max_iterations)
    last = fit.at(best.ridge, best.solution)
    progress(1.0)
    return ChosenClassifier(
        weights=last.weights,
        intercept=fit.intercept(last),
        ridge=best.ridge,
        validation_accuracy=best.validation_accuracy,
        on_edge=best.ridge in (min(trials), max(trials)),
        solution=last,
        path=tuple(trials[ridge] for ridge in sorted(trials, reverse=True)),
        iterations=last.iterations + sum(trial.solution.iterations for trial in trials.values()),
    )


class _Fit:
    """Solutions at relative ridges on one set of points."""

    def __init__(
        self, feature_map: FeatureMap, x: torch.Tensor, y: torch.Tensor, tolerance: float, max_iterations: int
    ):
        features = feature_map(x)
        self._mean, self._centred = features.mean(), features.centred()
        # constant features have no spread, and no ridge matters to them
        self._spread = self._centred.square_norms().mean().item() or 1.0
        self._y, self._tolerance, self._max_iterations = y, tolerance, max_iterations

    def at(self, ridge: float, start: HingeSolution | None) -> HingeSolution:
        return solve_hinge(
            self._centred,
            self._y,
            ridge * self._spread,
            tolerance=self._tolerance,
            max_iterations=self._max_iterations,
            start=start,
        )

    def intercept(self, solution: HingeSolution) -> float:
        """The solution's intercept for features that are not centred."""
        return solution.intercept - (self._mean @ solution.weights).item()


def _next_ridge(trials: dict[float, RidgeTrial], constant: float, limits: tuple[float, float]) -> float | None:
    """The ridge to try when one end of the grid does as well as the best; None when the search is over."""
    tried = sorted(trials)
    best = max(trial.validation_accuracy for trial in trials.values())
    smaller = tried[0] / (tried[1] / tried[0] if len(tried) > 1 else 10.0)
    larger = tried[-1] * (tried[-1] / tried[-2] if len(tried) > 1 else 10.0)
    slack = 1 + 1e-9  # steps are rounded
    # strong ridges leave little but the intercept: what only equals the constant classifier ends no search
    if (trials[tried[0]].validation_accuracy == best or best <= constant) and smaller * slack >= limits[0]:
        return smaller
    if trials[tried[-1]].validation_accuracy == best and larger <= limits[1] * slack:
        return larger
    return None


def _valid_ridges(ridges: Sequence[float], limits: tuple[float, float]) -> list[float]:
    require(len(ridges) > 0, "ridges must hold at least one number, got none")
    low, high = limits
    require(0 < low <= high, f"limits must be positive and increasing, got {limits}")
    for ridge in ridges:
        require_between("ridges", ridge, low, high)
    return sorted(set(ridges), reverse=True)
