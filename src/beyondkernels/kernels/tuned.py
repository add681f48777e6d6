"""The best predictor that one of several kernels gives, chosen on the training points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, Sample, Stream, accuracy, require, vectors
from beyondkernels.core.constraints import not_empty, positive
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.learner import GROWTH, KernelRidge, fresh_outputs
from beyondkernels.kernels.ridge_choice import RidgeChoice
from beyondkernels.kernels.solvers.logistic import logistic_machines
from beyondkernels.kernels.solvers.repeats import groups_of_copies
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES, outputs
from beyondkernels.kernels.solvers.support_vectors import (
    Machines,
    PenaltyChoice,
    choose_penalty,
    folds_of,
    ridge_accuracy,
    support_vector_machines,
)

Loss = Literal["squared", "hinge", "logistic"]

_MACHINES: dict[Loss, Machines] = {"hinge": support_vector_machines, "logistic": logistic_machines}
"""What fits each loss that has a penalty."""

_ROWS = 1024


@dataclass(frozen=True)
class TunedKernel(Learner):
    r"""Fits a kernel by squared, hinge and logistic loss, and keeps what cross-validation finds best.

    .. math:: \min_f \sum_i |y_i - f(x_i)|^2 + \lambda |f|_K^2 \qquad\text{or}\qquad
              \min_{f, b} \tfrac12 |f|_K^2 + C \sum_i \ell(y_i (f(x_i) + b)), \quad
              \ell(t) = \max(0, 1 - t) \text{ or } \log(1 + e^{-t})

    Everything is chosen on the training points, by the score that is reported. Where labels are classes that is the
    accuracy: the ridge λ has the best accuracy on points that are left out one by one, of equal ones the least squared
    error. The penalty C has the best accuracy in a cross-validation with five folds, of equal ones it is the smallest;
    its grid grows while the best is on the edge. The loss is the one with the best accuracy in the same five folds,
    of equal ones the first of squared, hinge and logistic. Several classes have a support vector machine for each pair
    of them, and the softmax in place of the logistic loss. Where labels are numbers, the loss is squared, and λ has the
    least squared error on points that are left out.

    Of several kernels the one is taken that does best in this way, of equal ones the first. They are compared on
    ``search_points`` training points at most. Copies of a point are left out together, and λ and C are such that points
    that all come twice give the same predictor as points that come once.

    The folds depend on the points alone. So the result depends on no random number besides the sample, but with the
    iterative solver.

    Arguments:
        kernels: one or several, such as a kernel with several bandwidths.
        losses: which losses are tried where labels are classes.
        standardised: whether each input is divided by its standard deviation on the training points, and by the root
            of the number of inputs that vary, so that the variances of all inputs add up to one. Then
            ``Gaussian(1.0)`` is scikit-learn's default machine after ``StandardScaler``.
        search_points: training points that several kernels are compared on; chosen at random if there are more.
        solver: ``exact``; or ``iterative``, with squared loss only (:class:`KernelRidge`).
        memory: bytes that may be taken beside the sample.

    >>> import beyondkernels as bk
    >>> learner = TunedKernel((bk.kernels.Gaussian(4.0), bk.kernels.Gaussian(16.0)))
    >>> run = bk.fit(learner, bk.features.DictionaryParity(8, 6, relevant=1), n=60, test=60, progress=False)
    >>> run.test_accuracy > 0.8
    True
    """

    kernels: Annotated[tuple[Kernel, ...], not_empty]
    losses: Annotated[tuple[Loss, ...], not_empty] = ("squared", "hinge", "logistic")
    standardised: bool = False
    search_points: Annotated[int, positive] = 500
    solver: Literal["exact", "iterative"] = "exact"
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})

    def __post_init__(self) -> None:
        require(
            self.solver == "exact" or "squared" in self.losses,
            f"losses must hold 'squared' with the iterative solver, got {self.losses}",
        )

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Choose the kernel, the loss and its strength, fit, and measure.

        ``kernel`` is the place of the chosen kernel, counted from 0. ``hinge`` is 1 if hinge loss won, ``logistic`` if
        logistic loss did. ``squared_accuracy``, ``hinge_accuracy`` and ``logistic_accuracy`` are those of the
        cross-validation. With squared loss the outcome is that of :class:`KernelRidge`. With another loss there are
        accuracies and no losses, ``penalty`` is C times the mean of the kernel's diagonal, ``penalty_on_edge`` is 1 if
        it is the first or last one that was tried, and ``path_penalty`` and ``path_penalty_accuracy`` are what it was
        chosen from.
        """
        if case.train.x.ndim > 2:
            kernels = tuple(kernel.for_shape(tuple(case.train.x.shape[1:])) for kernel in self.kernels)
            return replace(self, kernels=kernels).fit(case.flattened(), progress)
        if self.standardised:
            scaled = _standardisation(case.train.x)
            parts = {name: replace(part, x=scaled(part.x)) for name, part in case.fresh.items()}
            case = replace(case, train=replace(case.train, x=scaled(case.train.x)), **parts)
            outcome = replace(self, standardised=False).fit(case, progress)
            inner = outcome.predictor
            assert inner is not None
            return replace(outcome, predictor=lambda x: inner(scaled(vectors(x))))
        tried, at = None, 0
        if len(self.kernels) > 1:
            tried, at = self._search(case)
        progress(0.5)
        ridge, rest = self._ridge(self.kernels[at]), (lambda fraction: progress(0.5 + 0.5 * fraction))
        if self.solver == "iterative":
            iterative = replace(ridge, choose="validation", solver="iterative", growth=GROWTH)
            outcome = iterative.fit(case, rest)
            return replace(outcome, scalars={**outcome.scalars, "kernel": float(at), **_won("squared")})
        trial = self._trial(case, self.kernels[at]) if tried is None else tried
        if trial.loss == "squared":
            outcome = ridge.fit_chosen(case, rest, trial.ridge)
        else:
            outcome = _by_penalty(case, self.kernels[at], trial, rest)
        scalars = {"kernel": float(at), **_won(trial.loss), **trial.accuracies}
        return replace(outcome, scalars=outcome.scalars | scalars)

    def _search(self, case: Case) -> tuple[_Trial | None, int]:
        """The place of the best kernel, and how it was tried if that was on all training points."""
        n = len(case.train)
        few = case
        if n > self.search_points:
            rows = Stream(0).child("search").permutation(n)[: self.search_points].sort().values
            few = replace(case, train=Sample(case.train.x[rows], case.train.y[rows]))
        best, at = self._trial(few, self.kernels[0]), 0
        for place, kernel in enumerate(self.kernels[1:], 1):
            trial = self._trial(few, kernel)
            if trial.score > best.score:
                best, at = trial, place
        return (best if few is case and self.solver == "exact" else None), at

    def _trial(self, case: Case, kernel: Kernel) -> _Trial:
        """A kernel with its losses, each with the strength that does best."""
        ridge, labels = self._ridge(kernel), outputs("y", case.train.y, len(case.train))
        ridge.require_memory(len(labels))
        gram, groups = kernel(case.train.x), groups_of_copies(case.train.x)
        copies = 1.0
        if groups is not None:
            copies = len(labels) / (int(groups.max()) + 1)
            scale = copies * gram.diagonal().mean().item() or 1.0
            ridge = replace(ridge, ridges=tuple(scale * each for each in RELATIVE_RIDGES))
        if not case.has_classes:
            choice = ridge.choose_ridge(case, gram)
            return _Trial(-choice.errors.min().item(), "squared", choice, None, copies, None, {})
        classes, found, choice, penalties = _classes(labels), dict[Loss, float](), None, dict[Loss, PenaltyChoice]()
        folds = folds_of(classes, groups)
        if "squared" in self.losses:
            choice = ridge.choose_ridge(case, gram)
            found["squared"] = ridge_accuracy(gram, labels, choice.ridge, folds)
        for loss, machines in _MACHINES.items():
            if loss in self.losses and self.solver == "exact":
                penalties[loss] = choose_penalty(gram.numpy(), classes, folds, copies, machines)
                found[loss] = penalties[loss].accuracy
        best = max(found, key=lambda loss: found[loss])  # the first of equal ones
        accuracies = {f"{loss}_accuracy": value for loss, value in found.items()}
        return _Trial(
            found[best], best, choice, penalties.get(best), copies, gram if best in penalties else None, accuracies
        )

    def _ridge(self, kernel: Kernel) -> KernelRidge:
        return KernelRidge(kernel, memory=self.memory, centred=True, grouped=True, score="accuracy")


@dataclass(frozen=True)
class _Trial:
    """How good a kernel is on points that were left out, and how it is to be fitted.

    Arguments:
        score: the accuracy, or minus the squared error.
        loss: the best one.
        ridge: the ridge of squared loss.
        penalty: that of the best loss, if it is not the squared one.
        copies: how often a point comes on average.
        gram: the kernel of the training points, if the best loss has a penalty.
        accuracies: of each loss that was tried.
    """

    score: float
    loss: Loss
    ridge: RidgeChoice | None
    penalty: PenaltyChoice | None
    copies: float
    gram: torch.Tensor | None
    accuracies: dict[str, float]


def _won(loss: Loss) -> dict[str, float]:
    return {each: float(each == loss) for each in _MACHINES}


def _by_penalty(case: Case, kernel: Kernel, trial: _Trial, progress: Progress) -> Outcome:
    """The best loss that has a penalty, on all training points."""
    y, fresh = outputs("y", case.train.y, len(case.train)), fresh_outputs(case)
    chosen, gram = trial.penalty, trial.gram
    assert chosen is not None and gram is not None, "a loss with a penalty was better"
    machine = _MACHINES[trial.loss](gram.numpy(), _classes(y), trial.copies)(chosen.penalty)
    progress(0.5)

    def predictor(x: torch.Tensor) -> torch.Tensor:
        blocks = (kernel(rows, case.train.x).numpy() for rows in vectors(x).split(_ROWS))
        return _labels(np.concatenate([machine(block) for block in blocks]), y.shape[1])

    found = {name: predictor(case.fresh[name].x) for name in fresh}
    scalars = {"train_accuracy": accuracy(_labels(machine(gram.numpy()), y.shape[1]), y)}
    scalars |= {f"{name}_accuracy": accuracy(found[name], labels) for name, labels in fresh.items()}
    scalars |= {"penalty": chosen.penalty, "penalty_on_edge": float(chosen.on_edge)}
    arrays = {
        "path_penalty": np.array(list(chosen.tried)),
        "path_penalty_accuracy": np.array(list(chosen.tried.values())),
    }
    progress(1.0)
    return Outcome(scalars=scalars, arrays=arrays, predictor=predictor, predicted=found)


def _standardisation(x: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """From points to points whose inputs have mean zero and variances that add up to one on these points."""
    x = x.double()
    mean, deviation = x.mean(0), x.std(0, unbiased=False)
    varies = deviation > 1e-12 * x.abs().amax(0)
    scale = torch.where(varies, deviation, 1.0) * max(1, int(varies.sum())) ** 0.5
    return lambda points: (points.double() - mean) / scale


def _classes(y: torch.Tensor) -> np.ndarray:
    """Classes as 0, 1, 2, …, from labels (n, 1) of ±1 or (n, classes) with a single one among zeros."""
    return ((y[:, 0] > 0).long() if y.shape[1] == 1 else y.argmax(1)).numpy()


def _labels(classes: np.ndarray, outputs: int) -> torch.Tensor:
    """Labels, (n, outputs), from classes."""
    chosen = torch.from_numpy(classes)
    if outputs == 1:
        return (2.0 * chosen - 1).double()[:, None]
    return torch.nn.functional.one_hot(chosen, outputs).double()
