"""Descent by any optimiser, and the rules that were written before optimisers composed, to the bit."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import (
    Batch,
    Descent,
    FeatureLearning,
    GradientDescent,
    Layerwise,
    OnePass,
    ProcessSettings,
    Squared,
    StepSettings,
    declared_rule,
    loss_and_gradient,
)
from beyondkernels.algorithms.optimisers import (
    Adam,
    ClipNorm,
    Cosine,
    Decay,
    Drops,
    GradientNoise,
    Momentum,
    Rate,
    adam,
    adamw,
    chain,
    sgd,
)
from beyondkernels.core import InputError, Stream, digest
from beyondkernels.engine import Member, TrainedNetwork, train
from beyondkernels.networks import FullyConnected, Linearised, Parameterisation, Symmetric, ThreeLayerResNet, TwoLayer
from beyondkernels.papers.resnet.problems import CompositeParity
from refusals import refused
from stepping import finished, started

PROBLEM = CompositeParity(8, 4, 0.3)
SAMPLE = PROBLEM.sample(40, Stream(0))
STANDARD = Parameterisation("standard", bias_variance=0.1)
NETWORK = FullyConnected(9, parameterisation=STANDARD)
OLD = GradientDescent(30, 0.01, 10, 0.9, 0.02, "all", Squared(), drops=(12, 20))


def trained(rule, network=NETWORK, backend: Any = "eager", seed=3, until=None) -> Member:
    return finished(started(network, rule, SAMPLE, Stream(seed), backend), until=until)


def same(one: Member, other: Member) -> bool:
    assert one.params.keys() == other.params.keys()
    return all(torch.equal(value, other.params[name]) for name, value in one.params.items())


def numbers(rule, step):
    return {name: torch.tensor(value) for name, value in rule.hyper(rule.stages()[0], step).items()}


def test_gradient_descent_to_the_bit():
    """v ← µv + ∇L + λθ in this order of additions, whatever it is made of now."""
    params, velocity = NETWORK.init(8, 4, Stream(1))[0], {}
    state = OLD.optimiser_state(OLD.stages()[0], params)
    velocity = {name: torch.zeros_like(value) for name, value in params.items()}
    assert state.keys() == velocity.keys()
    literal, batch = params, Batch(SAMPLE.x[:10], SAMPLE.y[:10])
    for step in range(1, 22):
        hyper = numbers(OLD, step)
        dropped = sum(step > drop for drop in (12, 20))
        assert {n: float(v) for n, v in hyper.items()} == {
            n: float(torch.tensor(v)) for n, v in {"rate": 0.01 * 0.1**dropped, "momentum": 0.9, "decay": 0.02}.items()
        }
        params, _, state, _ = OLD.step(OLD.stages()[0], NETWORK, params, {}, state, batch, {}, hyper)
        _, gradient, _ = loss_and_gradient(NETWORK, literal, {}, batch, Squared(), tuple(literal))
        velocity = {n: hyper["momentum"] * velocity[n] + gradient[n] + hyper["decay"] * literal[n] for n in literal}
        literal = {n: literal[n] - hyper["rate"] * velocity[n] for n in literal}
        assert all(torch.equal(params[n], literal[n]) and torch.equal(state[n], velocity[n]) for n in literal)


def test_feature_learning_to_the_bit():
    """(1 − 2ηλ)θ − η∇L in one subtraction; biases without the factor."""
    first = StepSettings(0.01, 0.02, 0.3, 0.4)
    process = ProcessSettings(Symmetric(0.5, 0.3, 1.5), first, first, StepSettings(0.05, 0.5), 4, 6, fading=True)
    rule, network = FeatureLearning(process), TwoLayer(5)
    params, batch = network.init(8, 1, Stream(1))[0], Batch(SAMPLE.x[:6], torch.ones(6))
    hyper = numbers(rule, 1)
    after = rule.step(rule.stages()[0], network, params, {}, {}, batch, {}, hyper).params
    _, g, _ = loss_and_gradient(network, params, {}, batch, rule.loss, tuple(params))
    literal = {
        "hidden.weight": hyper["keep_hidden"] * params["hidden.weight"] - hyper["hidden_rate"] * g["hidden.weight"],
        "hidden.bias": params["hidden.bias"] - hyper["hidden_rate"] * g["hidden.bias"],
        "output.weight": hyper["keep_output"] * params["output.weight"] - hyper["output_rate"] * g["output.weight"],
    }
    assert float(hyper["keep_hidden"]) not in (0, 1)
    assert all(torch.equal(after[name], value) for name, value in literal.items())


def test_one_pass_to_the_bit():
    rule, network = OnePass(9, 0.01, 0.03), ThreeLayerResNet(6, "bottleneck", parameterisation=STANDARD)
    params, batch = network.init(8, 4, Stream(1))[0], Batch(SAMPLE.x[:1], SAMPLE.y[:1])
    hyper, stage = numbers(rule, 1), rule.stages()[0]
    state = rule.optimiser_state(stage, params)
    after = rule.step(stage, network, params, {}, state, batch, {}, hyper).params
    _, g, _ = loss_and_gradient(network, params, {}, batch, Squared(), ("W.weight", "W.bias", "V.weight", "V.bias"))
    for name, slope in g.items():
        rate = hyper["first_rate" if name.startswith("W") else "second_rate"]
        assert torch.equal(after[name], params[name] - rate * (slope / 2))
    assert torch.equal(after["A.weight"], params["A.weight"])


def test_identities_of_the_older_rules():
    """Runs of these are stored: their keys stay."""
    assert digest(OLD) == "156b5e6264f3fa372b38b771c1f7b008"
    assert digest(Layerwise(OLD, OLD)) == "921fb71151076531d71b6f3d85011e75"
    assert digest(OnePass(60, 0.01, 0.02, end="average")) == "68ee9122d04fca0338445c837c39e6d5"


COMPOSED = {
    "decay, momentum, rate": chain(Decay(0.02), Momentum(0.9), Rate(Drops(0.01, (12, 20)))),
    "decay in the momentum": chain(Momentum(0.9, decay=0.02), Rate(Drops(0.01, (12, 20)))),
}


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize("group", ["all", "hidden"])
def test_a_composed_rule_reaches_the_same_compiled_step(name, group):
    rule = Descent(30, COMPOSED[name], 10, group, Squared())
    old, new = trained(replace(OLD, group=group), backend="compiled"), trained(rule, backend="compiled")
    assert same(old, new)
    assert all(torch.equal(value, new.optimiser[n]) for n, value in old.optimiser.items())
    TrainedNetwork(NETWORK, rule, backend="compiled")
    eager = trained(rule)
    for each, value in eager.params.items():
        torch.testing.assert_close(new.params[each], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "optimiser",
    [Rate(0.01), chain(Decay(0.1), Rate(0.01)), chain(Momentum(0.8), Rate(Cosine(0.02, 30))), sgd(0.01, 0.5, 0.1)],
    ids=["rate", "decay", "cosine", "sgd"],
)
def test_compiled_against_eager(optimiser):
    rule = Descent(30, optimiser, 10, loss=Squared())
    eager, compiled = (trained(rule, backend=backend) for backend in ("eager", "compiled"))
    for name, value in eager.params.items():
        torch.testing.assert_close(compiled.params[name], value, rtol=1e-4, atol=1e-6)
    assert compiled.optimiser.keys() == eager.optimiser.keys()


@pytest.mark.parametrize(
    "optimiser",
    [
        chain(Adam(), Momentum(0.9), Rate(0.01)),
        sgd(0.1, 0.9, nesterov=True),
        chain(ClipNorm(1.0), sgd(0.1)),
        chain(Momentum(0.9), Decay(0.1), Rate(0.1)),
        chain(Decay(0.1), Momentum(0.9, decay=0.1), Rate(0.1)),
    ],
    ids=str,
)
def test_other_rules_have_no_compiled_step(optimiser):
    rule = Descent(30, optimiser, 10, loss=Squared())
    refused("Layerwise, OnePass, ThreeLayerSGD, and Descent with", TrainedNetwork, NETWORK, rule, backend="compiled")


ADAMS = {
    "adam": adam(0.01),
    "other averages": adam(Cosine(0.02, 30), (0.5, 0.9), 1e-3),
    "L2": chain(Decay(0.3), Adam(), Rate(0.01)),
    "adamw": adamw(0.01, 0.5),
    "both decays": chain(Decay(0.3), Adam(), Decay(0.5), Rate(0.01)),
}
FAMILIES = {
    "fully connected": NETWORK,
    "full": ThreeLayerResNet(9, parameterisation=STANDARD),
    "bottleneck": ThreeLayerResNet(9, "bottleneck", parameterisation=STANDARD),
}


@pytest.mark.parametrize("network", FAMILIES)
@pytest.mark.parametrize("name", ADAMS)
def test_compiled_adam_follows_the_eager_one(name, network):
    rule = Descent(30, ADAMS[name], 10, loss=Squared())
    TrainedNetwork(FAMILIES[network], rule, backend="compiled")
    eager, compiled = (trained(rule, FAMILIES[network], backend) for backend in ("eager", "compiled"))
    assert compiled.optimiser.keys() == eager.optimiser.keys()
    for part in ("params", "optimiser"):
        for each, value in getattr(eager, part).items():
            torch.testing.assert_close(getattr(compiled, part)[each], value, rtol=3e-4, atol=1e-5)


@pytest.mark.parametrize("group", ["hidden", "last"])
def test_compiled_adam_stopped_and_in_groups(group):
    rule = Descent(30, ADAMS["both decays"], 10, group, Squared())
    through, halted = trained(rule, backend="compiled"), trained(rule, backend="compiled", until=7)
    train([halted], [frozenset({11})], lambda _: None)
    assert same(through, halted)
    start = NETWORK.init(8, 4, Stream(3).child("initial"))[0]
    moved = {name for name, value in through.params.items() if not torch.equal(value, start[name])}
    assert moved == set(NETWORK.trained(group, start))
    assert all(not through.optimiser[f"mean/{name}"].any() for name in start.keys() - moved)


def test_compiled_adam_does_not_train_linearisations():
    with pytest.raises(InputError, match="it does not train by Adam what is Linearised"):
        TrainedNetwork(Linearised(NETWORK), Descent(3, adam(0.1), loss=Squared()), backend="compiled")


def test_a_step_of_ones_own_is_not_taken_for_the_parent_s():
    class Own(GradientDescent):
        def step(self, *args, **kwargs):
            return super().step(*args, **kwargs)

    assert declared_rule(Own(3, 0.1), OLD.stages()[0]) is None
    assert declared_rule(OLD, OLD.stages()[0]) is not None


RULES = {
    "adamw": chain(ClipNorm(2.0), adamw(Cosine(0.01, 40), 0.1)),
    "noisy": chain(Momentum(0.5), GradientNoise(0.1), Rate(0.01)),
    "everything": chain(ClipNorm(2.0), GradientNoise(0.1), Decay(0.1), Adam(), GradientNoise(0.1), Rate(0.01)),
}


@pytest.mark.parametrize("name", RULES)
def test_alone_and_in_company(name):
    """Also with other numbers beside it: members of one program train as one."""
    others = [chain(RULES[name], Rate(factor)) for factor in (1.0, 0.5, 2.0)]
    rules = [Descent(40, optimiser, 10, loss=Squared()) for optimiser in others]
    members = []
    for seed, rule in enumerate(rules):
        member = started(NETWORK, rule, SAMPLE, Stream(seed))
        members.append(member)
    assert len({member.group() for member in members}) == 1
    with torch.no_grad():
        train(members, [frozenset({7, 21})] * 3, lambda _: None)
    for seed, (rule, member) in enumerate(zip(rules, members, strict=True)):
        assert same(member, trained(rule, seed=seed))
    assert not same(members[0], trained(rules[1], seed=0))


def test_a_chain_of_one_rule_is_that_rule():
    assert digest(Descent(10, Rate(0.1))) == digest(Descent(10, chain(Rate(0.1))))
