"""The tangent features of a two-layer network: its derivatives with respect to all parameters."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from beyondkernels.core import require, require_positive
from beyondkernels.kernels.checks import require_finite, require_neurons
from beyondkernels.kernels.features import FeatureMap, FeatureOperator, Function
from beyondkernels.kernels.reduction import merge_neurons, span_basis


class TangentFeatures(FeatureOperator):
    r"""Derivatives of :math:`g(x) = \sum_i a_i \sigma(\langle w_i, x\rangle + b_i)`, never stored.

    .. math::
        \partial_{a_i} g = \sigma(z_i), \quad \partial_{b_i} g = a_i \sigma'(z_i), \quad
        \partial_{w_i} g = a_i \sigma'(z_i)\, x, \qquad z_i = \langle w_i, x\rangle + b_i

    A vector of features lists the :math:`\partial_{a_i}`, then for each neuron :math:`\partial_{w_i}` and
    :math:`\partial_{b_i}`. Products run over blocks of points that fit a processor's cache; :math:`\sigma(z)` and
    :math:`a\,\sigma'(z)` are kept when they fit the memory, and computed anew in each product when they do not.

    Arguments:
        W: weights, shape (neurons, in_dim).
        b: biases, shape (neurons,).
        values: factors of the :math:`\sigma(z_i)`, 1 for a plain network, shape (neurons,).
        slopes: factors of the :math:`\sigma'(z_i)`, :math:`a_i` for a plain network, shape (neurons,).
        sigma: the activation.
        sigma_prime: its derivative.
        x: the points, shape (n, in_dim).
        coordinates: the points as they enter :math:`\partial_{w_i}`, shape (n, rank): x, or x in a basis of its span.
        memory: bytes that may be kept between products.

    Reference: Shi, Wei & Liang (features), App. E (the NTK baseline).
    """

    def __init__(
        self,
        W: torch.Tensor,
        b: torch.Tensor,
        values: torch.Tensor,
        slopes: torch.Tensor,
        sigma: Function,
        sigma_prime: Function,
        x: torch.Tensor,
        coordinates: torch.Tensor,
        memory: int = 2**30,
    ):
        require_positive("memory", memory)
        self._W, self._b, self._values, self._slopes = W, b, values, slopes
        self._sigma, self._sigma_prime, self._x = sigma, sigma_prime, x
        self._with_one = torch.cat([coordinates, torch.ones(len(x), 1, dtype=x.dtype)], 1)  # ∂b is ∂w at a constant 1
        m, q = len(W), self._with_one.shape[1]
        self.n, self.dim, self.dtype = len(x), m + m * q, x.dtype
        self._shape = (m, q)
        rows = max(64, 2**18 // m)  # ≈ 2 MB of float64 a block: twice as fast as whole matrices
        self._blocks = [slice(i, min(i + rows, self.n)) for i in range(0, self.n, rows)]
        self._kept: list[tuple[torch.Tensor, torch.Tensor]] | None = None
        if 2 * self.n * m * x.element_size() <= memory:
            self._kept = [self._activations(block) for block in self._blocks]
            self._x = x[:0]  # only the activations need it

    def forward(self, v: torch.Tensor) -> torch.Tensor:
        m, q = self._shape
        v_a, V = v[:m], v[m:].view(m, q)
        out = torch.empty(self.n, dtype=self.dtype)
        for block, h, s in self._each():
            out[block] = (self._with_one[block] @ V.T).mul_(s).sum(1).add_(h @ v_a)
        return out

    def adjoint(self, r: torch.Tensor) -> torch.Tensor:
        """The gradient with respect to all parameters of Σ r_i g(x_i)."""
        m, q = self._shape
        g_a, G = torch.zeros(m, dtype=self.dtype), torch.zeros(m, q, dtype=self.dtype)
        for block, h, s in self._each():
            g_a.addmv_(h.T, r[block])
            G.addmm_((s * r[block, None]).T, self._with_one[block])
        return torch.cat([g_a, G.flatten()])

    def square_norms(self) -> torch.Tensor:
        """The tangent kernel's diagonal: Σ_i σ(z_i)² + (1 + |x|²) Σ_i a_i² σ'(z_i)²."""
        lengths = self._with_one.square().sum(1)
        parts = [h.square().sum(1) + lengths[block] * s.square().sum(1) for block, h, s in self._each()]
        return torch.cat(parts) if parts else torch.zeros(0, dtype=self.dtype)

    def _each(self) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor]]:
        for i, block in enumerate(self._blocks):
            h, s = self._kept[i] if self._kept is not None else self._activations(block)
            yield block, h, s

    def _activations(self, block: slice) -> tuple[torch.Tensor, torch.Tensor]:
        z = self._x[block] @ self._W.T + self._b
        h, s = self._sigma(z) * self._values, self._sigma_prime(z).to(self.dtype) * self._slopes
        require_finite("features", h)
        require_finite("features", s)
        return h, s


def tangent_feature_operator(
    W: torch.Tensor,
    b: torch.Tensor,
    a: torch.Tensor,
    sigma: Function,
    sigma_prime: Function,
    x: torch.Tensor,
    *,
    basis: torch.Tensor | None = None,
    merge: bool = True,
    dtype: torch.dtype = torch.float64,
    memory: int = 2**30,
) -> TangentFeatures:
    r"""The tangent features of :math:`\sum_i a_i \sigma(\langle w_i, x\rangle + b_i)` at given points.

    Arguments:
        W: weights, shape (neurons, in_dim).
        b: biases, shape (neurons,).
        a: second-layer weights, shape (neurons,).
        sigma: the activation.
        sigma_prime: its derivative.
        x: the points, shape (n, in_dim).
        basis: orthonormal columns whose span holds the train inputs (:func:`span_basis`); the same for every batch.
        merge: take equal neurons together (:func:`merge_neurons`): the kernel stays as it is.
        dtype: of the products.
        memory: bytes that may be kept between products.

    >>> W, b, a, x = torch.ones(2, 3), torch.zeros(2), torch.tensor([2.0, -2.0]), torch.ones(1, 3)
    >>> phi = tangent_feature_operator(W, b, a, torch.sin, torch.cos, x)
    >>> phi.dim, tangent_feature_operator(W, b, a, torch.sin, torch.cos, x, merge=False).dim
    (5, 10)
    """
    require_neurons(W, b, x)
    require(a.shape == b.shape, f"a must have shape ({len(W)},) like the rows of W, got {tuple(a.shape)}")
    require_finite("a", a)
    W, b, a, x = W.to(dtype), b.to(dtype), a.to(dtype), x.to(dtype)
    if merge:
        W, b, counts, a = merge_neurons(W, b, a)
    else:
        counts = torch.ones_like(b)
    coordinates = x if basis is None else x @ basis.to(dtype)
    return TangentFeatures(W, b, counts.sqrt(), a, sigma, sigma_prime, x, coordinates, memory)


def tangent_feature_map(
    W: torch.Tensor,
    b: torch.Tensor,
    a: torch.Tensor,
    sigma: Function,
    sigma_prime: Function,
    x_train: torch.Tensor,
) -> FeatureMap:
    """:func:`tangent_feature_operator` with its network given and inputs reduced to the span of the train inputs."""
    basis = span_basis(x_train)
    return lambda x: tangent_feature_operator(W, b, a, sigma, sigma_prime, x, basis=basis)
