"""What layers give on the way through, against networks written out by hand."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.networks import FromModule, FullyConnected, Parameterisation, ThreeLayerResNet, theorem_network
from beyondkernels.papers.resnet.networks import ResNetWeights

X = Stream(3).normal(6, 5)


def test_fully_connected_by_hand():
    scales = Parameterisation(bias_variance=0.3, readout_bias_variance=0.2)
    network = FullyConnected(4, 3, parameterisation=scales)
    params, buffers = network.init(5, 2, Stream(0))
    found = network.intermediates(params, buffers, X)
    assert list(found) == ["layer1", "layer2", "output"]
    z1 = (2 / 5) ** 0.5 * X @ params["layer1.weight"].T + 0.3**0.5 * params["layer1.bias"]
    z2 = (2 / 4) ** 0.5 * z1.relu() @ params["layer2.weight"].T + 0.3**0.5 * params["layer2.bias"]
    torch.testing.assert_close(found["layer1"][0], z1)
    torch.testing.assert_close(found["layer2"][0], z2)
    assert torch.equal(found["output"][0], network.apply(params, buffers, X)[0])


@pytest.mark.parametrize("form", ["full", "bottleneck"])
def test_a_layer_used_twice_has_two_outputs(form):
    network = ThreeLayerResNet(4, form)
    params, _ = network.init(5, 2, Stream(0))
    found = network.intermediates(params, {}, X)
    assert {name: len(outputs) for name, outputs in found.items()} == (
        {"W": 1, "U": 1, "A": 1} if form == "full" else {"W": 1, "A": 2, "V": 1}
    )
    assert torch.equal(torch.stack(found["A"]).sum(0), network.apply(params, {}, X)[0])


def test_the_proof_s_form_of_the_resnet_is_what_the_network_computes():
    network = theorem_network(12, 0.8, 1.1)
    params = {name: value.double() for name, value in network.init(5, 3, Stream(1))[0].items()}
    seen, weights = network.intermediates(params, {}, X.double()), ResNetWeights.of(params)
    gates, out1 = weights.first(X)
    assert torch.equal(gates, (seen["W"][0] >= 0).double())
    torch.testing.assert_close(out1, seen["A"][0], rtol=1e-13, atol=1e-14)
    gates2, added = weights.second(out1)
    assert torch.equal(gates2, (seen["V"][0] >= 0).double())
    torch.testing.assert_close(added, seen["A"][1], rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(weights.apply(X), network.apply(params, {}, X.double())[0], rtol=1e-13, atol=1e-14)
    assert 0 < gates.mean() < 1
    assert 0 < gates2.mean() < 1


def module(in_dim: int, out_dim: int) -> torch.nn.Module:
    shared = torch.nn.Linear(4, 4)
    parts = [torch.nn.Linear(in_dim, 4), torch.nn.ReLU(), shared, torch.nn.ReLU(), shared, torch.nn.Linear(4, out_dim)]
    return torch.nn.Sequential(*parts)


def test_modules_by_the_names_of_their_parts():
    network = FromModule(module, "shared")
    params, buffers = network.init(5, 2, Stream(0))
    found = network.intermediates(params, buffers, X)
    assert {name: len(outputs) for name, outputs in found.items()} == {"0": 1, "2": 2, "5": 1}
    h = torch.nn.functional.linear(X, params["0.weight"], params["0.bias"])
    torch.testing.assert_close(found["0"][0], h)
    torch.testing.assert_close(
        found["2"][0], torch.nn.functional.linear(h.relu(), params["2.weight"], params["2.bias"])
    )
    assert torch.equal(found["5"][0], network.apply(params, buffers, X)[0])
    assert torch.equal(network.intermediates(params, buffers, X)["5"][0], found["5"][0])  # no hook is left behind
    assert len(network.intermediates(params, buffers, X)["5"]) == 1
