"""Quadratic targets, and the plain learner trained by Adam: what all experiments on them share."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between, not_empty, positive

WIDTHS = {3: (2, 2), 4: (2, 2, 1)}  # k₂, k₃, … of the targets, by their number of layers L

GAUSSIAN, UNIFORM = "Gaussian", "uniform"
"""Inputs: both have independent coordinates with variance 1."""

LEARNT = 0.1  # a layer is learnt when the test error is at most this part of the variance of what it adds to the target

Alphas = Annotated[tuple[float, ...], positive]
ALPHAS = "α₂, α₃, …: standard deviations of what layers add to the target, relative to layer 2"
Steps = Annotated[tuple[int, ...], positive, not_empty]
STEPS = "of the stages; in the first, layer 2 trains alone, and then a layer joins"

LAPTOP: dict[str, Any] = {"dim": 8, "steps": (1000, 2000, 5000), "search_seeds": 1, "test_samples": 5000, "seeds": 5}
SMOKE: dict[str, Any] = {"dim": 4, "steps": (10, 10, 20), "search_seeds": 1, "test_samples": 200, "seeds": 2}
SMOKE |= {"validation_samples": 100}
"""What experiments with a search change at their smaller scales."""


def number(
    label: str,
    form: str = "",
    about: str = "",
    heading: str = "",
    log: bool = False,
    within: lab.Range = lab.NON_NEGATIVE,
) -> lab.Quantity:
    """A quantity that is not negative, unless another range is given."""
    return lab.Quantity(label, form, within, log=log, about=about, heading=heading)


def error(label: str, about: str = "", heading: str = "") -> lab.Quantity:
    """A relative squared error, or another small number that is not negative."""
    return replace(number(label, ".1e", about, heading, log=True), better="less")


RELATIVE = "Mean squared error over the variance of the target: 1 is what the best constant leaves."
PLAIN = {
    "test_error": error("test error / Var(G*)", RELATIVE, "Test error"),
    "train_error": error("train error"),
    "validation_error": error("validation error"),
    "of_last_layer": error("over layer L"),
}
"""The quantities of :func:`errors`."""


@dataclass(frozen=True)
class TrainingSettings(bk.core.Checked):
    """How the plain learner is trained; the paper has no experiment of this kind, so all numbers are ours."""

    batch: lab.Count = lab.setting(200, "ours", "or the whole sample if it is smaller")
    rate: lab.Size = lab.setting(0.01, "ours", "of Adam; it falls to zero along a cosine in every stage")
    square: Annotated[float, between(0, 1, "()")] = lab.setting(0.99, "ours", "β₂ of Adam")
    start: lab.Size = lab.setting(0.3, "ours", "weights start as N(0, start²/q) where q numbers enter")
    test_samples: lab.Count = lab.setting(20_000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has a target of its own")


@dataclass(frozen=True)
class PlainSettings(TrainingSettings):
    """One target for each seed, and stages with lengths of their own."""

    dim: lab.Count = lab.setting(10, "ours", "d")
    alphas: Alphas = lab.setting((1.0, 0.2, 0.05), "ours", ALPHAS)
    steps: Steps = lab.setting((2000, 4000, 10_000), "ours", STEPS)

    def __post_init__(self) -> None:
        bk.core.require(len(self.alphas) in (2, 3), f"alphas must hold 2 or 3 numbers, got {self.alphas}")
        wanted = f"steps must hold a number for each of the {len(self.alphas)} alphas"
        bk.core.require(len(self.steps) == len(self.alphas), f"{wanted}, got {self.steps}")

    @property
    def depth(self) -> int:
        """L."""
        return len(self.alphas) + 1

    @property
    def degree(self) -> int:
        return 2**self.depth

    def target(self, seed: int) -> bk.bfc.QuadraticTarget:
        return target_of(self.dim, self.alphas, seed)


@functools.lru_cache(maxsize=512)
def target_of(dim: int, alphas: tuple[float, ...], seed: int, inputs: str = UNIFORM) -> bk.bfc.QuadraticTarget:
    """The target of a seed, with orthonormal weights and relative α.

    Polynomials of degree 16 in Gaussian inputs have tails too heavy for a sample, so inputs are uniform with four
    layers. With α that do not fall, the target is outside the paper's class.
    """
    layers, falling = len(alphas) + 1, all(low > high for low, high in itertools.pairwise(alphas))
    drawn = bk.bfc.GaussianInputs() if inputs == GAUSSIAN else bk.bfc.UniformInputs()
    more: dict[str, Any] = {"relative": True, "instance": seed, "inputs": drawn, "in_class": falling}
    return bk.bfc.QuadraticTarget(dim, WIDTHS[layers], bk.bfc.skip_graph(layers), alphas, **more)


def network_of(s: TrainingSettings, problem: bk.bfc.QuadraticTarget, leading: bool = False) -> bk.bfc.QuadraticDenseNet:
    """The plain learner with the target's graph and α; k(k + 1)/2 neurons for the widest layer, in every layer."""
    k = max(WIDTHS[problem.depth])
    neurons = (k * (k + 1) // 2,) * (problem.depth - 1)
    return bk.bfc.QuadraticDenseNet(problem.graph, neurons, problem.scales, scale=s.start, leading=leading)


def fading_adam(rate: float, steps: int, square: float) -> bk.algorithms.optimisers.Optimiser:
    """Adam whose rate falls to zero along a cosine; ``square`` is β₂."""
    return bk.algorithms.optimisers.adam(bk.algorithms.optimisers.Cosine(rate, steps), betas=(0.9, square))


def rule_of(
    s: TrainingSettings,
    steps: tuple[int, ...],
    samples: int,
    frozen: bool = False,
    loss: bk.algorithms.Loss | None = None,
) -> bk.bfc.Joining:
    """Adam in stages whose rate falls to zero in each; a layer joins after each stage but the last.

    N bounds the batch. The layers below the newest may be fixed. The loss is the squared error if not given.
    """
    rules = tuple(fading_adam(s.rate, each, s.square) for each in steps)
    more: Any = {} if loss is None else {"loss": loss}
    return bk.bfc.Joining(rules[0] if len(set(steps)) == 1 else rules, steps, frozen, min(s.batch, samples), **more)


def variances_of(problem: bk.bfc.QuadraticTarget) -> tuple[float, float]:
    """Var(G*), and the variance of what the last layer adds to it."""
    last = problem.scales[-1] * problem.layer_stds[problem.depth].value
    return problem.target_std.value**2, last**2


def errors(s: PlainSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    """A row: errors over Var(G*), and the test error over the variance of what the last layer adds."""
    variance, last = variances_of(s.target(at.seed))
    samples = ("train", "validation", "test")
    found = {f"{name}_error": outcome.scalars.get(f"{name}_loss", math.nan) / variance for name in samples}
    return found | {"of_last_layer": found["test_error"] * variance / last}


def bar(s: PlainSettings) -> dict[str, float]:
    """A level of a figure: the error below which the last layer of the target of seed 0 is learnt."""
    variance, last = variances_of(s.target(0))
    return {f"a tenth of layer {s.depth}": LEARNT * last / variance}


def medians(*columns: str) -> list[lab.Shown]:
    def median(column: str, rows: lab.Rows) -> float | None:
        return rows[column].median() if column in rows and rows[column].notna().any() else None

    return [lab.Shown(column, show=functools.partial(median, column)) for column in columns]
