"""The first-order expansion of a network in its parameters: the model of the finite-width tangent kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from beyondkernels.core import Shape, Stream, Tensors, later, require
from beyondkernels.networks.base import Network, declared_form
from beyondkernels.networks.dense import DenseForm
from beyondkernels.networks.initialisation import Initialisation

_AT = "at."


@dataclass(frozen=True)
class Linearised(Network):
    r"""The linear model in the tangent features of a network at its initialisation.

    .. math:: f(x) = g(x; \theta_0) + \langle \nabla_\theta g(x; \theta_0), \Delta \rangle

    The parameters are the displacement Δ, which starts at zero. The buffers hold θ₀. Training Δ by gradient descent is
    gradient descent with the tangent kernel of the network.

    Arguments:
        network: the network that is expanded.
        in_evaluation: whether the network is evaluated as after training while Δ is trained, too. A module with dropout
            or batch normalisation is another function in training; only with this its expansion is the model of the
            tangent kernel, which knows evaluation alone.

    Reference: Shi, Wei & Liang (features), App. E.1, the NTK method.
    """

    network: Network
    in_evaluation: bool = later(False)

    def __post_init__(self) -> None:
        require(not isinstance(self.network, Linearised), "network must not be Linearised already")
        for name in ("batching", "structured", "grows_by"):  # the expansion can do what the network can
            object.__setattr__(self, name, getattr(self.network, name))

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        params, buffers = self.network.init(in_dim, out_dim, stream)
        displacement = {name: torch.zeros_like(value) for name, value in params.items()}
        return displacement, buffers | {_AT + name: value for name, value in params.items()}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        start = {name: buffers[_AT + name] for name in params}
        rest = {name: value for name, value in buffers.items() if not name.startswith(_AT)}

        def network(at: Tensors) -> torch.Tensor:
            return self.network.apply(at, rest, x, train and not self.in_evaluation)[0]

        alone = self.network.batching == "sequential"  # a user's module, in which there may be any layer
        recurrent = alone and self.network.holds(torch.nn.LSTM, rest, x)
        with _differentiable(recurrent) if alone else contextlib.nullcontext():
            values = torch.func.jvp(network, (start,), (params,))
        return values[0] + values[1], buffers

    @property
    def footprint(self) -> int:
        return 2 * self.network.footprint

    def dense_form(self) -> DenseForm | None:
        """That of the network, expanded; none if some of its layers are buffers."""
        inner = declared_form(self.network)
        return None if inner is None or inner.names else replace(inner, linearised=True)

    def resized(self, size: int) -> Linearised:
        return replace(self, network=self.network.resized(size))

    @property
    def size(self) -> int | None:
        return self.network.size

    def started_by(self, initialisation: Initialisation) -> Linearised:
        return replace(self, network=self.network.started_by(initialisation))

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        return self.network.groups()

    def expansion_point(self, params: Tensors, buffers: Tensors) -> tuple[Network, Tensors, Tensors]:
        """The network at θ₀: the gradient in Δ does not depend on Δ."""
        rest = {name: value for name, value in buffers.items() if not name.startswith(_AT)}
        return self.network, {name: buffers[_AT + name] for name in params}, rest

    def smoothed(self, std: float) -> Linearised:
        return replace(self, network=self.network.smoothed(std))


@contextlib.contextmanager
def _differentiable(recurrent: bool) -> Iterator[None]:
    """Keep torch from its fused layers without a forward-mode derivative: attention, transformer layers, the LSTM.

    Arguments:
        recurrent: whether there is an LSTM. Only then the library is left out that also makes convolutions fast.
    """
    library: Any = torch.backends.mkldnn
    before = torch.backends.mha.get_fastpath_enabled(), library.enabled
    torch.backends.mha.set_fastpath_enabled(False)
    library.enabled = library.enabled and not recurrent
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before[0])
        library.enabled = before[1]
