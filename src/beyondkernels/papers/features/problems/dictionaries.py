"""Dictionaries: matrices with columns of length one, the patterns."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Component, InputError, Stream, require
from beyondkernels.core.constraints import not_negative, positive


class Dictionary(Component, ABC):
    r"""A distribution of matrices :math:`M \in R^{d \times D}` with columns of length one."""

    @abstractmethod
    def check(self, dim: int, patterns: int) -> None:
        """Raise an :class:`InputError` if no such matrix has these sizes."""

    @abstractmethod
    def draw(self, dim: int, patterns: int, stream: Stream) -> torch.Tensor:
        """One matrix, (d, D) float64."""

    @property
    @abstractmethod
    def incoherence(self) -> float:
        r"""The µ of (D): :math:`|\langle M_i, M_j \rangle| \le \mu / \sqrt d`."""


@dataclass(frozen=True)
class Orthonormal(Dictionary):
    r"""Orthonormal columns, uniform over all such matrices.

    .. math:: M^\top M = I

    The Q factor of a Gaussian matrix is uniform (Haar) if its signs are chosen so that R has a positive diagonal. That
    also makes the result independent of the signs that a library prefers.

    >>> M = Orthonormal().draw(4, 2, Stream(0))
    >>> bool(torch.allclose(M.T @ M, torch.eye(2, dtype=torch.float64)))
    True

    Reference: Shi, Wei & Liang (features), §3.
    """

    def check(self, dim: int, patterns: int) -> None:
        """D ≤ d."""
        require(
            patterns <= dim,
            f"patterns must not exceed dim for an orthonormal dictionary, got {patterns} patterns in dimension {dim}",
        )

    def draw(self, dim: int, patterns: int, stream: Stream) -> torch.Tensor:
        """The signed Q factor of a Gaussian matrix."""
        self.check(dim, patterns)
        Q, R = torch.linalg.qr(stream.normal(dim, patterns, dtype=torch.float64))
        signs = torch.where(R.diagonal() < 0, -1.0, 1.0).to(torch.float64)
        return Q * signs

    @property
    def incoherence(self) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True)
class Incoherent(Dictionary):
    r"""Unit columns with small inner products.

    .. math:: \|M_j\| = 1, \qquad |\langle M_i, M_j \rangle| \le \mu / \sqrt d \quad (i \ne j)

    Random directions that satisfy the bound are used unchanged; from about :math:`\mu = 2\sqrt{\ln D}` on they do.
    Below that, alternating projections are used: clip the Gram matrix at the bound, take the nearest matrix of rank d,
    scale its diagonal back to one, repeat. The bound is checked on the result.

    Arguments:
        mu: µ; no matrix exists below the Welch bound :math:`\sqrt{(D - d)/(D - 1)}`.

    >>> M = Incoherent(mu=1.0).draw(20, 30, Stream(0))
    >>> float(coherence(M)) <= 1.0
    True

    Reference: Shi, Wei & Liang (features), App. F.1, (D); the projections are those of Tropp, Dhillon, Heath & Strohmer
    (2005).
    """

    mu: Annotated[float, positive]

    def check(self, dim: int, patterns: int) -> None:
        """The Welch bound."""
        least = math.sqrt(max(0, patterns - dim) / max(1, patterns - 1))
        require(
            self.mu >= least,
            f"mu must be at least {least:.4g} (the Welch bound) for {patterns} patterns in dimension {dim}, "
            f"got {self.mu}",
        )

    def draw(self, dim: int, patterns: int, stream: Stream) -> torch.Tensor:
        """Random directions, pushed apart until the bound holds."""
        self.check(dim, patterns)
        M = _unit(stream.normal(dim, patterns, dtype=torch.float64))
        reached = math.inf
        for _ in range(_ROUNDS):
            reached = min(reached, coherence(M))
            if reached <= self.mu:
                return M
            M = _push_apart(M, _MARGIN * self.mu / math.sqrt(dim))
        raise InputError(
            f"mu must be larger for {patterns} patterns in dimension {dim}: "
            f"the construction reached {reached:.4g}, got {self.mu}"
        )

    @property
    def incoherence(self) -> float:
        return self.mu


@dataclass(frozen=True)
class Equiangular(Dictionary):
    r"""Unit columns whose inner products are all the same: of all dictionaries of this µ the one that adds up most.

    .. math:: \|M_j\| = 1, \qquad \langle M_i, M_j \rangle = \mu / \sqrt d \quad (i \ne j)

    It is :math:`Q G^{1/2}` with orthonormal Q, uniform as in :class:`Orthonormal`, and the Gram matrix :math:`G = (1 -
    c) I + c 1 1^\top` for :math:`c = \mu/\sqrt d`.

    Arguments:
        mu: µ, below √d.

    >>> M = Equiangular(mu=0.5).draw(25, 4, Stream(0))
    >>> (M.T @ M)[0].round(decimals=6).tolist()
    [1.0, 0.1, 0.1, 0.1]

    Reference: our own, for Shi, Wei & Liang (features), App. F.1, (D).
    """

    mu: Annotated[float, not_negative]

    def check(self, dim: int, patterns: int) -> None:
        """D ≤ d, and inner products below one."""
        require(
            patterns <= dim,
            f"patterns must not exceed dim for an equiangular dictionary, got {patterns} patterns in dimension {dim}",
        )
        most = math.sqrt(dim)
        require(self.mu < most, f"mu must be below {most:.4g} (√d) for patterns in dimension {dim}, got {self.mu}")

    def draw(self, dim: int, patterns: int, stream: Stream) -> torch.Tensor:
        """An orthonormal matrix times the root of the Gram matrix."""
        self.check(dim, patterns)
        c = self.mu / math.sqrt(dim)
        along, across = math.sqrt(1 - c + c * patterns), math.sqrt(1 - c)
        Q = Orthonormal().draw(dim, patterns, stream)
        return across * Q + (along - across) * Q.mean(1, keepdim=True)

    @property
    def incoherence(self) -> float:
        return self.mu


_ROUNDS = 400
_MARGIN = 0.98  # the projections approach the bound from above, so they aim a little below it


def coherence(matrix: torch.Tensor) -> float:
    r"""The µ a matrix with unit columns reaches: :math:`\sqrt d \max_{i \ne j} |\langle M_i, M_j \rangle|`."""
    gram = matrix.T @ matrix
    gram.fill_diagonal_(0.0)
    return math.sqrt(matrix.shape[0]) * float(gram.abs().max())


@functools.lru_cache(maxsize=32)
def drawn(dictionary: Dictionary, dim: int, patterns: int, instance: int) -> torch.Tensor:
    """The matrix of one instance, drawn once. It is shared, so do not write to it."""
    return dictionary.draw(dim, patterns, Stream(instance).child("dictionary"))


def _unit(M: torch.Tensor) -> torch.Tensor:
    return M / M.norm(dim=0)


def _push_apart(M: torch.Tensor, bound: float) -> torch.Tensor:
    """One round of alternating projections."""
    gram = (M.T @ M).clamp(-bound, bound)
    gram.fill_diagonal_(1.0)
    eigenvalues, U = torch.linalg.eigh(gram)
    rank = min(M.shape)
    root = U[:, -rank:] * eigenvalues[-rank:].clamp(min=0).sqrt()
    # Every rotation of the root has this Gram matrix. The one nearest to M keeps the distribution rotation invariant.
    left, _, right = torch.linalg.svd(M @ root, full_matrices=False)
    return _unit(left @ right @ root.T)
