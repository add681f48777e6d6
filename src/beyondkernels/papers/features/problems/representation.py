"""Hidden-representation labelling: the label depends on which of a list of vectors the relevant patterns form."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Sample, Stream, require
from beyondkernels.core.constraints import between, size
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.core.errors import shown
from beyondkernels.papers.features.problems.dictionaries import Orthonormal, drawn
from beyondkernels.papers.features.problems.hidden import ListedPatterns
from beyondkernels.papers.features.problems.separation import fewest_errors


@dataclass(frozen=True, eq=False)
class RepresentationMoments:
    r"""Exact moments of patterns and label; tensors are float64.

    Arguments:
        means: :math:`E[\tilde\phi_j]`, (D,).
        covariance: :math:`Cov(\tilde\phi_i, \tilde\phi_j)`, (D, D).
        correlations: :math:`E[y\tilde\phi_j] - E[y]E[\tilde\phi_j]`, (D,). Its second part is zero.
        relevant: the indices of A.

    Reference: Shi, Wei & Liang (features), §3, (A0)–(A2).
    """

    means: torch.Tensor
    covariance: torch.Tensor
    correlations: torch.Tensor
    relevant: tuple[int, ...]

    @property
    def variance(self) -> float:
        r""":math:`\tilde\sigma^2 = E\|\tilde x - E\tilde x\|^2`, the variance of the data."""
        return float(self.covariance.trace())

    @property
    def scale(self) -> float:
        r""":math:`\tilde\sigma`: inputs are divided by it."""
        return self.variance**0.5

    @property
    def typical_gamma(self) -> float:
        """The root mean square of ``correlations`` over A. Where (A1) holds, all of them are equal, and it is γ."""
        return float(self.correlations[list(self.relevant)].square().mean().sqrt())


@dataclass(frozen=True)
class RepresentationLabels(ScalarProblem):
    r"""Relevant patterns that form one of a list of binary vectors, half of which have each label.

    .. math:: \tilde\phi_A \sim \mathrm{Uniform}\{v_1, \ldots, v_{2N}\}, \qquad
        y = +1 \text{ if } \tilde\phi_A \in \{v_1, \ldots, v_N\}, \text{ else } -1, \qquad
        x = M(\tilde\phi - E\tilde\phi)/\tilde\sigma

    The vectors are drawn once, uniformly and without repetition. Background patterns are independent of them. M is
    orthonormal, and :math:`\tilde\sigma^2 = \sum_j Var(\tilde\phi_j)`. With the two vectors (1, …, 1) and (0, …, 0)
    this would be the part :math:`D^{(1)}` of the structured mixture. There is no version without structure: vectors
    outside the list have no label. The defaults are those of the paper.

    Arguments:
        dim: d.
        patterns: D.
        relevant: k.
        per_label: N, the number of vectors of each label.
        background: :math:`p_o`.
        instance: selects the draw of M, A and the vectors.

    >>> problem = RepresentationLabels(dim=20, patterns=10, relevant=6, per_label=3)
    >>> problem.sample(4, Stream(0)).x.shape, problem.vectors.shape, problem.constant_accuracy
    (torch.Size([4, 20]), torch.Size([6, 6]), 0.5)

    Reference: Shi, Wei & Liang (features), App. E.3.1.
    """

    dim: Annotated[int, size] = 500
    patterns: Annotated[int, size] = 250
    relevant: Annotated[int, size] = 50
    per_label: Annotated[int, size] = 50
    background: Annotated[float, between(0, 1)] = 0.5
    instance: int = 0

    def __post_init__(self) -> None:
        k, D = self.relevant, self.patterns
        require(k <= D, f"relevant must not exceed patterns, got {k} relevant of {D} patterns")
        most = 2 ** (k - 1)
        require(
            self.per_label <= most,
            f"per_label must be at most {most}, half of the binary vectors of {k} relevant patterns, "
            f"got {self.per_label}",
        )
        Orthonormal().check(self.dim, D)

    @property
    def matrix(self) -> torch.Tensor:
        """M, (d, D) float64, drawn once for each instance. It is shared, so do not write to it."""
        return drawn(Orthonormal(), self.dim, self.patterns, self.instance)

    @property
    def relevant_set(self) -> tuple[int, ...]:
        """A in increasing order, a uniform subset of 0, …, D − 1."""
        order = Stream(self.instance).child("relevant").permutation(self.patterns)
        return tuple(sorted(order[: self.relevant].tolist()))

    @property
    def vectors(self) -> torch.Tensor:
        """The listed vectors, (2N, k) int8; the first N have the label +1."""
        return _vectors(self.relevant, 2 * self.per_label, self.instance)

    @property
    def vector_labels(self) -> torch.Tensor:
        """The label of each listed vector, (2N,) float64 of ±1."""
        return torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(self.per_label)

    @property
    def hidden(self) -> ListedPatterns:
        """The distribution of the patterns."""
        return ListedPatterns(tuple(map(tuple, self.vectors.tolist())), self.background)

    @property
    def moments(self) -> RepresentationMoments:
        """The exact moments of patterns and labels."""
        return _moments(self)

    @property
    def direction(self) -> torch.Tensor:
        r""":math:`E[yx]` scaled to length one, (d,) float64: from the mean of one class to that of the other.

        It is :math:`\sum_{j \in A} \gamma_j M_j` up to its length, where :math:`\gamma_j` is the correlation of a
        pattern with the label. Where all of them are equal, it is the direction :math:`\sum_{j \in A} M_j` of the
        paper.
        """
        total = self.matrix @ self.moments.correlations
        require(bool(total.norm() > 0), "the class means coincide for these vectors, so no direction joins them")
        return total / total.norm()

    def label_of(self, hidden: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The labels (n,) float32 for given hidden variables, in the form of ``Sample.hidden``."""
        present = hidden["patterns"][:, list(self.relevant_set)].to(torch.float32)
        listed = self.vectors.to(torch.float32)
        distance = present.sum(1)[:, None] + listed.sum(1) - 2 * present @ listed.T
        require(
            bool((distance == 0).any(1).all()),
            "patterns must form one of the listed vectors in every row; a vector outside the list has no label",
        )
        return self.vector_labels.to(torch.float32)[distance.argmin(1)]

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) float32, y (n,) float32 of ±1, ``hidden["patterns"]`` (n, D) int8."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        exact = self.moments
        present = self.hidden.sample(n, self.patterns, self.relevant_set, stream.child("patterns"))
        phi = (present.to(torch.float32) - exact.means.to(torch.float32)) / exact.scale
        hidden = {"patterns": present}
        return Sample(phi @ self.matrix.to(torch.float32).T, self.label_of(hidden), hidden)

    @property
    def constant_accuracy(self) -> float:
        """1/2: the classes are balanced."""
        return 0.5

    @property
    def direction_accuracy(self) -> float:
        r"""The accuracy of the best classifier that compares :math:`\langle E[yx], x \rangle` with a threshold.

        The direction lies in the span of the relevant patterns, so this number takes one value for each listed vector.
        All thresholds are tried, in either direction. It is a lower bound on ``linear_accuracy``.
        """
        values = self.vectors.to(torch.float64) @ self.moments.correlations[list(self.relevant_set)]
        places = values.round(decimals=12).unique(return_inverse=True)[1]
        gains = torch.zeros(int(places.max()) + 1, dtype=torch.float64)
        gains.index_add_(0, places, self.vector_labels / (2 * self.per_label))
        above = 0.5 + torch.cat([gains.flip(0).cumsum(0), torch.zeros(1, dtype=torch.float64)])
        return max(float(above.max()), 1 - float(above.min()))

    @property
    def linear_accuracy(self) -> float | None:
        """The accuracy of the best linear classifier of x with any weights and offset; None where it is not known.

        The patterns are an affine function of x, and the background says nothing about the label: the accuracy is the
        mean over its values, so fixing the best value loses nothing. What remains is a linear threshold function of
        the listed vectors (:func:`fewest_errors`). None means that more than three of them cannot be classified
        correctly. By Cover's count, random vectors are about as often separable as not if there are twice as many of
        them as relevant patterns, as in the paper.
        """
        return _linear(self)


@functools.lru_cache(maxsize=64)
def _vectors(length: int, wanted: int, instance: int) -> torch.Tensor:
    """Distinct uniform vectors in the order in which they first appear."""
    stream, found, step = Stream(instance).child("vectors"), dict[tuple[int, ...], None](), 0
    while len(found) < wanted:
        found |= dict.fromkeys(map(tuple, stream.at(step).integers(2, wanted, length).tolist()))
        step += 1
    return torch.tensor(list(found)[:wanted], dtype=torch.int8)


@functools.lru_cache(maxsize=64)
def _moments(problem: RepresentationLabels) -> RepresentationMoments:
    D, A, hidden = problem.patterns, problem.relevant_set, problem.hidden
    correlations = torch.zeros(D, dtype=torch.float64)
    correlations[list(A)] = problem.vector_labels @ problem.vectors.to(torch.float64) / (2 * problem.per_label)
    return RepresentationMoments(hidden.means(D, A), hidden.covariance(D, A), correlations, A)


@functools.lru_cache(maxsize=64)
def _linear(problem: RepresentationLabels) -> float | None:
    errors = fewest_errors(problem.vectors.numpy(), problem.vector_labels.numpy())
    return None if errors is None else 1 - errors / (2 * problem.per_label)
