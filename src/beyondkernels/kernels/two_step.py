"""Two kernel regressions for a composite target; the second sees the points and the first one's predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Progress, Stream, require
from beyondkernels.core.constraints import between, distinct, not_empty, not_negative, positive
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.learner import fresh_outputs
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES, RidgePath, outputs, ridge_path

WEIGHTS = (1e-3, 0.01, 0.1, 1.0, 10.0)
"""The weights of the second kernel that are tried when none are given."""

_ROWS = 1024
_MATRICES = 7  # of the Gram matrix's size, held at one time


@runtime_checkable
class WithBaseSignal(Protocol):
    """A problem that knows the first part of its target: samples hold F(x) as the hidden variable ``base``."""

    beta: float

    def base_signal(self, x: torch.Tensor) -> torch.Tensor:
        """F(x)."""
        ...


@dataclass(frozen=True)
class TwoStepRidge(Learner):
    r"""The two-step kernel method for targets :math:`F(x) + \alpha G(F(x))`.

    .. math::
        F' &= \arg\min_f \sum_i |y_i - f(x_i)|^2 + \lambda_1 |f|^2_{K_1} \\
        \hat y(x) &= f(x) + g(F'(x)), \qquad
        f, g = \arg\min \sum_i |y_i - f(x_i) - g(F'(x_i))|^2 + \lambda\bigl(|f|^2_{K_1} + |g|^2_{K_2} / c\bigr)

    The first step finds F up to about α. The second is kernel regression on the pairs (x, F'(x)) with
    :math:`K_1(x, x') + c\,K_2(F'(x), F'(x'))`, and finds G(F) up to α too, so that the error is of order α² and the
    risk α⁴. F itself is not found any better than that: nothing corrects F'.

    At a training point F' must not have seen that point's label, else :math:`F'(x_i) \approx y_i` and the second step
    learns to copy it. So the points are divided into folds at random, and F' at those of a fold B is the exact fit to
    all others, :math:`F'(x_B) = y_B - (P_{BB})^{-1} (P y)_B` with :math:`P = (K_1 + \lambda_1)^{-1}`; at test points it
    is the fit to all. Leave-one-out predictions (``folds = 0``) would come closest to those at test points, but betray
    the label left out: :math:`F'(x_i) = (f(x_i) - h_i y_i) / (1 - h_i)`, where the fit to all f is a function that the
    second step can form, and h_i its leverage. Within folds this relation is blurred, the more the larger they are.

    The first step's ridge is the best by leave-one-out. The second step's weight and ridge are those that predict
    held-out points best when both steps are fitted to the rest; then all points are fitted with them. The leave-one-out
    error of the second step is there too, but looks better than it is where leverages are not small, because F' at the
    other points has seen the label left out. Of equal ones the smallest weight and the largest ridge win.

    Arguments:
        first: K₁, on inputs.
        second: K₂, on predictions, of as many dimensions as there are outputs.
        weights: c, relative: K₂ is first scaled to K₁'s mean diagonal at the training points; 0 leaves K₁ alone.
        ridges: λ₁ and λ, relative to the mean of the Gram matrix's diagonal in either step.
        folds: at least 2, or 0 for a fold of each point's own.
        choose: ``validation`` or ``leave_one_out``.
        validation: the fraction of the training sample held out to choose by.
        memory: bytes that may be taken beside the sample.

    >>> import beyondkernels as bk
    >>> from beyondkernels.kernels import PolynomialKernel
    >>> problem, stream = bk.resnet.CompositeParity(dim=12, outputs=4, alpha=0.3), Stream(0)
    >>> train, test = problem.sample(400, stream.child("train")), problem.sample(400, stream.child("test"))
    >>> learner = TwoStepRidge(PolynomialKernel(2, scale=1 / 12), PolynomialKernel(4))
    >>> found = learner.fit(Case(problem, train, test, stream), lambda fraction: None).scalars
    >>> found["first_loss"] > problem.base_only_risk > 100 * found["test_loss"]
    True

    Reference: Allen-Zhu & Li (bfc), footnote 25.
    """

    revision: ClassVar[int] = 1

    first: Kernel
    second: Kernel
    weights: Annotated[tuple[float, ...], not_empty, not_negative, distinct] = WEIGHTS
    ridges: Annotated[tuple[float, ...], not_empty, positive, distinct] = RELATIVE_RIDGES
    folds: int = 10
    choose: Literal["validation", "leave_one_out"] = "validation"
    validation: Annotated[float, between(0, 1, "()")] = 0.2
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})

    def __post_init__(self) -> None:
        for name, order in (("weights", 1), ("ridges", -1)):
            values = tuple(sorted(getattr(self, name), key=lambda value: order * value))
            object.__setattr__(self, name, values)  # one identity, whatever the order
        require(self.folds == 0 or self.folds >= 2, f"folds must be 0 or at least 2, got {self.folds}")

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Fit both steps, choose, and measure.

        Losses are means over points of the squared error summed over outputs, without the ½. ``test_loss`` is that of
        the chosen weight and ridge, ``test_loss_best`` the least of all tried, which no one could know;
        ``first_loss`` is that of F' against y at test points, ``left_out_loss`` that of F' at training points. Where
        the problem is composite, ``base_loss`` and ``left_out_base_loss`` are those of F' against βF, its own part of
        the target. ``ridge_on_edge`` and ``weight_on_edge`` are 1 when the chosen one is the first or last of several.
        The path's arrays have an entry for each weight and ridge tried; its ridges are absolute, ``path_choice_loss``
        is what was chosen by, and ``path_test_loss`` chooses nothing here.
        """
        case = case.flattened()
        y, fresh = outputs("y", case.train.y, len(case.train)), fresh_outputs(case)
        n, k = y.shape
        require(self.folds <= n, f"folds must not exceed the {n} training points, got {self.folds}")
        self._check_memory(n, k)
        held_out = None if self.choose == "leave_one_out" else self._held_out_errors(case, y)
        progress(0.35 if held_out is not None else 0.05)

        fitted = self._fitted(case.train.x, y, case.stream.child("folds"))
        progress(0.9)
        chosen_by = fitted.loo_errors if held_out is None else held_out
        at = int(chosen_by.argmin())  # the first of equal ones: weights rise, ridges fall
        i, j = divmod(at, len(self.ridges))
        found = {name: fitted.at(case.fresh[name].x, labels, i, j) for name, labels in fresh.items()}
        base_test = found["test"].base
        scalars = {
            "train_loss": fitted.train_errors[i, j].item(),
            **{f"{name}_loss": _mean_square(found[name].predictions - labels) for name, labels in fresh.items()},
            "test_loss_best": found["test"].errors.min().item(),
            "choice_loss": chosen_by.min().item(),
            "leave_one_out_loss": fitted.loo_errors[i, j].item(),
            "first_loss": _mean_square(base_test - fresh["test"]),
            "left_out_loss": _mean_square(fitted.base - y),
            "weight": self.weights[i],
            "ridge": fitted.ridges[i, j].item(),
            "first_ridge": fitted.first_ridge,
            "weight_on_edge": float(len(self.weights) > 1 and i in (0, len(self.weights) - 1)),
            "ridge_on_edge": float(len(self.ridges) > 1 and j in (0, len(self.ridges) - 1)),
        }
        if isinstance(case.problem, WithBaseSignal):
            signals = [case.problem.beta * part.hidden["base"].double() for part in (case.test, case.train)]
            scalars["base_loss"] = _mean_square(base_test - signals[0])
            scalars["left_out_base_loss"] = _mean_square(fitted.base - signals[1])
        weights = torch.tensor(self.weights, dtype=torch.float64)[:, None].expand(fitted.ridges.shape)
        columns = {
            "weight": weights,
            "ridge": fitted.ridges,
            "choice_loss": chosen_by,
            **{f"{name}_loss": at_points.errors for name, at_points in found.items()},
            "train_loss": fitted.train_errors,
        }
        progress(1.0)
        arrays = {f"path_{name}": np.ascontiguousarray(column.flatten().numpy()) for name, column in columns.items()}

        def predictor(x: torch.Tensor) -> torch.Tensor:
            return fitted.at(x, y.new_zeros(len(x), k), i, j).predictions

        return Outcome(scalars=scalars, arrays=arrays, predictor=predictor)

    def _held_out_errors(self, case: Case, y: torch.Tensor) -> torch.Tensor:
        """The error of every weight and ridge at points that neither step has seen, (weights, ridges)."""
        n = len(y)
        held = round(self.validation * n)
        require(
            0 < held <= n - max(2, self.folds),
            f"validation must leave points on both sides, and one for each of {self.folds} folds, "
            f"got {self.validation} of {n}",
        )
        order = case.stream.child("validation").permutation(n)
        inside, outside = order[held:].sort().values, order[:held].sort().values
        part = self._fitted(case.train.x[inside], y[inside], case.stream.child("validation folds"))
        return part.at(case.train.x[outside], y[outside]).errors

    def _fitted(self, x: torch.Tensor, y: torch.Tensor, stream: Stream) -> _Fitted:
        gram = self.first(x)
        scale = gram.diagonal().mean().item() or 1.0
        path = ridge_path(gram, y, [scale * ridge for ridge in self.ridges])
        ridge, alpha = path.best, path.coefficients()
        base = _left_out(path, ridge, self.folds, stream)
        del path  # its eigenvectors make room for the next
        second = self.second(base)
        factor = scale / (second.diagonal().mean().item() or 1.0)
        paths = []
        for weight in self.weights:
            both = torch.add(gram, second, alpha=weight * factor)
            step = scale * (1 + weight)  # the mean of its diagonal
            path = ridge_path(both, y, [step * ridge for ridge in self.ridges])
            coefficients = torch.stack([path.coefficients(ridge) for ridge in path.ridges.tolist()])
            paths.append((path.ridges, coefficients, path.loo_errors.sum(1), path.training_errors.sum(1)))
            del path
        ridges, coefficients, loo, train = (torch.stack(column) for column in zip(*paths, strict=True))
        return _Fitted(self, x, base, factor, ridge, alpha, ridges, coefficients, loo, train)

    def _check_memory(self, n: int, k: int) -> None:
        rest = 8 * n * k * 2 * len(self.weights) * len(self.ridges)
        needed = 8 * _MATRICES * n**2 + rest
        a, b = 8.0 * _MATRICES, rest / n
        fits = int((math.sqrt(b**2 + 4 * a * self.memory) - b) / (2 * a))
        require(
            needed <= self.memory,
            f"memory must be at least {needed} bytes to decompose the Gram matrices of {n} points, got {self.memory}; "
            f"{fits} points would fit",
        )


@dataclass(frozen=True)
class _Fitted:
    """Both fitted steps: coefficients (weights, ridges, n, k), errors and ridges (weights, ridges)."""

    learner: TwoStepRidge
    x: torch.Tensor
    base: torch.Tensor
    """F' at the training points, from fits that have not seen them."""
    factor: float
    first_ridge: float
    first_coefficients: torch.Tensor
    ridges: torch.Tensor
    coefficients: torch.Tensor
    loo_errors: torch.Tensor
    train_errors: torch.Tensor

    def at(self, x: torch.Tensor, y: torch.Tensor, i: int = 0, j: int = 0) -> _AtPoints:
        """Errors of all weights and ridges, predictions of the i-th and j-th, and F', at other points."""
        learner, alpha = self.learner, self.coefficients
        w, r, n, k = alpha.shape
        errors = torch.zeros(w, r, dtype=torch.float64)
        predictions, bases = [], []
        for points, labels in zip(x.split(_ROWS), y.split(_ROWS), strict=True):
            block = learner.first(points, self.x)
            base = block @ self.first_coefficients
            second = learner.second(base, self.base)
            for at, weight in enumerate(learner.weights):
                both = torch.add(block, second, alpha=weight * self.factor)
                f = (both @ alpha[at].transpose(0, 1).reshape(n, r * k)).view(-1, r, k)
                errors[at] += (f - labels[:, None]).square().sum((0, 2))
                if at == i:
                    predictions.append(f[:, j])
            bases.append(base)
        return _AtPoints(errors / len(x), torch.cat(predictions), torch.cat(bases))


@dataclass(frozen=True)
class _AtPoints:
    """Errors of all weights and ridges, predictions of one of them, and F', at points that were not fitted."""

    errors: torch.Tensor
    predictions: torch.Tensor
    base: torch.Tensor


def _left_out(path: RidgePath, ridge: float, folds: int, stream: Stream) -> torch.Tensor:
    """Predictions of every point by the fit to all points outside its fold, (n, k)."""
    if folds == 0:
        return path.y - path.loo_residuals(ridge)
    s, V = path.spectrum.values, path.spectrum.vectors
    P = (V / (s + ridge)) @ V.T
    alpha, f = P @ path.y, path.y.clone()
    for rows in stream.permutation(len(f)).tensor_split(folds):
        f[rows] -= torch.linalg.solve(P[rows][:, rows], alpha[rows])
    return f


def _mean_square(difference: torch.Tensor) -> float:
    return difference.square().sum(1).mean().item()
