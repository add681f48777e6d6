"""The kernels of a network with given parameters, such as trained ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import torch

from beyondkernels.core import Tensors
from beyondkernels.core.constraints import positive
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.finite.gram import MEMORY, conjugate_gram, tangent_gram
from beyondkernels.networks import Network

Kind = Literal["tangent", "conjugate"]
"""``tangent`` is the traced tangent kernel, ``conjugate`` that of what enters the last layer."""


@dataclass(frozen=True, eq=False)
class KernelAt(Kernel):
    r"""The tangent or conjugate kernel of a network at given parameters.

    .. math:: \Theta(x, x') = \frac1k \sum_{o=1}^k \langle \nabla_\theta g_o(x; \theta),
              \nabla_\theta g_o(x'; \theta)\rangle, \qquad \Phi(x, x') = \langle h(x), h(x') \rangle

    It holds tensors, so it has no identity: it serves inside a learner or a measurement, and for looking.

    Arguments:
        network: the architecture g with k outputs, whose last layer is given h.
        params: θ.
        buffers: its buffers.
        in_shape: the shape of a point. Kernels see vectors, which are folded back for the network.
        kind: ``tangent`` or ``conjugate``.
        memory: bytes that may be taken, the result included.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.networks import FullyConnected
    >>> network = FullyConnected(16)
    >>> kernel = KernelAt(network, *network.init(3, 2, Stream(0)), (3,))
    >>> kernel(torch.eye(3)).shape
    torch.Size([3, 3])
    """

    network: Network
    params: Tensors = field(repr=False)
    buffers: Tensors = field(repr=False)
    in_shape: tuple[int, ...]
    kind: Kind = "tangent"
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """The rectangular block."""
        return self._gram(x1, x2)

    def square(self, x: torch.Tensor) -> torch.Tensor:
        """Half of the blocks, mirrored."""
        return self._gram(x, None)

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The diagonal, from small square blocks."""
        parts = [self._gram(part, None).diagonal() for part in x.split(16)]
        return torch.cat(parts) if parts else x.new_zeros(0)

    def _gram(self, x1: torch.Tensor, x2: torch.Tensor | None) -> torch.Tensor:
        gram = tangent_gram if self.kind == "tangent" else conjugate_gram
        folded = None if x2 is None else self._folded(x2)
        return gram(self.network, self.params, self.buffers, self._folded(x1), folded, memory=self.memory)

    def _folded(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(len(x), *self.in_shape)
