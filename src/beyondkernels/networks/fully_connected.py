"""Fully connected networks of any depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import torch

from beyondkernels.activations import Activation, activation
from beyondkernels.core import Shape, Stream, Tensors, require, size_of, vectors
from beyondkernels.core.constraints import between, positive
from beyondkernels.networks.base import Network
from beyondkernels.networks.dense import DenseForm
from beyondkernels.networks.parameterisation import Layer, Parameterisation


@dataclass(frozen=True)
class FullyConnected(Network):
    r"""Hidden layers of one width and a linear readout, without biases unless the parameterisation has them.

    .. math:: h_0 = x, \qquad h_l = \sigma(W_l h_{l-1} + b_l) \quad (l < L), \qquad f(x) = W_L h_{L-1} + b_L

    Layers are scaled as the parameterisation says.

    Arguments:
        width: the neurons of every hidden layer.
        depth: L, the number of weight matrices: a "three-layer network" has depth 3 and two hidden layers.
        activation: σ, an activation or its name.
        parameterisation: scales of weights and biases.
        readout: how the readout's weights start. ``normal`` draws normal numbers; ``signs`` takes plus or minus the
            standard deviation of those, with exactly half of each sign in every output.

    With balanced signs, the mean over the neurons cancels in the output. So the output starts with covariance Cov(σ(u),
    σ(u′)) instead of E[σ(u)σ(u′)]. Tangent kernels are the same for both.

    >>> params, _ = FullyConnected(width=4, depth=3).init(in_dim=5, out_dim=2, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'layer1.weight': (4, 5), 'layer2.weight': (4, 4), 'output.weight': (2, 4)}

    >>> standard = Parameterisation("standard")
    >>> params, _ = FullyConnected(4, 2, parameterisation=standard, readout="signs").init(5, 1, Stream(0))
    >>> params["output.weight"].sort().values
    tensor([[-0.5000, -0.5000,  0.5000,  0.5000]])

    Reference: Allen-Zhu & Li (resnet), §8.1, the networks "2layer" and "3layer"; §8.2 for the signs.
    """

    grows_by: ClassVar[str | None] = "width"

    width: Annotated[int, positive]
    depth: Annotated[int, between(2, 10_000)] = 3
    activation: Activation | str = "relu"
    parameterisation: Parameterisation = field(default_factory=Parameterisation)
    readout: Literal["normal", "signs"] = "normal"

    def __post_init__(self) -> None:
        if self.readout == "signs":
            require(self.width % 2 == 0, f"width must be even for a readout of half of each sign, got {self.width}")
        object.__setattr__(self, "activation", activation(self.activation))

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        params: Tensors = {}
        in_dim = size_of(in_dim)
        sizes = [in_dim, *[self.width] * (self.depth - 1), out_dim]
        for name, layer, columns, rows in zip(self._names(), self._layers(in_dim), sizes[:-1], sizes[1:], strict=True):
            params |= layer.draw(name, rows, columns, stream)
        if self.readout == "signs":
            last = self._layers(in_dim)[-1]
            std = 1.0 if last.kind == "ntk" else last.weight_variance**0.5
            params["output.weight"] = std * _balanced_signs(params["output.weight"])
        return params, {}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        sigma, h = activation(self.activation).value, vectors(x)
        *hidden, readout = zip(self._names(), self._layers(h.shape[-1]), strict=True)
        for name, layer in hidden:
            h = sigma(layer.apply(name, params, h))
        name, layer = readout
        return layer.apply(name, params, h), buffers

    def features(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        return self._layers(vectors(x).shape[-1])[-1].features(super().features(params, buffers, x))

    @property
    def footprint(self) -> int:
        return (self.depth - 1) * self.width

    def dense_form(self) -> DenseForm:
        scaled = self.parameterisation.kind == "ntk"
        return DenseForm("fully connected", tuple(self._names()), self.width, activation(self.activation), scaled)

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden``, ``last``, and each layer by its name."""
        layers = {name: self._parameters(name) for name in self._names()}
        hidden = tuple(parameter for name in self._names()[:-1] for parameter in layers[name])
        return {"hidden": hidden, "last": layers["output"], **layers}

    def _names(self) -> list[str]:
        return [*(f"layer{i}" for i in range(1, self.depth)), "output"]

    def _parameters(self, name: str) -> tuple[str, ...]:
        scales = self.parameterisation
        bias = scales.readout_bias_variance if name == "output" else scales.bias_variance
        return (f"{name}.weight",) if bias is None else (f"{name}.weight", f"{name}.bias")

    def _layers(self, in_dim: int) -> list[Layer]:
        scales = self.parameterisation
        middle = [scales.layer(self.width)] * (self.depth - 2)
        return [scales.layer(in_dim, of_inputs=True), *middle, scales.layer(self.width, readout=True)]


def _balanced_signs(drawn: torch.Tensor) -> torch.Tensor:
    """1 for the larger half of each row and −1 for the other half, so that every arrangement is equally likely."""
    half = drawn.shape[1] // 2
    return torch.full_like(drawn, -1.0).scatter_(1, drawn.argsort(1, descending=True)[:, :half], 1.0)
