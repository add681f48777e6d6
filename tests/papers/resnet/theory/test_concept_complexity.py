"""The sizes of the paper's targets, typed a second time."""

import math

import pytest
import torch

import naive
from beyondkernels.activations import Cosine, Exponential, Polynomial, Sine, Tanh
from beyondkernels.activations.complexity import width_complexity
from beyondkernels.core import InputError, Stream
from beyondkernels.data import CircleMap, Cube, DrawnMap, Sphere
from beyondkernels.papers.resnet.problems import (
    CompositeParity,
    GeneralForm,
    HardInstance,
    LinearThenPolynomial,
    SmoothComposite,
)
from beyondkernels.papers.resnet.theory import concept_complexity, lipschitz_bound, map_complexity


def test_hard_instance():
    """Cor. 7.1: p_F = 1, p_G = 2^k, ℭ_s(F) = O(√d), ℭ_s(G) = 2^O(k), typed from App. D.4."""
    for d, k in ((20, 2), (50, 4), (50, 6)):
        found = concept_complexity(HardInstance(d, k, 0.1), star=3.0)
        assert (found.base.terms, found.composite.terms) == (1, 2**k)
        assert found.base.sample.value == pytest.approx(3 * 2 * math.sqrt(2 * d / k))
        coefficient = k**k / (math.sqrt(k) * math.factorial(k) * 2**k) * math.sqrt(2) ** k
        assert found.composite.sample.value == pytest.approx(3 * (k + 1) * coefficient)
        assert found.composite.sample.value < 3 * 4**k
        assert found.base_bound == 1.0


def test_example_of_section_2():
    """ℭ_s(F) = O(√d) and ℭ_s(G) free of d."""
    small, large = (concept_complexity(LinearThenPolynomial(d, 0.1), star=1.0) for d in (25, 100))
    assert large.base.sample.value == pytest.approx(2 * small.base.sample.value) == pytest.approx(2 * 10 * math.sqrt(2))
    assert large.composite.sample.value == small.composite.sample.value == pytest.approx(11 * 2**5)
    assert small.base_bound is None
    with pytest.raises(InputError, match="base_bound must be known"):
        _ = small.sizes


def test_sizes_of_the_composite_parity():
    found = concept_complexity(CompositeParity(optimal_risk=0.6), star=1.0)
    sizes = found.sizes
    assert sizes.base_complexity == pytest.approx(3 * 30 / math.sqrt(15))
    assert sizes.composite_complexity == pytest.approx(5 * 15**1.5 / 6)
    assert (sizes.outputs, sizes.alpha, sizes.base_norm, sizes.best_risk) == (15, 0.3, 1.0, 0.04)
    eps = naive.width_sum([0, 0, 30 / math.sqrt(15)], 0.3, 1.0, 1.0)
    assert sizes.base_width_complexity == pytest.approx(eps)
    assert found.base.bound == pytest.approx(math.sqrt(15) * 2 * 3 * 30 / math.sqrt(15))


def test_accuracy_of_lemma_c2():
    sizes = concept_complexity(CompositeParity(dim=10, outputs=5, alpha=0.2), star=1.0).sizes
    p_F, p_G = sizes.base_terms, sizes.composite_terms
    terms = p_F * sizes.base_complexity + p_G * sizes.composite_complexity
    assert sizes.accuracy == pytest.approx(0.2 / (5 * terms))


def test_lemma_a2_does_not_raise_complexities():
    """With the paper's C*; for sine and tanh nothing is left of φ⁻."""
    for f in (Sine(2.0), Cosine(2.0), Exponential(), Tanh(), Polynomial((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))):
        plain = DrawnMap(4, 2, 2, f)
        before, after = map_complexity(plain, 0.1), map_complexity(GeneralForm(plain), 0.1)
        assert after.terms == 2 * before.terms
        assert after.sample.log <= before.sample.log + 1e-12
        assert after.width.log <= before.width.log or after.width.log == pytest.approx(before.width.log, rel=1e-12)


def test_lipschitz_bound():
    """Never below difference quotients; equal to the slope of a linear map; √k p ℭ_s is far above."""
    G = DrawnMap(4, 4, 3, Polynomial((0.0, 1.0, 2.0, -0.5)), 1)
    ball = Stream(0).normal(3000, 4, dtype=torch.float64)
    ball = ball / ball.norm(dim=1, keepdim=True).clamp(min=1)
    near = ball * 0.999
    quotients = (G(ball) - G(near)).norm(dim=1) / (ball - near).norm(dim=1)
    bound = lipschitz_bound(G)
    assert float(quotients.max()) <= bound <= map_complexity(G).bound
    literal = 0.0
    b = math.sqrt(0.5)
    for row in G.coefficients.tolist():
        literal += sum(abs(a) * b * (1 + 4 * b + 1.5 * b**2) for a in row) ** 2
    assert bound == pytest.approx(math.sqrt(literal))
    linear = DrawnMap(4, 1, 1, Polynomial((0.0, 3.0)))
    assert lipschitz_bound(linear) == pytest.approx(3 * b * abs(float(linear.coefficients)))


def test_fact_a3():
    """‖F(x)‖ ≤ √k p ℭ_s(F) at unit vectors, already for C* = 2."""
    for F in (DrawnMap(5, 3, 4, Exponential(), 1), GeneralForm(DrawnMap(5, 3, 4, Exponential(), 1))):
        x = Sphere(5).draw(2000, Stream(0))
        assert float(F(x).norm(dim=1).max()) <= map_complexity(F, star=2.0).bound


def test_width_measure_at_alpha():
    """Theorem 1 asks for ℭ_α: ε is α unless it is given."""
    problem = SmoothComposite(Cube(6), CircleMap(6, 4), DrawnMap(4, 4, 1, Sine(), 1), alpha=0.03)
    found = concept_complexity(problem, star=1.0)
    assert found.composite.width == width_complexity(Sine(), 0.03, star=1.0)
    assert concept_complexity(problem, 0.5, star=1.0).composite.width == width_complexity(Sine(), 0.5, star=1.0)
