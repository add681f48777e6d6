"""A mixture of Gaussians around the corners of a cube, labelled by parity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from scipy.special import ndtr

from beyondkernels.core import Sample, Stream, require
from beyondkernels.core.constraints import positive, size
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.core.errors import shown
from beyondkernels.papers.features.problems import linear
from beyondkernels.papers.features.problems.dictionaries import Orthonormal, drawn
from beyondkernels.papers.features.problems.labels import Counts

_MOST_LISTED = 16  # patterns whose 2^k centres are listed


@dataclass(frozen=True)
class GaussianMixture(ScalarProblem):
    r"""Gaussians around the :math:`2^k` corners of a cube; the label is the parity of the corner.

    .. math:: x = \sum_{i=1}^k \epsilon_i M_i + g, \qquad y = \prod_{i=1}^k \epsilon_i, \qquad
        g \sim N(0, \sigma^2 I), \quad \sigma^2 = \sigma_r^2 k/d

    M has k orthonormal columns, and :math:`\epsilon_i = \pm1` are fair coins. The length of the noise is comparable
    with that of a centre: :math:`E\|g\|^2 = \sigma_r^2 k`, where a centre has :math:`\|c\|^2 = k`. Exactly, :math:`Ex =
    0`, :math:`Cov(x) = MM^\top + \sigma^2 I` and, for k ≥ 2, :math:`E[yx] = 0`. So class means say nothing about the
    label.

    Arguments:
        dim: d.
        patterns: k.
        relative_noise: :math:`\sigma_r`, the length of the noise relative to that of a centre.
        instance: selects the draw of M.

    >>> problem = GaussianMixture(dim=100, patterns=4)
    >>> problem.noise_std, len(problem.centres), problem.linear_bound
    (0.2, 16, 0.6875)

    Reference: Shi, Wei & Liang (features), App. E.3.2, eq. (290).
    """

    dim: Annotated[int, size]
    patterns: Annotated[int, size]
    relative_noise: Annotated[float, positive] = 1.0
    instance: int = 0

    def __post_init__(self) -> None:
        Orthonormal().check(self.dim, self.patterns)

    @property
    def matrix(self) -> torch.Tensor:
        """M, (d, k) float64, drawn once for each instance. It is shared, so do not write to it."""
        return drawn(Orthonormal(), self.dim, self.patterns, self.instance)

    @property
    def noise_std(self) -> float:
        r""":math:`\sigma = \sigma_r \sqrt{k/d}`, in every direction."""
        return self.relative_noise * math.sqrt(self.patterns / self.dim)

    @property
    def corners(self) -> torch.Tensor:
        r"""All values of ε, (2^k, k) float64 of ±1."""
        k = self.patterns
        require(k <= _MOST_LISTED, f"patterns must be at most {_MOST_LISTED} for a list of all 2^k centres, got {k}")
        return 2.0 * linear.corners(k).to(torch.float64) - 1

    @property
    def centres(self) -> torch.Tensor:
        """The centres of the Gaussians, (2^k, d) float64, in the order of ``corners``."""
        return self.corners @ self.matrix.T

    @property
    def centre_labels(self) -> torch.Tensor:
        """The label of each centre, (2^k,) float64 of ±1."""
        return self.corners.prod(1)

    @property
    def covariance(self) -> torch.Tensor:
        r""":math:`Cov(x) = MM^\top + \sigma^2 I`, (d, d) float64."""
        return self.matrix @ self.matrix.T + self.noise_std**2 * torch.eye(self.dim, dtype=torch.float64)

    @property
    def variance(self) -> float:
        r""":math:`E\|x\|^2 = k(1 + \sigma_r^2)`."""
        return self.patterns * (1 + self.relative_noise**2)

    def label_of(self, hidden: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The labels (n,) float32 for given hidden variables, in the form of ``Sample.hidden``."""
        return hidden["signs"].to(torch.float32).prod(1)

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) float32, y (n,) float32 of ±1, ``hidden["signs"]`` (n, k) int8 of ±1."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        signs = torch.where(stream.child("signs").uniform(n, self.patterns) < 0.5, -1, 1).to(torch.int8)
        x = signs.to(torch.float32) @ self.matrix.to(torch.float32).T
        x += self.noise_std * stream.child("noise").normal(n, self.dim)
        hidden = {"signs": signs}
        return Sample(x, self.label_of(hidden), hidden)

    @property
    def constant_accuracy(self) -> float:
        """1/2: the classes are balanced."""
        return 0.5

    @property
    def symmetric_linear_accuracy(self) -> float:
        r"""The accuracy of the best linear classifier along :math:`\sum_i \pm M_i`, over all thresholds.

        Flipping an :math:`\epsilon_i` only exchanges the classes, so all these directions are equally good. Along
        :math:`\sum_i M_i` the input shows how many :math:`\epsilon_i` are +1, with noise of standard deviation
        :math:`\sigma\sqrt k / 2`. For k = 1 this is the best linear classifier, with accuracy :math:`\Phi(1/\sigma)`.
        For larger k it is the best of these directions; that no other direction does better is not proven.
        """
        k = self.patterns
        counts = torch.tensor([math.comb(k, s) / 2**k for s in range(k + 1)], dtype=torch.float64)
        even = Counts(tuple(range(k, -1, -2))).signs(k)  # an even number of −1
        return linear.best_count_threshold(counts, even, self.noise_std * math.sqrt(k) / 2)

    @property
    def linear_bound(self) -> float:
        r"""A bound on the accuracy of every linear classifier.

        .. math:: \frac12 + 2^{-k} \binom{k-1}{\lfloor (k-1)/2 \rfloor}

        For fixed noise g, a linear classifier of x is a linear threshold function of ε, and none of these agrees with
        the parity more often (:func:`parity_accuracy`). The mean over g keeps the bound.
        """
        return linear.parity_accuracy(self.patterns)

    @property
    def bayes_accuracy(self) -> float:
        r"""The accuracy of the best classifier, :math:`y = \prod_i \mathrm{sign} \langle M_i, x \rangle`.

        .. math:: \tfrac12 \bigl(1 + (1 - 2q)^k\bigr), \qquad q = \Phi(-1/\sigma)

        The coordinates :math:`\langle M_i, x \rangle` are independent given ε and carry all there is to know, so
        :math:`E[y|x] = \prod_i E[\epsilon_i|x]`. Each sign is wrong with probability q, and the label is right where
        an even number of them is wrong.
        """
        q = float(ndtr(-1 / self.noise_std))
        return (1 + (1 - 2 * q) ** self.patterns) / 2
