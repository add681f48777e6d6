"""The paper's two examples: what the experiments on them share."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between
from beyondkernels.frame import At, Count, Seeds, Size, setting
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.problems.bfc import FirstToy, QuadraticInputs, SecondToy

ALONE, LAYERWISE, TOGETHER = "layer 2 alone", "layerwise", "together"
"""Layer 2 before layer 3 joins; then layer 2 frozen, or training on with layer 3."""

UNIT, UNIFORM, SMALL, GAUSSIAN = "uniform on [−1, 1]", "uniform, variance 1", "Gaussian, σ = 1/2", "Gaussian, σ = 1"
"""Inputs: all have independent coordinates."""


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
    from beyondkernels.problems.bfc import GaussianInputs, UniformInputs

    made = {UNIT: UniformInputs(1 / math.sqrt(3)), UNIFORM: UniformInputs()}
    return made[name] if name in made else GaussianInputs(0.5 if name == SMALL else 1.0)


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

    network = bk.networks.QuadraticDenseNet(problem.graph, widths, problem.scales, 0.0, scale=s.start)
    steps = (s.alone_steps, s.steps)
    rules = tuple(adam(Cosine(s.rate, count), square=s.square) for count in steps)
    rule = bk.algorithms.Joining(rules, steps, at.method == LAYERWISE, s.batch)
    kept = tuple(sorted({*times, *s.ends.values()}))
    learner = bk.engine.TrainedNetwork(
        network, rule, record_at=kept, record_points=s.test_samples, snapshot_at=kept, snapshot_names=("all",)
    )
    measured = (bk.measure.FeatureErrors(s.points), bk.measure.SecondLayer(s.points))
    return RunSpec(problem, learner, s.samples, s.test_samples, at.seed, measured)


def best_coefficients(problem: FirstToy, terms: Iterable[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The exact coefficients of the best polynomial of degree 4, and of the best second layer.

    Arguments:
        problem: the target.
        terms: the products of squares, named as in ``SecondLayer``: ``1-3`` is that of x₁²x₃².
    """
    polynomial, form = bk.theory.bfc.best_polynomial(problem, 4), bk.theory.bfc.best_second_layer(problem)
    by_power = {tuple(i.tolist()): c.item() for i, c in zip(polynomial.exponents, polynomial.coefficients, strict=True)}
    places = {name: tuple(int(digit) - 1 for digit in name.split("-")) for name in terms}
    powers = {name: tuple(2 * place.count(k) for k in range(problem.dim)) for name, place in places.items()}
    return (
        {name: by_power.get(power, 0.0) for name, power in powers.items()},
        {name: form[i, j].item() * (1 if i == j else 2) for name, (i, j) in places.items()},
    )


@functools.cache
def rotated_part(problem: SecondToy) -> float:
    """What cannot be read off the paper's two neurons (x₁² + 2x₂²)/√5 and (2x₁² − x₂²)/√5, from a fixed sample."""
    x = problem.sample(20_000, bk.core.Stream(0).child("rotated")).x
    wanted = problem.outputs(x)[2]
    left = bk.theory.bfc.linear_error(wanted, problem.rotated_features(x).square())
    return left / float(wanted.square().sum(1).mean())
