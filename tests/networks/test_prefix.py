"""The first blocks of a network with a head, against forward passes that are cut off by hand."""

from typing import cast

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn

from beyondkernels.core import Stream, digest
from beyondkernels.networks import FromCopy, FullyConnected, Prefix, predictions, with_blocks
from beyondkernels.networks.prefix import fitted
from module_cases import CLASSES, SHAPE, LeNet, ResNet, Transformer, mlp, sequences
from refusals import refused

X = Stream(5).normal(6, *SHAPE)


def started(module, block):
    prefix = Prefix(with_blocks(FromCopy.of(module, fresh_start=False), SHAPE, CLASSES), block)
    return prefix, *prefix.init(SHAPE, CLASSES, Stream(1))


def headed(params, h):
    return (h @ params["head:weight"].T + params["head:bias"]).detach()


def test_lenet():
    module = LeNet()
    prefix, params, buffers = started(module, "conv1")
    assert set(params) == {"conv1.weight", "conv1.bias", "head:weight", "head:bias"}
    first = F.max_pool2d(F.relu(module.conv1(X)), 2)
    torch.testing.assert_close(prefix.apply(params, buffers, X)[0], headed(params, first.flatten(1)))
    prefix, params, buffers = started(module, "conv2")
    second = F.max_pool2d(F.relu(module.conv2(first)), 2)
    torch.testing.assert_close(prefix.apply(params, buffers, X)[0], headed(params, second.flatten(1)))


def test_resnet_in_training_updates_the_statistics_of_its_blocks_alone():
    module = ResNet().train()
    prefix, params, buffers = started(module, "layer1.0")
    out, after = prefix.apply(params, buffers, X, train=True)
    h = module.layer1[0](F.relu(module.bn(module.conv(X))))
    torch.testing.assert_close(out, headed(params, h.flatten(1)))
    torch.testing.assert_close(after["bn.running_mean"], module.bn.running_mean)
    assert not torch.equal(after["layer1.0.bn2.running_mean"], buffers["layer1.0.bn2.running_mean"])
    assert torch.equal(after["layer1.1.bn1.running_mean"], buffers["layer1.1.bn1.running_mean"])
    assert after.keys() == buffers.keys()


def test_transformer():
    module = Transformer().eval()
    prefix, params, buffers = started(module, "encoder.layers.0")
    h = module.encoder.layers[0](module.embed(X.squeeze(1)) + module.places)
    torch.testing.assert_close(prefix.apply(params, buffers, X)[0], headed(params, h.flatten(1)))
    refused(r"batch_first=True, got the shape \(8, 48\)", started, Transformer(batch_first=False), "encoder.layers.0")


def test_sequences_are_read_at_all_positions():
    module = sequences()
    prefix, params, buffers = started(module, "1")
    h = module[:3](X)
    assert params["head:weight"].shape == (CLASSES, 6 * h.shape[2])
    torch.testing.assert_close(prefix.apply(params, buffers, X)[0], headed(params, h.mT.flatten(1)))


def windowed(h, side):
    """The mean of each window of positions, one window after the other."""
    rows, columns = (range(0, length, side) for length in h.shape[2:])
    means = [h[:, :, i : i + side, j : j + side].mean((2, 3)) for i in rows for j in columns]
    return torch.stack(means, 2).unflatten(2, (len(rows), len(columns)))


@pytest.mark.parametrize(("shape", "side"), [((3, 8, 8), 1), ((64, 16, 16), 1), ((64, 17, 16), 2), ((700, 9, 11), 3)])
def test_many_positions_are_averaged_over_windows(shape, side):
    h = Stream(4).normal(2, *shape, dtype=torch.float64)
    torch.testing.assert_close(fitted(h), windowed(h, side))
    assert fitted(h)[0].numel() <= 16_384


def test_what_comes_later_is_not_computed():
    class Refusing(nn.Linear):
        def forward(self, input):  # noqa: A002 - the name that torch gives it
            raise RuntimeError("called")

    inner = nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, CLASSES))
    network = with_blocks(FromCopy.of(inner), SHAPE, CLASSES)
    cast(nn.Sequential, network.skeleton(SHAPE, CLASSES))[3] = Refusing(5, 4, device="meta")
    prefix = Prefix(network, "1")
    params, buffers = prefix.init(SHAPE, CLASSES, Stream(0))
    assert prefix.apply(params, buffers, X)[0].shape == (6, CLASSES)
    prefix = Prefix(network, "3")
    with pytest.raises(RuntimeError, match="called"):
        prefix.init(SHAPE, CLASSES, Stream(0))


@pytest.mark.parametrize(
    ("module", "block"), [(LeNet, "conv2"), (ResNet, "layer2.0"), (Transformer, "embed"), (mlp, "4")]
)
def test_the_gradient_reaches_every_parameter(module, block):
    prefix, params, buffers = started(module(), block)
    gradient = torch.func.grad(lambda moving: prefix.apply(moving, buffers, X, train=True)[0].square().sum())(params)
    assert all(value.abs().sum() > 0 for value in gradient.values())
    assert not cast(FromCopy, prefix.network).skeleton(SHAPE, CLASSES)._forward_pre_hooks


def test_the_start_is_that_of_the_whole_network():
    network = FullyConnected(4, 3)
    prefix = Prefix(network, "layer2")
    params, buffers = prefix.init(5, 2, Stream(3))
    whole, _ = network.init(5, 2, Stream(3))
    assert torch.equal(params["layer1.weight"], whole["layer1.weight"])
    assert torch.equal(buffers["rest:output.weight"], whole["output.weight"])
    assert params["head:weight"].abs().max() <= 0.5  # of width 4: uniform on ±1/√4
    assert prefix.batching == "vmapped"
    assert Prefix(FromCopy.of(mlp()), "1").batching == "sequential"


def test_package_networks():
    network, x = FullyConnected(4, 3), Stream(2).normal(7, 5)
    prefix = Prefix(network, "layer1")
    params, buffers = prefix.init(5, 2, Stream(3))
    h = 0.5**0.5 * network.intermediates(*network.init(5, 2, Stream(3)), x)["layer1"][0].relu()
    torch.testing.assert_close(predictions(prefix, params, buffers, x), headed(params, h))
    torch.testing.assert_close(prefix.features(params, buffers, x), torch.cat([h, torch.ones(7, 1)], 1))


def test_identity_and_groups():
    prefix = Prefix(FullyConnected(4, 3), "layer1")
    assert digest(prefix) != digest(Prefix(FullyConnected(4, 3), "layer2"))
    module, params, _ = started(LeNet(), "conv2")
    assert set(module.trained("hidden-conv1", params)) == {"conv2.weight", "conv2.bias"}
    assert module.trained("last", params) == ("head:weight", "head:bias")


def test_positions_of_sequences_and_volumes_are_averaged_over_windows_too():
    sequence = Stream(4).normal(2, 1001, 32, dtype=torch.float64)
    torch.testing.assert_close(fitted(sequence), torch.stack([part.mean(1) for part in sequence.split(2, 1)], 1))
    assert fitted(torch.zeros(2, 4, 20, 20, 20)).shape == (2, 4, 10, 10, 10)
