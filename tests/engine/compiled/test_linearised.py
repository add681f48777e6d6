"""The linearised network compiled: against explicit tangent features, against the eager step, cut into pieces."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Stream
from beyondkernels.engine import Member
from beyondkernels.engine.compiled import descent
from beyondkernels.networks import FullyConnected, Linearised, Network, Parameterisation, ThreeLayerResNet
from stepping import K, N, finished, gap, sample, started

PLAIN = Parameterisation("standard")
BIASED = Parameterisation("standard", bias_variance=0.2)
ALL_BIASED = Parameterisation("standard", bias_variance=0.2, readout_bias_variance=0.3)
NETWORKS: dict[str, Network] = {
    "two layers": FullyConnected(9, 2, parameterisation=PLAIN),
    "three layers": FullyConnected(9, 3, parameterisation=ALL_BIASED),
    "five layers": FullyConnected(10, 5, parameterisation=BIASED),
    "resnet": ThreeLayerResNet(9, parameterisation=BIASED),
    "resnet in parts": ThreeLayerResNet(265, parameterisation=BIASED),
    "bottleneck": ThreeLayerResNet(9, "bottleneck", parameterisation=BIASED),
    "wide bottleneck": ThreeLayerResNet(40, "bottleneck", parameterisation=PLAIN),
}
RULE = GradientDescent(steps=6, learning_rate=0.004, batch=7, momentum=0.9, weight_decay=0.1, loss=Squared())


def begun(name: str, rule: GradientDescent, backend: Any = "compiled", displaced: bool = False) -> Member:
    member = started(Linearised(NETWORKS[name]), rule, sample(), backend=backend)
    if displaced:
        stream = Stream(2)
        member.params = {key: 0.3 * stream.child(key).normal(*value.shape) for key, value in member.params.items()}
    return member


@pytest.fixture(params=["fresh", "kept"])
def kept(request, monkeypatch) -> str:
    """Hidden values of each batch when its turn comes, or of all points before."""
    monkeypatch.setattr(descent, "_KEPT_EPOCHS", 0 if request.param == "kept" else 10**9)
    return request.param


def features(member: Member) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of every output at every point where the network started, and the residuals there, in double."""
    network = member.network
    assert isinstance(network, Linearised)
    start = {name: member.buffers["at." + name].double().requires_grad_() for name in member.params}
    out = network.network.apply(start, {}, member.sample.x.double())[0]
    slopes = [
        torch.cat([slope.flatten() for slope in torch.autograd.grad(each, list(start.values()), retain_graph=True)])
        for each in out.flatten()
    ]
    return torch.stack(slopes).reshape(N, K, -1), (out - member.sample.y.double()).detach()


def literal(member: Member, group: str):
    """Gradient descent on a linear function of these features, in double precision, output by output."""
    network, rule, rows = member.network, member.algorithm, member.rows(0, member.stage.steps)
    assert isinstance(rule, GradientDescent)
    assert rows is not None
    phi, r0 = features(member)
    trained = network.trained(group, member.params)
    moves = torch.cat([torch.full_like(value, name in trained).flatten() for name, value in member.params.items()])
    delta = torch.cat([value.double().flatten() for value in member.params.values()])
    velocity = torch.zeros_like(delta)
    for batch in rows.tolist():
        gradient = torch.zeros_like(delta)
        for i in batch:
            for c in range(K):
                gradient += 2 / len(batch) * (r0[i, c] + phi[i, c] @ delta) * phi[i, c]
        velocity = moves * (rule.momentum * velocity + gradient + rule.weight_decay * delta)
        delta = delta - rule.learning_rate * velocity
    parts = delta.split([value.numel() for value in member.params.values()])
    return {name: part.view_as(value) for part, (name, value) in zip(parts, member.params.items(), strict=True)}


@pytest.mark.parametrize("group", ["all", "hidden", "last"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_number_against_features_typed_out(name, group, kept):
    member = begun(name, replace(RULE, group=group), displaced=True)
    before, at = dict(member.params), {key: value.clone() for key, value in member.buffers.items()}
    expected = literal(member, group)
    finished(member)
    assert gap(member.params, expected) <= 2e-6
    moved = member.network.trained(group, before)
    for key, value in member.params.items():
        assert torch.equal(value, before[key]) == (key not in moved)
    assert gap(expected, before) > 0.01  # a wrong gradient would show
    assert all(torch.equal(value, at[key]) for key, value in member.buffers.items())


@pytest.mark.parametrize("batch", [8, None])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_run_follows_the_eager_backend(name, batch, kept):
    rule = replace(RULE, steps=40, batch=batch, learning_rate=0.002, drops=(20,))
    compiled, eager = (finished(begun(name, rule, backend)) for backend in ("compiled", "eager"))
    assert gap(compiled.params, eager.params) <= 1e-5
    assert gap(compiled.optimiser, eager.optimiser) <= 1e-5


def test_what_is_kept_is_no_question_of_stops():
    """A stage of many epochs keeps, one of few does not, however either is cut."""
    assert descent.is_kept(100 * N, N, 20)
    assert not descent.is_kept(99 * N, N, 20)
    assert not descent.is_kept(10**6 * N, N, 2**25)
    rule = replace(RULE, steps=600)  # 105 epochs
    through, halted = finished(begun("bottleneck", rule)), finished(begun("bottleneck", rule), (5, 311))
    assert gap(through.params, halted.params) == 0
