"""Theorems I.1 and I.3: what no kernel and no feature map learns from few points, and a network does."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most, between
from beyondkernels.papers.bfc.experiments.common import fading_adam, number
from beyondkernels.papers.bfc.paper import PAPER

KERNELS: dict[str, Callable[[int, int, int], Any]] = {
    "Gaussian kernel": lambda d, n, depth: bk.kernels.Gaussian(2.0 * d),
    "Laplace kernel": lambda d, n, depth: bk.kernels.Laplace(2.0 * math.sqrt(d)),
    "quadratic kernel": lambda d, n, depth: bk.kernels.PolynomialKernel(degree=2),
    "quartic kernel": lambda d, n, depth: bk.kernels.PolynomialKernel(degree=4),
    "tangent kernel": lambda d, n, depth: bk.kernels.InfiniteTangent(depth=2),
    "kernel of products": lambda d, n, depth: bk.kernels.FunctionKernel(
        bk.bfc.products_of_two if depth == 2 else bk.bfc.products_of_four, "products"
    ),
    "random features": lambda d, n, depth: bk.kernels.GaussianFeatures(count=n),
}
"""From d, N and L to a kernel, or to N random features."""

NETWORK, GROWING = "network", "network, N grows with d"
SQUARE = 0.99  # β₂ of Adam
TIGHT = 0.5  # on the target's top part, the best kernel comes this part of the way from 1, all of it, to the bound
FAR_BELOW = 0.01  # of the bound for kernels: what the network reaches with N proportional to d
AHEAD = 10.0  # how many times the network's risk the best kernel has at the same N, at least

ENCLOSED = (
    "A kernel has two risks for each seed, both of them means over targets: on the points of the fit (too small on "
    "average) and at fresh points (too large on average). The line is the mean of both."
)
TOP = "The same two risks if the target is its top part alone."

SMOKE: dict[str, Any] = {"two_dim": 6, "three_dim": 8, "two_samples": (3, 7), "three_samples": (5, 30), "targets": 5}
SMOKE |= {
    "growth_dims": (6, 10),
    "per_dim": 1,
    "points": 200,
    "spans": 1,
    "two_steps": 5,
    "three_steps": 5,
    "test_samples": 200,
    "seeds": 2,
}


@dataclass(frozen=True)
class TheoremI1Settings(bk.core.Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    two_dim: Annotated[int, between(4, 1000)] = lab.setting(30, "ours", "d with L = 2")
    three_dim: Annotated[int, between(8, 1000)] = lab.setting(16, "ours", "d with L = 3")
    alpha: Annotated[float, between(0, 0.1, "()")] = lab.setting(0.05, "theorem", "α_L; α₂ is 1 with L = 3")
    two_samples: lab.Counts = lab.setting((22, 44, 87, 150, 218, 400), "ours", "N with L = 2, and of random features")
    three_samples: lab.Counts = lab.setting((60, 182, 600, 1200), "ours", "N with L = 3")
    growth_dims: lab.Counts = lab.setting((32, 64, 128, 256), "ours", "d with L = 2 where N grows as d")
    per_dim: lab.Count = lab.setting(10, "ours", "N/d there")
    targets: Annotated[lab.Count, at_most(1000)] = lab.setting(50, "ours", "over which kernels are averaged")
    points: Annotated[lab.Count, at_most(10**6)] = lab.setting(40_000, "ours", "for each of a kernel's two numbers")
    spans: lab.Seeds = lab.setting(5, "ours", "training sets for kernels: the first of the seeds")
    width: Annotated[lab.Count, at_most(1000)] = lab.setting(3, "ours", "neurons in each layer of the network")
    two_steps: lab.Count = lab.setting(4000, "ours", "of the network with L = 2")
    three_steps: lab.Count = lab.setting(10_000, "ours", "of each stage with L = 3; layer 3 joins after the first")
    two_rate: lab.Size = lab.setting(0.02, "ours", "of Adam, falling to zero along a cosine")
    three_rate: lab.Size = lab.setting(0.01, "ours", "with L = 3")
    two_start: lab.Size = lab.setting(0.5, "ours", "weights start as N(0, start²/q) where q numbers enter")
    three_start: lab.Size = lab.setting(0.3, "ours", "with L = 3")
    batch: lab.Count = lab.setting(200, "ours", "with L = 3, or a smaller sample; with L = 2 the sample")
    test_samples: lab.Count = lab.setting(20_000, "ours", "for the network's risk")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: for the network each has a target and a sample of its own")

    def __post_init__(self) -> None:
        for depth in (2, 3):
            first, most = self.samples(depth)[0], self.places(depth) // 2
            name = "two_samples" if depth == 2 else "three_samples"
            bk.core.require(first <= most, f"{name} must begin with at most C/2 = {most} points, got {first}")
        least = min(self.growth_dims)
        good = self.per_dim * least < math.comb(least, 2)
        bk.core.require(good, f"growth_dims must begin where per_dim·d is below d(d − 1)/2, got {self.growth_dims}")

    def dim(self, depth: int) -> int:
        return self.two_dim if depth == 2 else self.three_dim

    def samples(self, depth: int) -> tuple[int, ...]:
        return self.two_samples if depth == 2 else self.three_samples

    def places(self, depth: int) -> int:
        """C, in how many ways the entries of a weight can be placed."""
        return math.comb(self.dim(depth), 2 ** (depth - 1))

    def compared(self, depth: int) -> int:
        """The largest N of at most C/2: where the network is compared with the bound."""
        return max(n for n in self.samples(depth) if 2 * n <= self.places(depth))

    def bound(self, depth: int, n: int) -> float:
        """1 − N/C, or 0: the bound in units of c²."""
        return max(0.0, 1 - n / self.places(depth))

    def bound_over(self, dim: int) -> float:
        """The bound with L = 2 and N proportional to d."""
        return 1 - self.per_dim * dim / math.comb(dim, 2)

    def certificate(self, depth: int, n: int) -> bk.bfc.SparseTargetCertificate:
        return bk.bfc.SparseTargetCertificate(n, self.dim(depth), depth, self.alpha)


class TheoremI1(lab.Experiment):
    id = "bfc/theoremI1"
    reference = PAPER.at("Theorems I.1 and I.3")
    quantities = {
        "depth": lab.Quantity("L"),
        "bound": number("bound", ".3f", "For kernels: 1 − N/C. All risks are over c².", within=lab.SHARE),
        "low": number(
            "risk at the fit", ".3g", "On the points of the fit, which is too small on average.", "Risk, fit"
        ),
        "risk": number("risk over c²", ".3g", heading="Risk, fresh", log=True),
        "error": number("±", ".2g", "The standard error of the risk at fresh points."),
        "low_top": number("share left at the fit", ".3f", TOP, "Top, fit", within=lab.SHARE),
        "top": number("share left", ".3f", heading="Top, fresh"),
        "dim": number("d", log=True),
        "over_bound": number("risk over the bound", ".2g", log=True),
        "margin": lab.Quantity("risk minus its bound"),
        "top_margin": lab.Quantity("share left minus its bound"),
    }
    seconds_per_run = {"smoke": 0.05, "laptop": 3.0, "paper": 15.0}
    settings_class = TheoremI1Settings
    scales = {
        "laptop": lab.scale(
            three_samples=(60, 182, 600), growth_dims=(32, 64, 128), points=10_000, spans=2, three_steps=6000, seeds=5
        ),
        "smoke": lab.scale("laptop", **SMOKE),
    }

    def runs(self, s: TheoremI1Settings) -> list[lab.Runs]:
        made = []
        for depth in (2, 3):
            place = {"depth": [depth], "samples": s.samples(depth)}
            made.append(lab.Runs(span_spec, {**place, "method": tuple(KERNELS)}, span_row, seeds=s.spans))
            made.append(lab.Runs(network_spec, {**place, "method": [NETWORK]}, network_row))
        growth = {"depth": [2], "dim": s.growth_dims, "method": [GROWING]}
        return [*made, lab.Runs(growth_spec, growth, growth_row)]

    def claims(self, s: TheoremI1Settings) -> list[lab.Statement]:
        made = []
        for depth in (2, 3):
            n, kernels = s.compared(depth), {"depth": depth, "method": tuple(KERNELS), "per_seed": False}
            risk, bound = lab.of("risk", depth=depth, method=NETWORK, samples=n).median(), s.bound(depth, n)
            for name, value, test in (
                ("never", lab.least("margin", **kernels), lab.AtLeast(0.0)),
                ("top", lab.least("top_margin", **kernels), lab.AtLeast(0.0)),
                ("tight", lab.least("top", samples=n, **kernels), lab.AtMost(1 - TIGHT * (1 - bound))),
                ("network", risk, lab.AtMost(bound)),
                ("ahead", lab.least("low", samples=n, **kernels).number() / risk.number(), lab.AtLeast(AHEAD)),
            ):
                made.append(self.claim(s, f"{name}-{depth}", value, test, None, name, L=depth, n=n))
        over = lab.of("over_bound", "dim", method=GROWING).median()
        return [*made, self.claim(s, "growth", over, lab.AtMost(FAR_BELOW))]

    def table(self, s: TheoremI1Settings) -> lab.Table:
        fresh = lab.Shown("risk", about="At fresh points, which is too large on average for a kernel.")
        columns = [lab.Shown("bound", show="first"), "low", fresh, "error", "low_top", "top"]
        return lab.Table(["depth", "dim", "samples", "method"], columns)

    def figures(self, s: TheoremI1Settings) -> list[lab.Over]:
        kernels = {name: {"method": name} for name in KERNELS}
        lines, made = {**kernels, NETWORK: {"method": NETWORK}}, []
        for depth in (2, 3):
            title, units = f"L = {depth}: the best risk of kernels, and the risk of a network", "In units of c²"
            caption = f"{units}, d = {s.dim(depth)}, C = {s.places(depth)}. {ENCLOSED}"
            over: dict[str, Any] = {"x": "samples", "where": {"depth": depth}}
            over |= {"more": lambda rows, depth=depth: bound_line(s, depth)}
            made.append(Enclosed(f"risk-{depth}", title, caption, y="risk", low="low", line=lines, **over))
            title = f"L = {depth}: the share of the top part that kernels cannot express"
            caption = f"The top part, of which the bound speaks, is the target here. {ENCLOSED}"
            made.append(Enclosed(f"top-{depth}", title, caption, y="top", low="low_top", line=kernels, **over))
        bounds = lab.Line("bound for every kernel", s.growth_dims, [s.bound_over(dim) for dim in s.growth_dims])
        growing = {f"network, N = {s.per_dim}d": {"method": GROWING}}
        return [*made, lab.Over("growth", x="dim", y="risk", line=growing, middle="median", more=lambda _: [bounds])]

    def remarks(self, s: TheoremI1Settings) -> list[str]:
        def told(depth: int, n: int) -> str:
            found = s.certificate(depth, n)
            held = "; ".join(map(str, found.hypotheses))
            return f"L = {depth}, N = {n}, the paper's hypotheses: {held}. {found.verdict}"

        return [told(depth, s.compared(depth)) for depth in (2, 3)]


@functools.lru_cache(maxsize=64)
def problem_at(s: TheoremI1Settings, depth: int, instance: int) -> bk.bfc.QuadraticTarget:
    """One of the targets; kernels take its dimension, depth and α alone."""
    return bk.bfc.sparse_target(s.dim(depth), depth, (*(1.0,) * (depth - 2), s.alpha), instance)


def span_spec(s: TheoremI1Settings, at: lab.At) -> bk.store.RunSpec:
    """The best risk of a kernel on a training set, or of random features."""
    functions = KERNELS[at.method](s.dim(at.depth), at.samples, at.depth)
    learner = bk.bfc.BestInSpan(functions, s.targets, s.points)
    return bk.store.RunSpec(problem_at(s, at.depth, 0), learner, at.samples, 1, at.seed)


def span_row(s: TheoremI1Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    """The two numbers, and how far they are above the bound: the smaller one, and for the top part the larger one."""
    found, bound = dict(outcome.scalars), s.bound(at.depth, at.samples)
    return found | {"bound": bound, "margin": found["low"] - bound, "top_margin": found["top"] - bound}


def network_spec(s: TheoremI1Settings, at: lab.At) -> bk.store.RunSpec:
    """A network with the target's graph and α; with three layers, layer 3 joins after layer 2 has trained alone."""
    problem, deep = problem_at(s, at.depth, at.seed), at.depth == 3
    start = s.three_start if deep else s.two_start
    network = bk.bfc.QuadraticDenseNet(problem.graph, (s.width,) * (at.depth - 1), problem.scales, scale=start)
    if deep:
        rule = fading_adam(s.three_rate, s.three_steps, SQUARE)
        algorithm: Any = bk.bfc.Joining(rule, (s.three_steps,) * 2, False, min(s.batch, at.samples))
    else:
        rule, squared = fading_adam(s.two_rate, s.two_steps, SQUARE), bk.algorithms.Squared()
        algorithm = bk.algorithms.Descent(s.two_steps, rule, at.samples, loss=squared)
    return bk.store.RunSpec(problem, bk.engine.TrainedNetwork(network, algorithm), at.samples, s.test_samples, at.seed)


def network_row(s: TheoremI1Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    """The network's risk in units of c²."""
    unit = s.certificate(at.depth, at.samples).top ** 2
    risk = outcome.scalars.get("test_loss", math.nan) / unit
    return {"risk": risk, "bound": s.bound(at.depth, at.samples)}


def growth_spec(s: TheoremI1Settings, at: lab.At) -> bk.store.RunSpec:
    """The network of L = 2 in d dimensions, with N proportional to d."""
    return network_spec(replace(s, two_dim=at.dim), at.with_(samples=s.per_dim * at.dim))


def growth_row(s: TheoremI1Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    n, bound = s.per_dim * at.dim, s.bound_over(at.dim)
    risk = network_row(replace(s, two_dim=at.dim), at.with_(samples=n), outcome)["risk"]
    return {"samples": n, "risk": risk, "bound": bound, "over_bound": risk / bound}


@dataclass(frozen=True)
class Enclosed(lab.Over):
    """Lines shaded from the smaller of two numbers to the larger one, where runs have two.

    Arguments:
        low: the column of the smaller number; ``y`` is that of the larger.
    """

    low: str = ""

    def _seeds(self, rows: lab.Rows, y: str) -> tuple[list[float], list[list[float]]]:
        x, high = super()._seeds(rows, y)
        return x, [*lab.by_seed(rows, self.x, self.low)[1], *high]


def bound_line(s: TheoremI1Settings, depth: int) -> list[lab.Line]:
    """The bound at every N at which it says something."""
    places = [n for n in s.samples(depth) if s.bound(depth, n) > 0]
    return [lab.Line("bound for every kernel", places, [s.bound(depth, n) for n in places])]
