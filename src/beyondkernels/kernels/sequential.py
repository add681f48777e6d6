"""Kernel regressions one after the other; each hands what it has found on to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import torch

from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, require, vectors
from beyondkernels.core.constraints import at_least, between, distinct, not_empty, positive, rising
from beyondkernels.kernels.learner import fresh_outputs
from beyondkernels.kernels.solvers.ridge import outputs

RIDGES = tuple(10.0**-i for i in range(-1, 15))
"""10, 1, …, 1e-14: the ridges that are tried when none are given, relative to the Gram matrix's mean diagonal."""


@dataclass(frozen=True)
class SequentialKernels(Learner):
    r"""Quadratic kernel regressions in rounds; the features found in one round are inputs of the next.

    Round r fits the labels by ridge regression with the quadratic kernel on its inputs :math:`z^{(r)}`,

    .. math::
        K(z, z') = \Bigl(1 + \frac{\langle z, z'\rangle}{\dim z}\Bigr)^2, \qquad
        f_r = \arg\min_f \sum_i (y_i - f(z^{(r)}_i))^2 + \lambda_r |f|_K^2, \qquad
        f_r(z) = c + \langle b, z\rangle + \langle z, A z\rangle .

    The first inputs are :math:`z^{(1)} = (x, x^2)`, so that :math:`f_1` has degree 4 as the paper's second layer has.
    The p eigenvectors v of A with the largest eigenvalues λ, by size, give the features
    :math:`S_v = \sqrt{|\lambda|}\,\langle v, z\rangle + \text{const}`, where the constant completes the square with b.
    The next inputs are :math:`z^{(r)}` and all products :math:`S_i S_j`, i ≤ j, and the degree doubles. Products beside
    squares matter: features are found up to a rotation at best, and squares of rotated features are other functions
    (§6.1). Inputs are centred and scaled to unit variance over the training points. The last round's fit is the
    prediction. It may fit again whatever earlier rounds have fitted, but nothing changes the features handed on.

    In each round, ridge and number of features handed on are those with the least error at held-out points; then all
    points are fitted with them. Of equal ones the fewest features and the largest ridge win.

    The paper speaks of "sequential kernel" learning without a definition. This one is ours. It is meant to be strong:
    it knows that layers are quadratic, and is given the richer representation that the paper's network has to learn.

    Arguments:
        rounds: how many; L − 1 for a target of L layers.
        features: the numbers p that are tried.
        ridges: λ, relative to the mean of the Gram matrix's diagonal.
        validation: the fraction of the training sample held out to choose by.
        memory: bytes that may be taken beside the sample.

    Reference: Allen-Zhu & Li (bfc), §3, "Comparing to sequential kernel methods", and footnote 25.
    """

    rounds: Annotated[int, at_least(1)] = 2
    features: Annotated[tuple[int, ...], not_empty, positive, rising] = (1, 2, 4)
    ridges: Annotated[tuple[float, ...], not_empty, positive, distinct] = RIDGES
    validation: Annotated[float, between(0, 1, "()")] = 0.2
    memory: Annotated[int, positive] = field(default=2**32, metadata={"identity": False})

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridges", tuple(sorted(self.ridges, reverse=True)))  # one identity in any order
        require(self.rounds <= 16, f"rounds must be at most 16, got {self.rounds}")

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        self._held(samples)
        most = self.features[-1]
        dim = 2 * problem.in_dim + (self.rounds - 1) * most * (most + 1) // 2
        needed = 8 * 3 * samples * _count(dim)
        require(
            needed <= self.memory,
            f"memory must be at least {needed} bytes for the monomials of {dim} inputs at {samples} points, "
            f"got {self.memory}; fewer features would need less",
        )

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Choose in each round, fit all points, and measure.

        Losses are means of the squared error summed over outputs. ``round1_loss``, … are test losses of each round's
        own fit, ``round1_features`` how many features it hands on, ``round1_ridge`` its relative ridge, and
        ``choice_loss`` the error at held-out points by which the last round was chosen. The predictor has ``hidden``,
        the features handed on, by layer: round r stands for layer r + 1.
        """
        case = case.flattened()
        self.check(case.problem, len(case.train), len(case.test))
        y, fresh = outputs("y", case.train.y, len(case.train)), fresh_outputs(case)
        require(y.shape[1] == 1, f"y must have one output for its quadratic form, got {y.shape[1]}")
        order = case.stream.child("validation").permutation(len(y))
        outside, inside = order.split([self._held(len(y)), len(y) - self._held(len(y))])
        x = case.train.x.double()

        settings, path, errors = self._chosen(x[inside], y[inside], x[outside], y[outside], progress)
        z, rounds = _ground(x), []
        for given, ridge in settings:
            z = _handed_on(rounds[-1], z, given) if rounds else z
            rounds += _Round.fitted(z, y, [ridge])
        predictor = _Predictor(tuple(rounds), tuple(given for given, _ in settings))
        progress(0.95)

        scalars = {"train_loss": _error(predictor(x), y)}
        scalars |= {f"{name}_loss": _error(predictor(case.fresh[name].x), labels) for name, labels in fresh.items()}
        scalars["choice_loss"] = errors[-1]
        for r, (_, ridge) in enumerate(settings, 1):
            part = _Predictor(predictor.rounds[:r], predictor.given[:r])
            scalars |= {f"round{r}_loss": _error(part(case.test.x), fresh["test"]), f"round{r}_ridge": ridge}
            if r < self.rounds:
                scalars[f"round{r}_features"] = float(settings[r][0])
        progress(1.0)
        return Outcome(scalars=scalars, arrays=path, predictor=predictor)

    def _chosen(
        self, x: torch.Tensor, y: torch.Tensor, x_held: torch.Tensor, y_held: torch.Tensor, progress: Progress
    ) -> tuple[list[tuple[int, float]], dict[str, np.ndarray], list[float]]:
        """For each round the features it takes from the one before and its ridge, all errors, and the least ones."""
        z, held, best = _ground(x), _ground(x_held), None
        settings, errors, path = [], [], {}
        for r in range(1, self.rounds + 1):
            inputs = [(0, z, held)]
            if best is not None:
                inputs = [(p, _handed_on(best, z, p), _handed_on(best, held, p)) for p in self.features]
            tried = [
                (_error(f(z_held), y_held), given, f, z_inside, z_held)
                for given, z_inside, z_held in inputs
                for f in _Round.fitted(z_inside, y, self.ridges)
            ]
            least, given, best, z, held = min(tried, key=lambda trial: trial[0])  # the first of equal ones
            settings.append((given, best.ridge))
            errors.append(least)
            path[f"path_choice_loss{r}"] = np.array([trial[0] for trial in tried])
            progress(0.7 * r / self.rounds)
        return settings, path, errors

    def _held(self, n: int) -> int:
        held = round(self.validation * n)
        require(0 < held < n - 1, f"validation must leave points on both sides, got {self.validation} of {n}")
        return held


@dataclass(frozen=True)
class _Round:
    """f(z) = c + ⟨b, u⟩ + ⟨u, Au⟩ of standardised inputs u = (z − mean) / spread."""

    ridge: float
    mean: torch.Tensor
    spread: torch.Tensor
    constant: torch.Tensor
    linear: torch.Tensor
    form: torch.Tensor

    @classmethod
    def fitted(cls, z: torch.Tensor, y: torch.Tensor, ridges: Sequence[float]) -> list[_Round]:
        """The fit at each relative ridge, from one decomposition of the monomials."""
        mean, spread = z.mean(0), z.std(0, correction=0)
        spread = torch.where(spread > 0, spread, 1.0)
        u = (z - mean) / spread
        D = u.shape[1]
        phi = _monomials(u)
        P, s, Qt = torch.linalg.svd(phi, full_matrices=False)
        scale, projected = phi.square().sum(1).mean(), P.T @ y
        (i, j), found = torch.triu_indices(D, D), []
        for ridge in ridges:
            w = Qt.T @ (s[:, None] / (s.square() + ridge * scale)[:, None] * projected)
            constant, linear, products = w[:, 0].split([1, D, len(w) - D - 1])
            form = torch.zeros(D, D, dtype=torch.float64)
            form[i, j] = products / D * torch.where(i == j, 1.0, math.sqrt(2))
            found.append(cls(ridge, mean, spread, constant, linear * math.sqrt(2 / D), (form + form.T) / 2))
        return found

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Predictions, (n, 1)."""
        u = (z - self.mean) / self.spread
        return (self.constant + u @ self.linear + ((u @ self.form) * u).sum(1))[:, None]

    def features(self, z: torch.Tensor, count: int) -> torch.Tensor:
        """The linear forms whose squares are the largest parts of the quadratic form, (n, count)."""
        values, vectors = torch.linalg.eigh(self.form)
        top = values.abs().argsort(descending=True)[:count]
        size, v = values[top], vectors[:, top]
        shift = torch.where(size == 0, 0.0, (self.linear @ v) / (2 * torch.where(size == 0, 1.0, size)))
        return size.abs().sqrt() * ((z - self.mean) / self.spread @ v + shift)


@dataclass(frozen=True)
class _Predictor:
    """All rounds; ``given`` says how many features each takes from the one before."""

    rounds: tuple[_Round, ...]
    given: tuple[int, ...]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Predictions of the last round, (n, 1)."""
        return self.rounds[-1](self._inputs(x, len(self.rounds) - 1))

    def hidden(self, x: torch.Tensor) -> dict[int, torch.Tensor]:
        """The features that each round hands on, (n, p), by layer: 2 for the first round."""
        return {
            r + 2: self.rounds[r].features(self._inputs(x, r), self.given[r + 1]) for r in range(len(self.rounds) - 1)
        }

    def _inputs(self, x: torch.Tensor, upto: int) -> torch.Tensor:
        z = _ground(x)
        for r in range(upto):
            z = _handed_on(self.rounds[r], z, self.given[r + 1])
        return z


def _ground(x: torch.Tensor) -> torch.Tensor:
    x = vectors(x).double()
    return torch.cat([x, x.square()], 1)


def _handed_on(fitted: _Round, z: torch.Tensor, count: int) -> torch.Tensor:
    S = fitted.features(z, count)
    i, j = torch.triu_indices(S.shape[1], S.shape[1])
    return torch.cat([z, S[:, i] * S[:, j]], 1)


def _monomials(u: torch.Tensor) -> torch.Tensor:
    """The features of (1 + ⟨u, u'⟩ / D)², one column a monomial."""
    n, D = u.shape
    i, j = torch.triu_indices(D, D)
    products = u[:, i] * u[:, j] / D * torch.where(i == j, 1.0, math.sqrt(2))
    return torch.cat([torch.ones(n, 1, dtype=torch.float64), u * math.sqrt(2 / D), products], 1)


def _count(dim: int) -> int:
    return (dim + 1) * (dim + 2) // 2


def _error(predictions: torch.Tensor, y: torch.Tensor) -> float:
    return (predictions - y).square().sum(1).mean().item()
