"""The best linear model on fixed features for every set A of relevant patterns: the worst A, without a search."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from beyondkernels.certificates.span import require_enumerable
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, require
from beyondkernels.core.constraints import not_empty, positive, rising
from beyondkernels.papers.features.theory.ball_classifier import every_pattern
from beyondkernels.papers.features.theory.fixed_maps import FixedMap, require_parity
from beyondkernels.papers.features.theory.hinge_ball import least_hinge_loss

MOST_SOLVED = 20_000
"""The most sets A for which the convex problem is solved."""


@dataclass(frozen=True)
class EveryTarget(Learner):
    r"""For each B and every set A of k patterns, the least hinge loss over all patterns between two values.

    .. math:: \ell_A(B) = \min_{|w| \le B} E_A \max(0, 1 - y\langle\Psi(z), w\rangle), \qquad
              \max_A \mathrm{lower}_A \le \max_A \ell_A(B) \le \max_A \mathrm{upper}_A

    Theorem 2 speaks of the largest of these numbers, and the bound by counting of their mean. All C(D, k) problems are
    solved, so neither needs a search. Arrays of the outcome: ``lower`` and ``upper``, the dual and the primal values,
    shape (norms, C). The sets A are in the order of :func:`itertools.combinations`.

    Arguments:
        features: Ψ.
        norms: B, in rising order.
        tolerance: the largest duality gap.

    >>> import beyondkernels as bk
    >>> learner = EveryTarget(bk.features.FixedNeurons(8), norms=(1.0, 2.0))
    >>> run = bk.fit(learner, bk.features.DictionaryParity(6, 6, relevant=3), n=1, test=0, progress=False)
    >>> run.outcome.arrays["lower"].shape
    (2, 20)

    Reference: Shi, Wei & Liang (features), Theorem 2.
    """

    features: FixedMap
    norms: Annotated[tuple[float, ...], positive, rising, not_empty]
    tolerance: Annotated[float, positive] = 1e-3

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Whether all patterns and all sets A can be listed."""
        known, _ = require_parity(problem)
        require_enumerable(known.patterns, self.features.size(known.patterns))
        targets = math.comb(known.patterns, known.relevant)
        require(
            targets <= MOST_SOLVED,
            f"problem must have at most {MOST_SOLVED} sets A to be solved for each, got {targets}",
        )

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Solve one set A after the other, each B from the solution of the one before."""
        known, _ = require_parity(case.problem)
        z, labels, probabilities = every_pattern(known)
        D, k = known.patterns, known.relevant
        found = np.zeros((2, len(self.norms), math.comb(D, k)))
        for place, A in enumerate(itertools.combinations(range(D), k)):
            values, w = self.features.values(renamed(z, known.relevant_set, A)), None
            for i, norm in enumerate(self.norms):
                best = least_hinge_loss(
                    values, labels, norm, probabilities=probabilities, tolerance=self.tolerance, start=w
                )
                w = best.weights
                found[:, i, place] = best.lower, best.upper
            progress((place + 1) / found.shape[2])
        scalars = {"targets": float(found.shape[2])}
        return Outcome("finished", scalars, arrays={"lower": found[0], "upper": found[1]})


def renamed(z: torch.Tensor, relevant: tuple[int, ...], A: tuple[int, ...]) -> torch.Tensor:
    """Signs with the patterns renamed so that those of one set are those of another.

    Labels and probabilities of a problem belong to its own set. So they are those of the set A at the renamed signs.

    Arguments:
        z: signs, shape (n, D).
        relevant: the set that labels and probabilities belong to.
        A: the set that they are to belong to.
    """
    out = torch.empty_like(z)
    for ours, theirs in ((relevant, A), (_others(relevant, z.shape[1]), _others(A, z.shape[1]))):
        out[:, list(theirs)] = z[:, list(ours)]
    return out


def _others(chosen: tuple[int, ...], patterns: int) -> list[int]:
    return [j for j in range(patterns) if j not in chosen]
