import math
import statistics
from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.core import InputError, Problem, Stream
from beyondkernels.papers.bfc.problems import (
    GaussianInputs,
    QuadraticTarget,
    SphereInputs,
    UniformInputs,
    drawn_mixture,
    skip_graph,
)
from beyondkernels.papers.bfc.problems.matrices import conditioned, nested
from beyondkernels.papers.bfc.problems.moments import _estimated
from refusals import refused

SMALL = QuadraticTarget(3, (2, 1), skip_graph(3), (1.0, 0.2))
DEEP = QuadraticTarget(4, (3, 2, 1), skip_graph(4), (1.0, 0.2, 0.05), relative=True, kappa=1.5, inputs=UniformInputs())
TARGETS: dict[str, QuadraticTarget] = {
    "two layers": QuadraticTarget(4, (2,), skip_graph(2), (1.0,)),
    "small": SMALL,
    "default": QuadraticTarget(),
    "deep": DEEP,
    "wide graph": QuadraticTarget(4, (2, 2, 2), ((1,), (2, 0), (3, 1, 0)), (1.0, 0.1, 0.01), instance=3),
    "five layers": QuadraticTarget(3, (2, 2, 1, 1), skip_graph(5), (1.0, 0.1, 0.01, 1e-3), inputs=UniformInputs(0.5)),
    "correlated": QuadraticTarget(3, (2, 1), inputs=GaussianInputs(nested(conditioned(3, 3, 2.0, Stream(1))))),
    "mixture": QuadraticTarget(3, (2, 1), inputs=drawn_mixture(3)),
    "sphere": QuadraticTarget(3, (2, 1), inputs=SphereInputs(), relative=True),
    "out of the class": QuadraticTarget(2, (3, 4), ((1, 0), (2, 1)), (0.5, 2.0), in_class=False),
}
every = pytest.mark.parametrize("problem", TARGETS.values(), ids=TARGETS.keys())


@every
def test_target_is_the_literal_one(problem, literal):
    sample = problem.sample(6, Stream(2))
    features, parts = problem.features(sample.x), problem.contributions(sample.x)
    assert list(features) == list(parts) == list(range(2, problem.depth + 1))
    for n, point in enumerate(sample.x.tolist()):
        expected, total = literal(problem, point)
        for layer, s in expected.items():
            assert features[layer][n].tolist() == pytest.approx(s, rel=1e-10, abs=1e-10)
            squares = [value**2 for value in s]
            assert problem.outputs(sample.x)[layer][n].tolist() == pytest.approx(squares, rel=1e-10, abs=1e-10)
            assert float(parts[layer][n]) == pytest.approx(problem.scales[layer - 2] * sum(squares), rel=1e-10)
            assert float(sample.hidden["contributions"][n, layer - 2]) == pytest.approx(float(parts[layer][n]))
        assert float(problem.target(sample.x)[n]) == pytest.approx(total, rel=1e-10)
        assert float(sample.y[n, 0]) == pytest.approx(total, rel=1e-10)


@every
def test_sample(problem):
    sample = problem.sample(50, Stream(5))
    assert isinstance(problem, Problem)
    assert sample.x.shape == (50, problem.in_dim)
    assert sample.y.shape == (50, problem.out_dim) == (50, 1)
    assert sample.x.dtype == sample.y.dtype == torch.float64
    assert torch.equal(problem.sample(50, Stream(5)).y, sample.y)
    torch.testing.assert_close(problem.sample(10, Stream(5)).x, sample.x[:10])
    for other in (Stream(6), Stream(5).child("other"), Stream(5).at(1)):
        assert not torch.equal(problem.sample(50, other).x, sample.x)
    assert len(problem.sample(0, Stream(0))) == 0
    refused("n must be a whole number", problem.sample, -1, Stream(0))


@every
def test_weights_are_well_conditioned(problem):
    sizes = (problem.dim, problem.dim, *problem.widths)
    for (layer, j), w in problem.weights.items():
        assert w.shape == (sizes[layer], sizes[j])
        values = torch.linalg.svdvals(w)
        assert float(values.max()) <= problem.kappa * (1 + 1e-12)
        assert float(values.min()) >= (1 - 1e-12) / problem.kappa
        if len(values) > 1:
            assert float(values.max() / values.min()) == pytest.approx(problem.kappa**2)
    assert set(problem.weights) == {(layer, j) for layer, js in enumerate(problem.graph, 2) for j in js}


@every
def test_polynomials_are_the_features(problem):
    if problem.depth > 4:
        return  # too many terms for a quick test
    x = problem.inputs.draw(5, problem.dim, Stream(0))
    for layer, polynomials in problem.polynomials().items():
        torch.testing.assert_close(polynomials(x), problem.features(x)[layer], rtol=1e-9, atol=1e-9)
        assert polynomials.degree <= 2 ** (layer - 1)


@pytest.mark.parametrize("name", ["small", "correlated", "mixture", "two layers"])
def test_exact_moments_by_quadrature(name, quadrature):
    problem = TARGETS[name]
    nodes = 2**problem.depth + 1  # exact up to degree 2^(L+1) + 1, the degree of the squared last layer
    x, p = quadrature(problem.inputs, problem.dim, nodes)
    for layer, g in problem.outputs(x).items():
        total = g.sum(1)
        mean = float(p @ total)
        std = math.sqrt(float(p @ (total - mean).square()))
        assert problem.layer_means[layer].exact
        assert problem.layer_stds[layer].exact
        assert problem.layer_means[layer].value == pytest.approx(mean, rel=1e-10)
        assert problem.layer_stds[layer].value == pytest.approx(std, rel=1e-10)
    target = problem.target(x)
    mean = float(p @ target)
    assert problem.target_mean.exact
    assert problem.target_mean.value == pytest.approx(mean, rel=1e-10)
    assert problem.target_std.value == pytest.approx(math.sqrt(float(p @ (target - mean).square())), rel=1e-10)


def test_errors_of_estimates_are_the_spread_over_samples():
    samples = Stream(0).uniform(2000, 500, dtype=torch.float64)
    found = [_estimated(sample) for sample in samples]
    for estimates in ([each.mean for each in found], [each.std for each in found]):
        spread = statistics.stdev(each.value for each in estimates)
        assert statistics.fmean(each.error for each in estimates) == pytest.approx(spread, rel=0.1)
        assert not estimates[0].exact
    assert [_estimated(torch.tensor(few)).std.error for few in ([1.0, 1.0], [-1.0, 1.0])] == [0, 0]


@pytest.mark.parametrize("name", ["deep", "sphere", "five layers"])
def test_moments_by_draws(name):
    problem = TARGETS[name]
    n = 60_000
    x = problem.inputs.draw(n, problem.dim, Stream(99))
    for layer, g in problem.outputs(x).items():
        total, mean, std = g.sum(1), problem.layer_means[layer], problem.layer_stds[layer]
        assert mean.exact == std.exact == (name != "sphere")
        assert (mean.error == 0) == mean.exact
        spread = math.hypot(mean.error, float(total.std()) / math.sqrt(n))
        assert abs(float(total.mean()) - mean.value) < 5 * spread
        centred = (total - total.mean()).square()
        spread = math.hypot(std.error, float(centred.std()) / math.sqrt(n) / (2 * float(total.std())))
        assert abs(float(total.std()) - std.value) < 6 * spread
    target, mean, std = problem.target(x), problem.target_mean, problem.target_std
    assert abs(float(target.mean()) - mean.value) < 5 * math.hypot(mean.error, std.value / math.sqrt(n))
    assert float(target.std()) == pytest.approx(std.value, rel=0.1)


def test_relative_alphas_are_ratios_of_spreads():
    """α = (1, 0.2, 0.05) as standard deviations of what each layer adds, here exactly."""
    for problem in (DEEP, TARGETS["sphere"]):
        spreads = [s * std.value for s, std in zip(problem.scales, problem.layer_stds.values(), strict=True)]
        assert [spread / spreads[0] for spread in spreads] == pytest.approx(problem.alphas, rel=1e-10)
        assert problem.scales[0] == 1
        plain = replace(problem, relative=False)
        assert plain.scales == plain.alphas
        assert plain.layer_stds == problem.layer_stds
    assert SMALL.scales == (1.0, 0.2)


def test_layer_bounds():
    """B_ℓ is E Sum(G*_ℓ), but at least 1. For orthonormal W and N(0, I), E‖W G₁‖² = 2 k₂."""
    assert SMALL.layer_bounds[2] == pytest.approx(4)
    tiny = replace(SMALL, inputs=GaussianInputs(0.1))
    assert tiny.layer_means[2].value == pytest.approx(4e-4)
    assert tiny.layer_bounds == {2: 1.0, 3: 1.0}


def test_given_matrices():
    rows = tuple(tuple(nested(SMALL.weights[layer, j]) for j in js) for layer, js in enumerate(SMALL.graph, 2))
    given = replace(SMALL, matrices=rows, instance=7)
    x = SMALL.inputs.draw(9, 3, Stream(0))
    torch.testing.assert_close(given.target(x), SMALL.target(x), rtol=0, atol=0)
    arrays: Any = [[SMALL.weights[layer, j].numpy() for j in js] for layer, js in enumerate(SMALL.graph, 2)]
    assert QuadraticTarget(3, (2, 1), matrices=arrays, alphas=(1.0, 0.2)).matrices == rows
    doubled = tuple(tuple(tuple(tuple(2 * w for w in row) for row in m) for m in layer) for layer in rows)
    refused(
        r"singular values in \[1/κ, κ\] \(well-conditioned, §3\) with kappa = 1, got 2 to 2",
        replace,
        SMALL,
        matrices=doubled,
    )
    refused("kappa = 2 would do", replace, SMALL, matrices=doubled)
    assert replace(SMALL, matrices=doubled, kappa=2.0).weights[2, 1].norm() == pytest.approx(2 * math.sqrt(2))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"widths": (2, 3)}, "widths must not grow .monotone, §3.: d ≥ k₂ ≥ … ≥ k_L, got 3, 2, 3"),
        ({"widths": (2,)}, "widths must hold a number for each of the 2 sets of graph, got 1"),
        ({"alphas": (1.0, 1.0)}, r"alphas must begin with 1 and decrease \(information gap, §2\), got \(1.0, 1.0\)"),
        ({"alphas": (1.0,)}, "alphas must hold a number for each of the 2 sets of graph, got 1"),
        ({"graph": ((1,), (2,))}, "skip connection"),
        ({"inputs": drawn_mixture(2)}, "roots must be 3 × 3"),
        (
            {"matrices": (((((1.0, 0.0, 0.0),)),), ((((1.0, 0.0),)), (((1.0, 0.0, 0.0),))))},
            "a matrix of 2 × 3 for layer 2",
        ),
        (
            {"matrices": (((((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))),), ((((1.0, 0.0),)), (((1.0, 0.0, 0.0),))))},
            "no kappa would do",
        ),
        ({"dim": 10**6, "widths": (10**6, 1)}, "widths must give at most 10000000 weights"),
    ],
)
def test_bad_input(change, sentence):
    refused(sentence, replace, SMALL, **change)


@pytest.mark.parametrize("inputs", [UniformInputs(1e-200), UniformInputs(1e200)])
def test_relative_alphas_need_a_spread(inputs):
    """Squares of such inputs round to zero or are not finite."""
    with pytest.raises(InputError, match="layer 2 must vary for relative alphas, got a standard deviation of"):
        _ = replace(SMALL, inputs=inputs, relative=True).scales
