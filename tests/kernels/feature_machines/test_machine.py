"""Recursive feature machines: rounds by loops, what they learn on three seeds nobody chose, and how they refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import Case, Problem, Sample, Stream, digest
from beyondkernels.kernels import Gaussian, Laplace
from beyondkernels.kernels.feature_machines.machine import (
    FeatureMachineFit,
    RecursiveFeatureMachine,
    fit_feature_machine,
    mean_error,
)
from naive import ridge_with_intercept
from refusals import refused

F64 = torch.float64
every_kernel = pytest.mark.parametrize("kernel", ["laplace", "gaussian"])


def quiet(_: float) -> None:
    pass


def product(n: int, seed: int, d: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    """y = x₁x₂ of d Gaussian coordinates."""
    x = Stream(seed).child("x").normal(n, d, dtype=F64)
    return x, x[:, 0] * x[:, 1]


def fitted(n: int, seed: int, **arguments: Any) -> tuple[FeatureMachineFit, float]:
    """The fit to the product, and its error on 2000 new points (the constant's is 1)."""
    fit = fit_feature_machine(*product(n, seed), **arguments)
    x, y = product(2000, seed + 1000)
    return fit, mean_error(fit.predict(x), y[:, None])


def value(kernel: str, h: float, M: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    square = float((p - q) @ M @ (p - q))
    return math.exp(-square / h) if kernel == "gaussian" else math.exp(-math.sqrt(square) / h)


def regression(K, y, ridge: float, intercept: bool):
    """α and b."""
    if intercept:
        return ridge_with_intercept(K, y, ridge)
    return np.linalg.solve(K + ridge * np.eye(len(y)), y), np.zeros(y.shape[1])


def by_loops(x, y, kernel: str, h: float, ridge: float, rounds: int, diagonal: bool, intercept: bool):
    """Every round with loops: (M, α, b, leave-one-out error, training error) of each."""
    n, d = x.shape
    M, found = np.eye(d), []
    for _ in range(rounds):
        K = np.array([[value(kernel, h, M, p, q) for q in x] for p in x])
        alpha, b = regression(K, y, ridge, intercept)
        left_out = 0.0
        for i in range(n):
            rest = [j for j in range(n) if j != i]
            beta, c = regression(K[np.ix_(rest, rest)], y[rest], ridge, intercept)
            left_out += float(((c + K[i, rest] @ beta - y[i]) ** 2).sum()) / n
        found.append((M, alpha, b, left_out, float(((b + K @ alpha - y) ** 2).sum()) / n))
        outer = np.zeros((d, d))
        for i in range(n):
            for output in range(y.shape[1]):
                gradient = np.zeros(d)
                for j in range(n):
                    if i == j:
                        continue
                    step = M @ (x[i] - x[j])
                    r = math.sqrt((x[i] - x[j]) @ step)
                    factor = -2 / h if kernel == "gaussian" else -1 / (h * r)
                    gradient += alpha[j, output] * factor * K[i, j] * step
                outer += np.outer(gradient, gradient) / n
        if diagonal:
            outer = np.diag(np.diag(outer))
        M = outer * d / np.trace(outer)
    return found


@every_kernel
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(("k", "intercept"), [(1, False), (3, False), (2, True)])
def test_rounds_by_loops(kernel, diagonal, k, intercept):
    x, y = Stream(0).normal(14, 3, dtype=F64), 2 + Stream(1).normal(14, k, dtype=F64)
    exact = by_loops(x.numpy(), y.numpy(), kernel, 4.0, 0.1, 4, diagonal, intercept)
    for rounds in (1, 2, 4):
        fit = fit_feature_machine(
            x, y, kernel=kernel, bandwidth=4.0, ridge=0.1, diagonal=diagonal, rounds=rounds, fit_intercept=intercept
        )
        assert [this.loo_error for this in fit.record] == pytest.approx([e[3] for e in exact[:rounds]], rel=1e-9)
        assert [this.train_error for this in fit.record] == pytest.approx([e[4] for e in exact[:rounds]], rel=1e-9)
        assert [this.ridge for this in fit.record] == [0.1] * rounds
        assert fit.best == 1 + int(np.argmin([e[3] for e in exact[:rounds]]))
        M, alpha, b, _, _ = exact[fit.best - 1]
        assert fit.metric.shape == ((3,) if diagonal else (3, 3))
        assert np.allclose(fit.metric, np.diag(M) if diagonal else M, rtol=0, atol=1e-9)
        assert np.allclose(fit.coefficients, alpha, rtol=0, atol=1e-8)
        assert np.allclose(fit.intercept, b, rtol=0, atol=1e-8)
        points = Stream(2).normal(5, 3, dtype=F64)
        K = np.array([[value(kernel, 4.0, M, p, q) for q in x.numpy()] for p in points.numpy()])
        assert np.allclose(fit.predict(points), b + K @ alpha, rtol=0, atol=1e-8)


@every_kernel
def test_one_round_is_kernel_ridge_regression(kernel):
    """With its bandwidth from the mean squared distance between two points, here by all pairs."""
    x, y = product(40, 0, d=5)
    fit = fit_feature_machine(x, y, kernel=kernel, rounds=1, ridge=0.03)
    mean = float(torch.stack([(x[i] - x[j]).square().sum() for i in range(40) for j in range(40) if i != j]).mean())
    radial = Laplace(mean**0.5) if kernel == "laplace" else Gaussian(mean)
    assert fit.kernel.kernel.bandwidth == pytest.approx(radial.bandwidth, rel=1e-12)
    alpha = torch.linalg.solve(radial(x) + 0.03 * torch.eye(40, dtype=F64), y[:, None])
    assert torch.allclose(fit.coefficients, alpha, rtol=0, atol=1e-10)
    assert torch.equal(fit.metric, torch.eye(5, dtype=F64))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "diagonal", "falls", "share"),
    # measured on the three seeds: laplace 0.53, 0.62, 0.74 → 0.08, 0.06, 0.20 (diagonal metric: 0.05, 0.03, 0.15),
    # gaussian 0.12, 0.15, 0.23 → 0.0016, 0.0002, 0.0016; the least share of the trace is 0.9645
    [("laplace", False, 0.35, 0.95), ("laplace", True, 0.3, 0.999), ("gaussian", False, 0.05, 0.999)],
)
def test_it_learns_the_coordinates_that_matter(kernel, diagonal, falls, share, seed):
    fit, error = fitted(400, seed, kernel=kernel, diagonal=diagonal)
    _, fixed = fitted(400, seed, kernel=kernel, rounds=1)
    assert error < falls * fixed
    assert fixed > 0.1
    weights = fit.metric if diagonal else fit.metric.diagonal()
    assert weights.sum().item() == pytest.approx(20, rel=1e-12)
    assert weights[:2].sum() > share * 20
    assert fit.best > 1
    assert fit.record[fit.best - 1].loo_error < 0.25 * fit.record[0].loo_error


@every_kernel
def test_units_do_not_matter(kernel):
    """Points moved and stretched, labels stretched: with the bandwidth from the points, the same fit."""
    x, y = product(60, 0, d=6)
    new = Stream(4).normal(9, 6, dtype=F64)
    fit = fit_feature_machine(x, y, kernel=kernel, ridge=1e-3)
    other = fit_feature_machine(100 * x + 7, 1e-3 * y, kernel=kernel, ridge=1e-3)
    assert torch.allclose(other.metric, fit.metric, rtol=0, atol=1e-8)
    assert torch.allclose(1e3 * other.predict(100 * new + 7), fit.predict(new), rtol=0, atol=1e-8)


@every_kernel
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_size_of_blocks_changes_nothing(kernel, diagonal):
    x, y = product(50, 0, d=5)
    new = Stream(4).normal(70, 5, dtype=F64)
    arguments: Any = {"kernel": kernel, "ridge": 1e-2, "rounds": 4, "diagonal": diagonal}
    whole = fit_feature_machine(x, y, **arguments)
    least = 8 * 6 * 50**2
    parts = fit_feature_machine(x, y, memory=least, **arguments)
    assert torch.allclose(parts.metric, whole.metric, rtol=0, atol=1e-10)
    assert torch.allclose(parts.predict(new, memory=10_000), whole.predict(new), rtol=0, atol=1e-10)
    refused(r"at least 120,000 bytes for an exact fit to 50", fit_feature_machine, x, y, memory=least - 1, **arguments)


def test_held_out_points_choose_the_round_and_nothing_else():
    x, y = product(80, 0, d=6)
    plain = fit_feature_machine(x, y, ridge=1e-3)
    fit = fit_feature_machine(x, y, ridge=1e-3, validation=0.25, stream=Stream(5))
    for one, other in zip(plain.record, fit.record, strict=True):
        assert (one.ridge, one.train_error, one.loo_error) == (other.ridge, other.train_error, other.loo_error)
        assert one.validation_error is None
    order = Stream(5).permutation(80)
    held_out, kept = order[:20], order[20:]
    errors = []
    for rounds in range(1, 6):
        part = fit_feature_machine(x[kept], y[kept], ridge=1e-3, rounds=rounds, bandwidth=plain.kernel.kernel.bandwidth)
        if part.best == rounds:  # what a fit hands out is its best round
            errors.append((rounds, mean_error(part.predict(x[held_out]), y[held_out, None])))
    assert len(errors) > 2
    for rounds, error in errors:
        assert fit.record[rounds - 1].validation_error == pytest.approx(error, rel=1e-9)
    least = min(range(5), key=lambda t: fit.record[t].validation_error or math.inf)
    assert fit.best == least + 1


@dataclass(frozen=True)
class Product(Problem):
    """The product of two of six coordinates, or its sign."""

    signs: bool = False
    columns: int = 0

    @property
    def in_dim(self) -> int:
        return 6

    @property
    def out_dim(self) -> int:
        return max(1, self.columns)

    def sample(self, n: int, stream: Stream) -> Sample:
        x = stream.normal(n, 6)
        y = x[:, 0] * x[:, 1]
        y = y.sign() if self.signs else y
        return Sample(x, y[:, None] * torch.arange(1, self.columns + 1) if self.columns else y)


def case(problem: Product, n: int = 150) -> Case:
    stream = Stream(0)
    return Case(problem, problem.sample(n, stream.child("train")), problem.sample(300, stream.child("test")), stream)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_learner(diagonal, columns):
    here = case(Product(columns=columns))
    outcome = RecursiveFeatureMachine("gaussian", rounds=4, diagonal=diagonal).fit(here, quiet)
    fit = fit_feature_machine(here.train.x, here.train.y, kernel="gaussian", rounds=4, diagonal=diagonal)
    s = outcome.scalars
    assert outcome.status == "finished"
    assert set(s) == {"train_loss", "test_loss", "leave_one_out_loss", "ridge", "round", "bandwidth"}
    out = fit.predict(here.test.x)
    y = here.test.y.double().reshape(300, -1)
    literal = sum((out[i, o] - y[i, o]).item() ** 2 for i in range(300) for o in range(y.shape[1])) / 300
    assert s["test_loss"] == pytest.approx(literal, rel=1e-9)
    assert s["train_loss"] == pytest.approx(fit.record[fit.best - 1].train_error, rel=1e-4, abs=1e-12)
    assert s["round"] == fit.best
    least = fit.record[fit.best - 1].loo_error
    assert s["leave_one_out_loss"] == outcome.arrays["round_leave_one_out_loss"].min() == least
    assert s["test_loss"] < 0.05 * y.square().sum(1).mean()
    assert np.array_equal(outcome.arrays["metric"], fit.metric.numpy())
    assert set(outcome.arrays) == {"metric", "round_ridge", "round_train_loss", "round_leave_one_out_loss"}
    assert all(len(outcome.arrays[name]) == 4 for name in outcome.arrays if name != "metric")


def test_learner_counts_signs():
    here = case(Product(signs=True))
    outcome = RecursiveFeatureMachine(validation=0.2).fit(here, quiet)
    fit = fit_feature_machine(here.train.x, here.train.y, validation=0.2, stream=Stream(0).child("validation"))
    hits = sum(float(out) * float(y) > 0 for out, y in zip(fit.predict(here.test.x), here.test.y, strict=True))
    assert outcome.scalars["test_accuracy"] == pytest.approx(hits / 300)
    assert outcome.scalars["test_accuracy"] > 0.85
    assert 0.9 < outcome.scalars["train_accuracy"] <= 1
    assert len(outcome.arrays["round_held_out_loss"]) == 5
    assert outcome.scalars["round"] == 1 + outcome.arrays["round_held_out_loss"].argmin()


def test_learner_has_an_identity():
    learner = RecursiveFeatureMachine("gaussian", 3, 4, 1, True, 0.2)
    assert digest(learner) == digest(RecursiveFeatureMachine("gaussian", 3.0, 4, 1.0, True, 0.2, memory=10**9))
    assert digest(learner) != digest(RecursiveFeatureMachine("laplace", 3, 4, 1, True, 0.2))
