"""The compiled step against automatic differentiation, alone and in company, and when numbers blow up."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import FeatureLearning, GradientDescent, Hinge, ProcessSettings, Squared, StepSettings
from beyondkernels.core import Case, Stream
from beyondkernels.engine import Member, TrainedNetwork
from beyondkernels.engine.compiled import descent, refusal
from beyondkernels.networks import (
    FullyConnected,
    Linearised,
    Network,
    Parameterisation,
    Symmetric,
    ThreeLayerResNet,
    TwoLayer,
)
from refusals import refused
from stepping import D, Given, finished, gap, sample, started

PLAIN = Parameterisation("standard")
BIASED = Parameterisation("standard", bias_variance=0.2)
ALL_BIASED = Parameterisation("standard", bias_variance=0.2, readout_bias_variance=0.3)

NETWORKS: dict[str, Network] = {
    "two layers": FullyConnected(9, 2, parameterisation=PLAIN),
    "three layers": FullyConnected(9, 3, parameterisation=ALL_BIASED),
    "as wide as the input": FullyConnected(D, 3, parameterisation=BIASED),
    "as wide as a vector": FullyConnected(16, 3, parameterisation=PLAIN),
    "five layers": FullyConnected(10, 5, parameterisation=ALL_BIASED),
    "one neuron": FullyConnected(1, 2, parameterisation=BIASED),
    "resnet": ThreeLayerResNet(9, parameterisation=BIASED),
    "wide resnet": ThreeLayerResNet(24, parameterisation=PLAIN),
    "resnet in parts": ThreeLayerResNet(265, parameterisation=BIASED),
    "three layers in parts": FullyConnected(530, 3, parameterisation=ALL_BIASED),
    "bottleneck": ThreeLayerResNet(9, "bottleneck", parameterisation=BIASED),
    "wide bottleneck": ThreeLayerResNet(40, "bottleneck", parameterisation=PLAIN),
}
RULE = GradientDescent(steps=1, learning_rate=0.05, batch=10, momentum=0.9, weight_decay=0.02, loss=Squared())


def trained(network: Network, rule: GradientDescent, backend: Any = "compiled", stops=(), data=None) -> Member:
    return finished(started(network, rule, data or sample(), backend=backend), stops)


def apart(one: Member, other: Member) -> float:
    return gap(one.params, other.params)


@pytest.mark.parametrize("group", ["all", "hidden", "last"])
@pytest.mark.parametrize("name", NETWORKS)
def test_one_step_against_automatic_differentiation_in_double_precision(name, group):
    network, data = NETWORKS[name], sample()
    member = started(network, replace(RULE, group=group), data, backend="compiled")
    start = {key: value.double().requires_grad_() for key, value in member.params.items()}
    rows: Any = member.rows(0, 1)
    x, y = data.x[rows[0]].double(), data.y[rows[0]].double()
    loss = ((network.apply(start, {}, x)[0] - y) ** 2).sum(1).mean()
    names = network.trained(group, member.params)
    gradients = dict(zip(names, torch.autograd.grad(loss, [start[key] for key in names]), strict=True))
    finished(member)
    for key, value in member.params.items():
        before = start[key].detach()
        if key in names:
            velocity = gradients[key] + 0.02 * before
            expected = before - 0.05 * velocity
            assert (member.optimiser[key] - velocity).abs().max() <= 2e-6 * (1e-3 + velocity.abs().max())
            assert (value - expected).abs().max() <= 2e-6 * expected.abs().max()
        else:
            assert (value == before).all()
            assert (member.optimiser[key] == 0).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_many_steps_follow_the_eager_backend(name):
    rule = replace(RULE, steps=25, learning_rate=0.002, drops=(8, 17), drop_factor=0.5)
    assert apart(trained(NETWORKS[name], rule), trained(NETWORKS[name], rule, "eager")) <= 2e-5


def test_whole_sample_as_a_batch():
    rule = replace(RULE, steps=5, batch=None, learning_rate=0.01)
    network = NETWORKS["bottleneck"]
    assert apart(trained(network, rule), trained(network, rule, "eager")) <= 1e-5


@pytest.mark.parametrize("name", ["three layers", "resnet", "bottleneck"])
def test_stopping_to_look_changes_no_bit(name):
    rule = replace(RULE, steps=30, learning_rate=0.002)
    through, halted = trained(NETWORKS[name], rule), trained(NETWORKS[name], rule, stops=(1, 7, 8, 29))
    assert apart(through, halted) == 0
    assert through.step == halted.step == 30


@pytest.mark.parametrize(
    ("name", "group"),
    [
        *((name, "last") for name in NETWORKS),
        *((name, "all-W") for name in NETWORKS if "resnet" in name or "bottleneck" in name),
        *((name, "all-layer1") for name in NETWORKS if "layers" in name and name != "two layers"),
        ("five layers", "layer3+last"),
        ("three layers", "last+layer1"),
    ],
)
def test_what_layers_that_stand_still_make_of_points_is_kept_without_changing_a_bit(name, group, monkeypatch):
    rule = replace(RULE, steps=30, learning_rate=0.002, group=group)
    members = []
    for epochs in (0, 10**9):
        monkeypatch.setattr(descent, "_KEPT_EPOCHS", epochs)
        members.append(trained(NETWORKS[name], rule, stops=(11,)))
    assert apart(*members) == 0
    assert apart(members[0], trained(NETWORKS[name], rule, "eager")) <= 2e-5


def case(seed: int) -> Case:
    data = sample(seed=seed)
    return Case(Given(), data, sample(10, seed=99), Stream(seed))


@pytest.mark.parametrize("name", ["two layers", "resnet", "bottleneck"])
def test_a_point_that_is_no_number_ends_the_run_at_once(name):
    """Dead neurons must not swallow it."""
    data = sample()
    data.x[:] = math.nan
    member = trained(NETWORKS[name], replace(RULE, steps=5), data=data)
    assert member.diverged
    assert member.step == 1


STEP = StepSettings(0.1, 0.1)
SETTINGS = ProcessSettings(initial=Symmetric(), first=STEP, second=STEP, later=STEP, steps=3, batch=5)


@pytest.mark.parametrize(
    ("network", "algorithm", "sentence"),
    [
        (TwoLayer(4), RULE, "and networks that declare a dense_form, not TwoLayer"),
        (Linearised(TwoLayer(4)), RULE, "not TwoLayer"),
        (FullyConnected(4, activation="tanh", parameterisation=PLAIN), RULE, r"it knows the ReLU only, not Tanh\(\)"),
        (FullyConnected(4), RULE, "it knows the standard parameterisation only, not ntk"),
        (
            NETWORKS["resnet"],
            replace(RULE, loss=Hinge()),
            "it knows the losses Squared and PseudoHuber only, not Hinge",
        ),
        (NETWORKS["resnet"], FeatureLearning(SETTINGS), "decay and rate, not by this FeatureLearning"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(network, algorithm, sentence):
    assert refusal(network, algorithm) is not None
    refused(f"the compiled one does not fit: .*{sentence}", TrainedNetwork, network, algorithm, backend="compiled")
