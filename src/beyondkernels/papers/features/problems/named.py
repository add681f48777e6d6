"""The paper's own dictionary problems by name."""

from __future__ import annotations

from beyondkernels.core import require_between
from beyondkernels.papers.features.problems.dictionaries import Dictionary, Orthonormal
from beyondkernels.papers.features.problems.dictionary import DictionaryProblem
from beyondkernels.papers.features.problems.hidden import IndependentPatterns, StructuredMixture, UniformPatterns
from beyondkernels.papers.features.problems.labels import Counts, Interval, Parity


def DictionaryParity(  # noqa: N802 - reads as the problem it returns
    dim: int,
    patterns: int,
    relevant: int,
    background: float = 0.5,
    *,
    dictionary: Dictionary | None = None,
    noise_std: float = 0.0,
    negative_ratio: float | None = None,
    instance: int = 0,
) -> DictionaryProblem:
    r"""Parity of the relevant patterns in the structured mixture.

    .. math:: y = +1 \text{ if } \textstyle\sum_{i \in A} \tilde\phi_i \text{ is odd}, \qquad
        D_{\tilde\phi} = p_o D^{(0)} + (1 - p_o) D^{(1)}

    Arguments:
        dim: d.
        patterns: D.
        relevant: k.
        background: :math:`p_o`.
        dictionary: the kind of M; orthonormal if not given.
        noise_std: :math:`\sigma_\zeta`.
        negative_ratio: the probability of class −1 (App. E.2.2), or None for the one that the patterns imply.
        instance: which M and A are drawn.

    >>> problem = DictionaryParity(dim=500, patterns=100, relevant=5)
    >>> problem.linear_accuracy, problem.moments.gamma, problem.without_structure().linear_accuracy
    (0.84375, 0.25, 0.6875)

    Reference: Shi, Wei & Liang (features), App. C and E.1.1 (Table 1).
    """
    return DictionaryProblem(
        dim=dim,
        patterns=patterns,
        relevant=relevant,
        labels=Parity(),
        hidden=StructuredMixture(background),
        dictionary=dictionary or Orthonormal(),
        noise_std=noise_std,
        negative_ratio=negative_ratio,
        instance=instance,
    )


def IntervalLabelling(  # noqa: N802 - reads as the problem it returns
    dim: int = 500,
    patterns: int = 100,
    relevant: int = 30,
    low: int = 20,
    high: int = 30,
    relevant_probability: float = 2 / 3,
    background: float = 0.5,
    *,
    dictionary: Dictionary | None = None,
    noise_std: float = 0.0,
    instance: int = 0,
) -> DictionaryProblem:
    r"""Independent patterns with y = +1 if the count lies in an interval. The defaults are those of Table 2.

    .. math:: y = +1 \text{ if } t_1 \le \textstyle\sum_{i \in A} \tilde\phi_i \le t_2

    With the defaults the interval ends at k, so a threshold of the count makes no error. The classes are not balanced:
    Pr[y = +1] is 0.585, and 0.049 without structure.

    Arguments:
        dim: d.
        patterns: D.
        relevant: k.
        low: :math:`t_1`.
        high: :math:`t_2`.
        relevant_probability: of each relevant pattern.
        background: :math:`p_o`.
        dictionary: the kind of M; orthonormal if not given.
        noise_std: :math:`\sigma_\zeta`.
        instance: which M and A are drawn.

    >>> problem = IntervalLabelling()
    >>> round(problem.moments.positive, 3), round(problem.without_structure().moments.positive, 3)
    (0.585, 0.049)

    Reference: Shi, Wei & Liang (features), App. E.1.2 (Table 2).
    """
    return DictionaryProblem(
        dim=dim,
        patterns=patterns,
        relevant=relevant,
        labels=Interval(low, high),
        hidden=IndependentPatterns(relevant_probability, background),
        dictionary=dictionary or Orthonormal(),
        noise_std=noise_std,
        instance=instance,
    )


def two_gaussians(dim: int, noise_std: float, positive: float = 0.5, *, instance: int = 0) -> DictionaryProblem:
    r"""A mixture of two Gaussians: a dictionary of one pattern v, present in class +1 only.

    .. math:: \tilde x \sim \tfrac v2 + N(y \tfrac v2, \sigma_\zeta^2 I), \qquad \|v\| = 1

    Arguments:
        dim: d.
        noise_std: :math:`\sigma_\zeta`.
        positive: Pr[y = +1].
        instance: selects the draw of v.

    >>> round(two_gaussians(dim=10, noise_std=0.5).linear_accuracy, 6)  # Φ(1/(2σ))
    0.841345

    Reference: Shi, Wei & Liang (features), App. F.1, Example.
    """
    require_between("positive", positive, 0, 1, "()")
    return DictionaryProblem(
        dim=dim,
        patterns=1,
        relevant=1,
        labels=Counts((1,)),
        hidden=UniformPatterns() if positive == 0.5 else IndependentPatterns(relevant=positive),
        noise_std=noise_std,
        instance=instance,
    )
