"""The last layer of a module: the linear layer whose output is the module's, and nothing else."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from beyondkernels.core import Stream
from beyondkernels.networks import FromCopy, FullyConnected, ThreeLayerResNet
from refusals import refused

X = Stream(3).normal(5, 6)


class Ending(nn.Module):
    """A hidden layer, a linear layer on top of it, and something after that."""

    def __init__(self, end: nn.Module | None = None, out_dim: int = 2) -> None:
        super().__init__()
        self.body, self.head, self.end = nn.Linear(6, 4), nn.Linear(4, out_dim), end or nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.end(self.head(input=self.body(x).relu()))


class Gated(nn.Module):
    """A 1×1 convolution at the end, scaled by a gate whose linear layer is called last."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.gate = nn.Conv1d(6, 2, 1), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x[:, :, None])[:, :, 0] * self.gate(x).sigmoid()


class Branches(nn.Module):
    """Two linear layers, whose outputs are added."""

    def __init__(self) -> None:
        super().__init__()
        self.skip, self.body, self.head = nn.Linear(6, 2), nn.Linear(6, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.skip(x) + self.head(self.body(x).relu())


class Tied(nn.Module):
    """A last layer whose weights are those of the first layer."""

    def __init__(self, twice: bool = False) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 6)
        self.twice = twice
        if not twice:
            self.last.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last((self.last if self.twice else self.first)(x).relu())


def at(module: nn.Module, out_dim: int = 2):
    network = FromCopy.of(module)
    return network, *network.init(6, out_dim, Stream(0)), X


def test_features_are_what_enters_the_layer():
    network, params, buffers, x = at(Ending())
    h = (x @ params["body.weight"].T + params["body.bias"]).relu()
    torch.testing.assert_close(network.features(params, buffers, x), torch.cat([h, torch.ones(5, 1)], 1))
    assert network.last_layer(params, buffers, x) == ("head.weight", "head.bias")


@pytest.mark.parametrize("end", [nn.Dropout(0.5), nn.Flatten(0)])
def test_what_changes_no_number_may_follow(end):
    network, params, buffers, x = at(Ending(end, out_dim=1), 1)
    assert network.last_layer(params, buffers, x) == ("head.weight", "head.bias")
    assert network.features(params, buffers, x).shape == (5, 5)


@pytest.mark.parametrize("module", [Ending(nn.Tanh()), Ending(nn.ReLU()), Ending(nn.Softmax(1)), Gated(), Branches()])
def test_modules_that_do_not_end_with_a_linear_layer(module):
    """The head starts at zero, so that outputs are the same before and after some activations."""
    network, params, buffers, x = at(module)
    params = {name: torch.zeros_like(value) if "head" in name else value for name, value in params.items()}
    for ask in (network.features, network.last_layer):
        refused("does not end with a linear layer on vectors: the linear layer", ask, params, buffers, x)


def test_positions_are_no_vectors():
    network = FromCopy.of(nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 1), nn.Flatten(0)))
    params, buffers = network.init((1, 6), 1, Stream(0))
    refused(r"called last and given \(2, 1, 4\), not \(n, features\)", network.features, params, buffers, X[:, None])


@pytest.mark.parametrize("twice", [True, False])
def test_tied_weights_cannot_be_trained_alone(twice):
    network, params, buffers, x = at(Tied(twice), 6)
    refused("the numbers of the last layer of Tied are also used before it", network.last_layer, params, buffers, x)
    assert network.features(params, buffers, x).shape == (5, 7)


def test_a_frozen_last_layer_cannot_be_trained_alone():
    module = Ending()
    module.head.requires_grad_(False)
    network, params, buffers, x = at(module)
    refused("the last layer of Ending is frozen", network.last_layer, params, buffers, x)
    module.head.bias.requires_grad_(True)
    network, params, buffers, x = at(module)
    assert network.last_layer(params, buffers, x) == ("head.bias",)


def test_networks_of_the_package():
    network = FullyConnected(4, 2)
    assert network.last_layer(*network.init(6, 2, Stream(0)), X) == ("output.weight",)
    network = ThreeLayerResNet(4, form="bottleneck")
    refused("the last layer of ThreeLayerResNet is used before,", network.last_layer, *network.init(6, 2, Stream(0)), X)
