"""Sparse targets, the spans of kernels on them, and the network trained on as many points."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_most, between
from beyondkernels.lab import At, Count, Counts, Line, Over, Rows, Seeds, Size, by_seed, setting
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.certificates import SparseTargetCertificate
    from beyondkernels.papers.bfc.problems import QuadraticTarget

KERNELS: dict[str, Callable[[int, int], Any]] = {
    "Gaussian kernel": lambda d, n: bk.kernels.Gaussian(2.0 * d),
    "Laplace kernel": lambda d, n: bk.kernels.Laplace(2.0 * math.sqrt(d)),
    "quadratic kernel": lambda d, n: bk.kernels.PolynomialKernel(degree=2),
    "quartic kernel": lambda d, n: bk.kernels.PolynomialKernel(degree=4),
    "tangent kernel": lambda d, n: bk.kernels.InfiniteTangent(depth=2),
    "random features": lambda d, n: bk.kernels.GaussianFeatures(count=n),
}
"""From d and N to a kernel, or to N random features."""

NETWORK = "network"

SQUARE = 0.99
"""β₂ of Adam."""


@dataclass(frozen=True)
class TheoremI1Settings(Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    two_dim: Annotated[int, between(4, 1000)] = setting(30, "ours", "d with L = 2")
    three_dim: Annotated[int, between(8, 1000)] = setting(16, "ours", "d with L = 3")
    alpha: Annotated[float, between(0, 0.1, "()")] = setting(0.05, "theorem", "α_L; α₂ is 1 with L = 3")
    two_samples: Counts = setting((22, 44, 87, 150, 218, 400), "ours", "N with L = 2, also the number of features")
    three_samples: Counts = setting((60, 182, 600, 1200), "ours", "N with L = 3")
    targets: Annotated[Count, at_most(1000)] = setting(50, "ours", "over which kernels are averaged")
    points: Annotated[Count, at_most(10**6)] = setting(40_000, "ours", "for each of the two numbers of a kernel")
    spans: Seeds = setting(5, "ours", "training sets for kernels: the first of the seeds")
    width: Annotated[Count, at_most(1000)] = setting(3, "ours", "neurons in each layer of the network")
    two_steps: Count = setting(4000, "ours", "of the network with L = 2")
    three_steps: Count = setting(10_000, "ours", "of each stage with L = 3; layer 3 joins after the first")
    two_rate: Size = setting(0.02, "ours", "of Adam, falling to zero along a cosine")
    three_rate: Size = setting(0.01, "ours", "with L = 3")
    two_start: Size = setting(0.5, "ours", "weights start as N(0, start²/q) where q numbers enter")
    three_start: Size = setting(0.3, "ours", "with L = 3")
    batch: Count = setting(200, "ours", "with L = 3, or the whole sample if it is smaller; with L = 2 the sample")
    test_samples: Count = setting(20_000, "ours", "for the network's risk")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: for the network each has a target and a sample of its own")

    def __post_init__(self) -> None:
        for depth in (2, 3):
            first = self.samples(depth)[0]
            require(
                2 * first <= self.places(depth),
                f"{'two' if depth == 2 else 'three'}_samples must begin with at most C/2 = {self.places(depth) // 2} "
                f"points, got {first}",
            )

    def dim(self, depth: int) -> int:
        """D."""
        return self.two_dim if depth == 2 else self.three_dim

    def samples(self, depth: int) -> tuple[int, ...]:
        """All N."""
        return self.two_samples if depth == 2 else self.three_samples

    def alphas(self, depth: int) -> tuple[float, ...]:
        """α₂, …, α_L."""
        return (*(1.0,) * (depth - 2), self.alpha)

    def places(self, depth: int) -> int:
        """C, in how many ways the entries of a weight can be placed."""
        return math.comb(self.dim(depth), 2 ** (depth - 1))

    def compared(self, depth: int) -> int:
        """The largest N of at most C/2: where the network is compared with the bound."""
        return max(n for n in self.samples(depth) if 2 * n <= self.places(depth))

    def bound(self, depth: int, n: int) -> float:
        """1 − N/C, or 0: the bound in units of c²."""
        return max(0.0, 1 - n / self.places(depth))

    def certificate(self, depth: int, n: int) -> SparseTargetCertificate:
        """The bound with all that belongs to it."""
        return bk.bfc.SparseTargetCertificate(n, self.dim(depth), depth, self.alpha)


def problem_at(s: TheoremI1Settings, depth: int, instance: int) -> QuadraticTarget:
    """One of the targets; kernels take its dimension, depth and α alone."""
    return _target(s.dim(depth), depth, s.alphas(depth), instance)


@functools.lru_cache(maxsize=64)
def _target(dim: int, depth: int, alphas: tuple[float, ...], instance: int) -> QuadraticTarget:
    from beyondkernels.papers.bfc.problems import sparse_target

    return sparse_target(dim, depth, alphas, instance)


def span_spec(s: TheoremI1Settings, at: At) -> RunSpec:
    """The best risk of a kernel on a training set, or of random features."""
    functions = KERNELS[at.method](s.dim(at.depth), at.samples)
    learner = bk.bfc.BestInSpan(functions, s.targets, s.points)
    return RunSpec(problem_at(s, at.depth, 0), learner, at.samples, 1, at.seed)


def span_row(s: TheoremI1Settings, at: At, outcome: Outcome) -> dict[str, float]:
    """The two numbers, and how far the smaller one is above the bound."""
    found, bound = dict(outcome.scalars), s.bound(at.depth, at.samples)
    return found | {"bound": bound, "margin": found["low"] - bound, "top_margin": found["low_top"] - bound}


def network_spec(s: TheoremI1Settings, at: At) -> RunSpec:
    """A network with the target's graph and α; with three layers, layer 3 joins after layer 2 has trained alone."""
    from beyondkernels.algorithms.optimisers import Cosine, adam

    problem, deep = problem_at(s, at.depth, at.seed), at.depth == 3
    start = s.three_start if deep else s.two_start
    network = bk.bfc.QuadraticDenseNet(problem.graph, (s.width,) * (at.depth - 1), problem.scales, scale=start)
    if deep:
        rule = adam(Cosine(s.three_rate, s.three_steps), betas=(0.9, SQUARE))
        algorithm: Any = bk.bfc.Joining(rule, (s.three_steps,) * 2, False, min(s.batch, at.samples))
    else:
        rule, squared = adam(Cosine(s.two_rate, s.two_steps), betas=(0.9, SQUARE)), bk.algorithms.Squared()
        algorithm = bk.algorithms.Descent(s.two_steps, rule, at.samples, loss=squared)
    return RunSpec(problem, bk.engine.TrainedNetwork(network, algorithm), at.samples, s.test_samples, at.seed)


def network_row(s: TheoremI1Settings, at: At, outcome: Outcome) -> dict[str, float]:
    """The network's risk in units of c²."""
    unit = s.certificate(at.depth, at.samples).top ** 2
    risk = outcome.scalars.get("test_loss", math.nan) / unit
    return {"risk": risk, "bound": s.bound(at.depth, at.samples)}


ENCLOSED = (
    "A kernel has two risks for each seed, both of them means over targets: on the points of the fit (too small on "
    "average) and at fresh points (too large on average). The line is the mean of both."
)
"""What figures say of :class:`Enclosed`."""


@dataclass(frozen=True)
class Enclosed(Over):
    """Lines shaded from the smaller of two numbers to the larger one, where runs have two.

    Arguments:
        low: the column of the smaller number; ``y`` is that of the larger.
    """

    low: str = ""

    def _seeds(self, rows: Rows, y: str) -> tuple[list[float], list[list[float]]]:
        x, high = super()._seeds(rows, y)
        return x, [*by_seed(rows, self.x, self.low)[1], *high]


def bound_line(s: TheoremI1Settings, depth: int) -> list[Line]:
    """The bound at every N at which it says something."""
    places = [n for n in s.samples(depth) if s.bound(depth, n) > 0]
    return [Line("bound for every kernel", places, [s.bound(depth, n) for n in places])]
