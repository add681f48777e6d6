"""The paper's two examples: what the experiments on them share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between
from beyondkernels.lab import At, Count, Line, Seeds, Size, Statement, Value, claim, setting
from beyondkernels.papers.bfc.experiments.common import MEDIAN
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.lab.report.claims import Condition
    from beyondkernels.papers.bfc.problems import FirstToy, QuadraticInputs, SecondToy

ALONE, LAYERWISE, TOGETHER = "layer 2 alone", "layerwise", "together"
"""Layer 2 before layer 3 joins; then layer 2 frozen, or training on with layer 3."""

UNIT, UNIFORM, SMALL, GAUSSIAN = "uniform on [−1, 1]", "uniform, variance 1", "Gaussian, σ = 1/2", "Gaussian, σ = 1"
"""Inputs: all have independent coordinates."""


POLYNOMIAL, FORM = "best polynomial of degree 4", "best second layer"
"""Exact, from the moments of the inputs: among all polynomials, and among what layer 2 can be."""

LAPTOP: dict[str, Any] = {"samples": 5000, "alone_steps": 3000, "steps": 12_000, "seeds": 5}
SMOKE: dict[str, Any] = {"samples": 100, "batch": 20, "alone_steps": 4, "steps": 6, "seeds": 2}
SMOKE |= {"points": 100, "test_samples": 100}
"""What both experiments change at their smaller scales."""


@dataclass(frozen=True)
class ToySettings(Checked):
    """The numbers that both examples have; the paper has no experiment on them, so nearly all are ours."""

    samples: Count = setting(20_000, "ours", "N")
    batch: Count = setting(200, "ours")
    alone_steps: Count = setting(5000, "ours", "in which layer 2 trains alone")
    steps: Count = setting(20_000, "ours", "after layer 3 has joined")
    rate: Size = setting(0.01, "ours", "of Adam; it falls to zero along a cosine in both stages")
    square: Annotated[float, between(0, 1, "()")] = setting(0.99, "ours", "β₂ of Adam")
    start: Size = setting(0.3, "ours", "weights start as N(0, start²/q) where q numbers enter")
    points: Count = setting(20_000, "ours", "fresh points for what is measured of the layers")
    test_samples: Count = setting(20_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: sample and start")

    def __post_init__(self) -> None:
        require(self.alone_steps >= 2, f"alone_steps must be at least 2, got {self.alone_steps}")

    @property
    def ends(self) -> dict[str, int]:
        """The steps at which the two stages are read; layer 3 joins at the last step of the first."""
        return {ALONE: self.alone_steps - 1, TOGETHER: self.alone_steps + self.steps}


def inputs_of(name: str) -> QuadraticInputs:
    """The inputs of this name."""
    from beyondkernels.papers.bfc.problems import GaussianInputs, UniformInputs

    made = {UNIT: UniformInputs(1 / math.sqrt(3)), UNIFORM: UniformInputs()}
    return made[name] if name in made else GaussianInputs(0.5 if name == SMALL else 1.0)


@functools.cache
def first_toy(alpha: float, inputs: str) -> FirstToy:
    """The target (1.2)."""
    return bk.bfc.FirstToy(alpha=alpha, inputs=inputs_of(inputs))


@functools.cache
def second_toy(alpha: float) -> SecondToy:
    """The target of §6.1."""
    return bk.bfc.SecondToy(alpha=alpha, inputs=inputs_of(UNIFORM))


def toy_spec(
    s: ToySettings, at: At, problem: FirstToy | SecondToy, widths: tuple[int, int], times: tuple[int, ...] = ()
) -> RunSpec:
    """The plain learner on an example: layer 2 alone, then layer 3 joins; the place's method says what layer 2 does.

    Arguments:
        s: the settings.
        at: the place, with a method.
        problem: the example.
        widths: the neurons of both layers.
        times: further steps at which the network is kept.
    """
    from beyondkernels.algorithms.optimisers import Cosine, adam

    network = bk.bfc.QuadraticDenseNet(problem.graph, widths, problem.scales, 0.0, scale=s.start)
    steps = (s.alone_steps, s.steps)
    rules = tuple(adam(Cosine(s.rate, count), betas=(0.9, s.square)) for count in steps)
    rule = bk.bfc.Joining(rules, steps, at.method == LAYERWISE, s.batch)
    kept = tuple(sorted({*times, *s.ends.values()}))
    learner = bk.engine.TrainedNetwork(
        network, rule, record_at=kept, record_points=s.test_samples, snapshot_at=kept, snapshot_names=("all",)
    )
    measured = (bk.bfc.FeatureErrors(s.points), bk.bfc.SecondLayer(s.points))
    return RunSpec(problem, learner, s.samples, s.test_samples, at.seed, measured)


def stage_rows(s: ToySettings, at: At, look: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by moment: the end of layerwise training, or the ends of both stages of training together.

    Arguments:
        s: the settings.
        at: the place.
        look: what there is to say at a step.
    """
    ends = {LAYERWISE: s.ends[TOGETHER]} if at.method == LAYERWISE else s.ends
    return [{"moment": moment, **look(step)} for moment, step in ends.items()]


def in_median(name: str, text: str, value: Value, test: Condition, paper: str) -> Statement:
    """A claim about the median over seeds, which its text names."""
    return claim(name, text, value.median(), test, paper=paper, interval=MEDIAN)


@functools.cache
def best_coefficients(alpha: float, inputs: str, terms: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """The exact coefficients of the best polynomial of degree 4, and of the best second layer, for the target (1.2).

    Arguments:
        alpha: α.
        inputs: the name of the inputs.
        terms: the products of squares, named as in ``SecondLayer``: ``1-3`` is that of x₁²x₃².
    """
    problem = first_toy(alpha, inputs)
    polynomial, form = bk.bfc.best_polynomial(problem, 4), bk.bfc.best_second_layer(problem)
    by_power = {tuple(i.tolist()): c.item() for i, c in zip(polynomial.exponents, polynomial.coefficients, strict=True)}
    places = {name: tuple(int(digit) - 1 for digit in name.split("-")) for name in terms}
    powers = {name: tuple(2 * place.count(k) for k in range(problem.dim)) for name, place in places.items()}
    return {
        POLYNOMIAL: {name: by_power.get(power, 0.0) for name, power in powers.items()},
        FORM: {name: form[i, j].item() * (1 if i == j else 2) for name, (i, j) in places.items()},
    }


def rotated_line(alphas: tuple[float, ...]) -> Line:
    """What cannot be read off the paper's two neurons, which does not depend on α, as a line of a figure."""
    return Line("the paper's two neurons", alphas, [rotated_part(second_toy(1.0))] * len(alphas))


@functools.cache
def rotated_part(problem: SecondToy) -> float:
    """What cannot be read off the paper's two neurons (x₁² + 2x₂²)/√5 and (2x₁² − x₂²)/√5, from a fixed sample."""
    x = problem.sample(20_000, bk.core.Stream(0).child("rotated")).x
    wanted = problem.outputs(x)[2]
    left = bk.bfc.linear_error(wanted, problem.rotated_features(x).square())
    return left / float(wanted.square().sum(1).mean())
