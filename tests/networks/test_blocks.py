"""Blocks: which there are, in which order, and what enters them."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn

import beyondkernels as bk
from beyondkernels.core import Stream, describe, digest
from beyondkernels.papers.overparam.networks import ThreeLayerLearner, TwoLayerLearner
from module_cases import (
    CLASSES,
    SHAPE,
    Again,
    BasicBlock,
    Branches,
    LeNet,
    ResNet,
    Transformer,
    Wrapped,
    mlp,
    sequences,
)
from refusals import refused

FOUND = {
    "mlp": (mlp, ("1", "4", "6")),
    "lenet": (LeNet, ("conv1", "conv2", "fc")),
    "resnet": (ResNet, ("conv", "layer1.0", "layer1.1", "layer2.0", "fc")),
    "transformer": (Transformer, ("embed", "encoder.layers.0", "encoder.layers.1", "head")),
    "wrapped": (lambda: Wrapped(LeNet()), ("inner.conv1", "inner.conv2", "inner.fc")),
    "twice wrapped": (
        lambda: nn.Sequential(Wrapped(mlp()), nn.Linear(10, 10)), ("0.inner.1", "0.inner.4", "0.inner.6", "1"),
    ),
    "one residual block": (
        lambda: nn.Sequential(BasicBlock(1, 8), nn.Flatten(), nn.Linear(512, 10)), ("0", "2"),
    ),
    "again": (Again, ("a&b", "c")),
    "branches": (Branches, ("a&b", "c")),
    "one layer": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), ("1",)),
    "sequences": (sequences, ("1", "3", "6")),
}  # fmt: skip


def blocked(module, blocks=None):
    return bk.networks.with_blocks(bk.networks.FromCopy.of(module, fresh_start=False), SHAPE, CLASSES, blocks)


def make(in_dim, out_dim):
    return nn.Sequential(nn.Linear(in_dim, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, out_dim))


@pytest.mark.parametrize(("factory", "names"), FOUND.values(), ids=list(FOUND))
def test_blocks_are_found_in_the_order_of_calls(factory, names):
    module = factory()
    network = blocked(module)
    assert tuple(block.name for block in network.blocks) == names
    assert bk.networks.find_blocks(network, SHAPE, CLASSES) == network.blocks
    everything = [name for block in network.blocks for name in block.parameters]
    assert sorted(everything) == sorted(name for name, _ in module.named_parameters())


def test_what_belongs_to_the_block_before():
    assert "bn.weight" in blocked(ResNet()).blocks[0].parameters
    transformer = blocked(Transformer()).blocks
    assert "places" in transformer[0].parameters
    assert "norm.weight" in transformer[2].parameters
    first = blocked(nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, 10))).blocks[0]
    assert (first.name, first.entry, len(first.parameters)) == ("2", "1", 4)
    assert set(blocked(Again()).blocks[0].parameters) == {"a.weight", "a.bias", "b.weight", "b.bias"}
    assert "never.bias" in blocked(Again()).blocks[1].parameters


def test_tied_weights_belong_to_the_first():
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Linear(64, 10))
    module[3].weight = module[1].weight
    assert [block.parameters for block in blocked(module).blocks][:2] == [("1.weight", "1.bias"), ("3.bias",)]


def test_features_are_what_enters_the_next_block():
    module, x = LeNet(), Stream(0).normal(5, *SHAPE)
    network = blocked(module)
    params, buffers = network.init(SHAPE, CLASSES, Stream(0))
    first = F.max_pool2d(F.relu(module.conv1(x)), 2)
    second = F.max_pool2d(F.relu(module.conv2(first)), 2).flatten(1)
    seen = bk.networks.block_features(network, params, buffers, x)
    assert list(seen) == ["conv1", "conv2", "fc"]
    for ours, theirs in zip(seen.values(), (first, second, module.fc(second)), strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("network", "names"),
    [
        (bk.networks.FullyConnected(4, 3), ["layer1", "layer2", "output"]),
        (bk.networks.TwoLayer(3), ["hidden", "last"]),
        (bk.networks.ThreeLayerResNet(4), ["W", "U", "A"]),
        (ThreeLayerLearner(4), ["W", "V"]),
        (TwoLayerLearner(4), ["W"]),
    ],
    ids=str,
)
def test_networks_of_the_package(network, names):
    found = bk.networks.find_blocks(network, 5, 2)
    params, buffers = network.init(5, 2, Stream(0))
    assert [block.name for block in found] == names
    assert sorted(name for block in found for name in block.parameters) == sorted(params)
    assert bk.networks.with_blocks(network, 5, 2) is network
    if len(names) > 1:
        for block in found:
            assert set(network.trained(f"all-{block.name}", params)) == set(params) - set(block.parameters)
    seen = bk.networks.block_features(network, params, buffers, torch.ones(3, 5))
    assert list(seen) == names


def test_named_blocks():
    network = blocked(ResNet(), ("layer1.0", "layer2", "fc"))
    assert [block.name for block in network.blocks] == ["layer1.0", "layer2", "fc"]
    assert network.blocks[0].parameters[:3] == ("conv.weight", "bn.weight", "bn.bias")
    assert any(name.startswith("layer1.1") for name in network.blocks[0].parameters)
    mapped = blocked(LeNet(), {"top": ("fc.weight", "fc.bias"), "below": ("conv1", "conv2")})
    assert [(block.name, block.entry) for block in mapped.blocks] == [("below", "conv1"), ("top", "fc")]


def test_blocks_are_groups():
    network = bk.networks.with_blocks(bk.networks.FromModule(make, "mine"), 4, 2)
    params, _ = network.init(4, 2, Stream(0))
    assert network.trained("last", params) == ("4.weight", "4.bias")
    assert network.trained("hidden", params) == ("0.weight", "0.bias", "2.weight", "2.bias")
    assert network.trained("all-2", params) == ("0.weight", "0.bias", "4.weight", "4.bias")
    dotted = blocked(ResNet())
    every, _ = dotted.init(SHAPE, CLASSES, Stream(0))
    rest = dotted.trained("all-layer1.0-fc", every)
    assert not any(name.startswith(("layer1.0.", "fc.")) for name in rest)
    assert len(rest) == len(every) - 8


def test_signs_in_names_are_replaced():
    module = nn.Sequential()
    module.add_module("flat", nn.Flatten())
    module.add_module("in-put", nn.Linear(64, 8))
    module.add_module("hidden", nn.Linear(8, 8))
    module.add_module("out", nn.Linear(8, 10))
    network = blocked(module)
    assert [block.name for block in network.blocks] == ["in_put", "hidden_block", "out"]
    params, _ = network.init(SHAPE, CLASSES, Stream(0))
    assert "in-put.weight" not in network.trained("all-in_put", params)
    assert blocked(module, ("in-put", "out")).blocks[0].name == "in_put"


def test_identity():
    plain = bk.networks.FromModule(make, "mine")
    named = bk.networks.with_blocks(plain, 4, 2)
    assert "blocks" not in describe(plain)["fields"]
    assert digest(named) == digest(bk.networks.with_blocks(named, 4, 2)) != digest(plain)


@pytest.mark.parametrize(
    ("module", "blocks", "sentence"),
    [
        (LeNet, ("conv1", "conv3"), r"unknown module or parameter in blocks 'conv3', did you mean conv2 or conv1"),
        (LeNet, {"a": "conv1", "b": ("conv1.bias", "fc")}, r"in common, got \['conv1.bias'\] in 'a' and 'b'"),
        (LeNet, {"all": ("conv1",)}, "'all' is the name of another group"),
        (LeNet, "conv1", "blocks must name some modules, got 'conv1'"),
        (LeNet, (3,), "paths of modules, such as 'features.0', got 3"),
        (mlp, ("1", "2"), "block '2' must have parameters, got '2', which has none"),
        (Again, ("a", "b", "c"), r"'a' is called again after 'b'; .* would do: \{'a': \('a', 'b'\)\}"),
        (Branches, ("a", "b", "c"), "block 'b' is not computed from block 'a'; one block that holds both would do"),
        (Again, ("a", "never"), "block 'never' is never called when the module predicts"),
    ],
)  # fmt: skip
def test_bad_blocks(module, blocks, sentence):
    refused(sentence, blocked, module(), blocks)
