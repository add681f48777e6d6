"""The compiled step of networks whose biases and readout stand still, and of the pseudo-Huber loss."""

from typing import Any

import pytest
import torch

from beyondkernels.algorithms import Algorithm, Descent, PseudoHuber, Squared
from beyondkernels.algorithms.optimisers import adam
from beyondkernels.engine import Member
from beyondkernels.engine.compiled import refusal
from beyondkernels.networks import FullyConnected, Linearised, Network, Parameterisation
from beyondkernels.papers.overparam import ThreeLayerLearner, TwoLayerLearner, TwoLayerSGD
from stepping import finished, gap, sample, started

SAMPLE = sample()
PLAIN = FullyConnected(9, 3, parameterisation=Parameterisation("standard", bias_variance=0.2))
NETWORKS: dict[str, Network] = {
    "two layers": TwoLayerLearner(9),
    "three layers": ThreeLayerLearner(13),
    "in parts": ThreeLayerLearner(300),
}


def trained(network: Network, rule: Algorithm, backend: Any, stops: tuple[int, ...] = ()) -> Member:
    return finished(started(network, rule, SAMPLE, backend=backend), stops)


@pytest.mark.parametrize("loss", [Squared(), PseudoHuber()])
@pytest.mark.parametrize("name", NETWORKS)
def test_one_step_against_automatic_differentiation_in_double_precision(name, loss):
    network, rule = NETWORKS[name], TwoLayerSGD(1, 0.3, batch=4, loss=loss)
    member = started(network, rule, SAMPLE, backend="compiled")
    start = {key: value.double().requires_grad_() for key, value in member.params.items()}
    buffers = {key: value.double() for key, value in member.buffers.items()}
    rows: Any = member.rows(0, 1)
    x, y = SAMPLE.x[rows[0]].double(), SAMPLE.y[rows[0]].double()
    value = loss.each(network.apply(start, buffers, x)[0], y).mean()
    gradients = torch.autograd.grad(value, list(start.values()))
    finished(member)
    for (key, before), gradient in zip(start.items(), gradients, strict=True):
        expected = before.detach() - 0.3 * gradient
        assert float(gradient.abs().max()) > 1e-3
        assert (member.params[key] - expected).abs().max() <= 2e-6 * expected.abs().max()
    assert all(torch.equal(member.buffers[key], value.float()) for key, value in buffers.items())


@pytest.mark.parametrize("rule", [TwoLayerSGD(25, 0.02, batch=3), Descent(25, adam(0.003), 5, loss=PseudoHuber())])
@pytest.mark.parametrize("network", [*NETWORKS.values(), PLAIN], ids=[*NETWORKS, "fully connected"])
def test_many_steps_follow_the_eager_backend(network, rule):
    assert gap(trained(network, rule, "compiled").params, trained(network, rule, "eager").params) <= 2e-5


def test_what_is_refused():
    rule = TwoLayerSGD(3, 0.1)
    assert refusal(TwoLayerLearner(4), rule) is None
    assert "declare a dense_form" in (refusal(Linearised(TwoLayerLearner(4)), rule) or "")
    assert "declare a dense_form" in (refusal(ThreeLayerLearner(4, second_width=5), rule) or "")
