"""Recursive feature machines: kernel ridge regression that learns its metric from its own gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
import torch

from beyondkernels.core import (
    Case,
    InputError,
    Learner,
    Outcome,
    Progress,
    Stream,
    accuracy,
    later,
    require,
    require_between,
    vectors,
)
from beyondkernels.core.constraints import between, not_negative, positive
from beyondkernels.kernels.base import points
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.classical.gaussian import Gaussian
from beyondkernels.kernels.classical.laplace import Laplace
from beyondkernels.kernels.feature_machines.metric import MetricKernel, gradient_outer_product, rows_within
from beyondkernels.kernels.solvers.intercept import solve_gram
from beyondkernels.kernels.solvers.ridge import outputs, ridge_path

_SOLVER_MATRICES = 6
"""Matrices of the Gram matrix's size that a round holds at its fullest; the eigendecomposition's workspace is two."""


@dataclass(frozen=True)
class FeatureMachineRound:
    """One ridge regression under one metric.

    Errors are means over points of squared differences summed over outputs.

    Arguments:
        ridge: λ.
        train_error: of the points it was fitted to.
        loo_error: of each point under the regression on all others, with this metric.
        validation_error: of held-out points under the same round without them; None where none were held out.
    """

    ridge: float
    train_error: float
    loo_error: float
    validation_error: float | None = None


@dataclass(frozen=True, eq=False)
class FeatureMachineFit:
    r"""The predictor of the best round, :math:`f(x) = b + \sum_j \alpha_j K_M(x, x_j)`.

    Arguments:
        kernel: :math:`K_M`.
        centres: the points :math:`x_j`, shape (n, in_dim).
        coefficients: α, shape (n, outputs).
        intercept: b, shape (outputs,); zeros where none was fitted.
        record: every round, the first with M = I.
        best: which round this is, counted from 1.
    """

    kernel: MetricKernel
    centres: torch.Tensor
    coefficients: torch.Tensor
    intercept: torch.Tensor
    record: tuple[FeatureMachineRound, ...]
    best: int

    @property
    def metric(self) -> torch.Tensor:
        """M of the best round, shape (in_dim, in_dim) or its diagonal, shape (in_dim,), with trace in_dim."""
        return self.kernel.metric

    def predict(self, x: torch.Tensor, *, memory: int = MEMORY) -> torch.Tensor:
        """f(x), shape (n, outputs).

        Arguments:
            x: points, shape (n, in_dim).
            memory: bytes that may be taken beside arguments and result.
        """
        x, (m, d) = points("x", x), self.centres.shape
        step = rows_within(memory, fixed=8 * 3 * m * d, row=8 * (3 * m + 3 * d))
        blocks = [self.kernel(rows, self.centres) @ self.coefficients for rows in x.split(step)]
        return torch.cat(blocks) + self.intercept


def feature_machine_bytes(n: int) -> int:
    """How much memory a feature machine needs for n training points.

    >>> feature_machine_bytes(1000)
    48000000
    """
    return 8 * _SOLVER_MATRICES * n**2


def fit_feature_machine(
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    kernel: Literal["laplace", "gaussian"] = "laplace",
    bandwidth: float | None = None,
    rounds: int = 5,
    ridge: float | None = None,
    diagonal: bool = False,
    validation: float | None = None,
    fit_intercept: bool = False,
    stream: Stream | None = None,
    memory: int = MEMORY,
    progress: Progress = lambda _: None,
) -> FeatureMachineFit:
    r"""Alternate between ridge regression and the average gradient outer product of its predictor.

    .. math::
        (K_M + \lambda I)\,\alpha = y, \qquad f(x) = \sum_j \alpha_j K_M(x, x_j), \qquad
        M \leftarrow c \sum_{i, o} \nabla f_o(x_i)\, \nabla f_o(x_i)^\top,

    from M = I, with c such that the trace of M stays in_dim: on average over coordinates a distance counts as before,
    and the bandwidth keeps its meaning. At coinciding points the Laplace kernel has no gradient, and such terms are
    left out, a point's own above all.

    The round with the least leave-one-out error wins, of equal ones the first. Within a round that error is exact, but
    from the second round on the metric has seen the point that is left out: under much noise and a full metric it is
    too small, and a round too late may win. ``validation`` chooses by points that no round has seen.

    Arguments:
        x: points, shape (n, in_dim).
        y: labels, shape (n,) or (n, outputs).
        kernel: ``laplace``, exp(−r/h), or ``gaussian``, exp(−r²/h).
        bandwidth: h; by default the root of the mean squared distance between two points of x for ``laplace``, that
            mean itself for ``gaussian``.
        rounds: how many regressions; one is plain kernel ridge regression.
        ridge: λ, a multiple of the identity (K is 1 on its diagonal); by default, for each round, the best of 30 values
            by leave-one-out error (:func:`ridge_path`).
        diagonal: whether M is kept diagonal, which learns weights of coordinates and no directions across them.
        validation: the fraction of points to hold out in a first run that chooses the round; None to choose it by
            leave-one-out error. The fit is to all points either way.
        fit_intercept: whether f has an intercept that is not penalised (:func:`solve_gram`); the paper's has none.
        stream: which points are held out.
        memory: bytes that may be taken beside the points.
        progress: told how much of the work is done.

    >>> x = Stream(0).normal(200, 10, dtype=torch.float64)
    >>> fit = fit_feature_machine(x, x[:, 0] * x[:, 1], kernel="gaussian")
    >>> bool(fit.metric.diagonal()[:2].sum() > 0.99 * fit.metric.trace())
    True
    >>> bool(fit.record[-1].loo_error < 0.1 * fit.record[0].loo_error)
    True

    Reference: Radhakrishnan, Beaglehole, Pandit & Belkin (2024), Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 383, Algorithm 1.
    """
    x = points("x", x).detach().clone()  # kept as centres: what a caller does to x later must not change the fit
    require(len(x) > 1, f"x must hold at least 2 points to leave one of them out, got n_samples = {len(x)}")
    y = outputs("y", y, len(x))
    require(bool((y != y[0]).any()), f"y must vary to have a gradient, got one value at all {len(x)} points")
    RecursiveFeatureMachine(kernel, bandwidth, rounds, ridge, diagonal, validation, memory)  # says what is wrong
    needed = feature_machine_bytes(len(x))
    require(
        memory >= needed,
        f"memory must be at least {needed:,} bytes for an exact fit to {len(x)} points, got {memory:,}",
    )
    radial = _radial_kernel(kernel, _bandwidth(kernel, x) if bandwidth is None else bandwidth)
    errors: list[float | None] = [None] * rounds
    share = 1.0 if validation is None else 0.5
    if validation is not None:
        kept, held_out = _split(len(x), validation, stream or Stream(0))
        for t, fit in enumerate(_rounds(x[kept], y[kept], radial, rounds, ridge, diagonal, fit_intercept, memory)):
            errors[t] = mean_error(fit.predict(x[held_out], memory=memory), y[held_out])
            progress(share * (t + 1) / rounds)
    best, record = None, []
    for t, fit in enumerate(_rounds(x, y, radial, rounds, ridge, diagonal, fit_intercept, memory)):
        record.append(replace(fit.record[0], validation_error=errors[t]))
        if best is None or _score(record[t]) < _score(record[best.best - 1]):
            best = replace(fit, best=t + 1)
        progress(1 - share + share * (t + 1) / rounds)
    assert best is not None
    return replace(best, record=tuple(record))


@dataclass(frozen=True)
class RecursiveFeatureMachine(Learner):
    """A recursive feature machine as a learner: a kernel that learns features, beside networks and fixed kernels.

    Arguments are those of :func:`fit_feature_machine`, with ``memory`` no part of the identity.

    >>> RecursiveFeatureMachine("gaussian", rounds=3).diagonal
    False
    """

    kernel: Literal["laplace", "gaussian"] = "laplace"
    bandwidth: Annotated[float, positive] | None = None
    rounds: Annotated[int, positive] = 5
    ridge: Annotated[float, not_negative] | None = None
    diagonal: bool = False
    validation: Annotated[float, between(0, 1, "()")] | None = None
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})
    fit_intercept: bool = later(False)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Fit, and measure the error: the mean over points of the squared error summed over outputs.

        ``round`` is the one that won, counted from 1; accuracies are there when labels are ±1. The arrays ``round_*``
        hold the record round by round, ``metric`` is M of the round that won.
        """
        case = case.flattened()
        fit = fit_feature_machine(
            case.train.x,
            case.train.y,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            rounds=self.rounds,
            ridge=self.ridge,
            diagonal=self.diagonal,
            validation=self.validation,
            fit_intercept=self.fit_intercept,
            stream=case.stream.child("validation"),
            memory=self.memory,
            progress=progress,
        )
        won = fit.record[fit.best - 1]
        scalars = {
            "leave_one_out_loss": won.loo_error,
            "ridge": won.ridge,
            "round": float(fit.best),
            "bandwidth": fit.kernel.kernel.bandwidth,
        }
        samples = {"train": case.train} | case.fresh
        for name, sample in samples.items():
            out, y = fit.predict(sample.x, memory=self.memory), outputs("y", sample.y, len(sample))
            scalars[f"{name}_loss"] = mean_error(out, y)
            if case.has_classes:
                scalars[f"{name}_accuracy"] = accuracy(out, y)
        record = {"ridge": "ridge", "train_loss": "train_error", "leave_one_out_loss": "loo_error"}
        if self.validation is not None:
            record["held_out_loss"] = "validation_error"
        arrays = {
            f"round_{name}": np.array([getattr(this, field) for this in fit.record]) for name, field in record.items()
        }

        def predictor(x: torch.Tensor) -> torch.Tensor:
            return fit.predict(vectors(x), memory=self.memory)

        return Outcome(scalars=scalars, arrays=arrays | {"metric": fit.metric.numpy()}, predictor=predictor)


def mean_error(out: torch.Tensor, y: torch.Tensor) -> float:
    """The mean over points of the squared error summed over outputs, both of shape (n, outputs)."""
    return (out - y).square().sum(1).mean().item()


def _rounds(
    x: torch.Tensor,
    y: torch.Tensor,
    radial: Gaussian | Laplace,
    rounds: int,
    ridge: float | None,
    diagonal: bool,
    fit_intercept: bool,
    memory: int,
) -> Iterator[FeatureMachineFit]:
    """The fits of all rounds, each with the record of its own round."""
    d = x.shape[1]
    M = torch.ones(d, dtype=torch.float64) if diagonal else torch.eye(d, dtype=torch.float64)
    for t in range(1, rounds + 1):
        kernel = MetricKernel(radial, M)
        this, alpha, intercept = _regression(kernel(x), y, ridge, fit_intercept)
        yield FeatureMachineFit(kernel, x, alpha, intercept, (this,), t)
        if t < rounds:
            M = gradient_outer_product(kernel, x, alpha, x, memory=memory)
            trace = (M if diagonal else M.diagonal()).sum().item()
            if not trace > 0:
                raise InputError(
                    f"the predictor of round {t} has no gradient at any training point, so there is no metric to go on "
                    f"with; a bandwidth above {radial.bandwidth:g}, or points that differ, would do"
                )
            M *= d / trace


def _regression(
    gram: torch.Tensor, y: torch.Tensor, ridge: float | None, fit_intercept: bool
) -> tuple[FeatureMachineRound, torch.Tensor, torch.Tensor]:
    """One round: its record, α and b. The eigenvectors, as large as the Gram matrix, are gone when it returns."""
    ridges = None if ridge is None else [ridge]
    if fit_intercept:
        fit = solve_gram(gram, y, ridges)
        train_error = (fit.ridge * fit.coefficients).square().sum(1).mean().item()  # y − b − Kα = λα
        this = FeatureMachineRound(fit.ridge, train_error, fit.loo_residuals.square().sum(1).mean().item())
        return this, fit.coefficients, fit.intercept
    path = ridge_path(gram, y, ridges)
    i = int(path.loo_errors.sum(1).argmin())
    errors = path.training_errors[i].sum().item(), path.loo_errors[i].sum().item()
    this = FeatureMachineRound(path.ridges[i].item(), *errors)
    return this, path.coefficients(this.ridge), torch.zeros(y.shape[1], dtype=torch.float64)


def _score(this: FeatureMachineRound) -> float:
    return this.loo_error if this.validation_error is None else this.validation_error


def _split(n: int, validation: float, stream: Stream) -> tuple[torch.Tensor, torch.Tensor]:
    """The points that are kept, and those that are held out."""
    require_between("validation", validation, 0, 1, "()")
    m = round(validation * n)
    require(1 <= m <= n - 2, f"validation must hold out a point and keep two, got {validation} of {n}")
    order = stream.permutation(n)
    return order[m:], order[:m]


def _radial_kernel(name: str, bandwidth: float) -> Gaussian | Laplace:
    return Laplace(bandwidth) if name == "laplace" else Gaussian(bandwidth)


def _bandwidth(name: str, x: torch.Tensor) -> float:
    """The default bandwidth: the mean squared distance between two points, or its root."""
    square = 2 * x.var(0).sum().item()
    require(square < math.inf, "x must have squared distances that float64 holds; smaller points would do")
    require(square > 0, f"bandwidth must be given where points do not differ, got None and {len(x)} equal points")
    return square**0.5 if name == "laplace" else square
