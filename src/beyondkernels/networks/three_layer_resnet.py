"""The three-layer residual network of the paper on ResNets and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import torch

from beyondkernels.activations import Activation, activation
from beyondkernels.core import Shape, Stream, Tensors, require, size_of, vectors
from beyondkernels.core.constraints import positive
from beyondkernels.core.errors import shown
from beyondkernels.networks.base import Network
from beyondkernels.networks.dense import DenseForm
from beyondkernels.networks.parameterisation import Layer, Parameterisation


@dataclass(frozen=True)
class ThreeLayerResNet(Network):
    r"""Two hidden layers with a skip connection, and one readout matrix.

    .. math::
        \text{full:}\quad & \mathrm{out}(x) = A\,\bigl(h_1 + \sigma(U h_1 + b_2)\bigr), & h_1 = \sigma(W x + b_1) \\
        \text{bottleneck:}\quad & \mathrm{out}(x) = \mathrm{out}_1(x) + A\,\sigma(V\,\mathrm{out}_1(x) + b_2), &
        \mathrm{out}_1(x) = A\,\sigma(W x + b_1)

    The bottleneck form is the full form with :math:`U = VA`. Layers are scaled as the parameterisation says; V's
    inputs are not a hidden layer.

    Arguments:
        width: m, the neurons of both hidden layers.
        form: ``full`` or ``bottleneck``.
        activation: σ, an activation or its name.
        parameterisation: scales of weights and biases; the readout A has no bias.
        second: scales of V and its biases, if they differ from those of W; None for the same scales. Only for the
            bottleneck form in the standard parameterisation, where scales affect the initial draw alone.

    >>> params, _ = ThreeLayerResNet(width=4, form="bottleneck").init(in_dim=5, out_dim=2, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'W.weight': (4, 5), 'V.weight': (4, 2), 'A.weight': (2, 4)}

    Reference: Allen-Zhu & Li (resnet), eq. (2.1) and §6.
    """

    grows_by: ClassVar[str | None] = "width"

    width: Annotated[int, positive]
    form: Literal["full", "bottleneck"] = "full"
    activation: Activation | str = "relu"
    parameterisation: Parameterisation = field(default_factory=Parameterisation)
    second: Parameterisation | None = None

    def __post_init__(self) -> None:
        require(
            self.parameterisation.readout_bias_variance is None,
            "readout_bias_variance must be None: the readout of the three-layer ResNet has no bias",
        )
        if self.second is not None:
            self._require_second(self.second)
        object.__setattr__(self, "activation", activation(self.activation))

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        m, in_dim = self.width, size_of(in_dim)
        W, second, A = self._layers(in_dim, out_dim)
        name, columns = self._second(out_dim)
        return (
            W.draw("W", m, in_dim, stream) | second.draw(name, m, columns, stream) | A.draw("A", out_dim, m, stream),
            {},
        )

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        sigma, x = activation(self.activation).value, vectors(x)
        W, second, A = self._layers(x.shape[-1], params["A.weight"].shape[-2])
        h1 = sigma(W.apply("W", params, x))
        if self.form == "full":
            return A.apply("A", params, h1 + sigma(second.apply("U", params, h1))), buffers
        out1 = A.apply("A", params, h1)
        return out1 + A.apply("A", params, sigma(second.apply("V", params, out1))), buffers

    def features(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        readout = self._layers(vectors(x).shape[-1], params["A.weight"].shape[-2])[-1]
        return readout.features(super().features(params, buffers, x))

    @property
    def footprint(self) -> int:
        return 2 * self.width

    def dense_form(self) -> DenseForm:
        scaled, second = self.parameterisation.kind == "ntk", "U" if self.form == "full" else "V"
        return DenseForm(self.form, ("W", second, "A"), self.width, activation(self.activation), scaled)

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden``, ``last``, and each matrix by its letter."""
        second = "U" if self.form == "full" else "V"
        biased = self.parameterisation.bias_variance is not None
        layers = {name: (f"{name}.weight", f"{name}.bias") if biased else (f"{name}.weight",) for name in ("W", second)}
        return {"hidden": layers["W"] + layers[second], "last": ("A.weight",), **layers, "A": ("A.weight",)}

    def _second(self, out_dim: int) -> tuple[str, int]:
        """The second layer's letter, and how many numbers enter it."""
        return ("U", self.width) if self.form == "full" else ("V", out_dim)

    def _layers(self, in_dim: int, out_dim: int) -> tuple[Layer, Layer, Layer]:
        scales, second = self.parameterisation, self.second or self.parameterisation
        return (
            scales.layer(in_dim, of_inputs=True),
            second.layer(self._second(out_dim)[1], of_inputs=self.form == "bottleneck"),
            scales.layer(self.width, readout=True),
        )

    def _require_second(self, second: Parameterisation) -> None:
        require(self.form == "bottleneck", f"second is for the bottleneck form, got form={shown(self.form)}")
        for name, scales in (("parameterisation", self.parameterisation), ("second", second)):
            require(
                scales.kind == "standard", f"{name} must be of kind 'standard' beside second, got {shown(scales.kind)}"
            )
        require(
            (second.bias_variance is None) == (self.parameterisation.bias_variance is None),
            "parameterisation and second must both have biases or both have none, "
            f"got {self.parameterisation.bias_variance} and {second.bias_variance}",
        )
