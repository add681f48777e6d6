"""The best polynomials for a target, against their conditions of optimality on grids and samples."""

import numpy as np
import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems import (
    FirstToy,
    GaussianInputs,
    SecondToy,
    SphereInputs,
    UniformInputs,
    drawn_mixture,
)
from beyondkernels.papers.bfc.theory import best_polynomial, best_second_layer, best_terms, rotated_part
from refusals import refused

UNIT = UniformInputs(3**-0.5)


def grid(half: float, dim: int, nodes: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    """Gauss–Legendre points and weights on [−half, half]^dim: exact up to degree 17 in each variable."""
    x, w = (torch.tensor(part) for part in np.polynomial.legendre.leggauss(nodes))
    points = torch.cartesian_prod(*[half * x] * dim)
    return points, torch.cartesian_prod(*[w / 2] * dim).prod(1)


@pytest.mark.parametrize("problem", [FirstToy(inputs=UNIT), SecondToy(inputs=UNIT, alpha=0.3)])
def test_the_error_of_the_best_polynomial_is_orthogonal_to_all_monomials(problem):
    best = best_polynomial(problem, 4)
    x, w = grid(1.0, problem.dim)
    error = problem.target(x) - best(x)[:, 0]
    powers = torch.cartesian_prod(*[torch.arange(5)] * problem.dim)
    for power in powers[powers.sum(1) <= 4]:
        assert abs(float((w * error * (x**power).prod(1)).sum())) < 1e-10
    assert best.degree == 4 and float((w * error.square()).sum()) > 1e-5  # the target has degree 8 or 16


def test_best_polynomial_of_hermite_products_by_hand():
    # x₁⁴x₃² = (He₄ + 6He₂ + 3)(He₂ + 1): up to degree 4 it keeps 6x₁²x₃², so 0.2 x₁⁴x₃² gives 1.2
    best = best_polynomial(FirstToy(), 4)
    found = {tuple(i.tolist()): c.item() for i, c in zip(best.exponents, best.coefficients, strict=True)}
    assert found[2, 0, 2] == pytest.approx(1.2) and found[0, 2, 2] == pytest.approx(2.4)
    assert found[4, 0, 0] == pytest.approx(1 + 0.1 * 210 + 0.1 * 4 * 3 * 1 + 0.2 * 1)  # x₁⁸, x₁⁴x₂⁴ and x₁⁴x₃²


@pytest.mark.parametrize("inputs", [UNIT, UniformInputs()])
def test_the_best_second_layer_meets_the_conditions_of_optimality(inputs):
    # A is optimal among positive semi-definite matrices if A and the gradient Γ are, and their product is zero
    problem = FirstToy(inputs=inputs)
    A = best_second_layer(problem)
    x, w = grid(3**0.5 * inputs.std, 3)
    z = x.square()
    error = ((z @ A) * z).sum(1) - problem.target(x)
    gradient = (z * (w * error)[:, None]).T @ z
    scale = float((z * (w * problem.target(x))[:, None]).T.matmul(z).norm())
    assert torch.linalg.eigvalsh(A).min() >= -1e-10
    assert torch.linalg.eigvalsh(gradient).min() >= -1e-9 * scale
    assert abs(float((A * gradient).sum())) <= 1e-9 * scale * float(A.norm())
    bound = float(torch.linalg.eigvalsh(A).min()) < 1e-9
    assert bound == (inputs.std == 1)  # both cases occur: inside the cone, and on its edge


def test_the_best_second_layer_by_a_sample():
    problem = FirstToy(inputs=GaussianInputs(0.5))
    x = problem.sample(400_000, Stream(3)).x
    z = x.square()
    pairs = torch.triu_indices(3, 3)
    phi = z[:, pairs[0]] * z[:, pairs[1]] * (1 + (pairs[0] != pairs[1]).double())
    found = torch.linalg.lstsq(phi, problem.target(x)[:, None]).solution[:, 0]
    exact = best_second_layer(problem)[pairs[0], pairs[1]]
    assert (phi @ (found - exact)).square().mean() < 0.01 * (phi @ exact - problem.target(x)).square().mean()


@pytest.mark.parametrize("inputs", [SphereInputs(), drawn_mixture(3)])
def test_dependent_coordinates_are_refused(inputs):
    refused("inputs must have independent coordinates of one law, got", best_second_layer, FirstToy(inputs=inputs))
    refused("degree must not be negative, got -1", best_polynomial, FirstToy(), -1)


def test_coefficients_by_their_names():
    # by Hermite expansion: x₁⁴x₃² keeps 6x₁²x₃² up to degree 4, and the target has it 2α times
    gaussian, _ = best_terms(FirstToy(), ("1-3", "3-3"))
    assert gaussian == pytest.approx({"1-3": 1.2, "3-3": 0.1})
    # on [−1, 1]: t⁴ = (6/7)t² − 3/35 + degree 4, so 0.2·6/7
    assert best_terms(FirstToy(inputs=UNIT), ("1-3",))[0]["1-3"] == pytest.approx(0.2 * 6 / 7)
    # of an almost linear target the best is the target itself
    _, form = best_terms(FirstToy(alpha=1e-9, inputs=UNIT), ("1-1", "2-2", "1-2", "1-3", "2-3", "3-3"))
    assert list(form.values()) == pytest.approx([1, 2, 0, 0, 0, 0], abs=1e-6)


def test_the_papers_two_neurons_by_moments():
    # E z², E z³, E z⁴ of z = t², t uniform with variance 1: 9/5, 27/7, 9; the Gram matrix of z₁², z₁z₂, z₂²
    second, third, fourth = 9 / 5, 27 / 7, 9.0
    gram = np.array([[fourth, third, second**2], [third, second**2, third], [second**2, third, fourth]])
    basis = np.array([[1, 4, 4], [4, -4, 1]]) / 5
    wanted = np.array([[1, 0, 0], [0, 0, 1]])
    fit = np.linalg.solve(basis @ gram @ basis.T, basis @ gram @ wanted.T).T @ basis
    left = sum(row @ gram @ row for row in wanted - fit) / (2 * fourth)
    assert rotated_part(SecondToy(inputs=UniformInputs())) == pytest.approx(left, rel=0.02)
