"""The three-layer learner."""

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
class ThreeLayerLearner(Network):
    r"""A ReLU network of three layers of which the two hidden weight matrices alone are trained.

    .. math:: f_r(x) = \sum_{i=1}^{m_2} a_{r,i}\,\sigma(\langle v_i, \mathfrak N(x) \rangle + b_{2,i}), \qquad
              \mathfrak N_i(x) = \sigma(\langle w_i, x \rangle + b_{1,i}), \quad i \le m_1

    It starts with :math:`w_i \sim N(0, I/m_1)`, :math:`v_i \sim N(0, I/m_2)` and
    :math:`a_{r,i} \sim N(0, \varepsilon_a^2)`. Each bias is 0 with probability 1/2 and N(0, 2/m) otherwise, with the m
    of its layer. The parameters are ``W`` (m₁, d) and ``V`` (m₂, m₁); ``b1``, ``b2`` and ``a`` (k, m₂) are buffers.

    Arguments:
        width: m₁.
        output_std: :math:`\varepsilon_a`, in (0, 1].
        second_width: m₂; None for m₁, as the theorems have it.

    >>> params, buffers = ThreeLayerLearner(width=6, second_width=4).init(in_dim=5, out_dim=2, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in (params | buffers).items()}
    {'W': (6, 5), 'V': (4, 6), 'b1': (6,), 'b2': (4,), 'a': (2, 4)}

    Reference: Allen-Zhu, Li & Liang (overparam), §2.2, eqs. (10)–(12).
    """

    grows_by: ClassVar[str | None] = "width"

    width: Annotated[int, positive]
    output_std: Annotated[float, between(0, 1, "(]")] = 1.0
    second_width: Annotated[int, positive] | None = None

    @property
    def widths(self) -> tuple[int, int]:
        """m₁ and m₂."""
        return self.width, self.width if self.second_width is None else self.second_width

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        m1, m2 = self.widths
        return {
            "W": initial_weights(m1, size_of(in_dim), stream.child("W")),
            "V": initial_weights(m2, m1, stream.child("V")),
        }, {
            "b1": initial_biases(m1, stream.child("b1")),
            "b2": initial_biases(m2, stream.child("b2")),
            "a": initial_readout(out_dim, m2, self.output_std, stream.child("a")),
        }

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        first = torch.relu(linear(vectors(x), params["W"], buffers["b1"]))
        second = torch.relu(linear(first, params["V"], buffers["b2"]))
        return product(second, buffers["a"]), buffers

    @property
    def footprint(self) -> int:
        return sum(self.widths)

    def dense_form(self) -> DenseForm | None:
        """Three layers, of which the biases and the readout stand still; none if the widths differ."""
        names = (("W", "b1"), ("V", "b2"), ("a", "a.bias"))
        m1, m2 = self.widths
        return DenseForm("fully connected", ("W", "V", "a"), m1, ReLU(), names=names) if m1 == m2 else None

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden``: both matrices; ``W`` and ``V``; ``last`` is empty, because the readout is not trained."""
        return {"hidden": ("W", "V"), "last": (), "W": ("W",), "V": ("V",)}
