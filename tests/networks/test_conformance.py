"""Every network: pure ``init`` and ``apply``, shapes, groups, ensembles, description, and the module it becomes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, cast

import pytest
import torch

from beyondkernels.core import Stream, Tensors
from beyondkernels.networks import (
    FromModule,
    FullyConnected,
    Linearised,
    Network,
    NetworkModule,
    Parameterisation,
    Symmetric,
    ThreeLayerResNet,
    TwoLayer,
)
from beyondkernels.papers.overparam.networks import ThreeLayerLearner, TwoLayerLearner
from refusals import refused


class Perceptron(torch.nn.Module):
    """A module that uses the sizes it was made with, and draws its weights from the global generator."""

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.in_dim, self.out_dim = in_dim, out_dim
        self.first = torch.nn.Linear(in_dim, 6)
        self.norm = torch.nn.LayerNorm(6)
        self.second = torch.nn.Linear(6, out_dim)
        self.register_buffer("shift", torch.full((out_dim,), 0.25))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.norm(self.first(x.reshape(-1, self.in_dim))))
        return self.second(hidden).reshape(-1, self.out_dim) + self.get_buffer("shift")


def make_perceptron(in_dim: int, out_dim: int) -> torch.nn.Module:
    return Perceptron(in_dim, out_dim)


PARTS = {"hidden": ("first.weight", "first.bias", "norm.weight", "norm.bias"), "last": ("second.weight", "second.bias")}
BIASED = Parameterisation("standard", 1.5, bias_variance=0.2, readout_bias_variance=0.1)
NETWORKS: dict[str, Network] = {
    "two layers": TwoLayer(pairs=5),
    "two layers, smoothed": TwoLayer(pairs=4, initialisation=Symmetric(1.0, 0.5, 2.0)).smoothed(0.04),
    "linearised": Linearised(TwoLayer(pairs=5)),
    "linearised, smoothed": Linearised(TwoLayer(pairs=3).smoothed(0.2)),
    "fully connected": FullyConnected(width=5),
    "fully connected, biased": FullyConnected(4, depth=4, activation="truncated_relu", parameterisation=BIASED),
    "fully connected, linearised": Linearised(FullyConnected(5, parameterisation=BIASED)),
    "residual": ThreeLayerResNet(width=5, parameterisation=Parameterisation(bias_variance=0.2)),
    "residual, bottleneck": ThreeLayerResNet(4, "bottleneck", parameterisation=Parameterisation("standard", 1.5, 0.2)),
    "residual, linearised": Linearised(ThreeLayerResNet(5, "bottleneck")),
    "two-layer learner": TwoLayerLearner(5, 0.5),
    "three-layer learner": ThreeLayerLearner(5),
    "three-layer learner, linearised": Linearised(ThreeLayerLearner(5)),
    "module": FromModule(make_perceptron, "perceptron", PARTS),
    "linearised module": Linearised(FromModule(make_perceptron, "perceptron", PARTS)),
}
VMAPPED = {name: network for name, network in NETWORKS.items() if network.batching == "vmapped"}
IN_DIM = 7

every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
every_out_dim = pytest.mark.parametrize("out_dim", [1, 3])


def same(one: Tensors, other: Tensors) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def copied(tensors: Tensors) -> Tensors:
    return {name: value.clone() for name, value in tensors.items()}


def moved(params: Tensors, seed: int = 1) -> Tensors:
    """Parameters away from the start, so that a displacement is not zero and twins do not cancel."""
    return {name: value + 0.3 * Stream(seed).child(name).normal(*value.shape) for name, value in params.items()}


def stacked(states: list[Tensors]) -> Tensors:
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}


def test_batching():
    assert NETWORKS.keys() - VMAPPED.keys() == {"module", "linearised module"}


def inside(network: Network) -> Network:
    """The network that is expanded, where it is."""
    return network.network if isinstance(network, Linearised) else network


def resized(network: Network, size: int) -> Network:
    """The same network with that many neurons, or pairs of them, in a layer."""
    if isinstance(network, Linearised):
        return Linearised(resized(network.network, size))
    return replace(cast(Any, network), **{"pairs" if isinstance(network, TwoLayer) else "width": size})


@every_network
def test_footprint(network):
    """The numbers that come out of activations, twice where a derivative goes along."""
    inner = inside(network)
    layers = {FullyConnected: getattr(inner, "depth", 0) - 1, ThreeLayerResNet: 2, TwoLayer: 2, FromModule: 0}
    layers |= {TwoLayerLearner: 1, ThreeLayerLearner: 2}
    size = getattr(inner, "width", getattr(inner, "pairs", 0))
    assert network.footprint == (2 if isinstance(network, Linearised) else 1) * layers[type(inner)] * size


@every_network
@every_out_dim
def test_init_is_a_pure_function_of_the_stream(network, out_dim):
    before = torch.get_rng_state()
    params, buffers = network.init(IN_DIM, out_dim, Stream(3))
    again, buffers_again = network.init(IN_DIM, out_dim, Stream(3))
    assert same(params, again)
    assert same(buffers, buffers_again)
    for other in (Stream(4), Stream(3).child("other"), Stream(3 + 2**32)):
        assert not all(map(same, network.init(IN_DIM, out_dim, other), (params, buffers)))
    assert torch.equal(torch.get_rng_state(), before)


@every_network
@every_out_dim
@pytest.mark.parametrize("n", [0, 5])
def test_shapes(network, out_dim, n):
    """What was made for one size does not linger when another is asked for."""
    for in_dim in (2, IN_DIM, 3):
        params, buffers = network.init(in_dim, out_dim, Stream(0))
        out, after = network.apply(params, buffers, Stream(1).normal(n, in_dim))
        assert out.shape == (n, out_dim)
        assert out.dtype == torch.float32
        assert {name: value.shape for name, value in after.items()} == {k: v.shape for k, v in buffers.items()}
        assert not any(value.requires_grad for value in [*params.values(), *buffers.values()])


@every_network
@every_out_dim
@pytest.mark.parametrize("train", [False, True])
def test_apply_is_pure(network, out_dim, train):
    before = torch.get_rng_state()
    params, buffers = network.init(IN_DIM, out_dim, Stream(0))
    params, x = moved(params), Stream(1).normal(6, IN_DIM)
    given = copied(params), copied(buffers), x.clone()
    out, after = network.apply(params, buffers, x, train)
    again, after_again = network.apply(params, buffers, x, train)
    assert torch.equal(out, again)
    assert same(after, after_again)
    assert same(params, given[0])
    assert same(buffers, given[1])
    assert torch.equal(x, given[2])
    assert torch.equal(torch.get_rng_state(), before)


@every_network
def test_points_do_not_see_each_other(network):
    params, buffers = network.init(IN_DIM, 3, Stream(0))
    params, x = moved(params), Stream(1).normal(6, IN_DIM)
    whole = network.apply(params, buffers, x)[0]
    each = torch.cat([network.apply(params, buffers, x[i : i + 1])[0] for i in range(6)])
    assert torch.allclose(whole, each, rtol=1e-5, atol=1e-5)
    assert whole.std(0).min() > 1e-3


@every_network
def test_double_precision(network):
    params, buffers = network.init(IN_DIM, 3, Stream(0))
    params, x = moved(params), Stream(1).normal(6, IN_DIM)
    double = network.apply(*({k: v.double() for k, v in each.items()} for each in (params, buffers)), x.double())[0]
    assert double.dtype == torch.float64
    assert torch.allclose(network.apply(params, buffers, x)[0].double(), double, rtol=1e-5, atol=1e-5)


@every_network
@every_out_dim
def test_groups_name_parameters(network, out_dim):
    params, _ = network.init(IN_DIM, out_dim, Stream(0))
    groups = network.groups()
    assert network.trained("all", params) == tuple(params)
    assert network.trained("hidden", params) == groups["hidden"]
    assert sorted(groups["hidden"] + groups["last"]) == sorted(params)
    layers = [names for group, names in groups.items() if group not in ("hidden", "last")]
    if layers:  # each layer by its name, none twice
        assert sorted(itertools.chain(*layers)) == sorted(params)
    else:
        assert isinstance(inside(network), TwoLayer | FromModule)
    refused(r"^unknown parameter group 'hiden', did you mean hidden\?$", network.trained, "hiden", params)


@pytest.mark.parametrize("network", VMAPPED.values(), ids=VMAPPED.keys())
@every_out_dim
@pytest.mark.parametrize(("size", "in_dim", "n"), [(1, 1, 1), (3, 7, 31), (16, 16, 16), (50, 9, 101)])
def test_alone_and_in_company_bitwise(network, out_dim, size, in_dim, n):
    """Outputs and gradients, for sizes at which members begin anywhere in memory."""
    network = resized(network, size)

    def outputs(params: Tensors, buffers: Tensors, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = network.apply(params, buffers, x, train=True)[0]
        return (out - out.square()).sum(), out

    gradients = torch.func.vmap(torch.func.grad(outputs, has_aux=True))
    members = [network.init(in_dim, out_dim, Stream(seed)) for seed in range(5)]
    params = [moved(member[0], seed) for seed, member in enumerate(members)]
    buffers = [member[1] for member in members]
    x = Stream(9).normal(5, n, in_dim)
    gradient, out = gradients(stacked(params), stacked(buffers), x)
    assert out.shape == (5, n, out_dim)
    for i in range(5):
        alone, own = gradients(stacked(params[i : i + 1]), stacked(buffers[i : i + 1]), x[i : i + 1].clone())
        assert torch.equal(own[0], out[i])
        for name in alone:
            assert torch.equal(alone[name][0], gradient[name][i]), name
    plain = torch.stack([network.apply(p, b, z)[0] for p, b, z in zip(params, buffers, x, strict=True)])
    assert torch.allclose(plain, out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("network", [TwoLayer(4), FullyConnected(8), ThreeLayerResNet(8, "bottleneck")])
@pytest.mark.parametrize("rows", [slice(0, 1000), slice(1000, 1001)])
def test_rows_of_a_larger_sample_bitwise(network, rows):
    """The engine takes a batch in blocks of rows; members then begin at multiples of the whole sample's size."""
    apply = torch.func.vmap(lambda p, x: network.apply(p, {}, x[rows])[0])
    params = [moved(network.init(6, 1, Stream(seed))[0], seed) for seed in range(4)]
    x = Stream(9).normal(4, 1001, 6)
    together = apply(stacked(params), x)
    for i in range(4):
        assert torch.equal(apply(stacked(params[i : i + 1]), x[i : i + 1].clone())[0], together[i])


@every_network
@every_out_dim
def test_as_a_module(network, out_dim):
    """The same function, whose parameters receive the gradient."""
    x = Stream(1).normal(6, IN_DIM)
    params, buffers = network.init(IN_DIM, out_dim, Stream(5))
    module = NetworkModule(network, IN_DIM, out_dim, Stream(5))
    assert sum(p.numel() for p in module.parameters()) == sum(p.numel() for p in params.values())
    assert torch.equal(module(x), network.apply(params, buffers, x, train=True)[0])
    assert torch.equal(module.eval()(x), network.apply(params, buffers, x)[0])

    module(x).square().sum().backward()
    exact = torch.func.grad(lambda p: network.apply(p, buffers, x)[0].square().sum())(params)
    named = dict(module.named_parameters())
    assert named.keys() == {name.replace(".", "_") for name in params}
    for name, gradient in exact.items():
        received: Any = named[name.replace(".", "_")].grad
        assert torch.allclose(received, gradient, rtol=1e-5, atol=1e-6)


@every_network
def test_a_module_can_be_trained_and_saved(network):
    x, y = Stream(1).normal(20, IN_DIM), Stream(2).normal(20, 1)
    module = NetworkModule(network, IN_DIM, 1, Stream(5))
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimiser.zero_grad()
        loss = (module(x) - y).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    other = NetworkModule(network, IN_DIM, 1, Stream(6))
    assert not torch.equal(other(x), module(x))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x), module(x))


@every_network
def test_smoothed(network):
    """A closed form under noise, or a sentence."""
    params, buffers = network.init(IN_DIM, 1, Stream(0))
    inner = inside(network)
    if not isinstance(inner, TwoLayer):
        sentence = rf"^{type(inner).__name__} has no closed form under noise of std 0\.3; draw the noise"
        refused(sentence, network.smoothed, 0.3)
        return
    smooth = network.smoothed(0.3)
    assert type(smooth) is type(network)
    params, x = moved(params), torch.ones(2, IN_DIM)
    assert same(smooth.init(IN_DIM, 1, Stream(0))[0], network.init(IN_DIM, 1, Stream(0))[0])
    assert not torch.equal(smooth.apply(params, buffers, x)[0], network.apply(params, buffers, x)[0])


STANDARD = Parameterisation("standard")
GOLDEN: list[tuple[Network, dict[str, list[float]]]] = [
    (
        TwoLayer(2, initialisation=Symmetric(1, 1, 1)),
        {
            "hidden.weight": [-0.826192796, 0.291946024, 0.675330162, -0.149626195],
            "hidden.bias": [-0.4392263, -0.127437294],
            "output.weight": [1.754837155, -1.599843979],
        },
    ),
    (
        FullyConnected(2, depth=2, parameterisation=STANDARD),
        {"layer1.weight": [-2.064831018, 1.023210526], "output.weight": [1.240857244, -1.131260514]},
    ),
    (
        ThreeLayerResNet(2, "bottleneck", parameterisation=STANDARD),
        {"W.weight": [0.672677755], "V.weight": [0.151777014], "A.weight": [1.483189702]},
    ),
]


@pytest.mark.parametrize(("network", "drawn"), GOLDEN)
def test_golden_start(network, drawn):
    """These numbers may change only together with a revision."""
    assert type(network).revision == 1
    params, _ = network.init(2, 1, Stream(0))
    for name, numbers in drawn.items():
        assert params[name].flatten()[: len(numbers)].tolist() == pytest.approx(numbers, abs=1e-6)
