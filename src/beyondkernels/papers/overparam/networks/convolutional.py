"""The convolutional learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from beyondkernels.core import Shape, Stream, Tensors, require
from beyondkernels.core.constraints import between, positive
from beyondkernels.networks.base import Network
from beyondkernels.networks.linear import product
from beyondkernels.papers.overparam.networks.weights import initial_biases, initial_readout, initial_weights
from beyondkernels.papers.overparam.problems import Patches, gathered
from beyondkernels.papers.overparam.problems.patches import require_patches


@dataclass(frozen=True)
class ConvolutionalLearner(Network):
    r"""The two-layer learner with one set of hidden weights for all patches of the input.

    .. math:: f_r(x) = \sum_{i \in [d']} \sum_{j \in [m]} a_{r,i,j}\,\sigma(\langle w_j, x_{S_i} \rangle + b_j)

    A point x is a matrix, and :math:`x_{S_i}` are some of its rows. It starts like
    :class:`bk.overparam.TwoLayerLearner`, and only ``W`` (m, k·s) is trained. Readout weights of its own for
    each patch are our reading of the paper, which describes the convolutional layer alone.

    Arguments:
        width: m, the channels.
        patches: S₁, …, S_{d′}, sets of k rows.
        output_std: :math:`\varepsilon_a`, in (0, 1].

    >>> network = ConvolutionalLearner(width=6, patches=((0, 1), (1, 2)))
    >>> params, buffers = network.init(in_dim=(3, 4), out_dim=2, stream=Stream(0))
    >>> {name: tuple(value.shape) for name, value in (params | buffers).items()}
    {'W': (6, 8), 'b1': (6,), 'a': (2, 12)}

    Reference: Allen-Zhu, Li & Liang (overparam), §6.
    """

    grows_by: ClassVar[str | None] = "width"
    structured: ClassVar[bool] = False  # a weight is used once for each patch, which tangent kernels by layers ignore

    width: Annotated[int, positive]
    patches: Patches
    output_std: Annotated[float, between(0, 1, "(]")] = 1.0

    def __post_init__(self) -> None:
        require_patches(self.patches)

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        if not isinstance(in_dim, tuple) or len(in_dim) != 2:
            require(False, f"in_dim must be (rows, numbers in a row) for a network of patches, got {in_dim}")
        assert isinstance(in_dim, tuple)
        m, last = self.width, max(map(max, self.patches))
        require(last < in_dim[0], f"points must have at least {last + 1} rows to hold every patch, got {in_dim[0]}")
        columns = len(self.patches[0]) * in_dim[1]
        return {"W": initial_weights(m, columns, stream.child("W"))}, {
            "b1": initial_biases(m, stream.child("b1")),
            "a": initial_readout(out_dim, len(self.patches) * m, self.output_std, stream.child("a")),
        }

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        flat = gathered(x, self.patches).flatten(0, 1)
        h = torch.relu(product(flat, params["W"]) + buffers["b1"])
        return product(h.reshape(len(x), -1), buffers["a"]), buffers

    @property
    def footprint(self) -> int:
        return self.width * len(self.patches)

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """``hidden`` and ``W``: the hidden weights; ``last`` is empty, because the readout is not trained."""
        return {"hidden": ("W",), "last": (), "W": ("W",)}
