"""Fixed feature maps on a sample, known only through products with their feature matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch

from beyondkernels.core import Case, Component, require
from beyondkernels.kernels.checks import require_finite, require_neurons
from beyondkernels.kernels.reduction import merge_neurons, span_basis

Function: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""An activation, or its derivative, entry by entry."""


class FeatureOperator(ABC):
    r"""The feature matrix :math:`\Phi` of n points, one row :math:`\phi(x_i)` a point, as a linear operator.

    Arguments:
        n: the number of points.
        dim: the number of features.
        dtype: of the products, float64 or float32.
    """

    n: int
    dim: int
    dtype: torch.dtype

    @abstractmethod
    def forward(self, v: torch.Tensor) -> torch.Tensor:
        r""":math:`\Phi v`, shape (n,)."""

    @abstractmethod
    def adjoint(self, r: torch.Tensor) -> torch.Tensor:
        r""":math:`\Phi^\top r`, shape (dim,)."""

    @abstractmethod
    def square_norms(self) -> torch.Tensor:
        r"""The diagonal of the Gram matrix: :math:`|\phi(x_i)|^2`, shape (n,)."""

    def matrix(self) -> torch.Tensor | None:
        r""":math:`\Phi` itself where it is stored, otherwise None."""
        return None

    def mean(self) -> torch.Tensor:
        """The mean feature vector of the n points."""
        return self.adjoint(torch.ones(self.n, dtype=self.dtype)) / self.n

    def centred(self) -> FeatureOperator:
        """The same features minus their mean over the n points: with a free intercept, the same classifiers."""
        return CentredFeatures(self, self.mean())


class DenseFeatures(FeatureOperator):
    """Features stored as a matrix of shape (n, dim).

    >>> phi = DenseFeatures(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> phi.forward(torch.tensor([1.0, 1.0])).tolist(), phi.adjoint(torch.tensor([1.0, -1.0])).tolist()
    ([3.0, 7.0], [-2.0, -2.0])
    """

    def __init__(self, matrix: torch.Tensor):
        require(matrix.ndim == 2, f"features must have shape (n, dim), got {tuple(matrix.shape)}")
        require_finite("features", matrix)
        self._matrix = matrix
        self.n, self.dim = matrix.shape
        self.dtype = matrix.dtype

    def forward(self, v: torch.Tensor) -> torch.Tensor:
        return self._matrix @ v

    def adjoint(self, r: torch.Tensor) -> torch.Tensor:
        return self._matrix.T @ r

    def square_norms(self) -> torch.Tensor:
        return self._matrix.square().sum(1)

    def matrix(self) -> torch.Tensor:
        return self._matrix

    def centred(self) -> DenseFeatures:
        """The matrix minus its mean row, subtracted before anything is multiplied: nearly constant features survive."""
        return DenseFeatures(self._matrix - self._matrix.mean(0))


class CentredFeatures(FeatureOperator):
    r"""Another operator's features minus a vector, without forming them: :math:`\Phi - 1 \mu^\top`."""

    def __init__(self, operator: FeatureOperator, mean: torch.Tensor):
        self._operator, self._mean = operator, mean
        self.n, self.dim, self.dtype = operator.n, operator.dim, operator.dtype

    def forward(self, v: torch.Tensor) -> torch.Tensor:
        r""":math:`\Phi v - \langle\mu, v\rangle`."""
        return self._operator.forward(v) - self._mean @ v

    def adjoint(self, r: torch.Tensor) -> torch.Tensor:
        r""":math:`\Phi^\top r - (\sum_i r_i)\mu`."""
        return self._operator.adjoint(r) - self._mean * r.sum()

    def square_norms(self) -> torch.Tensor:
        r""":math:`|\phi_i|^2 - 2\langle\phi_i, \mu\rangle + |\mu|^2`."""
        cross = self._operator.forward(self._mean)
        return (self._operator.square_norms() - 2 * cross + self._mean @ self._mean).clamp(min=0)


FeatureMap: TypeAlias = Callable[[torch.Tensor], FeatureOperator]
"""One fixed map for every batch of inputs (n, in_dim), so that weights found on one batch predict on another."""


class FeatureSource(Component, ABC):
    """Chooses the fixed features for a case: the inputs, a network's neurons or its tangent space.

    A source for a network needs its tensors W (neurons, in_dim), b (neurons,), a (neurons,) and one line::

        def feature_map(self, case):
            W, b, a = ...  # at initialisation, or after some steps
            return tangent_feature_map(W, b, a, sigma, sigma_prime, case.train.x)
    """

    @abstractmethod
    def feature_map(self, case: Case) -> FeatureMap:
        """The map, a function of the case (its problem, train sample and stream), never of its test sample."""


@dataclass(frozen=True)
class InputFeatures(FeatureSource):
    """The inputs themselves: the linear classifiers.

    Inputs are rotated onto the span of the train inputs, which changes no prediction (:func:`span_basis`).
    """

    def feature_map(self, case: Case) -> FeatureMap:
        """The map x ↦ Qᵀx, with an orthonormal basis Q of the train inputs' span."""
        basis = span_basis(case.train.x)
        return lambda x: DenseFeatures(x.to(basis) @ basis)


def random_feature_operator(
    W: torch.Tensor, b: torch.Tensor, sigma: Function, x: torch.Tensor, *, dtype: torch.dtype = torch.float64
) -> DenseFeatures:
    r"""The hidden neurons of a two-layer network as features.

    .. math:: h_i(x) = \sqrt{c_i}\,\sigma(\langle w_i, x\rangle + b_i)

    Equal neurons are merged: c equal features under one ridge are one feature times √c, exactly.

    Arguments:
        W: weights :math:`w_i`, shape (neurons, in_dim).
        b: biases :math:`b_i`, shape (neurons,).
        sigma: the activation.
        x: the points, shape (n, in_dim).
        dtype: in which features are computed; after tiny steps they are nearly constant and need float64.

    >>> W, b = torch.tensor([[1.0], [1.0], [2.0]]), torch.zeros(3)
    >>> random_feature_operator(W, b, torch.relu, torch.tensor([[1.0]])).matrix().square().round(decimals=9).tolist()
    [[2.0, 4.0]]

    Reference: Shi, Wei & Liang (features), eq. (2) and App. E.
    """
    require_neurons(W, b, x)
    W, b, counts, _ = merge_neurons(W.to(dtype), b.to(dtype))
    return DenseFeatures(sigma(x.to(dtype) @ W.T + b) * counts.sqrt())


def random_feature_map(W: torch.Tensor, b: torch.Tensor, sigma: Function) -> FeatureMap:
    """:func:`random_feature_operator` with its network given: a function of the points."""
    return lambda x: random_feature_operator(W, b, sigma, x)
