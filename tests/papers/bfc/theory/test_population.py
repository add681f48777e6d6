"""Fits under the whole distribution: exact integrals, risks by another route, and the bound."""

import math

import pytest

from beyondkernels.core import Case, InputError, Stream
from beyondkernels.papers.bfc.networks import PolynomialTwoLayer
from beyondkernels.papers.bfc.problems import QuadraticTarget, UniformInputs, even_target
from beyondkernels.papers.bfc.theory import PopulationFit, hermite_grid


def fitted(problem, network, seed=0, iterations=200):
    stream = Stream(seed)
    case = Case(problem, problem.sample(1, stream), problem.sample(1, stream), stream)
    learner = PopulationFit(network, iterations)
    learner.check(problem, 1, 1)
    return learner.fit(case, lambda _: None)


@pytest.mark.parametrize(("dim", "nodes"), [(1, 3), (2, 5), (3, 4)])
def test_the_grid_integrates_polynomials(dim, nodes):
    x, weights = hermite_grid(dim, nodes)
    assert len(x) == nodes**dim and float(weights.sum()) == pytest.approx(1)
    degree = 2 * nodes - 2
    moments = math.prod(range(1, degree, 2))  # E x^degree
    assert float(weights @ x.pow(degree).prod(1)) == pytest.approx(moments**dim)
    assert float(weights @ x.pow(degree + 2).prod(1)) != pytest.approx((moments * (degree + 1)) ** dim, rel=1e-3)


@pytest.mark.parametrize("theorem", ["I.6", "I.7"])
def test_the_risk_is_that_of_the_network_at_fresh_points(theorem):
    problem = even_target(3, 2, (1.0,), theorem)
    outcome = fitted(problem, PolynomialTwoLayer(2, 2 if theorem == "I.6" else 4, squares=theorem == "I.6"))
    assert outcome.scalars["variance"] == pytest.approx(problem.target_std.value**2)
    fresh = problem.sample(100_000, Stream(9))
    assert outcome.predictor is not None
    left = (outcome.predictor(fresh.x) - fresh.y).square()[:, 0]
    error = float(left.std()) / len(left) ** 0.5
    assert outcome.scalars["test_loss"] == pytest.approx(float(left.mean()), abs=4 * error)
    assert error < 0.1 * outcome.scalars["test_loss"]


def test_bad_input_is_told():
    learner = PopulationFit(PolynomialTwoLayer(2, 4), 10)
    with pytest.raises(InputError, match="dim must give a grid of at most 200000 points for an exact risk, got 9\\^6"):
        learner.check(even_target(6, 3, (1.0, 0.1)), 1, 1)
    with pytest.raises(InputError, match="QuadraticTarget with standard Gaussian inputs"):
        learner.check(QuadraticTarget(dim=3, inputs=UniformInputs()), 1, 1)
