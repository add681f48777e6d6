"""A quadratic target, and the plain learner trained by Adam: what experiments over samples and labels share."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between, not_empty, positive
from beyondkernels.experiments.bfc.layers import WIDTHS, neurons_of
from beyondkernels.frame import Count, Seeds, Size, setting

if TYPE_CHECKING:
    from beyondkernels.algorithms import Descent, Joining
    from beyondkernels.algorithms.losses import Loss
    from beyondkernels.core import Outcome
    from beyondkernels.networks import QuadraticDenseNet
    from beyondkernels.problems import QuadraticTarget

Alphas = Annotated[tuple[float, ...], positive]
ALPHAS = "α₂, α₃, …: standard deviations of what layers add to the target, relative to layer 2"
Steps = Annotated[tuple[int, ...], positive, not_empty]
STEPS = "of the stages; in the first, layer 2 trains alone, and then a layer joins"

LEARNT = 0.1
"""The last layer is learnt when the test error is below this part of the variance of what it adds to the target."""

RELATIVE = "Mean squared errors over the variance of the target: 1 is what the best constant leaves."


@dataclass(frozen=True)
class PlainSettings(Checked):
    """Target, learner and training; the paper has no experiment of this kind, so all numbers are ours."""

    dim: Count = setting(10, "ours", "d")
    alphas: Alphas = setting((1.0, 0.2, 0.05), "ours", ALPHAS)
    steps: Steps = setting((2000, 4000, 10_000), "ours", STEPS)
    batch: Count = setting(200, "ours", "or the whole sample if it is smaller")
    rate: Size = setting(0.01, "ours", "of Adam; it falls to zero along a cosine in every stage")
    square: Annotated[float, between(0, 1, "()")] = setting(0.99, "ours", "β₂ of Adam")
    start: Size = setting(0.3, "ours", "weights start as N(0, start²/q) where q numbers enter")
    test_samples: Count = setting(20_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a target of its own")

    def __post_init__(self) -> None:
        require(len(self.alphas) in (2, 3), f"alphas must hold 2 or 3 numbers, got {self.alphas}")
        require(
            len(self.steps) == len(self.alphas),
            f"steps must hold a number for each of the {len(self.alphas)} alphas, got {self.steps}",
        )

    @property
    def depth(self) -> int:
        """L."""
        return len(self.alphas) + 1

    @property
    def degree(self) -> int:
        """That of the target."""
        return 2**self.depth


@functools.lru_cache(maxsize=256)
def target_of(dim: int, alphas: tuple[float, ...], seed: int) -> QuadraticTarget:
    """The target of a seed, with orthonormal weights and relative α.

    Inputs are uniform: with Gaussian ones, polynomials of degree 16 have very heavy tails.
    """
    from beyondkernels.problems.bfc import UniformInputs

    layers = len(alphas) + 1
    graph, inputs = bk.problems.skip_graph(layers), UniformInputs()
    return bk.problems.QuadraticTarget(dim, WIDTHS[layers], graph, alphas, relative=True, instance=seed, inputs=inputs)


def network_of(s: PlainSettings, alphas: tuple[float, ...], leading: bool = False) -> QuadraticDenseNet:
    """The plain learner. Its α are those of the target of seed 0, whatever the seed.

    So the learner knows α up to a factor of order 1 only, which suffices (bfc, footnote 15), and the seeds train as one
    ensemble.
    """
    problem = target_of(s.dim, alphas, 0)
    return bk.networks.QuadraticDenseNet(
        problem.graph, neurons_of(problem.depth), problem.scales, scale=s.start, leading=leading
    )


def rule_of(
    s: PlainSettings, steps: tuple[int, ...], samples: int, frozen: bool = False, loss: Loss | None = None
) -> Joining:
    """Adam whose rate falls to zero in every stage."""
    from beyondkernels.algorithms.optimisers import Cosine, adam

    rules = tuple(adam(Cosine(s.rate, each), square=s.square) for each in steps)
    more: Any = {} if loss is None else {"objective": loss}
    return bk.algorithms.Joining(rules, steps, frozen, min(s.batch, samples), **more)


def descent_of(s: PlainSettings, steps: int, samples: int, rate: float) -> Descent:
    """The same rule for a network without stages, with a rate of its own."""
    from beyondkernels.algorithms.optimisers import Cosine, adam

    squared = bk.algorithms.Squared()
    rule = adam(Cosine(rate, steps), square=s.square)
    return bk.algorithms.Descent(steps, rule, min(s.batch, samples), objective=squared)


def variances_of(problem: QuadraticTarget) -> tuple[float, float]:
    """Var(G*), and the variance of what the last layer adds to it."""
    last = problem.scales[-1] * problem.layer_stds[problem.depth].value
    return problem.target_std.value**2, last**2


def errors(problem: QuadraticTarget, outcome: Outcome) -> dict[str, float]:
    """Errors over Var(G*), and the test error over the variance of what the last layer adds."""
    variance, last = variances_of(problem)
    samples = ("train", "validation", "test")
    found = {f"{name}_error": outcome.scalars.get(f"{name}_loss", math.nan) / variance for name in samples}
    return found | {"of_last_layer": found["test_error"] * variance / last}


def bar(s: PlainSettings) -> dict[str, float]:
    """A level of a figure: the error below which the last layer of the target of seed 0 is learnt."""
    variance, last = variances_of(target_of(s.dim, s.alphas, 0))
    return {f"a tenth of layer {s.depth}": LEARNT * last / variance}
