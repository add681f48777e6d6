"""The best function in the ball of a rotation-invariant kernel, exactly and at any number of patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import mpmath
import numpy as np
import torch

from beyondkernels.certificates.coefficients import degree_coefficients
from beyondkernels.certificates.krawtchouk import krawtchouk
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, require
from beyondkernels.core.constraints import not_empty, positive, rising
from beyondkernels.kernels import Kernel
from beyondkernels.papers.features.problems import DictionaryProblem
from beyondkernels.papers.features.theory.corollary3 import MOST_DEGREES
from beyondkernels.papers.features.theory.fixed_maps import require_parity
from beyondkernels.papers.features.theory.hinge_ball import least_hinge_loss

_TAIL = 0.05
"""The part of the tolerance that degrees left out may change a loss by."""


@dataclass(frozen=True)
class KernelBall(Learner):
    r"""For each L, the least hinge loss over all functions with :math:`\|f\|_K \le L`, over the whole distribution.

    The kernel depends on the inner product of the signs, so it does not change if patterns change places. Nor does the
    distribution, if patterns of A change places, or patterns outside. The loss is convex, so the mean of f over these
    changes of places is no worse and no longer. The best f is a function of a and b, the numbers of patterns that are
    present in A and outside. Such functions have the orthonormal basis

    .. math:: \varphi_{ij}(a, b) = \sqrt{\lambda_{i+j}}\,\frac{\mathcal K_i(k - a)}{\sqrt{\binom ki}}\,
              \frac{\mathcal K_j(D - k - b)}{\sqrt{\binom{D-k}j}}

    with Krawtchouk polynomials for k and for D − k coordinates. All sets A have the same least loss. Degrees i + j
    beyond some J are left out. Every |f| changes by at most :math:`L\sqrt{\sum_{j > J} \lambda_j\binom Dj}`, and the
    dual value is lowered by that.

    Arrays of the outcome, with a number for each L: ``lower`` and ``upper``, and ``used``, the norm of f.

    Arguments:
        kernel: a rotation-invariant kernel on :math:`z/\sqrt D`.
        norms: L, in rising order.
        tolerance: the largest duality gap.

    >>> import beyondkernels as bk
    >>> learner = KernelBall(bk.kernels.Gaussian(1.0), norms=(1.0, 10.0))
    >>> run = bk.fit(learner, bk.features.DictionaryParity(48, 48, relevant=3), n=1, test=0, progress=False)
    >>> run.outcome.arrays["upper"].round(2).tolist()
    [0.93, 0.49]

    Reference: Shi, Wei & Liang (features), Corollary 3.
    """

    kernel: Kernel
    norms: Annotated[tuple[float, ...], positive, rising, not_empty]
    tolerance: Annotated[float, positive] = 1e-3

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        known, _ = require_parity(problem)
        require(self.kernel.rotation_invariant, f"kernel must be rotation-invariant, got {self.kernel}")
        require(known.patterns <= MOST_DEGREES, f"patterns must be at most {MOST_DEGREES}, got {known.patterns}")

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Solve the problem for every L, each from the solution of the one before."""
        known, _ = require_parity(case.problem)
        labels, probabilities = every_count(known)
        values, tail = symmetric_features(self.kernel, known, _TAIL * self.tolerance / self.norms[-1])
        found: dict[str, list[float]] = {"lower": [], "upper": [], "used": []}
        w = None
        for i, norm in enumerate(self.norms):
            best = least_hinge_loss(
                values, labels, norm, probabilities=probabilities, tolerance=(1 - _TAIL) * self.tolerance, start=w
            )
            w = best.weights
            for name, value in zip(found, (best.lower - norm * tail, best.upper, float(w.norm())), strict=True):
                found[name].append(value)
            progress((i + 1) / len(self.norms))
        scalars = {"functions": float(values.shape[1])}
        return Outcome("finished", scalars, arrays={name: np.array(numbers) for name, numbers in found.items()})


def every_count(problem: DictionaryProblem) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels and probabilities of all numbers (a, b) of present patterns in A and outside, b running fastest.

    Arguments:
        problem: gives D, A and the distribution of the patterns.
    """
    D, k, A = problem.patterns, problem.relevant, list(problem.relevant_set)
    outside = [j for j in range(D) if j not in A]
    probabilities = torch.zeros(k + 1, D - k + 1, dtype=torch.float64)
    for part in problem.hidden.products(D, problem.relevant_set):
        p = torch.as_tensor(part.probabilities, dtype=torch.float64)
        probabilities += part.weight * torch.outer(_binomial(p[A]), _binomial(p[outside]))
    present = torch.zeros(k + 1, D, dtype=torch.int8)
    for a in range(k + 1):
        present[a, A[:a]] = 1
    labels = problem.label_of({"patterns": present}).double()
    return labels.repeat_interleave(D - k + 1), probabilities.flatten()


def symmetric_features(kernel: Kernel, problem: DictionaryProblem, tail: float) -> tuple[torch.Tensor, float]:
    """The values φ_ij(a, b), a row for each (a, b), and a bound on what the degrees left out add to |f| for norm 1.

    Arguments:
        kernel: K.
        problem: gives D and k.
        tail: how large that bound may be.
    """
    D, k = problem.patterns, problem.relevant
    found, table = degree_coefficients(kernel, D), krawtchouk(D)
    energies = [max(value, 0) * table[j][0] for j, value in enumerate(found.values)]
    rest = [mpmath.sqrt(mpmath.fsum(energies[j + 1 :])) for j in range(D + 1)]
    last = next(j for j in range(D + 1) if rest[j] <= tail)
    inside, outside = _normalised(k, k), _normalised(D - k, last)
    roots = [float(mpmath.sqrt(max(value, 0))) for value in found.values]
    columns = [
        roots[i + j] * torch.outer(inside[i], outside[j]).flatten()
        for i in range(k + 1)
        for j in range(D - k + 1)
        if i + j <= last and roots[i + j] > 0
    ]
    return torch.stack(columns, 1), float(rest[last])


def _normalised(dim: int, last: int) -> list[torch.Tensor]:
    """𝒦_i(d − a)/√C(d, i) over a = 0, …, d, for i up to some degree."""
    table = krawtchouk(dim)
    with mpmath.workdps(30):
        return [
            torch.tensor([float(value / mpmath.sqrt(table[i][0])) for value in table[i][::-1]], dtype=torch.float64)
            for i in range(min(dim, last) + 1)
        ]


def _binomial(probabilities: torch.Tensor) -> torch.Tensor:
    """The distribution of the number of successes of independent trials."""
    law = torch.ones(1, dtype=torch.float64)
    for p in probabilities.tolist():
        law = torch.cat([law * (1 - p), law.new_zeros(1)]) + torch.cat([law.new_zeros(1), law * p])
    return law
