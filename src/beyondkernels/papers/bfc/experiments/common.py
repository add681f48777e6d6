"""Quadratic targets, and the plain learner trained by Adam: what all experiments on them share."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between, not_empty, positive
from beyondkernels.lab import Count, Rows, Seeds, Shown, Size, setting

if TYPE_CHECKING:
    from beyondkernels.algorithms import Descent
    from beyondkernels.algorithms.losses import Loss
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.algorithms import Joining
    from beyondkernels.papers.bfc.networks import QuadraticDenseNet
    from beyondkernels.papers.bfc.problems import QuadraticTarget

WIDTHS = {3: (2, 2), 4: (2, 2, 1)}
"""k₂, k₃, … of the targets, by their number of layers L."""

GAUSSIAN, UNIFORM = "Gaussian", "uniform"
"""Inputs: both have independent coordinates with variance 1."""

LEARNT = 0.1
"""A layer is learnt when the test error is at most this part of the variance of what it adds to the target."""

MEDIAN = "median over seeds"
RELATIVE = "Mean squared errors over the variance of the target: 1 is what the best constant leaves."

Alphas = Annotated[tuple[float, ...], positive]
ALPHAS = "α₂, α₃, …: standard deviations of what layers add to the target, relative to layer 2"
Steps = Annotated[tuple[int, ...], positive, not_empty]
STEPS = "of the stages; in the first, layer 2 trains alone, and then a layer joins"


@dataclass(frozen=True)
class TrainingSettings(Checked):
    """How the plain learner is trained; the paper has no experiment of this kind, so all numbers are ours."""

    batch: Count = setting(200, "ours", "or the whole sample if it is smaller")
    rate: Size = setting(0.01, "ours", "of Adam; it falls to zero along a cosine in every stage")
    square: Annotated[float, between(0, 1, "()")] = setting(0.99, "ours", "β₂ of Adam")
    start: Size = setting(0.3, "ours", "weights start as N(0, start²/q) where q numbers enter")
    test_samples: Count = setting(20_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a target of its own")


@dataclass(frozen=True)
class PlainSettings(TrainingSettings):
    """One target for each seed, and stages with lengths of their own."""

    dim: Count = setting(10, "ours", "d")
    alphas: Alphas = setting((1.0, 0.2, 0.05), "ours", ALPHAS)
    steps: Steps = setting((2000, 4000, 10_000), "ours", STEPS)

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

    def target(self, seed: int) -> QuadraticTarget:
        """The target of a seed."""
        return target_of(self.dim, self.alphas, seed)


@functools.lru_cache(maxsize=512)
def target_of(dim: int, alphas: tuple[float, ...], seed: int, inputs: str = UNIFORM) -> QuadraticTarget:
    """The target of a seed, with orthonormal weights and relative α.

    Polynomials of degree 16 in Gaussian inputs have tails too heavy for a sample, so inputs are uniform with four
    layers. With α that do not fall, the target is outside the paper's class.
    """
    from beyondkernels.papers.bfc.problems import GaussianInputs, UniformInputs

    layers = len(alphas) + 1
    return bk.bfc.QuadraticTarget(
        dim,
        WIDTHS[layers],
        bk.bfc.skip_graph(layers),
        alphas,
        relative=True,
        instance=seed,
        inputs=GaussianInputs() if inputs == GAUSSIAN else UniformInputs(),
        in_class=all(low > high for low, high in itertools.pairwise(alphas)),
    )


def network_of(s: TrainingSettings, problem: QuadraticTarget, leading: bool = False) -> QuadraticDenseNet:
    """The plain learner with the target's graph and α; k(k + 1)/2 neurons for the widest layer, in every layer."""
    k = max(WIDTHS[problem.depth])
    neurons = (k * (k + 1) // 2,) * (problem.depth - 1)
    return bk.bfc.QuadraticDenseNet(problem.graph, neurons, problem.scales, scale=s.start, leading=leading)


def rule_of(
    s: TrainingSettings, steps: tuple[int, ...], samples: int, frozen: bool = False, loss: Loss | None = None
) -> Joining:
    """Adam whose rate falls to zero in every stage; a layer joins after each stage but the last.

    Arguments:
        s: the settings.
        steps: of the stages.
        samples: N, which bounds the batch.
        frozen: whether the layers below the newest are fixed.
        loss: the squared error if not given.
    """
    from beyondkernels.algorithms.optimisers import Cosine, adam

    rules = tuple(adam(Cosine(s.rate, each), betas=(0.9, s.square)) for each in steps)
    more: Any = {} if loss is None else {"loss": loss}
    return bk.bfc.Joining(rules[0] if len(set(steps)) == 1 else rules, steps, frozen, min(s.batch, samples), **more)


def descent_of(s: TrainingSettings, steps: int, samples: int, rate: float) -> Descent:
    """The same rule for a network without stages, with a rate of its own."""
    from beyondkernels.algorithms.optimisers import Cosine, adam

    squared = bk.algorithms.Squared()
    rule = adam(Cosine(rate, steps), betas=(0.9, s.square))
    return bk.algorithms.Descent(steps, rule, min(s.batch, samples), loss=squared)


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
    variance, last = variances_of(s.target(0))
    return {f"a tenth of layer {s.depth}": LEARNT * last / variance}


def medians(column: str, heading: str, about: str = "") -> Shown:
    """A column of medians over seeds."""

    def show(rows: Rows) -> float | None:
        return rows[column].median() if column in rows and rows[column].notna().any() else None

    return Shown(column, heading, ".1e", show=show, about=about)
