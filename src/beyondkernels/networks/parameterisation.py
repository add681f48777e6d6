"""How the weights of a network are drawn and scaled. Gradient descent depends on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch

from beyondkernels.core import Component, Stream, Tensors, require
from beyondkernels.core.constraints import positive
from beyondkernels.networks.linear import linear


@dataclass(frozen=True)
class Parameterisation(Component):
    r"""Scales of weights and biases, as factors in the formula (``ntk``) or in the initial draw (``standard``).

    With :math:`p` the number of inputs of a layer, a layer maps h to

    .. math::
        \text{ntk:}\quad & \sqrt{v/p}\;W h + \sqrt{v_b}\;b, & W_{ij},\, b_i \sim N(0, 1) \\
        \text{standard:}\quad & W h + b, & W_{ij} \sim N(0, v/p),\ b_i \sim N(0, v_b)

    Both start as the same random function. Their gradients differ, and so do their tangent kernels.

    Arguments:
        kind: ``ntk`` or ``standard``.
        weight_variance: v of the hidden layers; with ReLU, 2 keeps signals at the same size from layer to layer.
        bias_variance: :math:`v_b` of the hidden layers; None for no biases.
        readout_variance: v of the last layer.
        readout_bias_variance: :math:`v_b` of the last layer; None for no bias.
        input_fan_in: replaces p for layers that do not follow a hidden layer. With 1, inputs of length one give
            pre-activations of variance v. None for p itself.

    >>> print(Parameterisation(bias_variance=0.1))
    ntk parameterisation: hidden weights 2/p, hidden biases 0.1, readout weights 1/p, no readout bias
    """

    example: ClassVar[str] = "Parameterisation(kind='ntk')"

    kind: Literal["ntk", "standard"] = "ntk"
    weight_variance: Annotated[float, positive] = 2.0
    bias_variance: float | None = None
    readout_variance: Annotated[float, positive] = 1.0
    readout_bias_variance: float | None = None
    input_fan_in: Annotated[int, positive] | None = None

    def __post_init__(self) -> None:
        for name in ("bias_variance", "readout_bias_variance"):
            value = getattr(self, name)
            if value is not None and self.kind == "ntk":
                require(value > 0, f"{name} must be positive (None for no biases), got {value}")
            elif value is not None:
                require(value >= 0, f"{name} must not be negative (None for no biases), got {value}")

    def __str__(self) -> str:
        def biases(variance: float | None, name: str) -> str:
            return f"no {name}" if variance is None else f"{name} {variance:g}"

        first = f", input fan-in {self.input_fan_in}" if self.input_fan_in is not None else ""
        return (
            f"{self.kind} parameterisation: hidden weights {self.weight_variance:g}/p, "
            f"{biases(self.bias_variance, 'hidden biases')}, readout weights {self.readout_variance:g}/p, "
            f"{biases(self.readout_bias_variance, 'readout bias')}{first}"
        )

    def layer(self, fan_in: int, *, readout: bool = False, of_inputs: bool = False) -> Layer:
        """The scales of one layer.

        Arguments:
            fan_in: p, how many numbers enter it.
            readout: whether it is the last layer.
            of_inputs: whether the layer does not follow a hidden layer.
        """
        p = self.input_fan_in if of_inputs and self.input_fan_in is not None else fan_in
        variance = self.readout_variance if readout else self.weight_variance
        bias = self.readout_bias_variance if readout else self.bias_variance
        return Layer(self.kind, variance / p, bias)


@dataclass(frozen=True)
class Layer:
    """One linear layer: the variances of its weights and of its biases (None for no biases)."""

    kind: Literal["ntk", "standard"]
    weight_variance: float
    bias_variance: float | None

    def draw(self, name: str, rows: int, columns: int, stream: Stream) -> Tensors:
        """``<name>.weight`` (rows, columns) and, where there are biases, ``<name>.bias`` (rows,)."""
        scale = 1.0 if self.kind == "ntk" else self.weight_variance**0.5
        drawn = {f"{name}.weight": scale * stream.child(f"{name}.weight").normal(rows, columns)}
        if self.bias_variance is not None:
            scale = 1.0 if self.kind == "ntk" else self.bias_variance**0.5
            drawn[f"{name}.bias"] = scale * stream.child(f"{name}.bias").normal(rows)
        return drawn

    def apply(self, name: str, params: Tensors, h: torch.Tensor) -> torch.Tensor:
        """The layer's output (n, rows) for its input (n, columns)."""
        weight, bias = params[f"{name}.weight"], params.get(f"{name}.bias")
        if self.kind == "standard":
            return linear(h, weight, bias)
        return linear(h * self.weight_variance**0.5, weight, bias, (self.bias_variance or 0.0) ** 0.5)

    def features(self, inputs: torch.Tensor) -> torch.Tensor:
        """The inputs and the constant input of the bias, scaled so that inner products are output covariances."""
        if self.kind == "ntk":
            return inputs  # scaled already
        scales = inputs.new_full((inputs.shape[1],), self.weight_variance**0.5)
        if self.bias_variance is not None:
            scales[-1] = self.bias_variance**0.5
        return inputs * scales

    @property
    def weight_gain(self) -> float:
        """The factor of ⟨h, h′⟩ in the tangent kernel of this layer's weights."""
        return self.weight_variance if self.kind == "ntk" else 1.0

    @property
    def bias_gain(self) -> float:
        """The contribution of the layer's biases to its tangent kernel."""
        if self.bias_variance is None:
            return 0.0
        return self.bias_variance if self.kind == "ntk" else 1.0
