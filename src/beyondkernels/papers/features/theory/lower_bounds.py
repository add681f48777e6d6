"""Which lower bound answers what is asked of a dictionary problem."""

from __future__ import annotations

from beyondkernels.certificates import Certificate
from beyondkernels.core import InputError, require, shown
from beyondkernels.kernels import Kernel
from beyondkernels.papers.features.problems import DictionaryProblem, Parity, StructuredMixture
from beyondkernels.papers.features.statistical_queries import certify_queries
from beyondkernels.papers.features.theory.corollary3 import KernelBallCertificate
from beyondkernels.papers.features.theory.theorem2 import FixedFeatureCertificate


def certify_dictionary(
    what: Kernel | None,
    problem: DictionaryProblem,
    *,
    features: int | None = None,
    norm: float | None = None,
    points: int | None = None,
    queries: int | None = None,
    tolerance: float | None = None,
    advantage: float = 0.01,
) -> Certificate:
    """The certificate behind :meth:`bk.features.DictionaryProblem.certify`, which explains the arguments."""
    require(what is None or isinstance(what, Kernel), f"what must be a kernel or None, got {shown(what)}")
    if queries is not None or tolerance is not None:
        if queries is None or tolerance is None:
            raise InputError("queries and tolerance belong together: how many queries, and how exact the answers are")
        require(what is None, "what must be None for queries: the bound holds for every learner that asks them")
        require(features is None and norm is None, "queries cannot be combined with features or norm")
        return certify_queries(problem, queries, tolerance, advantage)
    if norm is None:
        raise InputError(
            "norm must be given, the largest norm of the weights (with features=N for N fixed features, alone for a "
            "ball of a kernel's space); or queries and tolerance, for learners that ask statistical queries"
        )
    D, k, hidden = problem.patterns, problem.relevant, problem.hidden
    require(
        isinstance(hidden, StructuredMixture) and problem.negative_ratio is None,
        "problem must have the patterns of a StructuredMixture and no negative_ratio, as in App. C, got "
        f"{type(hidden).__name__}",
    )
    require(
        problem.labels.counts(k) == Parity().counts(k),
        f"problem must have parity labels, which Theorem 2's proof is about, got {problem.labels}",
    )
    assert isinstance(hidden, StructuredMixture)
    if features is None:
        return KernelBallCertificate(D, k, hidden.background, norm, points=points, kernel=what)
    require(what is None, "what must be None with features: the bound holds for every map to so many features")
    return FixedFeatureCertificate(D, k, hidden.background, features, norm)
