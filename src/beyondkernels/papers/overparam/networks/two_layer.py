"""The two-layer learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.activations import ReLU
from beyondkernels.core import Shape, Stream, Tensors, size_of, vectors
from beyondkernels.core.constraints import between, positive
from beyondkernels.networks.base import Network
from beyondkernels.networks.dense import DenseForm
from beyondkernels.networks.linear import linear, product
from beyondkernels.papers.overparam.networks.weights import initial_biases, initial_readout, initial_weights


@dataclass(frozen=True)
class TwoLayerLearner(Network):
    r"""A ReLU network of two layers of which the hidden weights alone are trained.

    .. math:: f_r(x) = \sum_{i=1}^m a_{r,i}\,\sigma(\langle w_i, x \rangle + b_i), \qquad
              w_i \sim N(0, I/m), \quad a_{r,i} \sim N(0, \varepsilon_a^2)

    Each bias is 0 with probability 1/2 and N(0, 2/m) otherwise. The parameter is ``W`` (m, d); ``b1`` (m,) and ``a``
    (k, m) are buffers.

    Arguments:
        width: m.
        output_std: :math:`\varepsilon_a`, in (0, 1].

    >>> params, buffers = TwoLayerLearner(width=6).init(in_dim=5, out_dim=2, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in (params | buffers).items()}
    {'W': (6, 5), 'b1': (6,), 'a': (2, 6)}

    Reference: Allen-Zhu, Li & Liang (overparam), §2.1, eq. (5).
    """

    grows_by: ClassVar[str | None] = "width"

    width: Annotated[int, positive]
    output_std: Annotated[float, between(0, 1, "(]")] = 1.0

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        m = self.width
        return {"W": initial_weights(m, size_of(in_dim), stream.child("W"))}, {
            "b1": initial_biases(m, stream.child("b1")),
            "a": initial_readout(out_dim, m, self.output_std, stream.child("a")),
        }

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        h = torch.relu(linear(vectors(x), params["W"], buffers["b1"]))
        return product(h, buffers["a"]), buffers

    @property
    def footprint(self) -> int:
        return self.width

    def dense_form(self) -> DenseForm:
        """Two layers, of which the biases and the readout stand still."""
        return DenseForm("fully connected", ("W", "a"), self.width, ReLU(), names=(("W", "b1"), ("a", "a.bias")))

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden`` and ``W``: the hidden weights; ``last`` is empty, because the readout is not trained."""
        return {"hidden": ("W",), "last": (), "W": ("W",)}
