"""Finite-width kernels entry by entry against automatic differentiation, whatever the blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pytest
import torch

from beyondkernels.core import InputError, Stream, Tensors, build, describe, digest
from beyondkernels.kernels.finite import blocks, factors
from beyondkernels.kernels.finite.functional import (
    conjugate_features,
    conjugate_gram,
    module_tangent_gram,
    tangent_gram,
)
from beyondkernels.kernels.finite.gram import FiniteConjugate, FiniteTangent
from beyondkernels.kernels.finite.memory import peak_bytes
from beyondkernels.networks import (
    FromModule,
    FullyConnected,
    Linearised,
    Network,
    Parameterisation,
    ThreeLayerResNet,
    TwoLayer,
)
from refusals import refused, told

D, K = 5, 3
BIASED = Parameterisation("standard", bias_variance=0.3, readout_bias_variance=0.2)
SCALED = Parameterisation("ntk", 1.7, bias_variance=0.3, readout_variance=0.8, readout_bias_variance=0.2)
NO_READOUT_BIAS = Parameterisation("ntk", 1.7, bias_variance=0.3)


def perceptron(in_dim: int, out_dim: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(in_dim, 6), torch.nn.Tanh(), torch.nn.Linear(6, out_dim))


NETWORKS: dict[str, Network] = {
    "two layers": FullyConnected(width=7, depth=2),
    "three layers": FullyConnected(width=7, depth=3, parameterisation=BIASED),
    "four layers": FullyConnected(width=6, depth=4, parameterisation=SCALED),
    "wide enough not to be padded": FullyConnected(width=16, depth=3),
    "resnet": ThreeLayerResNet(width=6, parameterisation=NO_READOUT_BIAS),
    "bottleneck": ThreeLayerResNet(width=6, form="bottleneck", parameterisation=NO_READOUT_BIAS),
    "bottleneck, standard": ThreeLayerResNet(width=5, form="bottleneck", parameterisation=Parameterisation("standard")),
    "pairs": TwoLayer(pairs=4),
    "linearised": Linearised(FullyConnected(width=6, depth=3, parameterisation=SCALED)),
    "module": FromModule(perceptron, "perceptron", {"hidden": ("0.weight", "0.bias"), "last": ("2.weight", "2.bias")}),
}  # fmt: skip


def drawn(network: Network, out_dim: int = K) -> tuple[Tensors, Tensors]:
    params, buffers = network.init(D, out_dim, Stream(1))
    return {name: value.double() for name, value in params.items()}, {
        name: value.double() for name, value in buffers.items()
    }


def batch(n: int, name: str = "x", d: int = D) -> torch.Tensor:
    return Stream(2).child(name).normal(n, d, dtype=torch.float64)


def literal(network: Network, params: Tensors, buffers: Tensors, names, x1, x2) -> torch.Tensor:
    """⟨∇f_c(x), ∇f_c'(x')⟩ pair by pair, each gradient by one backward pass at one point."""

    def gradients(x: torch.Tensor) -> list[list[torch.Tensor]]:
        found = []
        for point in x:
            leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
            wanted = [leaves[name] for name in names]
            out = network.apply(leaves, buffers, point[None])[0][0]
            parts = [torch.autograd.grad(f, wanted, retain_graph=True, materialize_grads=True) for f in out]
            found.append([torch.cat([gradient.flatten() for gradient in part]) for part in parts])
        return found

    first, second = gradients(x1), gradients(x2)
    return torch.tensor(
        [[[[float(a @ b) for b in there] for a in here] for there in second] for here in first], dtype=torch.float64
    )


def same(value: torch.Tensor, truth: torch.Tensor, relative: float = 1e-12) -> bool:
    return bool((value - truth).abs().max() <= relative * truth.abs().max())


@pytest.mark.parametrize("group", ["all", "hidden", "last"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_entry_against_gradients_point_by_point(name, group):
    network = NETWORKS[name]
    params, buffers = drawn(network)
    x1, x2 = batch(4), batch(3, "other")
    truth = literal(network, params, buffers, network.trained(group, params), x1, x2)
    square = literal(network, params, buffers, network.trained(group, params), x1, x1)
    assert same(tangent_gram(network, params, buffers, x1, x2, group=group, outputs="full"), truth)
    assert same(tangent_gram(network, params, buffers, x1, group=group, outputs="full"), square)
    mean = torch.stack([truth[:, :, c, c] for c in range(K)]).mean(0)
    assert same(tangent_gram(network, params, buffers, x1, x2, group=group), mean)
    mean = torch.stack([square[:, :, c, c] for c in range(K)]).mean(0)
    assert same(tangent_gram(network, params, buffers, x1, group=group), mean)


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "module"])
def test_networks_of_the_package_take_the_structured_route(name, monkeypatch):
    def refuse(*_):
        raise AssertionError("a Jacobian was formed")

    monkeypatch.setattr(factors.JacobianGradient, "at", refuse)
    network = NETWORKS[name]
    params, buffers = drawn(network)
    assert tangent_gram(network, params, buffers, batch(3), outputs="full").shape == (3, 3, K, K)


@pytest.mark.parametrize("outputs", ["traced", "full"])
@pytest.mark.parametrize("name", ["three layers", "bottleneck", "module"])
def test_blocks_of_any_size_give_one_value(name, outputs):
    network = NETWORKS[name]
    params, buffers = drawn(network)
    x1, x2 = batch(23), batch(11, "other")
    enough = _least(network, params, buffers, x1, x2, outputs)
    whole = tangent_gram(network, params, buffers, x1, x2, outputs=outputs)
    square = tangent_gram(network, params, buffers, x1, outputs=outputs)
    least = _least(network, params, buffers, x1, None, outputs)
    for factor in (1.0, 1.05, 1.3, 2.0, 5.0):
        value = tangent_gram(network, params, buffers, x1, x2, outputs=outputs, memory=math.ceil(enough * factor))
        assert ((value - whole).abs() <= 1e-12 * whole.abs().max()).all()
        value = tangent_gram(network, params, buffers, x1, outputs=outputs, memory=math.ceil(least * factor))
        assert ((value - square).abs() <= 1e-12 * square.abs().max()).all()
        assert (value - (value.T if outputs == "traced" else value.permute(1, 0, 3, 2))).abs().max() == 0


def _least(network, params, buffers, x1, x2, outputs) -> int:
    """The smallest budget, read off the refusal."""
    return told("memory must be at least", tangent_gram, network, params, buffers, x1, x2, outputs=outputs, memory=1)


def convolution(in_dim: int, out_dim: int) -> torch.nn.Module:
    side = math.isqrt(in_dim // 3)
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (3, side, side)),
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * (side - 4) ** 2, out_dim),
    )


@pytest.mark.parametrize(
    "network",
    [
        FullyConnected(width=64, depth=3),
        FullyConnected(width=32, depth=8, parameterisation=BIASED),
        ThreeLayerResNet(width=48, form="bottleneck"),
        FromModule(convolution, "convolution"),
    ],
    ids=["three layers", "eight layers", "bottleneck", "module"],
)
def test_the_budget_is_kept(network):
    params, buffers = network.init(192, 4, Stream(0))
    x = batch(14, d=192)

    def full(memory: int) -> torch.Tensor:
        return tangent_gram(network, params, buffers, x, outputs="full", memory=memory)

    def traced(memory: int) -> torch.Tensor:
        return tangent_gram(network, params, buffers, x, memory=memory)

    def conjugate(memory: int) -> torch.Tensor:
        return conjugate_gram(network, params, buffers, x, memory=memory)

    for gram in (full, traced, conjugate):
        budget = int(1.3 * told("at least", gram, 1))
        assert peak_bytes(lambda gram=gram, budget=budget: gram(budget)) <= budget


@dataclass(frozen=True)
class Wayward(FullyConnected):
    """A network whose first weights enter a second time, past ``linear``."""

    def apply(self, params, buffers, x, train=False):
        out, buffers = super().apply(params, buffers, x, train)
        return out + torch.tanh(x @ params["layer1.weight"].mT).sum(-1, keepdim=True), buffers


@dataclass(frozen=True)
class Crossed(FullyConnected):
    """One bias for both hidden layers."""

    def apply(self, params, buffers, x, train=False):
        return super().apply(params | {"layer2.bias": params["layer1.bias"]}, buffers, x, train)


@pytest.mark.parametrize("first", [1.0, 0.0], ids=["any", "zero first"])
@pytest.mark.parametrize("kind", [Wayward, Crossed])
def test_networks_that_use_parameters_otherwise_are_noticed(kind, first):
    network = kind(width=6, depth=3, parameterisation=BIASED)
    params, buffers = drawn(network)
    x = batch(4)
    x[0] *= first  # where gradients vanish, every route agrees
    truth = literal(network, params, buffers, tuple(params), x, x)
    assert same(tangent_gram(network, params, buffers, x, outputs="full"), truth)


def test_single_precision_is_there_for_those_who_ask():
    network = NETWORKS["wide enough not to be padded"]
    params, buffers = drawn(network)
    x = batch(6)
    single = tangent_gram(network, params, buffers, x, dtype=torch.float32)
    assert single.dtype == torch.float32
    assert same(single.double(), tangent_gram(network, params, buffers, x), 1e-5)


@pytest.mark.parametrize("name", ["two layers", "four layers", "resnet", "pairs", "linearised", "module"])
def test_the_conjugate_kernel_is_the_last_layers_tangent_kernel(name):
    network = NETWORKS[name]
    params, buffers = drawn(network)
    x1, x2 = batch(5), batch(3, "other")
    gram = conjugate_gram(network, params, buffers, x1, x2)
    assert same(gram, tangent_gram(network, params, buffers, x1, x2, group="last"))
    features = conjugate_features(network, params, buffers, x1)
    assert same(features @ features.T, conjugate_gram(network, params, buffers, x1))


def test_the_conjugate_kernel_is_the_outputs_covariance_in_either_parameterisation():
    """Readouts drawn anew, thousands of them as so many outputs of one network, within five standard errors."""
    for scales in (BIASED, SCALED):
        network = FullyConnected(width=6, depth=3, parameterisation=scales)
        params, buffers = drawn(network, out_dim=20_000)
        x = batch(3)
        out = network.apply(params, buffers, x)[0]
        products = out[:, None] * out[None]
        error = products.std(-1) / math.sqrt(out.shape[1])
        assert ((products.mean(-1) - conjugate_gram(network, params, buffers, x)).abs() <= 5 * error).all()


def test_the_conjugate_kernel_is_not_the_outputs_covariance_over_balanced_signs():
    """All 20 readouts of six signs, three of each: they take the mean over the neurons out."""
    network = FullyConnected(width=6, depth=3, readout="signs")
    params, buffers = drawn(network)
    x = batch(3)
    gram = conjugate_gram(network, params, buffers, x)
    mean = conjugate_features(network, params, buffers, x).mean(1)
    covariance = torch.zeros(3, 3, dtype=x.dtype)
    for positive in itertools.combinations(range(6), 3):
        signs = torch.tensor([[1.0 if i in positive else -1.0 for i in range(6)]], dtype=x.dtype)
        f = network.apply(params | {"output.weight": signs}, buffers, x)[0][:, 0]
        covariance += torch.outer(f, f) / 20
    assert same(covariance, (gram - 6 * torch.outer(mean, mean)) * 6 / 5)
    assert not same(covariance, gram)


def test_the_bottlenecks_features_hold_the_inner_readout_fixed():
    network = NETWORKS["bottleneck, standard"]
    params, buffers = drawn(network)
    x = batch(4)
    W, V, A = (params[f"{name}.weight"] for name in "WVA")
    h1 = torch.relu(x @ W.T)
    features = conjugate_features(network, params, buffers, x)
    assert same(features, (h1 + torch.relu(h1 @ A.T @ V.T)) / math.sqrt(5))


def test_kernels_draw_their_network_from_their_seed():
    network = FullyConnected(width=8, depth=3)
    x1, x2 = batch(5), batch(3, "other")
    kernel = FiniteTangent(network, seed=4, out_dim=2)
    params, buffers = network.init(D, 2, Stream(4).child("network"))
    assert same(kernel(x1, x2), tangent_gram(network, params, buffers, x1, x2))
    assert same(kernel.full(x1), tangent_gram(network, params, buffers, x1, outputs="full"))
    assert same(kernel.diagonal(x1), kernel(x1).diagonal())
    assert not same(FiniteTangent(network, seed=5, out_dim=2)(x1), kernel(x1), 1e-3)
    features = FiniteConjugate(network, seed=4)
    assert same(features(x1, x2), features.features(x1) @ features.features(x2).T)
    assert same(features.diagonal(x1), features(x1).diagonal())
    for one in (kernel, features):
        assert build(describe(one)) == one
    assert digest(FiniteTangent(network, memory=10)) == digest(FiniteTangent(network))


class TestBadInput:
    network = FullyConnected(width=4, depth=2)

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_numbers_that_are_not_finite(self, bad):
        params, buffers = drawn(self.network)
        x = batch(3)
        x[1, 2] = bad
        refused("x1 must be finite, got 1 infinite or NaN entries", tangent_gram, self.network, params, buffers, x)
        refused("x2 must be finite", conjugate_gram, self.network, params, buffers, batch(3), x)

    def test_parameters_that_are_not_finite(self):
        params, buffers = drawn(self.network)
        params["layer1.weight"][0, 0] = math.nan
        with pytest.raises(InputError, match=r"params\['layer1.weight'\] must be finite, got 1"):
            tangent_gram(self.network, params, buffers, batch(3))

    def test_words(self):
        params, buffers = drawn(self.network)
        with pytest.raises(InputError, match="outputs must be 'traced' or 'full', got 'both'"):
            tangent_gram(self.network, params, buffers, batch(2), outputs="both")  # pyright: ignore[reportArgumentType]
        refused("parameter group 'hiden', did", tangent_gram, self.network, params, buffers, batch(2), group="hiden")
        refused("points on both sides, got 0 and 0", tangent_gram, self.network, params, buffers, batch(0))
        refused(r"x1 must have shape \(n, in_dim\)", tangent_gram, self.network, params, buffers, batch(2)[0])

    def test_modules(self):
        module = torch.nn.Linear(5, 2)
        refused("Linear cannot be applied to points of shape 4: ", module_tangent_gram, module, batch(2, d=4))
        refused("parameters must name at least one of", module_tangent_gram, module, batch(2), parameters=[])
        module.requires_grad_(False)
        refused("Linear has no parameter that requires a gradient", module_tangent_gram, module, batch(2))
        advice = (
            r"got FullyConnected\(.*; for a network take TangentAt\(network, params, buffers\) or FiniteTangent\(net"
        )
        refused(advice, module_tangent_gram, cast(torch.nn.Module, self.network), batch(2))

    def test_no_last_layer(self):
        @dataclass(frozen=True)
        class Headless(FullyConnected):
            def groups(self) -> Mapping[str, tuple[str, ...]]:
                return {"last": ()}

        network = Headless(width=4)
        refused("Headless has no linear layer in its group 'last'", conjugate_gram, network, *drawn(network), batch(2))


def test_single_layers_add_up_to_all():
    network = NETWORKS["four layers"]
    params, buffers = drawn(network)
    x = batch(4)
    layers = ["layer1", "layer2", "layer3", "output"]
    parts = [tangent_gram(network, params, buffers, x, group=layer, outputs="full") for layer in layers]
    assert same(sum(parts[1:], parts[0]), tangent_gram(network, params, buffers, x, outputs="full"))


@pytest.mark.parametrize("outputs", ["traced", "full"])
def test_tiles_of_any_size_give_one_value(outputs, monkeypatch):
    network = NETWORKS["bottleneck"]
    params, buffers = drawn(network)
    x = batch(23)
    whole = tangent_gram(network, params, buffers, x, outputs=outputs)
    for tile in (1, 6, 40):
        monkeypatch.setattr(blocks, "_TILE", tile)
        value = tangent_gram(network, params, buffers, x, outputs=outputs)
        assert ((value - whole).abs() <= 1e-12 * whole.abs().max()).all()
