"""The solver for large samples against the dense solution: what it states must hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.kernels import FunctionKernel, Gaussian, Kernel, Laplace, PolynomialKernel
from beyondkernels.kernels.solvers import definiteness
from beyondkernels.kernels.solvers.large import _plan, _Problem, solve_large
from beyondkernels.kernels.solvers.nystrom import Preconditioner, nystrom_factor
from refusals import refused, told

F64 = torch.float64
KERNELS = [Gaussian(3.0), 5 * Laplace(2.0), PolynomialKernel(2, 1.0)]


def sample(n=300, k=1, dim=3, seed=0):
    stream = Stream(seed)
    x, z = stream.child("x").normal(n, dim, dtype=F64), 1.5 * stream.child("z").normal(40, dim, dtype=F64)
    y = torch.sin(2 * x @ stream.child("W").normal(dim, k, dtype=F64))
    return x, y + 0.3 * stream.child("noise").normal(n, k, dtype=F64), z


class Exact:
    """The dense solution, and every quantity of an approximate one that the bounds speak of."""

    def __init__(self, kernel, x, y, ridge):
        self.kernel, self.x, self.y, self.ridge = kernel, x, y, ridge
        self.gram = kernel(x).numpy()
        self.alpha = np.linalg.solve(self.gram + ridge * np.eye(len(x)), y.numpy())

    def objective(self, alpha):
        return ((self.y.numpy() - self.gram @ alpha) ** 2).sum(0) + self.ridge * (alpha * (self.gram @ alpha)).sum(0)

    def check(self, solution, z):
        """Actual errors against stated ones; how near the two are, at best."""
        alpha, slack = solution.coefficients.numpy(), 1e-9
        off = alpha - self.alpha
        r = self.y.numpy() - self.gram @ alpha - self.ridge * alpha
        np.testing.assert_allclose(solution.residuals, np.linalg.norm(r, axis=0), rtol=1e-6, atol=slack)
        in_norm = np.sqrt((off * (self.gram @ off)).sum(0).clip(0))
        assert (in_norm <= solution.function_errors.numpy() + slack).all()
        in_training = np.linalg.norm(self.gram @ off, axis=0) / math.sqrt(len(off))
        assert (in_training <= solution.training_errors.numpy() + slack).all()
        above = self.objective(alpha) - self.objective(self.alpha)
        assert (above <= solution.residuals.numpy() ** 2 + slack).all()
        f = self.kernel(z, self.x).numpy() @ alpha
        np.testing.assert_allclose(solution.predict(z), f, rtol=1e-8, atol=1e-9)
        actual = np.abs(f - self.kernel(z, self.x).numpy() @ self.alpha)
        assert (actual <= solution.prediction_error(z).numpy() + slack).all()
        return (in_norm / solution.function_errors.numpy()).max()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("k", [1, 3])
def test_the_stated_error_holds_with_and_without_convergence(kernel, ridge, k):
    x, y, z = sample(n=150, k=k)
    exact = Exact(kernel, x, y, ridge)
    for iterations, centres in ((0, 20), (0, 100), (2, 20), (500, 10), (500, 60)):
        solution = solve_large(
            kernel, x, y, ridge, stream=Stream(1), centres=centres, max_iterations=iterations, tile=64, tolerance=1e-4
        )
        exact.check(solution, z)
        assert solution.coefficients.shape == (150, k)
        assert solution.iterations <= iterations
        assert solution.converged == bool((solution.relative_residuals <= 1e-4).all())
        if iterations == 500:
            assert solution.converged


def test_the_bound_is_reached():
    # one eigenvalue, equal to the ridge: (s + λ)² = 4sλ, and nothing is lost
    class Apart(Kernel):
        def block(self, x1, x2):
            return 0.5 * (x1[:, None] == x2).all(-1).to(F64)

        def _diagonal(self, x):
            return torch.full((len(x),), 0.5, dtype=F64)

    x, y = torch.arange(20.0, dtype=F64)[:, None], Stream(0).normal(20, 1, dtype=F64)
    solution = solve_large(Apart(), x, y, 0.5, stream=Stream(0), centres=3, max_iterations=0)
    assert Exact(Apart(), x, y, 0.5).check(solution, x) == pytest.approx(1, rel=1e-9)
    # and where the residual lies along a large eigenvalue, the factor's bound is the smaller one
    x, y, z = sample(n=100)
    kernel = Gaussian(3.0)
    solution = solve_large(kernel, x, torch.ones(100), 1e-3, stream=Stream(0), centres=100, max_iterations=1)
    object.__setattr__(solution, "coefficients", 0.999 * solution.coefficients)
    r = solution.y - (kernel(x) + 1e-3 * torch.eye(100)) @ solution.coefficients
    inverse = Preconditioner(nystrom_factor(kernel, x, 100, Stream(0)).factor, 1e-3)
    object.__setattr__(solution, "residuals", r.norm(dim=0))
    object.__setattr__(solution, "energies", (r * inverse(r)).sum(0))
    assert solution.energies.sqrt() < 0.5 * solution.residuals / (2 * math.sqrt(1e-3))
    assert Exact(kernel, x, solution.y, 1e-3).check(solution, z) > 0.9


def test_neither_tile_nor_memory_changes_the_answer():
    x, y, z = sample(n=80, k=2)
    whole, tiled = (
        solve_large(Gaussian(3.0), x, y, 0.1, stream=Stream(1), centres=30, max_iterations=5, tile=tile)
        for tile in (80, 17)
    )
    torch.testing.assert_close(tiled.predict(z), whole.predict(z), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(tiled.residuals, whole.residuals, rtol=1e-9, atol=0)
    assert tiled.centres.tolist() == whole.centres.tolist()
    assert tiled.memory < whole.memory


def test_outputs_are_solved_each_for_itself():
    x, y, z = sample(n=200, k=3)
    y[:, 1] = 0
    settings = {"stream": Stream(1), "centres": 30, "max_iterations": 4, "tolerance": 1e-12}
    together = solve_large(Gaussian(3.0), x, y, 0.01, **settings)
    alone = solve_large(Gaussian(3.0), x, y[:, 2], 0.01, **settings)
    torch.testing.assert_close(together.predict(z)[:, 2:], alone.predict(z), rtol=1e-9, atol=1e-9)
    assert together.coefficients[:, 1].abs().max() == 0
    assert together.relative_residuals[1] == 0


def test_rounding_ends_what_no_iteration_can_improve():
    x, y, _ = sample(n=200)
    kernel, ridge = Gaussian(30.0), 1e-9
    solution = solve_large(kernel, x, y, ridge, stream=Stream(1), tolerance=1e-15, max_iterations=300)
    assert not solution.converged
    assert solution.iterations < 300
    alpha = [Fraction(value) for value in solution.coefficients[:, 0].tolist()]  # the residual without rounding
    r = [
        Fraction(label) - Fraction(ridge) * a - sum(Fraction(entry) * b for entry, b in zip(row, alpha, strict=True))
        for label, a, row in zip(y[:, 0].tolist(), alpha, kernel(x).tolist(), strict=True)
    ]
    off = abs(math.hypot(*map(float, r)) - solution.residuals.item())
    assert 0.01 * solution.residuals.item() < off < solution.rounding.item()
    assert solution.training_errors.item() >= (solution.residuals.item() + off) / math.sqrt(200)


def test_the_factor_is_nystroms_and_lies_below_the_kernel():
    x, _, _ = sample(n=80)
    kernel = Gaussian(3.0)
    gram = kernel(x).numpy()
    found = nystrom_factor(kernel, x, 30, Stream(0), tile=16)
    S = found.centres.tolist()
    assert len(set(S)) == 30
    literal = gram[:, S] @ np.linalg.pinv(gram[np.ix_(S, S)], rcond=1e-13, hermitian=True) @ gram[S]
    F = found.factor.numpy()
    np.testing.assert_allclose(F @ F.T, literal, atol=1e-7)
    assert np.linalg.eigvalsh(gram - F @ F.T)[0] > -1e-12
    assert found.trace_left == pytest.approx(np.trace(gram - F @ F.T) / 80, abs=1e-9)


def test_centres_are_drawn_where_something_is_missing():
    # 90 copies of one point and ten others: draws by the diagonal find the others at once
    x = torch.cat([torch.zeros(90, 2, dtype=F64), 3 * Stream(0).normal(10, 2, dtype=F64)])
    found = nystrom_factor(Gaussian(1.0), x, 30, Stream(1))
    assert found.factor.shape[1] == 11
    assert found.trace_left < 1e-9
    assert (found.centres < 90).sum() <= 3 * 3  # a draw of three may still hold copies of each other
    assert nystrom_factor(0 * Gaussian(1.0), x, 30, Stream(1)).factor.shape == (100, 0)


def test_the_preconditioner_is_the_inverse():
    F, r = Stream(0).normal(300, 270, dtype=F64), Stream(1).normal(300, 2, dtype=F64)
    inverse = np.linalg.solve((F @ F.T).numpy() + 0.3 * np.eye(300), r.numpy())
    np.testing.assert_allclose(Preconditioner(F, 0.3)(r), inverse, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(Preconditioner(F[:, :0], 0.5)(r), 2 * r)


class Indefinite(Kernel):
    """A distance, which is no kernel; its diagonal is lifted a little."""

    def block(self, x1, x2):
        return torch.cdist(x1, x2) + 1e-3 * (x1[:, None] == x2).all(-1)

    def _diagonal(self, x):
        return torch.full((len(x),), 1e-3, dtype=F64)


def test_an_indefinite_kernel_is_named():
    x, y, _ = sample(n=50)
    sentence = (
        r"kernel \(at 50 of the 50 points\) is indefinite: its smallest eigenvalue is −25\.6 "
        r"\(index 0, 49 of 50 below zero\), 0\.212 of the largest 121 in size"
    )
    for centres in (0, 50):
        refused(sentence, solve_large, Indefinite(), x, y, 0.1, stream=Stream(0), centres=centres)
    refused(r"is indefinite: \d+ of the points have a Gram matrix with", nystrom_factor, Indefinite(), x, 50, Stream(0))

    class Negative(Indefinite):
        def _diagonal(self, x):
            return -torch.ones(len(x), dtype=F64)

    refused(r"kernel is indefinite: K\(x, x\) is -1 at one of the points", nystrom_factor, Negative(), x, 5, Stream(0))


def test_an_eigenvalue_that_the_ridge_hides_is_found():
    # K + λ is positive definite, conjugate gradients converge, and what they certify would be false
    def quartic(x1, x2):
        return torch.exp(-0.3 * torch.cdist(x1, x2) ** 4)

    x, y, _ = sample(n=300, dim=2)
    s = np.linalg.eigvalsh(quartic(x, x).numpy())
    assert -6.69 < s[0] < -5
    sentence = (
        rf"indefinite: its smallest eigenvalue is −{-s[0]:.3g} .*, {-s[0] / s[-1]:.3g} of the largest {s[-1]:.3g} "
    )
    for centres in (None, 0, 20):
        for iterations in (0, 200):
            with pytest.raises(InputError, match=sentence):
                solve_large(
                    FunctionKernel(quartic, "quartic"),
                    x,
                    y,
                    6.69,
                    stream=Stream(1),
                    centres=centres,
                    max_iterations=iterations,
                )


def dented(depth):
    """The kernel of points that are all alone, less a constant: its one negative eigenvalue is 1 − depth · n."""

    def function(x1, x2):
        return (torch.cdist(x1, x2) == 0).to(F64) - depth

    return FunctionKernel(function, "dented")


@pytest.mark.parametrize("centres", [0, 30])
def test_conjugate_gradients_find_what_a_part_hides(monkeypatch, centres):
    monkeypatch.setattr(definiteness, "PART", 50)
    x, y = torch.arange(400.0, dtype=F64)[:, None], Stream(0).normal(400, 2, dtype=F64)
    y[:, 0] += 1  # along the constant, where the dent is; the other output has little of it
    kernel = dented(0.01)
    assert torch.linalg.eigvalsh(kernel(x[:50]))[0] > 0
    assert torch.linalg.eigvalsh(kernel(x))[0].item() == pytest.approx(-3)
    # first the ridge hides the dent from the directions, then it does not
    for ridge in (3.5, 0.1):
        with pytest.raises(InputError, match=r"kernel is indefinite: .* has an eigenvalue of at most −") as e:
            solve_large(kernel, x, y, ridge, stream=Stream(0), centres=centres)
        found = float(str(e.value).split("at most −")[1].split(",")[0])
        truth = kernel(x).numpy()
        if "what the centres leave" in str(e.value):
            F = nystrom_factor(kernel, x, centres, Stream(0)).factor.numpy()
            truth = truth - F @ F.T
        assert 0.2 < found <= -np.linalg.eigvalsh(truth)[0] * 1.01
    assert solve_large(dented(1e-4), x, y, 0.1, stream=Stream(0), centres=centres).checked == 50


def test_the_coefficients_of_conjugate_gradients_are_lanczos():
    # after n steps the tridiagonal matrix has the eigenvalues of the whole, and its smallest is what is compared
    x, y, _ = sample(n=12)
    kernel = Gaussian(3.0)
    told = []

    class Listening(definiteness.Definiteness):
        def _require(self, whose, eigenvalue, limit):
            told.append(eigenvalue)

    problem = _Problem(kernel, x, y, 0.5, 32, 1e-14, Listening(0.5, 1.0, 12.0, 12.0, 1e-12, 12), lambda _: None)
    factor = torch.diag(torch.linspace(0.0, 3.0, 12, dtype=F64))  # not below K: eigenvalues under 1
    problem.conjugate_gradients(Preconditioner(factor, 0.5), 12)
    M = (factor @ factor.T).numpy() + 0.5 * np.eye(12)
    theta = np.sort(np.linalg.eigvals(np.linalg.solve(M, kernel(x).numpy() + 0.5 * np.eye(12))).real)
    assert theta[0] < 0.5
    assert min(told) == pytest.approx((theta[0] - 1) * 0.5, rel=1e-6)


def test_a_ridge_below_rounding_is_not_called_indefinite():
    x, y, _ = sample(n=300)
    kernel = PolynomialKernel(3, scale=100)
    sentence = r"ridge must be above the rounding of the Gram matrix, got 1e-16: .*; a ridge of (\S+) would do"
    for centres in (None, 0):
        with pytest.raises(InputError, match=sentence) as e:
            solve_large(kernel, x, y, 1e-16, stream=Stream(1), centres=centres)
        enough = float(str(e.value).split("a ridge of ")[1].split()[0])
        assert 1e-6 < enough < 1e-2
        assert solve_large(kernel, x, y, enough, stream=Stream(1)).iterations > 0
    refused(sentence, Preconditioner, torch.ones(10, 3, dtype=F64) * 1e3, 1e-16)


def test_the_plan_keeps_to_the_budget():
    plan = _plan(50_000, 1, None, 2**31, 512)
    assert plan.centres == 2237
    assert plan.tile == 512
    assert plan.memory <= 2**31
    small = _plan(50_000, 1, None, 2**28, 512)
    assert 100 < small.centres < 2237
    assert 2**27 < small.memory <= 2**28
    least = _plan(1000, 1, None, 8 * (8 * 1000 + 6 * 32**2), 512)
    assert least.centres == 0
    assert least.tile == 32


def test_a_budget_too_small_is_named_with_what_would_do():
    x, y, _ = sample(n=100)
    enough = told("memory must be at least", solve_large, Gaussian(1.0), x, y, 0.1, stream=Stream(0), memory=1000)
    assert solve_large(Gaussian(1.0), x, y, 0.1, stream=Stream(0), memory=enough).memory == enough
    fitting = told("where", solve_large, Gaussian(1.0), x, y, 0.1, stream=Stream(0), memory=200_000, centres=100)
    assert solve_large(Gaussian(1.0), x, y, 0.1, stream=Stream(0), memory=200_000, centres=fitting).converged


def test_rounding_does_not_grow_from_block_to_block(monkeypatch):
    """Features that few points have: blocks of pivots with tiny eigenvalues come before points with much left.

    Dividing by the roots of such eigenvalues would let rounding grow until a linear kernel looks indefinite.
    """
    n, d = 1500, 200
    rare = torch.logspace(-0.3, -3, d, dtype=F64)
    x = Stream(0).uniform(n, d, dtype=F64) * (Stream(2).uniform(n, d, dtype=F64) < rare)
    kernel, least, eigh = PolynomialKernel(1), [], torch.linalg.eigh

    def watched(H):
        s, U = eigh(H)
        least.append(s[0].item())
        return s, U

    monkeypatch.setattr(torch.linalg, "eigh", watched)
    for seed in (1, 2, 3):
        found = nystrom_factor(kernel, x, 2 * d + 200, Stream(seed))
        K = kernel(x)
        assert (K - found.factor @ found.factor.T).abs().max() < 1e-8 * K.max()
    assert min(least) > -5e-12 * kernel.diagonal(x).max().item()
