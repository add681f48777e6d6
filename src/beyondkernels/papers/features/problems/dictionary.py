"""The dictionary problem: inputs are sums of patterns, and labels depend on how many relevant ones are present."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import torch

from beyondkernels.core import Sample, Stream, require
from beyondkernels.core.constraints import between, not_negative, size
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.core.errors import shown
from beyondkernels.papers.features.problems import linear
from beyondkernels.papers.features.problems.assumptions import Assumption, background_independent, check
from beyondkernels.papers.features.problems.dictionaries import Dictionary, Orthonormal, drawn
from beyondkernels.papers.features.problems.hidden import HiddenPatterns, StructuredMixture, UniformPatterns
from beyondkernels.papers.features.problems.hidden.base import stack
from beyondkernels.papers.features.problems.labels import LabelSet, Parity
from beyondkernels.papers.features.problems.moments import Moments, moments

if TYPE_CHECKING:
    from beyondkernels.certificates import Certificate
    from beyondkernels.kernels import Kernel

_BLOCK = 8192  # rows drawn at once for a given class ratio; another value would give other samples
_RAREST = 1e-4


@dataclass(frozen=True)
class DictionaryProblem(ScalarProblem):
    r"""Patterns of a dictionary, some of them relevant, and a label that depends on how many of those are present.

    .. math:: \tilde x = M\tilde\phi + \zeta, \qquad y = +1 \text{ if } \textstyle\sum_{i \in A} \tilde\phi_i \in P,
        \text{ else } -1, \qquad x = (\tilde x - E\tilde x)/\tilde\sigma

    M is the (d, D) matrix of patterns, A the set of k relevant ones, ζ Gaussian noise. Inputs are normalised with exact
    population moments: :math:`x = M\phi + \zeta/\tilde\sigma`, where
    :math:`\phi = (\tilde\phi - E\tilde\phi)/\tilde\sigma`, and :math:`\tilde\sigma^2 = E\|\tilde x - E\tilde x\|^2`,
    which is :math:`\sum_j Var(\tilde\phi_j) + d\sigma_\zeta^2` for orthonormal M.

    Arguments:
        dim: d.
        patterns: D.
        relevant: k.
        labels: P.
        hidden: the distribution of the patterns.
        dictionary: the kind of M.
        noise_std: :math:`\sigma_\zeta`.
        negative_ratio: the probability of class −1. The class of each point is drawn first, then a point of that class.
            None keeps the probability that the patterns imply.
        instance: selects the draw of M and A.

    >>> problem = DictionaryProblem(dim=8, patterns=6, relevant=3, labels=Parity(), hidden=StructuredMixture())
    >>> sample = problem.sample(4, Stream(0))
    >>> sample.x.shape, sample.hidden["patterns"].shape, problem.moments.gamma
    (torch.Size([4, 8]), torch.Size([4, 6]), 0.25)

    Reference: Shi, Wei & Liang (features), §3, eq. (1), and App. F.1, eq. (294).
    """

    dim: Annotated[int, size]
    patterns: Annotated[int, size]
    relevant: Annotated[int, size]
    labels: LabelSet
    hidden: HiddenPatterns
    dictionary: Dictionary = field(default_factory=Orthonormal)
    noise_std: Annotated[float, not_negative] = 0.0
    negative_ratio: Annotated[float, between(0, 1, "()")] | None = None
    instance: int = 0

    def __post_init__(self) -> None:
        require(
            self.relevant <= self.patterns,
            f"relevant must not exceed patterns, got {self.relevant} relevant of {self.patterns} patterns",
        )
        self.labels.counts(self.relevant)
        self.dictionary.check(self.dim, self.patterns)
        self.hidden.check(self.patterns, self.relevant)
        counts = self.hidden.count_distribution(self.patterns, self.relevant_set)
        positive = float(counts[self.labels.signs(self.relevant) > 0].sum())
        require(
            0 < positive < float(counts.sum()),
            f"labels must give both classes a positive probability, got Pr[y = +1] = {positive:.4g}",
        )
        if self.negative_ratio is not None:
            rarer = min(positive, 1 - positive)
            require(
                rarer >= _RAREST,
                f"negative_ratio needs classes that each appear with probability {_RAREST} or more, got {rarer:.4g}",
            )

    @property
    def matrix(self) -> torch.Tensor:
        """M, (d, D) float64, drawn once for each instance. It is shared, so do not write to it."""
        return drawn(self.dictionary, self.dim, self.patterns, self.instance)

    @property
    def relevant_set(self) -> tuple[int, ...]:
        """A in increasing order, a uniform subset of 0, …, D − 1."""
        order = Stream(self.instance).child("relevant").permutation(self.patterns)
        return tuple(sorted(order[: self.relevant].tolist()))

    @property
    def direction(self) -> torch.Tensor:
        r""":math:`\sum_{j \in A} M_j` scaled to length one, (d,) float64: the feature to be learned."""
        total = self.matrix[:, list(self.relevant_set)].sum(1)
        return total / total.norm()

    @property
    def span(self) -> torch.Tensor | None:
        """An orthonormal basis (d, D) of the patterns' span, which holds all inputs; None if they fill the space."""
        return None if self.noise_std > 0 or self.patterns >= self.dim else _span(self)

    @property
    def moments(self) -> Moments:
        """The exact moments of patterns and labels."""
        return _moments(self)

    def label_of(self, hidden: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The labels (n,) float32 for given hidden variables, in the form of ``Sample.hidden``."""
        counts = hidden["patterns"][:, list(self.relevant_set)].sum(1, dtype=torch.int64)
        return self.labels.signs(self.relevant).to(torch.float32)[counts]

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) float32, y (n,) float32 of ±1, ``hidden["patterns"]`` (n, D) int8."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        exact = self.moments
        present = self._patterns(n, stream.child("patterns"))
        phi = (present.to(torch.float32) - exact.means.to(torch.float32)) / exact.scale
        x = phi @ self.matrix.to(torch.float32).T
        if self.noise_std > 0:
            x += stream.child("noise").normal(n, self.dim) * (self.noise_std / exact.scale)
        hidden = {"patterns": present}
        return Sample(x, self.label_of(hidden), hidden)

    def assumptions(self) -> tuple[Assumption, ...]:
        """The paper's assumptions: which hold, and by how much."""
        return check(self)

    def certify(
        self,
        what: Kernel | None = None,
        *,
        features: int | None = None,
        norm: float | None = None,
        points: int | None = None,
        queries: int | None = None,
        tolerance: float | None = None,
        advantage: float = 0.01,
    ) -> Certificate:
        """What fixed features, kernels, or learners that ask statistical queries cannot do on parity labels.

        Arguments:
            what: a rotation-invariant kernel, for which Corollary 3 is exact; None for all predictors of the kind.
            features: N, for all maps to N fixed features in [−1, 1] (Theorem 2).
            norm: the largest norm of the weights; without ``features``, the radius of a ball of a kernel's space
                (Corollary 3).
            points: the number of data points of a kernel; None for the whole ball.
            queries: Q, for all learners that ask Q statistical queries (Theorem 4); for a problem without structure.
            tolerance: τ, how far an answer may be from the truth.
            advantage: ε, how much better than chance a learner that succeeds is.

        >>> import beyondkernels as bk
        >>> problem = bk.features.DictionaryParity(dim=200, patterns=176, relevant=11)
        >>> round(bk.certify(None, problem, features=200, norm=10.0).bound, 6)
        0.5
        >>> bk.certify(None, problem.without_structure(), queries=200, tolerance=0.01).holds
        True

        Reference: Shi, Wei & Liang (features), Theorem 2, Corollary 3 and Theorem 4.
        """
        from beyondkernels.papers.features.theory.lower_bounds import certify_dictionary

        return certify_dictionary(
            what,
            self,
            features=features,
            norm=norm,
            points=points,
            queries=queries,
            tolerance=tolerance,
            advantage=advantage,
        )

    def without_structure(self) -> DictionaryProblem:
        """The same problem (M, A and P) with uniform patterns, (A1')."""
        return dataclasses.replace(self, hidden=UniformPatterns())

    @property
    def constant_accuracy(self) -> float:
        """The accuracy of the better constant prediction."""
        return max(self.moments.positive, self.moments.negative)

    @property
    def best_count_threshold_accuracy(self) -> float | None:
        r"""The accuracy of the best classifier that compares :math:`\sum_{i \in A} \tilde\phi_i` with a threshold.

        All thresholds and both directions are tried. With noise, the count is estimated by the shortest u with
        :math:`\langle u, M_j \rangle = 1[j \in A]`. None if there is no such u, which happens with more patterns than
        dimensions.
        """
        return _count_threshold(self)

    @property
    def linear_accuracy(self) -> float | None:
        """The accuracy of the best linear classifier of x with any weights and offset; None where it is not proven.

        Proven, without noise and with linearly independent columns: where a threshold of the count makes no error; for
        parity in the structured mixture or without structure (:func:`parity_accuracy`); for k ≤ 5 if the background is
        independent of the relevant patterns, by enumeration of all linear threshold functions of k bits (fixing the
        background to its best value loses nothing, as the accuracy is the mean over its values). With noise: for k = 1,
        orthonormal columns and an independent background, where the mean over all other coordinates argues alike.
        Elsewhere ``best_count_threshold_accuracy`` is a lower bound.
        """
        return _linear(self)

    def _patterns(self, n: int, stream: Stream) -> torch.Tensor:
        A = self.relevant_set
        if self.negative_ratio is None:
            return self.hidden.sample(n, self.patterns, A, stream)
        # The class of each row is drawn first; its i-th row is then the i-th of that class in an endless sample.
        positive = stream.child("class").uniform(n, dtype=torch.float64) >= self.negative_ratio
        wanted = {True: int(positive.sum()), False: n - int(positive.sum())}
        found: dict[bool, list[torch.Tensor]] = {True: [], False: []}
        block = 0
        while any(sum(map(len, found[kind])) < wanted[kind] for kind in found):
            rows = self.hidden.sample(_BLOCK, self.patterns, A, stream.child("block", str(block)))
            is_positive = self.label_of({"patterns": rows}) > 0
            found[True].append(rows[is_positive])
            found[False].append(rows[~is_positive])
            block += 1
        present = torch.empty(n, self.patterns, dtype=torch.int8)
        for kind, rows in ((True, positive), (False, ~positive)):
            if wanted[kind]:
                present[rows] = torch.cat(found[kind])[: wanted[kind]]
        return present


@functools.lru_cache(maxsize=8)
def _span(problem: DictionaryProblem) -> torch.Tensor:
    return problem.matrix if isinstance(problem.dictionary, Orthonormal) else torch.linalg.qr(problem.matrix).Q


@functools.lru_cache(maxsize=256)
def _moments(problem: DictionaryProblem) -> Moments:
    orthonormal = isinstance(problem.dictionary, Orthonormal)
    return moments(
        hidden=problem.hidden,
        relevant=problem.relevant_set,
        signs=problem.labels.signs(problem.relevant),
        gram=None if orthonormal else problem.matrix.T @ problem.matrix,
        patterns=problem.patterns,
        noise_variance=problem.dim * problem.noise_std**2,
        negative_ratio=problem.negative_ratio,
    )


@functools.lru_cache(maxsize=256)
def _count_threshold(problem: DictionaryProblem) -> float | None:
    M, exact = problem.matrix, problem.moments
    indicator = torch.zeros(problem.patterns, dtype=torch.float64)
    indicator[list(problem.relevant_set)] = 1.0
    u = torch.linalg.pinv(M).T @ indicator
    if not torch.allclose(M.T @ u, indicator, rtol=0, atol=1e-8):
        return None
    return linear.best_count_threshold(exact.count_distribution, exact.signs, problem.noise_std * float(u.norm()))


@functools.lru_cache(maxsize=256)
def _linear(problem: DictionaryProblem) -> float | None:
    k, A, exact, hidden = problem.relevant, list(problem.relevant_set), problem.moments, problem.hidden
    parts = hidden.products(problem.patterns, A)
    independent = background_independent(parts, A, exact.background_indices)
    by_count = problem.best_count_threshold_accuracy
    if problem.noise_std > 0:
        alone = k == 1 and independent and isinstance(problem.dictionary, Orthonormal)
        return by_count if alone else None
    if by_count is not None and by_count >= 1 - 1e-12:
        return 1.0
    if int(torch.linalg.matrix_rank(problem.matrix)) < problem.patterns:
        return None
    weights, table = stack(parts)
    p = table[:, A]
    if problem.labels.counts(k) == Parity().counts(k) and problem.negative_ratio is None:
        if independent and bool((p == 0.5).all()):
            return linear.parity_accuracy(k)
        if isinstance(hidden, StructuredMixture):
            return linear.parity_accuracy(k, hidden.background)
    if k not in linear.LARGEST_WEIGHT or not independent:
        return None
    bits = linear.corners(k)
    counts = bits.sum(1, dtype=torch.int64)
    density = weights @ torch.where(bits == 1, p[:, None, :], 1 - p[:, None, :]).prod(2)
    # A class ratio weights every corner by its label, and the label depends on the count.
    natural = hidden.count_distribution(problem.patterns, A)
    ratio = torch.where(natural > 0, exact.count_distribution / natural.clamp(min=1e-300), 1.0)
    symmetric = bool((p == p[:, :1]).all())
    return linear.best_linear_threshold(density * ratio[counts], exact.signs[counts], symmetric)
