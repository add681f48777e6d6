"""The best risk of a span under Gaussian inputs, against the closed form of the Gaussian kernel."""

import math

import numpy as np
import pytest
import torch

from beyondkernels.core import Case, InputError, Stream
from beyondkernels.kernels import Gaussian, GaussianFeatures
from beyondkernels.papers.bfc.certificates import SparseTargetCertificate, top_coefficient
from beyondkernels.papers.bfc.problems import even_target, sparse_target
from beyondkernels.papers.bfc.problems.polynomials import Polynomials
from beyondkernels.papers.bfc.theory import BestInSpan
from beyondkernels.papers.bfc.theory.best_in_span import Solved, drawn_targets

DIM, N = 4, 5


def case(depth: int = 2, n: int = N) -> Case:
    problem, stream = sparse_target(DIM, depth, (1.0, 0.1)[: depth - 1]), Stream(3)
    return Case(problem, problem.sample(n, stream.child("train")), problem.sample(1, stream), stream.child("learner"))


def overlaps(x: torch.Tensor, h: float) -> np.ndarray:
    """E K(x, a)K(x, b), coordinate by coordinate."""
    a, b = x[:, None], x[None]
    middle = -2 * ((a + b) / 2) ** 2 / h / (1 + 4 / h) - (a - b) ** 2 / (2 * h)
    return (middle.exp() * (1 + 4 / h) ** -0.5).prod(2).numpy()


def hermite_means(x: torch.Tensor, h: float, terms: list[tuple[int, ...]]) -> np.ndarray:
    """E K(x, a) h_I(x) for each point a and each multi-index I: a product of shifted Gaussian means."""
    s2, out = h / 2, np.ones((len(x), len(terms)))
    for j in range(DIM):
        a = x[:, j].numpy()
        size = math.sqrt(s2 / (1 + s2)) * np.exp(-(a**2) / (2 * (1 + s2)))
        for t, index in enumerate(terms):
            n = index[j]
            values = np.polynomial.hermite_e.hermeval(a / math.sqrt(1 + s2), [0.0] * n + [1.0])
            values /= math.sqrt(math.factorial(n))
            out[:, t] *= size * (1 + s2) ** (-n / 2) * values
    return out


def best_risk(x: torch.Tensor, h: float, polynomial: Polynomials) -> float:
    """E G² − bᵀA⁻¹b."""
    g = polynomial.coefficients[:, 0].numpy()
    b = hermite_means(x, h, [tuple(row) for row in polynomial.exponents.tolist()]) @ g
    return float(g @ g - b @ np.linalg.solve(overlaps(x, h), b))


def test_the_two_numbers_enclose_the_closed_form():
    given, h, some = case(), 6.0, 4
    found = BestInSpan(Gaussian(h), targets=some, points=40_000).fit(given, lambda _: None).scalars
    problem = given.problem
    drawn = drawn_targets(problem, some, given.stream.child("span").child("targets"))  # pyright: ignore[reportArgumentType]
    x, unit = given.train.x, top_coefficient(2, 1.0) ** 2
    whole = [best_risk(x, h, t.polynomials()[2].squared_norm().expanded("normal")) for t in drawn]
    places = torch.stack([(t.weights[2, 0][0] > 0).to(torch.uint8) for t in drawn])
    top = [best_risk(x, h, Polynomials(row[None], torch.ones(1, 1).double())) for row in places]
    assert found["risk"] == pytest.approx(sum(whole) / some / unit, abs=4 * found["error"])
    assert found["low"] == pytest.approx(sum(whole) / some / unit, abs=4 * found["error"])
    assert found["error"] < 0.05 * found["risk"]
    assert found["low_top"] - 0.01 <= sum(top) / some <= found["top"] + 0.01
    assert found["top"] - found["low_top"] < 0.02
    assert found["dimension"] == N


def test_no_span_is_below_the_bound():
    for functions in (Gaussian(8.0), GaussianFeatures(count=3)):
        n = 3 if isinstance(functions, GaussianFeatures) else N
        for depth in (2, 3):
            found = BestInSpan(functions, targets=20, points=2000).fit(case(depth), lambda _: None).scalars
            bound = SparseTargetCertificate(n, DIM, depth, 1.0).mean_risk / top_coefficient(depth, 1.0) ** 2
            assert found["low"] >= bound and found["low_top"] >= bound - 0.05
            assert found["dimension"] == n


def test_least_squares_with_dependent_functions():
    x = Stream(0).normal(50, 4, dtype=torch.float64)
    values = torch.cat([x[:, :2], x[:, :1] * 3], 1)
    solved = Solved(values, x[:, 1:])
    plain = torch.linalg.lstsq(x[:, :2], x[:, 1:]).solution
    assert solved.dimension == 2
    torch.testing.assert_close(values @ solved.weights, x[:, :2] @ plain)
    torch.testing.assert_close(solved.left, (x[:, :2] @ plain - x[:, 1:]).square().mean(0), atol=1e-14, rtol=1e-9)


def test_bad_input_is_told():
    with pytest.raises(InputError, match="points must be at least 2N = 20, or the fit is free, got 19"):
        BestInSpan(Gaussian(1.0), points=19).check(sparse_target(4, 2, (1.0,)), 10, 1)
    with pytest.raises(InputError, match="problem must be a sparse target"):
        BestInSpan(Gaussian(1.0)).check(even_target(4, 2, (1.0,)), 10, 1)
    with pytest.raises(InputError, match="points must give at most"):
        BestInSpan(Gaussian(1.0), points=10**8).check(sparse_target(4, 2, (1.0,)), 10, 1)
