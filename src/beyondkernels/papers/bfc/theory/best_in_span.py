"""The best risk of a kernel on a training set, or of a feature map, for sparse targets under Gaussian inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Case, InputError, Learner, Outcome, Problem, Progress, Stream, require
from beyondkernels.core.constraints import at_most, positive
from beyondkernels.kernels import Kernel, RandomFeatures
from beyondkernels.papers.bfc.certificates import top_coefficient
from beyondkernels.papers.bfc.problems import QuadraticTarget, sparse_target

_ABSENT = 1e-13
"""Directions with a singular value below this, relative to the largest, count as absent: float64 sees no more."""

_MOST_VALUES = 2**27
"""The most values of all functions at all points: 1 GiB."""


@dataclass(frozen=True)
class BestInSpan(Learner):
    r"""What the best predictor in the span of N functions leaves, averaged over many sparse targets.

    .. math:: \min_v E\Bigl(G^*(x) - \sum_n v_n K(x, x^{(n)})\Bigr)^2

    The weights v may depend on anything, so no way of training does better. The mean over x is taken over random
    points, and two numbers enclose it. On the points to which v is fitted the risk is too small on average. On as many
    fresh points the same v has a risk that is too large on average, because v is not the best for the whole
    distribution.

    Scalars are means over targets, in units of c², where :math:`c = \alpha_L\,p!\,p^{-p/2}`: ``low`` and ``risk`` are
    the two numbers, and ``error`` is the standard error of ``risk`` over the fresh points. ``low_top`` and ``top`` are
    the two numbers for the target's top part :math:`c \prod_{i \in S} x_i` alone, whose mean square is c²: they are
    divided by its mean square on the same points, which takes most of the noise out. ``dimension`` is that of the span.

    Arguments:
        functions: a kernel, with the training points of the run, or random features.
        targets: how many targets are drawn. All have the dimension, the depth and the α of the problem.
        points: for each of the two numbers.

    Reference: Allen-Zhu & Li (bfc), Theorems I.1 and I.3.
    """

    functions: Kernel | RandomFeatures
    targets: Annotated[int, positive, at_most(10_000)] = 50
    points: Annotated[int, positive] = 10_000

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        """Check that the problem is a sparse target and that the points are enough."""
        _sparse(problem)
        n = self.functions.count if isinstance(self.functions, RandomFeatures) else samples
        require(self.points >= 2 * n, f"points must be at least 2N = {2 * n}, or the fit is free, got {self.points}")
        wanted = self.points * (n + 2 * self.targets)
        require(wanted <= _MOST_VALUES, f"points must give at most {_MOST_VALUES} values, got {wanted} in all")

    def fit(self, case: Case, progress: Progress) -> Outcome:
        problem = _sparse(case.problem)
        stream, d = case.stream.child("span"), problem.in_dim
        some = drawn_targets(problem, self.targets, stream.child("targets"))
        fitted, fresh = (stream.child(name).normal(self.points, d, dtype=torch.float64) for name in ("fit", "fresh"))
        wanted = _wanted(some, fitted), _wanted(some, fresh)
        solved = Solved(self._values(fitted, case), wanted[0])
        progress(0.7)
        left = (wanted[1] - self._values(fresh, case) @ solved.weights).square()
        k, unit = self.targets, top_coefficient(problem.depth, problem.alphas[-1]) ** 2
        whole, tops = left[:, :k].mean(1) / unit, [float(each[:, k:].square().mean()) for each in wanted]
        return Outcome(
            scalars={
                "low": float(solved.left[:k].mean()) / unit,
                "risk": float(whole.mean()),
                "error": float(whole.std()) / self.points**0.5,
                "low_top": float(solved.left[k:].mean()) / tops[0],
                "top": float(left[:, k:].mean()) / tops[1],
                "dimension": float(solved.dimension),
            }
        )

    def _values(self, x: torch.Tensor, case: Case) -> torch.Tensor:
        """The N functions at points, (n, N)."""
        if isinstance(self.functions, RandomFeatures):
            return self.functions.features(x, case.stream.child("features"))
        return self.functions(x, case.train.x.double())


def drawn_targets(problem: QuadraticTarget, count: int, stream: Stream) -> list[QuadraticTarget]:
    """Sparse targets with the dimension, the depth and the α of a problem, drawn independently."""
    numbers = stream.integers(2**31, count).tolist()
    return [sparse_target(problem.in_dim, problem.depth, problem.alphas, instance=number) for number in numbers]


class Solved:
    """Least squares of several columns on the span of others, where nearly dependent directions are kept.

    Arguments:
        values: of the functions, (points, N).
        wanted: the columns, (points, k).
    """

    def __init__(self, values: torch.Tensor, wanted: torch.Tensor):
        norms = torch.linalg.vector_norm(values, dim=0).clamp(min=1e-300)
        Q, R = torch.linalg.qr(values / norms)
        U, s, Vh = torch.linalg.svd(R)
        there = s > _ABSENT * s[0]
        inner = U[:, there].T @ (Q.T @ wanted)
        self.dimension = int(there.sum())
        self.weights = (Vh[there].T @ (inner / s[there, None])) / norms[:, None]
        """Of the functions, (N, k)."""
        self.left = (wanted - Q @ (U[:, there] @ inner)).square().mean(0)
        """What is left of each column, (k,)."""


def _wanted(targets: list[QuadraticTarget], x: torch.Tensor) -> torch.Tensor:
    """The targets at points, and then their top parts."""
    top = top_coefficient(targets[0].depth, targets[0].alphas[-1])
    parts = [top * x[:, target.weights[2, 0][0] > 0].prod(1) for target in targets]
    return torch.stack([*(target.target(x) for target in targets), *parts], 1)


def _sparse(problem: Problem) -> QuadraticTarget:
    """The problem, if it is one of the sparse targets."""
    if isinstance(problem, QuadraticTarget) and 2 ** (problem.depth - 1) <= problem.in_dim and problem.matrices:
        like = sparse_target(problem.in_dim, problem.depth, problem.alphas)
        if (problem.graph, problem.widths, problem.inputs) == (like.graph, like.widths, like.inputs):
            return problem
    raise InputError(f"problem must be a sparse target, as sparse_target makes, got {type(problem).__name__}")
