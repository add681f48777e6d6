"""The kernels of a network at given parameters, such as those of a trained network."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Tensors
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.finite.blocks import diagonal_of_factors
from beyondkernels.kernels.finite.functional import (
    Readout,
    batches,
    conjugate_features,
    conjugate_gram,
    gradient_of,
    tangent_gram,
    with_gradient,
)
from beyondkernels.networks import Network


@dataclass(frozen=True, eq=False)
class TangentAt:
    r"""The tangent kernel of a network at given parameters; :func:`tangent_gram` has the formula.

    Points keep their shape, so that a module sees images. Tensors are no fields of a component, so this is a helper and
    not one of the kernels that have an identity.

    Arguments:
        network: the network.
        params: its parameters θ.
        buffers: its buffers.
        group: the parameters in which derivatives are taken: ``all`` or one of the network's groups.
        memory: bytes that may be taken, the result included; it changes no value beyond rounding.
        dtype: of all arithmetic.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.networks import FromCopy
    >>> network = FromCopy.of(torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.Flatten(), torch.nn.Linear(9, 1)))
    >>> params, buffers = network.init((2, 4), 1, Stream(0))
    >>> TangentAt(network, params, buffers).gram(torch.ones(5, 2, 4)).shape
    torch.Size([5, 5])
    """

    network: Network
    params: Tensors
    buffers: Tensors
    group: str = "all"
    memory: int = MEMORY
    dtype: torch.dtype = torch.float64

    def gram(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """The mean over outputs, shape (n1, n2).

        Arguments:
            x1: points, shape (n1, ...).
            x2: points, shape (n2, ...); None for x1 itself.
        """
        options = {"group": self.group, "memory": self.memory, "dtype": self.dtype}
        return tangent_gram(self.network, self.params, self.buffers, x1, x2, **options)

    __call__ = gram

    def full(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """The kernel of every pair of outputs, shape (n1, n2, k, k).

        Arguments:
            x1: points, shape (n1, ...).
            x2: points, shape (n2, ...); None for x1 itself.
        """
        options = {"group": self.group, "memory": self.memory, "dtype": self.dtype}
        return tangent_gram(self.network, self.params, self.buffers, x1, x2, outputs="full", **options)

    def diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The mean over outputs of the squared norms of the gradients, shape (n,).

        Arguments:
            x: points, shape (n, ...).
        """
        x, _ = batches(x, None, self.dtype)
        network, params, buffers = self.network.expansion_point(self.params, self.buffers)
        names = network.trained(self.group, params)
        return with_gradient(
            lambda common: gradient_of(network, params, buffers, names, x, self.dtype, "traced", common=common),
            lambda gradient: diagonal_of_factors(gradient, x, self.memory),
        )


@dataclass(frozen=True, eq=False)
class ConjugateAt:
    r"""The conjugate kernel :math:`\langle h(x), h(x')\rangle` of the last layer's inputs h at given parameters.

    :func:`conjugate_features` says how they are scaled. Points keep their shape.

    Arguments:
        network: the network.
        params: its parameters.
        buffers: its buffers.
        memory: bytes that may be taken, the result included.
        dtype: of all arithmetic.
    """

    network: Network
    params: Tensors
    buffers: Tensors
    memory: int = MEMORY
    dtype: torch.dtype = torch.float64

    def gram(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """Inner products of features, shape (n1, n2).

        Arguments:
            x1: points, shape (n1, ...).
            x2: points, shape (n2, ...); None for x1 itself.
        """
        options = {"memory": self.memory, "dtype": self.dtype}
        return conjugate_gram(self.network, self.params, self.buffers, x1, x2, **options)

    __call__ = gram

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """The features themselves, shape (n, features).

        Arguments:
            x: points, shape (n, ...).
        """
        return conjugate_features(self.network, self.params, self.buffers, x, dtype=self.dtype)

    def diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """The squared norms of the features, shape (n,).

        Arguments:
            x: points, shape (n, ...).
        """
        x, _ = batches(x, None, self.dtype)
        return diagonal_of_factors(Readout(self.network, self.params, self.buffers, self.dtype), x, self.memory)
