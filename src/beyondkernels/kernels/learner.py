"""Kernel ridge regression as a learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, accuracy, later, require, vectors
from beyondkernels.core.constraints import between, not_negative, positive
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.ridge_choice import RidgeChoice, best_place, path_accuracies
from beyondkernels.kernels.solvers.large import LargeSolution, default_centres, memory_needed, solve_large
from beyondkernels.kernels.solvers.precomputed import Stored
from beyondkernels.kernels.solvers.repeats import groups_of_copies
from beyondkernels.kernels.solvers.ridge import RidgePath, outputs, ridge_path

ITERATIVE_RIDGES = (10.0, 1.0, 0.1, 0.01, 1e-3)
"""The ridges the iterative solver tries when none are given, relative to the mean of the kernel's diagonal."""

GROWTH = 4
"""By how many ridges audits let the iterative solver's grid grow: a baseline on the edge of a grid is a weak one."""

_ROWS = 1024
_MATRICES = {"leave_one_out": 5, "validation": 6}  # of the Gram matrix's size, held at one time
_KEPT = 3  # while the iterative solver computes the matrix that it keeps

_Outputs: TypeAlias = dict[str, torch.Tensor]
"""Labels or predictions of the fresh samples, by their names."""

Predictor: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""From points to predictions."""

_Fit: TypeAlias = tuple[dict[str, float], dict[str, np.ndarray], torch.Tensor, _Outputs, Predictor]
"""Scalars and arrays, what is left of y at the training points, predictions at the fresh ones, and for any others."""


@dataclass(frozen=True)
class KernelRidge(Learner):
    r"""Kernel ridge regression with the ridge chosen on the training sample alone.

    .. math:: \min_f \sum_i |y_i - f(x_i)|^2 + \lambda |f|_K^2

    The ridge is the one with the least leave-one-out error, or the least error on held-out training points, after
    which all of them are fitted with it; of equal ones the largest. Where labels are classes, accuracy can choose
    instead (``score``): the ridge with the best accuracy on the points left out, of equal ones that with the least
    squared error. Squared errors may ask for another ridge than accuracy does. While the best of several sits on the
    edge of the grid, the grid grows there by its own step, up to the limits, and never below the rounding of the
    eigenvalues. A single ridge is taken as it is.

    The exact solver decomposes the Gram matrix, and refuses samples for which that takes more than ``memory``. The
    iterative one (:func:`solve_large`) never decomposes it and states how far from the exact fit it can be; it solves
    anew for every ridge, so its grid is short and grows by ``growth`` ridges at most, and held-out points choose. It
    keeps the Gram matrix where that fits into ``memory``, and otherwise computes it anew in every iteration. Which of
    them is at work is for the caller to say and part of the identity: ``memory`` decides whether there is an answer,
    and changes it by rounding alone.

    Arguments:
        kernel: as it is; a kernel with a seed of its own keeps it.
        ridges: λ, absolute; none for the mean of the Gram matrix's diagonal times 100, …, 1e-10 in 30 steps, with the
            iterative solver times 10, …, 1e-3 in 5.
        choose: ``leave_one_out`` or ``validation``; with the iterative solver the latter.
        validation: the fraction of the training sample held out to choose by.
        smallest: the grid does not grow below this times the mean of the diagonal.
        largest: nor above this times it.
        solver: ``exact`` or ``iterative``.
        tolerance: of the iterative solver: the residual, relative to y, at which it stops.
        max_iterations: of the iterative solver, for each ridge.
        memory: bytes that may be taken beside the sample.
        centred: whether the mean of the training labels is subtracted before the fit and added to predictions. Labels
            far from zero need it, unless the kernel has a large constant part.
        grouped: whether equal points are left out, or held out, together. Otherwise a point that is left out may have
            a copy among the points that are fitted, and the ridge that is chosen is too small.
        growth: by how many ridges the iterative solver's grid may grow at its edge. It does not grow beyond a ridge
            for which the solver does not converge.
        score: what the ridge is chosen by: ``squared_error``, or ``accuracy`` where all labels are classes.
    """

    revision: ClassVar[int] = 2  # 1: a single ridge began a search

    kernel: Kernel
    ridges: Annotated[tuple[float, ...], not_negative] = ()
    choose: Literal["leave_one_out", "validation"] = "leave_one_out"
    validation: Annotated[float, between(0, 1, "()")] = 0.2
    smallest: Annotated[float, positive] = 1e-12
    largest: float = 1e6
    solver: Literal["exact", "iterative"] = "exact"
    tolerance: Annotated[float, between(0, 1, "()")] = 1e-3
    max_iterations: Annotated[int, positive] = 200
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})
    centred: bool = later(False)
    growth: Annotated[int, not_negative] = later(0)
    grouped: bool = later(False)
    score: Literal["squared_error", "accuracy"] = later("squared_error")

    def __post_init__(self) -> None:
        require(
            0 < self.smallest <= self.largest,
            f"smallest must lie in (0, largest = {self.largest}], got {self.smallest}",
        )
        iterative = self.solver == "iterative"
        require(
            not iterative or self.choose == "validation",
            f"choose must be 'validation' with the iterative solver, which leaves no point out, got {self.choose!r}",
        )
        require(
            not iterative or all(ridge > 0 for ridge in self.ridges),
            f"ridges must be positive with the iterative solver, got {self.ridges}",
        )

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Choose the ridge, fit, and measure.

        Losses are means over points of the squared error summed over outputs, without the ½ (resnet, §8.1). Accuracies
        are there when all labels are classes. ``ridge_on_edge`` is 1 when the best ridge is the
        first or last that was tried, of several, and ``path_choice_loss`` is what it was chosen by: held-out points of
        the training sample, whose loss is ``held_out_loss`` then, or each point left out. ``path_test_loss`` and
        ``path_validation_loss``, of fits to all points, choose nothing here, and are for those who choose as a paper
        did. With the exact solver
        ``condition`` is that of K + λ. With the iterative one ``training_error_bound`` is the most that the fit and the
        exact one can differ at the training points, root mean square (:class:`LargeSolution` says for which kernels),
        ``converged`` is 1 when that is within the tolerance, and ``path_converged`` says the same of every ridge tried.
        """
        if case.train.x.ndim > 2:  # a kernel whose network takes images is told their shape, and gets vectors
            shaped = replace(self, kernel=self.kernel.for_shape(tuple(case.train.x.shape[1:])))
            return shaped.fit(case.flattened(), progress)
        return self.fit_chosen(case, progress, None)

    def fit_chosen(self, case: Case, progress: Progress, choice: RidgeChoice | None) -> Outcome:
        """Fit with a ridge that was chosen before, or with one to be chosen, and measure.

        Arguments:
            case: the samples, whose points are vectors.
            progress: told the fraction done.
            choice: of the exact solver and all training points (:meth:`choose_ridge`); None to choose.
        """
        y, fresh = outputs("y", case.train.y, len(case.train)), fresh_outputs(case)
        mean = self._mean(y)
        below = {name: labels - mean for name, labels in fresh.items()}
        if self.solver == "exact":
            scalars, arrays, missing, found, inner = self._exact(case, below, progress, choice)
        else:
            scalars, arrays, missing, found, inner = self._iterative(case, y - mean, below, progress)
        found = {name: out + mean for name, out in found.items()}
        losses = {"train_loss": missing.square().sum(1).mean().item()}
        losses |= {
            f"{name}_loss": (found[name] - labels).square().sum(1).mean().item() for name, labels in fresh.items()
        }
        scalars = losses | scalars
        if case.has_classes:
            scalars["train_accuracy"] = accuracy(y - missing, y)
            scalars |= {f"{name}_accuracy": accuracy(found[name], labels) for name, labels in fresh.items()}
        progress(1.0)
        return Outcome(scalars=scalars, arrays=arrays, predictor=lambda x: inner(x) + mean, predicted=found)

    def choose_ridge(self, case: Case, gram: torch.Tensor) -> RidgeChoice:
        """The ridge, chosen by the exact solver.

        Arguments:
            case: the samples; only training points are looked at.
            gram: the kernel of the training points, (n, n), which is not written to.
        """
        labels = outputs("y", case.train.y, len(case.train))
        mean = self._mean(labels)
        y = labels - mean
        if self.choose == "leave_one_out":
            first = ridge_path(gram, y, self.ridges or None, groups=self._copies(case))

            def measure(path: RidgePath) -> tuple[torch.Tensor, torch.Tensor | None]:
                out = path.loo_predictions() + mean if self._by_accuracy(case) else None
                return path.loo_errors.sum(1), None if out is None else path_accuracies(out, labels)
        else:
            inside, outside = self._split(case)
            block = gram[outside][:, inside]
            first = ridge_path(gram[inside][:, inside], y[inside], self.ridges or None)

            def measure(path: RidgePath) -> tuple[torch.Tensor, torch.Tensor | None]:
                out = path.predictions(block) + mean if self._by_accuracy(case) else None
                errors = path.validation_errors(block, y[outside]).sum(1)
                return errors, None if out is None else path_accuracies(out, labels[outside])

        path = self._grown(first, measure)
        errors, accuracies = measure(path)
        best = path.ridges[best_place(errors, accuracies)].item()
        fitted = path if self.choose == "leave_one_out" else ridge_path(gram, y, [best])
        return RidgeChoice(best, path, errors, accuracies, fitted)

    def require_memory(self, n: int) -> None:
        """Refuse samples for which the exact solver takes more than ``memory``.

        Arguments:
            n: how many points.
        """
        needed = 8 * _MATRICES[self.choose] * n**2
        require(
            needed <= self.memory,
            f"memory must be at least {needed} bytes to decompose the Gram matrix of {n} points, got {self.memory}; "
            "KernelRidge(kernel, choose='validation', solver='iterative') would do without",
        )

    def _exact(self, case: Case, fresh: _Outputs, progress: Progress, choice: RidgeChoice | None) -> _Fit:
        if choice is None:
            self.require_memory(len(case.train))
            gram = self.kernel(case.train.x)
            progress(0.2)
            choice = self.choose_ridge(case, gram)
            del gram
        progress(0.8)
        path, errors, best, fitted = choice.path, choice.errors, choice.ridge, choice.fitted
        at = fitted.ridges.tolist().index(best)
        alpha, whole = fitted.coefficients(best), fitted.at(path.ridges)
        found, losses = {}, {}
        for name, part in case.fresh.items():
            blocks, total = [], torch.zeros(len(path.ridges), dtype=torch.float64)
            for x, labels in zip(part.x.split(_ROWS), fresh[name].split(_ROWS), strict=True):
                block = self.kernel(x, case.train.x)
                blocks.append(block @ alpha)
                total += whole.validation_errors(block, labels).sum(1) * len(x)
            found[name], losses[name] = torch.cat(blocks), total / max(len(part), 1)
        scalars = {
            "leave_one_out_loss": fitted.loo_errors[at].sum().item(),
            "ridge": best,
            "ridge_on_edge": _on_edge(best, path.ridges.tolist()),
            "condition": fitted.conditions[at].item(),
            "degrees_of_freedom": fitted.degrees_of_freedom[at].item(),
        }
        if self.choose == "validation":
            scalars["held_out_loss"] = errors.min().item()
        arrays = {} if choice.accuracies is None else {"path_choice_accuracy": choice.accuracies.numpy()}
        arrays |= {
            "path_ridge": path.ridges.numpy(),
            "path_choice_loss": errors.numpy(),
            **{f"path_{name}_loss": loss.numpy() for name, loss in losses.items()},
            "path_train_loss": path.training_errors.sum(1).numpy(),
            "path_degrees_of_freedom": path.degrees_of_freedom.numpy(),
            "path_condition": path.conditions.numpy(),
            "eigenvalues": np.ascontiguousarray(fitted.eigenvalues.numpy()),
        }

        def predictor(x: torch.Tensor) -> torch.Tensor:
            return torch.cat([self.kernel(rows, case.train.x) @ alpha for rows in x.split(_ROWS)])

        return scalars, arrays, best * alpha, found, predictor  # y − Kα = λα

    def _iterative(self, case: Case, y: torch.Tensor, fresh: _Outputs, progress: Progress) -> _Fit:
        x, (n, k) = case.train.x, y.shape
        needed = memory_needed(n, k, default_centres(n))
        require(
            needed <= self.memory,
            f"memory must be at least {needed} bytes to solve for {n} points and {k} outputs, got {self.memory}",
        )
        inside, outside = self._split(case)
        labels = outputs("y", case.train.y, n)
        keep = needed + 8 * _KEPT * n**2 <= self.memory
        gram = self.kernel(x) if keep else None
        scale = self.kernel.diagonal(x).mean().item() or 1.0
        ridges = sorted(self.ridges or (scale * ridge for ridge in ITERATIVE_RIDGES), reverse=True)
        parts = len(ridges) + self.growth + 1  # the last is the fit to all points

        def solve(kernel: Kernel, x: torch.Tensor, y: torch.Tensor, ridge: float, done: int) -> LargeSolution:
            return solve_large(
                kernel,
                x,
                y,
                ridge,
                stream=case.stream.child("centres"),
                centres=default_centres(len(x)),
                memory=self.memory,
                tolerance=self.tolerance,
                max_iterations=self.max_iterations,
                progress=lambda fraction: progress(0.95 * (done + fraction) / parts),
            )

        rows: list[tuple[float, ...]] = []
        inner = None if gram is None else Stored(gram[inside][:, inside])
        beside = None if gram is None else gram[outside][:, inside]
        waiting = list(ridges)
        while waiting:
            ridge = waiting.pop(0)
            known = (self.kernel, x[inside]) if inner is None else (inner, inner.places)
            part = solve(*known, y[inside], ridge, len(rows))
            predicted = part.predict(x[outside]) if beside is None else beside @ part.coefficients
            held_out = predicted - y[outside]
            errors = [values.square().sum(1).mean().item() for values in (held_out, part.fitted - part.y)]
            out = predicted + self._mean(labels)
            right = [accuracy(out, labels[outside])] if self._by_accuracy(case) else []
            rows.append((ridge, *errors, float(part.iterations), float(part.converged), *right))
            if not waiting and len(rows) < len(ridges) + self.growth:
                waiting = self._next(rows, scale)
        rows.sort(reverse=True)
        names = ("path_ridge", "path_choice_loss", "path_train_loss", "path_iterations", "path_converged")
        names += ("path_choice_accuracy",) if self._by_accuracy(case) else ()
        arrays = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        best = rows[_best_row(rows)][0]
        del inner, beside
        whole = None if gram is None else Stored(gram)
        known = (self.kernel, x) if whole is None else (whole, whole.places)
        fitted = replace(solve(*known, y, best, parts - 1), kernel=self.kernel, x=points("x", x))
        scalars = {
            "ridge": best,
            "ridge_on_edge": _on_edge(best, arrays["path_ridge"].tolist()),
            "held_out_loss": float(arrays["path_choice_loss"].min()),
            "training_error_bound": fitted.training_errors.norm().item(),
            "iterations": float(fitted.iterations),
            "converged": float(fitted.converged),
        }
        found = {name: fitted.predict(case.fresh[name].x) for name in fresh}
        return scalars, arrays, y - fitted.fitted, found, lambda x: fitted.predict(vectors(x))

    def _next(self, rows: Sequence[tuple[float, ...]], scale: float) -> list[float]:
        """The next ridge of the iterative solver if the best one is on the edge of those tried; otherwise none."""
        tried = sorted(rows, reverse=True)
        ridges, converged = ([row[i] for row in tried] for i in (0, 4))
        at, slack = _best_row(tried), 1 + 1e-9
        if len(ridges) < 2 or not converged[at]:
            return []
        if at == len(ridges) - 1:
            smaller = ridges[-1] * (ridges[-1] / ridges[-2])
            return [smaller] if smaller * slack >= self.smallest * scale else []
        larger = ridges[0] * (ridges[0] / ridges[1])
        return [larger] if at == 0 and larger <= self.largest * scale * slack else []

    def _split(self, case: Case) -> tuple[torch.Tensor, torch.Tensor]:
        n = len(case.train)
        held = round(self.validation * n)
        require(0 < held < n, f"validation must leave points on both sides, got {self.validation} of {n}")
        groups = self._copies(case)
        if groups is None:
            order = case.stream.child("validation").permutation(n)
            return order[held:].sort().values, order[:held].sort().values
        sizes = groups.bincount()
        order = case.stream.child("validation").permutation(len(sizes))
        outside = torch.zeros(len(sizes), dtype=torch.bool)
        outside[order] = sizes[order].cumsum(0) <= held
        outside[order[0]] = True  # one at least
        aside = outside[groups]
        require(not aside.all(), f"training points must differ to hold some out, got {n} copies of one point")
        return (~aside).nonzero()[:, 0], aside.nonzero()[:, 0]

    def _copies(self, case: Case) -> torch.Tensor | None:
        return groups_of_copies(case.train.x) if self.grouped else None

    def _mean(self, y: torch.Tensor) -> torch.Tensor:
        """What is subtracted from labels before the fit, and added to predictions."""
        return y.mean(0) if self.centred else torch.zeros_like(y[0])

    def _by_accuracy(self, case: Case) -> bool:
        return self.score == "accuracy" and case.has_classes

    def _grown(
        self, path: RidgePath, measure: Callable[[RidgePath], tuple[torch.Tensor, torch.Tensor | None]]
    ) -> RidgePath:
        """The path with ridges added at the edge while the best one sits there. A single ridge is the user's choice."""
        if len(self.ridges) == 1:
            return path
        scale = path.eigenvalues.mean().item()
        low = max(self.smallest * scale, path.spectrum.rounding)
        high, slack = self.largest * scale, 1 + 1e-9  # steps are rounded
        while True:
            ridges, at = path.ridges.tolist(), best_place(*measure(path))
            smaller = ridges[-1] * (ridges[-1] / ridges[-2])
            larger = ridges[0] * (ridges[0] / ridges[1] if ridges[1] > 0 else 10.0)
            if at == len(ridges) - 1 and smaller > 0 and smaller * slack >= low:
                path = path.at([*ridges, smaller])
            elif at == 0 and 0 < larger <= high * slack:
                path = path.at([larger, *ridges])
            else:
                return path


def fresh_outputs(case: Case) -> _Outputs:
    """The labels of the samples that are not learnt from, (n, outputs), with as many outputs as the training labels."""
    k = outputs("y", case.train.y, len(case.train)).shape[1]
    fresh = {name: outputs("y", part.y, len(part)) for name, part in case.fresh.items()}
    for name, y in fresh.items():
        require(y.shape[1] == k, f"{name} labels must have {k} outputs like y, got {y.shape[1]}")
    return fresh


def _on_edge(best: float, ridges: Sequence[float]) -> float:
    return float(len(ridges) > 1 and best in (ridges[0], ridges[-1]))


def _best_row(rows: Sequence[tuple[float, ...]]) -> int:
    """The place of the best ridge among rows of the iterative solver, the largest ridge first."""
    errors = torch.tensor([row[1] for row in rows], dtype=torch.float64)
    right = torch.tensor([row[5] for row in rows], dtype=torch.float64) if len(rows[0]) > 5 else None
    return best_place(errors, right)
