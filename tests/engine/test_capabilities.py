"""A user's network declares what can be done with it: a compiled step, kernels, a limit, a size to grow by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
import torch

from beyondkernels.activations import Activation, ReLU, Tanh
from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import Shape, Stream, Tensors, size_of
from beyondkernels.engine import Member, TrainedNetwork
from beyondkernels.engine.compiled import refusal
from beyondkernels.kernels import InfiniteTangent, infinite_conjugate, infinite_tangent
from beyondkernels.learning import fit
from beyondkernels.networks import (
    DenseForm,
    FromModule,
    FullyConnected,
    Linearised,
    Network,
    Parameterisation,
    ThreeLayerResNet,
    TwoLayer,
    declared_form,
    linear,
)
from beyondkernels.papers.resnet.problems import CompositeParity
from refusals import refused
from stepping import finished, started

PROBLEM = CompositeParity(8, 4, 0.3)
SAMPLE = PROBLEM.sample(40, Stream(0))
RULE = GradientDescent(30, 0.01, 10, 0.9, 0.01, loss=Squared())


@dataclass(frozen=True)
class Small(Network):
    """c·σ(Mx + b), by a user: names and a start of its own, and all that it can do declared."""

    grows_by: ClassVar[str | None] = "neurons"

    neurons: int
    sigma: Activation = ReLU()  # noqa: RUF009 - frozen

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        draw = lambda name, *shape: stream.child(name).uniform(*shape) - 0.5  # noqa: E731
        first = {"in.weight": draw("M", self.neurons, size_of(in_dim)), "in.bias": draw("b", self.neurons)}
        return first | {"out.weight": draw("c", out_dim, self.neurons)}, {}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        hidden = self.sigma.value(linear(x, params["in.weight"], params["in.bias"]))
        return linear(hidden, params["out.weight"]), buffers

    def dense_form(self) -> DenseForm | None:
        return DenseForm("fully connected", ("in", "out"), self.neurons, self.sigma)

    @property
    def footprint(self) -> int:
        return self.neurons

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        return {"hidden": ("in.weight", "in.bias"), "last": ("out.weight",)}


@dataclass(frozen=True)
class Doubled(Small):
    """Computes something else, and does not say what."""

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        out, buffers = super().apply(params, buffers, x, train)
        return 2 * out, buffers


@infinite_tangent.register
def _(network: Small, group: str = "all") -> InfiniteTangent:
    return InfiniteTangent(2, network.sigma, Parameterisation("standard", bias_variance=1 / 12), group, network.neurons)


def trained(network: Network, backend: Any, rule: GradientDescent = RULE) -> Member:
    return finished(started(network, rule, SAMPLE, Stream(3), backend))


@pytest.mark.parametrize("network", [Small(10), Linearised(Small(10))], ids=["itself", "linearised"])
@pytest.mark.parametrize("group", ["all", "hidden", "last"])
def test_the_compiled_step(network, group):
    assert refusal(network, RULE) is None
    compiled, eager = (trained(network, backend, replace(RULE, group=group)) for backend in ("compiled", "eager"))
    assert compiled.params.keys() == eager.params.keys()
    for name, value in eager.params.items():
        torch.testing.assert_close(compiled.params[name], value, rtol=1e-4, atol=1e-6)
    start = network.init(8, 4, Stream(3).child("initial"))[0]
    moved = {name for name, value in compiled.params.items() if not torch.equal(value, start[name])}
    assert moved == set(network.trained(group, start))


def test_what_is_not_declared_is_refused():
    odd = Doubled(5)
    assert declared_form(odd) is None
    assert declared_form(Linearised(odd)) is None
    for network in (odd, Linearised(odd)):
        refused("networks that declare a dense_form, not Doubled", TrainedNetwork, network, RULE, backend="compiled")
    refused(r"it knows the ReLU only, not Tanh\(\)", TrainedNetwork, Small(5, Tanh()), RULE, backend="compiled")


def test_what_would_fit_into_memory():
    wide = TrainedNetwork(Small(3_000_000), RULE, memory=2**28)
    refused(r"^neurons=3000000 needs \S+ \wiB, memory allows 256 MiB: neurons \d+0000 wou", fit, wide, PROBLEM, n=40)
    assert Linearised(Small(4)).resized(9) == Linearised(Small(9))
    assert (Linearised(Small(4)).size, Linearised(Small(4)).grows_by) == (4, "neurons")


def make(in_dim: int, out_dim: int) -> torch.nn.Module:
    return torch.nn.Linear(in_dim, out_dim)


@pytest.mark.parametrize(
    ("network", "kind", "layers", "grows_by", "structured"),
    [
        (FullyConnected(6, 3), "fully connected", ("layer1", "layer2", "output"), "width", True),
        (ThreeLayerResNet(6), "full", ("W", "U", "A"), "width", True),
        (ThreeLayerResNet(6, "bottleneck"), "bottleneck", ("W", "V", "A"), "width", True),
        (Linearised(ThreeLayerResNet(6)), "full", ("W", "U", "A"), "width", True),
        (TwoLayer(6), None, None, "pairs", True),
        (FromModule(make, "line"), None, None, None, False),
        (Linearised(FromModule(make, "line")), None, None, None, False),
    ],
    ids=lambda value: getattr(type(value), "__name__", ""),
)
def test_what_the_networks_of_the_package_declare(network, kind, layers, grows_by, structured):
    form = declared_form(network)
    assert (form.kind, form.layers) == (kind, layers) if form else kind is None
    if form:
        assert form.linearised == isinstance(network, Linearised)
        params = network.init(5, 2, Stream(0))[0]
        assert [name.partition(".")[0] for name in params if name.endswith(".weight")] == list(layers)
        assert params[f"{layers[0]}.weight"].shape == (form.width, 5)
    assert (network.grows_by, network.structured) == (grows_by, structured)
    assert network.size == (None if grows_by is None else 6)
    if grows_by:
        assert network.resized(8).size == 8


def test_the_limit():
    limit = infinite_tangent(Small(50), "all")
    assert isinstance(limit, InfiniteTangent)
    assert (limit.depth, limit.width) == (2, 50)
    refused(r"network must be a FullyConnected network or .* got Small", infinite_conjugate, Small(50))
