"""The one-file version agrees with the library: target, network, every step in both ways, feature error, the effect."""

import math

import pytest
import torch

from beyondkernels.algorithms.optimisers import Cosine, adam
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.papers.bfc import Joining, QuadraticDenseNet, QuadraticTarget, UniformInputs, distilled, procrustes

STEPS = (4, 5, 6)


def problem_of(minimal, weights=None) -> QuadraticTarget:
    """The library's target with the same weights."""
    graph = tuple(minimal.GRAPH.values())
    given = weights and tuple(
        tuple(tuple(map(tuple, weights[layer, j].tolist())) for j in seen) for layer, seen in minimal.GRAPH.items()
    )
    return QuadraticTarget(
        minimal.D,
        tuple(minimal.K.values()),
        graph,
        tuple(minimal.SHARES.values()),
        relative=True,
        inputs=UniformInputs(),
        matrices=given,
    )


def named(weights) -> dict[str, torch.Tensor]:
    return {f"M{layer}.{j}": weight.detach() for (layer, j), weight in weights.items()}


def test_the_target_is_the_librarys(minimal):
    generator = torch.Generator().manual_seed(1)
    weights, alphas = minimal.draw_target(generator)
    problem = problem_of(minimal, weights)  # which asks that the weights are orthonormal
    assert list(alphas.values()) == pytest.approx(problem.scales, rel=0.05)  # estimated there, exact here
    x = minimal.draw_inputs(50, generator)
    exact = dict(zip(minimal.GRAPH, problem.scales, strict=True))
    torch.testing.assert_close(minimal.predict(weights, exact, x), problem.target(x))
    for layer, S in problem.features(x).items():
        torch.testing.assert_close(minimal.features(weights, x)[layer], S)


def test_inputs_have_unit_variance(minimal):
    x = minimal.draw_inputs(20_000, torch.Generator().manual_seed(1))
    assert x.square().mean().item() == pytest.approx(1, abs=5 * math.sqrt(0.8 / x.numel()))
    assert x.abs().max() <= math.sqrt(3)


@pytest.mark.parametrize("frozen", [False, True], ids=["together", "layerwise"])
def test_every_step_agrees(minimal, frozen):
    problem = problem_of(minimal)
    network = QuadraticDenseNet(problem.graph, tuple(minimal.M.values()), problem.scales, scale=minimal.SCALE)
    rules = tuple(adam(Cosine(minimal.RATE, steps), betas=(0.9, 0.99)) for steps in STEPS)
    sample = problem.sample(300, Stream(0))
    member = Member(network, Joining(rules, STEPS, frozen, batch=50), Sample(sample.x, sample.y), Stream(1))
    member.start(minimal.D, 1)
    weights, at = {}, 0
    alphas = dict(zip(minimal.GRAPH, problem.scales, strict=True))
    for i, (top, steps) in enumerate(zip(minimal.GRAPH, STEPS, strict=True)):
        weights |= {(top, j): member.params[f"M{top}.{j}"].clone() for j in minimal.GRAPH[top]}
        order = Stream(1).child("batches", str(at)).at(0).permutation(300)
        batches = iter(order.split(50))
        minimal.train(weights, alphas, sample.x, sample.y[:, 0], batches, top, steps, frozen)
        at += steps
        train([member], [frozenset()], lambda _: None, until=at)
        for name, theirs in named(weights).items():
            torch.testing.assert_close(member.params[name], theirs, rtol=1e-9, atol=1e-12, msg=f"{name}, stage {i}")


def test_the_start_has_the_librarys_scale(minimal):
    network = QuadraticDenseNet(
        tuple(minimal.GRAPH.values()), tuple(minimal.M.values()), (1.0, 0.2, 0.05), scale=minimal.SCALE
    )
    theirs = named(minimal.draw_learner(torch.Generator().manual_seed(1)))
    mine, _ = network.init(minimal.D, 1, Stream(1))
    assert {name: value.shape for name, value in mine.items()} == {name: value.shape for name, value in theirs.items()}
    fan_in = {name: math.sqrt(value.shape[1]) for name, value in mine.items()}
    for drawn in (mine, theirs):
        together = torch.cat([(value * fan_in[name]).flatten() for name, value in drawn.items()])
        assert together.std().item() == pytest.approx(minimal.SCALE, rel=0.25)


def test_the_feature_error_is_the_librarys(minimal):
    generator = torch.Generator().manual_seed(1)
    target, found = (torch.randn(40, k, generator=generator).double() for k in (2, 3))
    size = target.square().sum(1).mean().item()
    assert minimal.feature_error(target, found) == pytest.approx(procrustes(target, distilled(found, 2)) / size)


def test_the_effect(minimal):
    table = minimal.main(seed=3, steps={2: 200, 3: 400, 4: 800})
    for way, much in (("together", 20.0), ("layerwise", 1.0)):
        at = [table[way, top] for top in minimal.GRAPH]
        assert at[0]["S2"] / at[1]["S2"] >= 0.999 * much**0.5
        assert at[0]["S2"] / at[2]["S2"] >= 0.999 * much
        assert at[1]["S3"] / at[2]["S3"] >= 0.999 * much**0.5
    assert table["layerwise", 4]["S2"] == pytest.approx(table["layerwise", 2]["S2"])
    assert table["layerwise", 4]["test"] > 100 * table["together", 4]["test"]
