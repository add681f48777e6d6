"""The two-layer network of the feature-learning paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch

from beyondkernels.activations import Activation, activation
from beyondkernels.core import Shape, Stream, Tensors, size_of, vectors
from beyondkernels.core.constraints import positive
from beyondkernels.networks.base import Network
from beyondkernels.networks.initialisation import Initialisation, initialisation
from beyondkernels.networks.linear import linear


@dataclass(frozen=True)
class TwoLayer(Network):
    r"""A hidden layer of 2·pairs neurons and a linear readout.

    .. math:: g(x) = \sum_{i=1}^{2m} a_i\, \sigma(\langle w_i, x\rangle + b_i)

    If there is a buffer ``noise`` of shape (n, 2m), it is added to the pre-activations. It holds the drawn ξ of eq.
    (3).

    Arguments:
        pairs: m, half the number of neurons.
        activation: σ, an activation or its name.
        initialisation: how the weights start, an initialisation or ``"symmetric"``.

    >>> params, buffers = TwoLayer(pairs=3).init(in_dim=5, out_dim=1, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'hidden.weight': (6, 5), 'hidden.bias': (6,), 'output.weight': (1, 6)}

    Reference: Shi, Wei & Liang (features), §3.1, eq. (2).
    """

    grows_by: ClassVar[str | None] = "pairs"

    pairs: Annotated[int, positive]
    activation: Activation | str = "truncated_relu"
    initialisation: Initialisation | str = "symmetric"

    def __post_init__(self) -> None:
        # Names become what they stand for, so that both spellings are one network with one run key.
        object.__setattr__(self, "activation", activation(self.activation))
        object.__setattr__(self, "initialisation", initialisation(self.initialisation))

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        return initialisation(self.initialisation).draw(self.pairs, size_of(in_dim), out_dim, stream), {}

    def apply(
        self,
        params: Tensors,
        buffers: Tensors,
        x: torch.Tensor,
        train: bool = False,
    ) -> tuple[torch.Tensor, Tensors]:
        return linear(self.hidden(params, buffers, x), params["output.weight"]), buffers

    def hidden(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> torch.Tensor:
        """The neurons' outputs (n, 2·pairs)."""
        z = linear(vectors(x), params["hidden.weight"], params["hidden.bias"])
        return activation(self.activation).value(z + buffers["noise"] if "noise" in buffers else z)

    @property
    def footprint(self) -> int:
        return 2 * self.pairs

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden``: weights and biases of the neurons; ``last``: the readout."""
        return {"hidden": ("hidden.weight", "hidden.bias"), "last": ("output.weight",)}

    def started_by(self, initialisation: Initialisation) -> TwoLayer:
        return replace(self, initialisation=initialisation)

    def smoothed(self, std: float) -> TwoLayer:
        """The network with Gaussian noise ξ before the activation, averaged in closed form: eq. (3)."""
        return replace(self, activation=activation(self.activation).smoothed(std))
