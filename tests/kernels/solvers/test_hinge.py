"""The hinge solver against quadratic programming, a library solver, and its own certificate."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize
from sklearn.svm import SVC

from beyondkernels.core import Stream
from beyondkernels.kernels import DenseFeatures
from beyondkernels.kernels.solvers.directions import Newton, QuasiNewton, direction_for
from beyondkernels.kernels.solvers.hinge import HingeSolution, solve_hinge
from beyondkernels.kernels.solvers.smoothing import smoothed_hinge

F64 = torch.float64


class Unstored(DenseFeatures):
    """Dense features that hide their matrix, so that the solver sees products only."""

    def matrix(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        return None


def sample(n=40, dim=4, seed=0, noise=0.7):
    stream = Stream(seed)
    phi = stream.child("phi").normal(n, dim, dtype=F64) + 0.5
    score = phi @ stream.child("w").normal(dim, dtype=F64) + noise * stream.child("noise").normal(n, dtype=F64)
    return phi, torch.where(score > score.median(), 1.0, -1.0).to(F64)


def primal(phi, y, ridge, v, c):
    """The objective, point by point."""
    losses = [max(0.0, 1 - float(label) * (float(row @ v) + c)) for row, label in zip(phi, y, strict=True)]
    return sum(losses) / len(losses) + ridge / 2 * float(v @ v)


def dual(phi, y, ridge, alpha):
    """The lower bound, with the Gram matrix written out."""
    n = len(y)
    gram = np.array([[float(y[i] * y[j] * (phi[i] @ phi[j])) for j in range(n)] for i in range(n)])
    return float(alpha.mean()) - float(alpha.numpy() @ gram @ alpha.numpy()) / (2 * ridge * n**2)


def assert_certified(phi, y, ridge, solution: HingeSolution, intercept=True):
    """What a solution claims, checked from its definition."""
    alpha = solution.multipliers
    assert float(alpha.min()) >= 0
    assert float(alpha.max()) <= 1
    if intercept:
        assert abs(float(alpha @ y)) <= 1e-11 * len(y)
    else:
        assert solution.intercept == 0
    assert solution.primal == pytest.approx(primal(phi, y, ridge, solution.weights, solution.intercept), rel=1e-10)
    assert solution.dual == pytest.approx(dual(phi, y, ridge, alpha), rel=1e-9, abs=1e-10)
    assert solution.gap >= -1e-12


@pytest.mark.parametrize("kind", [DenseFeatures, Unstored])
@pytest.mark.parametrize("ridge", [3.0, 0.1, 1e-3])
def test_optimum_agrees_with_a_support_vector_machine(kind, ridge):
    phi, y = sample()
    solution = solve_hinge(kind(phi), y, ridge, tolerance=1e-6)
    assert_certified(phi, y, ridge, solution)
    machine = SVC(kernel="linear", C=1 / (ridge * len(y)), tol=1e-10).fit(phi.numpy(), y.numpy())
    v, c = torch.tensor(np.asarray(machine.coef_)[0]), float(machine.intercept_[0])
    best = primal(phi, y, ridge, v, c)
    assert solution.converged
    assert solution.dual <= best  # the library stops a little above its optimum
    assert solution.primal == pytest.approx(best, rel=1e-5)
    torch.testing.assert_close(solution.weights, v, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("intercept", [True, False])
def test_optimum_agrees_with_quadratic_programming(intercept):
    phi, y = sample(n=10, dim=3)
    ridge, n = 0.2, 10
    gram = ((y[:, None] * phi) @ (y[:, None] * phi).T).numpy()
    constraints = [LinearConstraint(y.numpy()[None], 0, 0)] if intercept else []
    found = minimize(
        lambda alpha: -alpha.mean() + alpha @ gram @ alpha / (2 * ridge * n**2),
        np.full(n, 0.5),
        jac=lambda alpha: -np.ones(n) / n + gram @ alpha / (ridge * n**2),
        bounds=[(0, 1)] * n,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    solution = solve_hinge(DenseFeatures(phi), y, ridge, tolerance=1e-7, intercept=intercept)
    assert_certified(phi, y, ridge, solution, intercept)
    assert solution.primal == pytest.approx(-found.fun, rel=1e-6)


def test_a_vanishing_ridge_is_a_linear_programme():
    phi, y = sample(n=30, dim=2, noise=3.0)
    n, dim = phi.shape
    # variables (v, c, t): minimise the mean of t with t ≥ 0 and t ≥ 1 − y (⟨v, φ⟩ + c)
    signed = torch.cat([y[:, None] * phi, y[:, None]], 1).numpy()
    found = linprog(
        np.r_[np.zeros(dim + 1), np.full(n, 1 / n)],
        A_ub=np.c_[-signed, -np.eye(n)],
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (dim + 1) + [(0, None)] * n,
    )
    for kind in (DenseFeatures, Unstored):
        solution = solve_hinge(kind(phi), y, 1e-7, tolerance=1e-5, max_iterations=20_000)
        assert solution.converged
        assert solution.primal == pytest.approx(found.fun, rel=2e-5)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    ridge=st.sampled_from([1e-4, 1e-2, 1.0]),
    tolerance=st.sampled_from([0.5, 0.1, 1e-2]),
    stored=st.booleans(),
    intercept=st.booleans(),
)
def test_the_gap_bounds_what_is_missing(seed, ridge, tolerance, stored, intercept):
    phi, y = sample(n=20, dim=3, seed=seed)
    features = DenseFeatures(phi) if stored else Unstored(phi)
    loose = solve_hinge(features, y, ridge, tolerance=tolerance, intercept=intercept)
    tight = solve_hinge(DenseFeatures(phi), y, ridge, tolerance=1e-5, intercept=intercept)
    assert_certified(phi, y, ridge, loose, intercept)
    assert loose.converged
    assert tight.converged
    assert loose.relative_gap <= tolerance
    assert loose.dual <= tight.primal + 1e-12
    assert loose.primal - tight.primal <= loose.gap + 1e-12


def test_few_iterations_leave_an_honest_gap():
    phi, y = sample(n=200, dim=30, noise=5.0)
    short = solve_hinge(Unstored(phi), y, 1e-4, max_iterations=5)
    assert not short.converged
    assert short.iterations == 5
    assert_certified(phi, y, 1e-4, short)
    best = solve_hinge(DenseFeatures(phi), y, 1e-4).primal
    assert 0 < short.primal - best <= short.gap


def test_centring_changes_no_prediction():
    phi, y = sample()
    whole = DenseFeatures(phi + 10)
    plain = solve_hinge(whole, y, 0.01, tolerance=1e-7)
    centred = solve_hinge(whole.centred(), y, 0.01, tolerance=1e-7)
    torch.testing.assert_close(
        whole.forward(plain.weights) + plain.intercept,
        whole.centred().forward(centred.weights) + centred.intercept,
        rtol=1e-3,
        atol=1e-3,
    )


def test_a_start_saves_steps_and_keeps_the_answer():
    phi, y = sample(n=300, dim=20)
    near = solve_hinge(Unstored(phi), y, 2e-3)
    cold = solve_hinge(Unstored(phi), y, 1e-3)
    warm = solve_hinge(Unstored(phi), y, 1e-3, start=near)
    assert warm.iterations < cold.iterations
    assert warm.primal == pytest.approx(cold.primal, rel=1e-4)


def test_constant_features_leave_the_intercept():
    y = torch.tensor([1.0, 1.0, 1.0, -1.0])
    solution = solve_hinge(DenseFeatures(torch.zeros(4, 2, dtype=F64)), y, 1.0, tolerance=1e-6)
    assert solution.converged
    assert solution.primal == pytest.approx(0.5, rel=1e-5)
    assert solution.intercept == pytest.approx(1, abs=1e-4)


def test_smoothed_hinge_is_the_maximum_over_multipliers():
    f, y = Stream(0).normal(9, dtype=F64), torch.tensor([1.0, -1, 1, 1, -1, -1, 1, -1, 1], dtype=F64)
    mu, grid = 0.3, np.linspace(0, 1, 100_001)
    at = smoothed_hinge(f, y, mu, 0.1, free_intercept=False)
    t = (1 - y * (f + 0.1)).tolist()
    literal = np.mean([max(grid * value - mu / 2 * grid**2) for value in t])
    assert at.smoothed == pytest.approx(literal, abs=1e-9)
    assert at.hinge == pytest.approx(np.mean([max(0, value) for value in t]))
    assert at.bias == pytest.approx(
        np.mean([max(0, s) - a * s for s, a in zip(t, at.multipliers.tolist(), strict=True)])
    )
    assert at.kink.tolist() == [0 < value < mu for value in t]


def test_the_free_intercept_is_the_best():
    f, y = 3 * Stream(0).normal(50, dtype=F64), torch.where(Stream(1).normal(50, dtype=F64) > 0.5, 1.0, -1.0).to(F64)
    best = smoothed_hinge(f, y, 0.05, 0.0, free_intercept=True)
    for c in np.linspace(-5, 5, 401):
        assert best.smoothed <= smoothed_hinge(f, y, 0.05, float(c), free_intercept=False).smoothed + 1e-12
    assert abs(float(best.multipliers @ y)) < 1e-12


@pytest.mark.parametrize("free", [True, False])
def test_newton_uses_the_hessian_of_the_smoothed_objective(free):
    phi, y = sample(n=30, dim=3)
    ridge, mu, v = 0.1, 0.8, torch.tensor([0.2, -0.1, 0.3], dtype=F64)

    def gradient(v):
        at = smoothed_hinge(phi @ v, y, mu, 0.0, free)
        return ridge * v - phi.T @ (at.multipliers * y) / len(y), at

    g, at = gradient(v)
    step = 1e-7 * torch.eye(3, dtype=F64)
    H = torch.stack([(gradient(v + e)[0] - gradient(v - e)[0]) / 2e-7 for e in step], 1)
    p = Newton(phi, ridge, free).propose(g, at, mu)
    torch.testing.assert_close(H @ p, -g, rtol=1e-5, atol=1e-7)


def test_quasi_newton_finds_a_quadratic_minimum():
    A = torch.diag(torch.tensor([1.0, 4.0, 9.0], dtype=F64))
    v, target = torch.zeros(3, dtype=F64), torch.tensor([1.0, -2.0, 3.0], dtype=F64)
    at = smoothed_hinge(torch.zeros(2, dtype=F64), torch.tensor([1.0, -1.0], dtype=F64), 1.0, 0.0, False)
    direction = QuasiNewton(ridge=1.0)
    for _ in range(8):
        g = A @ (v - target)
        if g.norm() < 1e-10:
            break
        p = direction.propose(g, at, 1.0)
        step = -(g @ p) / (p @ A @ p) * p  # exact line search
        direction.learn(step, A @ step)
        v = v + step
    torch.testing.assert_close(v, target)


def test_many_features_use_products_only():
    few, many = DenseFeatures(torch.zeros(2, 3)), DenseFeatures(torch.zeros(2, 3000))
    assert isinstance(direction_for(few, 1.0, True), Newton)
    assert isinstance(direction_for(many, 1.0, True), QuasiNewton)
