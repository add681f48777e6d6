"""Algorithm 1 compiled: against loops over neurons, against the eager step, cut into pieces, and when it blows up."""

from typing import Any

import numpy as np
import pytest
import torch

import beyondkernels as bk
from beyondkernels.algorithms import OnePass
from beyondkernels.core import InputError, Sample
from beyondkernels.engine import Member, TrainedNetwork, train
from refusals import refused
from stepping import finished, sample, started

IGNORE = lambda _: None  # noqa: E731
D, K, T = 5, 3, 12
NAMES: tuple[str, ...] = ("W.weight", "W.bias", "V.weight", "V.bias")


def plain(width: int) -> bk.networks.ThreeLayerResNet:
    return bk.networks.ThreeLayerResNet(
        width, "bottleneck", parameterisation=bk.networks.Parameterisation("standard", weight_variance=1.0)
    )


def popular(width: int) -> bk.networks.ThreeLayerResNet:
    return bk.networks.ThreeLayerResNet(width, "bottleneck", parameterisation=bk.networks.popular_initialisation(width))


def theorem(width: int) -> bk.networks.ThreeLayerResNet:
    return bk.networks.theorem_network(width, 0.5, 1.5)


def data(n: int = T, d: int = D, k: int = K, seed: int = 0) -> Sample:
    return sample(n, seed, d, k)


def trained(network: bk.networks.Network, rule: OnePass, data: Sample, backend: Any = "compiled", stops=()) -> Member:
    return finished(started(network, rule, data, backend=backend), stops)


def literal(params, sample: Sample, rule: OnePass):
    """All of Algorithm 1 in double precision, one neuron after the other: weights, tail averages, sums of losses."""
    zeros = np.zeros(len(params["W.weight"]))
    W, b1, V, b2 = (params[name].double().numpy().copy() if name in params else zeros.copy() for name in NAMES)
    A = params["A.weight"].double().numpy()
    x, y = sample.x.double().numpy(), sample.y.double().numpy()
    biased, neurons, tail, states, losses = "W.bias" in params, range(len(W)), rule.tail_steps, [], []
    for t in range(rule.steps):
        states.append([part.copy() for part in (W, b1, V, b2)])
        h1 = [max(W[i] @ x[t] + b1[i], 0) for i in neurons]
        out1 = sum(A[:, i] * h1[i] for i in neurons)
        h2 = [max(V[i] @ out1 + b2[i], 0) for i in neurons]
        residual = out1 + sum(A[:, i] * h2[i] for i in neurons) - y[t]
        losses.append(residual @ residual)
        g2 = [residual @ A[:, i] if h2[i] > 0 else 0.0 for i in neurons]
        into_out1 = residual + sum(g2[i] * V[i] for i in neurons)
        for i in neurons:
            g1 = into_out1 @ A[:, i] if h1[i] > 0 else 0.0
            W[i] -= rule.first_rate * g1 * x[t]
            V[i] -= rule.second_rate * g2[i] * out1
            b1[i] -= rule.first_rate * g1 * biased
            b2[i] -= rule.second_rate * g2[i] * biased
    means = [np.mean([state[j] for state in states[-tail:]], axis=0) for j in range(4)]
    return dict(zip(NAMES, (W, b1, V, b2), strict=True)), dict(zip(NAMES, means, strict=True)), losses


@pytest.mark.parametrize("end", ["last", "average"])
@pytest.mark.parametrize("family", [plain, popular, theorem])
@pytest.mark.parametrize("width", [1, 8, 13, 24, 32, 35, 70])  # one to four vectors of neurons in the last group
def test_every_number_against_loops_in_double_precision(width, family, end):
    rule, sample = OnePass(T, 0.02, 0.01, tail=0.4, end=end), data()
    member = started(family(width), rule, sample, backend="compiled")
    start = dict(member.params)
    weights, means, losses = literal(start, sample, rule)
    finished(member)
    for name in (name for name in NAMES if name in start):
        expected = means[name] if end == "average" else weights[name]
        size = np.abs(expected).max()
        assert np.abs(member.params[name].double().numpy() - expected).max() <= 1e-6 * size
        if width > 1:
            assert np.abs(expected - start[name].double().numpy()).max() > 1e-3 * size  # a wrong gradient would show
    assert torch.equal(member.params["A.weight"], start["A.weight"])
    assert member.step == T
    assert float(member.optimiser["seen"]) == pytest.approx(sum(losses), rel=1e-6)
    assert float(member.optimiser["seen_late"]) == pytest.approx(sum(losses[-5:]), rel=1e-6)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (30, 15), (9, 17)])
@pytest.mark.parametrize("end", ["last", "average"])
def test_a_run_follows_the_eager_backend(d, k, end):
    rule, sample = OnePass(40, 0.002, 0.001, end=end), data(40, d, k)
    compiled, eager = (trained(theorem(50), rule, sample, backend) for backend in ("compiled", "eager"))
    for one, other in ((compiled.params, eager.params), (compiled.optimiser, eager.optimiser)):
        assert one.keys() == other.keys()
        for name, value in other.items():
            assert one[name].dtype == value.dtype
            assert one[name].shape == value.shape
            assert (one[name] - value).abs().max() <= 2e-6 * value.abs().max()
    found, expected = (member.algorithm.summary(40, member.optimiser) for member in (compiled, eager))
    assert found == pytest.approx(expected, rel=1e-6)
    assert found.keys() == {"online_loss", "online_loss_tail"}


@pytest.mark.parametrize("end", ["last", "average"])
@pytest.mark.parametrize("width", [1, 9, 20, 100])
def test_stopping_to_look_changes_no_bit(width, end):
    rule, sample = OnePass(30, 0.02, 0.01, tail=0.5, end=end), data(33)
    through = trained(popular(width), rule, sample)
    for stops in [(15,), (1, 2, 14, 16, 29), range(30)]:
        halted = trained(popular(width), rule, sample, stops=stops)
        assert halted.step == 30
        for part in ("params", "optimiser"):
            one, other = getattr(through, part), getattr(halted, part)
            assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("stops", [(), (3,), (4,)])
def test_a_bad_point_ends_the_run_where_it_stands(bad, stops):
    sample = data()
    sample.x[3] = bad
    for backend in ("compiled", "eager"):
        member = trained(popular(20), OnePass(T, 0.01, 0.01), sample, backend, stops)
        assert member.diverged
        assert member.step == 4


def test_the_start_is_not_written_over():
    """Whoever kept the tensors of an earlier step keeps their values."""
    member = started(popular(20), OnePass(T, 0.05, 0.02, tail=1.0, end="average"), data(), backend="compiled")
    kept = [dict(member.params), dict(member.optimiser)]
    copies = [{name: value.clone() for name, value in state.items()} for state in kept]
    finished(member)
    assert all(torch.equal(state[name], copy[name]) for state, copy in zip(kept, copies, strict=True) for name in state)


def test_labels_of_one_output_may_be_a_vector_and_others_are_refused():
    rule, sample = OnePass(T, 0.05, 0.02), data(k=1)
    flat = Sample(sample.x, sample.y[:, 0])
    one, other = (trained(popular(20), rule, each) for each in (sample, flat))
    assert torch.equal(one.params["W.weight"], other.params["W.weight"])
    member = started(popular(20), rule, data(), backend="compiled")
    member.sample = sample
    refused("labels must have 3 outputs, got 1", train, [member], [frozenset()], IGNORE)


@pytest.mark.parametrize(
    "network",
    [
        bk.networks.ThreeLayerResNet(4, parameterisation=bk.networks.Parameterisation("standard")),
        bk.networks.FullyConnected(4, parameterisation=bk.networks.Parameterisation("standard")),
        bk.networks.Linearised(popular(4)),
    ],
)
def test_other_networks_are_refused(network):
    with pytest.raises(InputError, match="it trains by OnePass the bottleneck form of ThreeLayerResNet only"):
        TrainedNetwork(network, OnePass(3, 0.1, 0.1), backend="compiled")
