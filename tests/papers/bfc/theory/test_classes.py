import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.problems import Classified, QuadraticTarget, UniformInputs, skip_graph
from beyondkernels.papers.bfc.theory import cross_entropy_of_target, cross_entropy_scale, layer_shares


def classified(size: float) -> Classified:
    alphas, inputs = (1.0, size, size / 2), UniformInputs()
    return Classified(QuadraticTarget(4, (2, 2, 1), skip_graph(4), alphas, relative=True, instance=0, inputs=inputs))


def test_what_layers_add_and_decide_is_counted() -> None:
    problem, known = classified(0.4), layer_shares(classified(0.4))
    sample = problem.sample(100_000, Stream(3))
    parts, below = problem.contributions(sample.x), sample.x[:, 0].clone()
    for layer in (2, 3, 4):
        counted = ((below >= 0).double() * 2 - 1 != sample.y[:, 0]).double().mean().item()
        assert known[layer]["decided"] == pytest.approx(counted, abs=0.004)
        assert known[layer]["alpha"] == pytest.approx(float(parts[layer].std()), rel=0.05)
        less = (parts[layer] < known[layer]["typical"]).double().mean().item()
        assert less == pytest.approx(0.5, abs=0.01)
        below += parts[layer]


@pytest.mark.parametrize("v", [5.0, 200.0])
def test_the_cross_entropy_of_the_target(v: float) -> None:
    """It is π²p/(6v) at large v, where p is the density of x₀ + G*(x) at zero."""
    problem = classified(0.4)
    found = cross_entropy_of_target(problem, v)
    x = problem.sample(50_000, Stream(5)).x
    shift = problem.target(x) - problem.target_mean
    standard = Stream(6).normal(200, dtype=torch.float64)  # a second route: x₀ at every x
    each = torch.nn.functional.softplus(-v * (shift[:2000, None] + standard).abs()).mean().item()
    assert found == pytest.approx(each, rel=0.15)
    if v > 100:
        density = float(torch.exp(-(shift**2) / 2).mean()) / math.sqrt(2 * math.pi)
        assert found == pytest.approx(math.pi**2 * density / (6 * v), rel=0.05)


def test_the_first_target_error_can_halve_with_a_small_constant_and_not_with_the_papers() -> None:
    """Whatever the target: x₀ has the density of N(·, 1), at most 1/√(2π), so that the limit of c is about 0.5."""
    for size in (0.2, 0.4):
        ours, papers = (cross_entropy_of_target(classified(size), cross_entropy_scale(0.5, c)) for c in (0.3, 100.0))
        assert ours < 0.25 < papers
