"""The formula of a network of dense layers, as data for the compiled steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from beyondkernels.activations import Activation

DenseKind = Literal["fully connected", "full", "bottleneck"]


@dataclass(frozen=True)
class DenseForm:
    r"""A network whose prediction is one of

    .. math::
        \text{fully connected:}\quad & A\,\sigma(W_l \cdots \sigma(W_1 x + b_1) \cdots + b_l) + c \\
        \text{full:}\quad & A\,\bigl(h + \sigma(W_2 h + b_2)\bigr), & h = \sigma(W_1 x + b_1) \\
        \text{bottleneck:}\quad & h + A\,\sigma(W_2 h + b_2), & h = A\,\sigma(W_1 x + b_1)

    Arguments:
        kind: which of them.
        layers: the names of the layers, from the input to the readout. A layer ``W`` has the parameters ``W.weight``
            and, where it has biases, ``W.bias``.
        width: the neurons of every hidden layer.
        activation: σ.
        scaled: whether weights are multiplied by a number before they are used (the ``ntk`` parameterisation).
        linearised: whether parameters are a displacement from ``at.W.weight`` and so on in the buffers, and the
            prediction is the first-order expansion there.
        names: the names of each layer's weights and biases, where they are others. A tensor among the buffers is not
            trained.
    """  # noqa: D415 - the sentence ends in a formula

    kind: DenseKind
    layers: tuple[str, ...]
    width: int
    activation: Activation
    scaled: bool = False
    linearised: bool = False
    names: tuple[tuple[str, str], ...] = ()

    @property
    def tensors(self) -> tuple[tuple[str, str], ...]:
        """The names of the weights and of the biases, layer by layer."""
        return self.names or tuple((f"{layer}.weight", f"{layer}.bias") for layer in self.layers)
