import math

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems import Polynomials
from beyondkernels.papers.bfc.problems.polynomials import features_of


def random_polynomials(seed: int, dim: int = 3, terms: int = 6, k: int = 2) -> Polynomials:
    stream = Stream(seed)
    exponents = stream.integers(4, terms, dim).to(torch.uint8)
    coefficients = stream.child("c").normal(terms, k, dtype=torch.float64)
    zero = Polynomials(torch.zeros(1, dim, dtype=torch.uint8), torch.zeros(1, k).double())
    return zero.plus(Polynomials(exponents, coefficients))  # equal rows become one


def literal(p: Polynomials, point: list[float]) -> list[float]:
    out = [0.0] * p.coefficients.shape[1]
    for powers, row in zip(p.exponents.tolist(), p.coefficients.tolist(), strict=True):
        monomial = math.prod(u**power for u, power in zip(point, powers, strict=True))
        for i, c in enumerate(row):
            out[i] += c * monomial
    return out


@pytest.mark.parametrize("seed", range(6))
def test_arithmetic(seed):
    p, q = random_polynomials(seed), random_polynomials(100 + seed)
    u = Stream(seed).child("u").normal(7, 3, dtype=torch.float64)
    w = Stream(seed).child("w").normal(4, 2, dtype=torch.float64)
    constants = torch.tensor([0.5, -2.0])
    for n, point in enumerate(u.tolist()):
        assert p(u)[n].tolist() == pytest.approx(literal(p, point), rel=1e-12)
    torch.testing.assert_close(p.plus(q)(u), p(u) + q(u))
    torch.testing.assert_close(p.plus_constants(constants)(u), p(u) + constants.double())
    torch.testing.assert_close(p.mixed(w)(u), p(u) @ w.T)
    torch.testing.assert_close(p.squared()(u), p(u).square())
    torch.testing.assert_close(p.squared_norm()(u), p(u).square().sum(1, keepdim=True))
    torch.testing.assert_close(sum(p.of_degree(d)(u) for d in range(p.degree + 1)), p(u))
    assert all(int(row.sum()) == p.degree for row in p.of_degree(p.degree).exponents)
    for each in (p.plus(q), p.squared(), p.squared_norm()):
        assert len({tuple(row) for row in each.exponents.tolist()}) == len(each)


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_expansion_is_the_same_function(law):
    """Evaluated with numpy's Hermite and Legendre polynomials, normalised here."""
    p = random_polynomials(3)
    u = Stream(9).uniform(5, 3, dtype=torch.float64).numpy() * 2 - 1
    expanded = p.expanded(law)

    def orthonormal(order, values):
        unit = [0.0] * order + [1.0]
        if law == "normal":
            return np.polynomial.hermite_e.hermeval(values, unit) / math.sqrt(math.factorial(order))
        return np.polynomial.legendre.legval(values / math.sqrt(3), unit) * math.sqrt(2 * order + 1)

    found = np.zeros((5, 2))
    for orders, row in zip(expanded.exponents.tolist(), expanded.coefficients.tolist(), strict=True):
        product = np.prod([orthonormal(order, u[:, j]) for j, order in enumerate(orders)], axis=0)
        found += product[:, None] * np.array(row)
    np.testing.assert_allclose(found, p(torch.tensor(u)).numpy(), rtol=1e-10, atol=1e-10)


def test_terms_that_cancel_are_dropped():
    p = random_polynomials(0)
    assert len(p.plus(p.mixed(-torch.eye(2).double()))) == 0
    assert p.plus(p.mixed(-torch.eye(2).double())).degree == 0
    assert len(Polynomials.variables(4).squared()) == 4


def test_features_end_before_a_layer_that_is_too_large():
    weights = {(2, 1): torch.eye(3).double()[:2], (3, 2): torch.eye(2).double(), (3, 0): torch.eye(3).double()[:2]}
    graph, eye = ((1,), (2, 0)), torch.eye(3).double()
    assert list(features_of(graph, weights, (1.0,) * 3, eye)) == [2, 3]
    second = features_of(graph, weights, (1.0,) * 3, eye)[2]
    assert list(features_of(graph, weights, (1.0,) * 3, eye, most=second.pairs + 3)) == [2]
    assert list(features_of(graph, weights, (1.0,) * 3, eye, most=5)) == []
