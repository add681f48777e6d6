"""The paper's two examples: what the experiments on them share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import between
from beyondkernels.papers.bfc.experiments.common import fading_adam

ALONE, LAYERWISE, TOGETHER = "layer 2 alone", "layerwise", "together"
"""Layer 2 before layer 3 joins; then layer 2 frozen, or training on with layer 3."""

UNIT, UNIFORM, SMALL, GAUSSIAN = "uniform on [−1, 1]", "uniform, variance 1", "Gaussian, σ = 1/2", "Gaussian, σ = 1"
"""Inputs: all have independent coordinates."""

LAPTOP: dict[str, Any] = {"samples": 5000, "alone_steps": 3000, "steps": 12_000, "seeds": 5}
SMOKE: dict[str, Any] = {"samples": 100, "batch": 20, "alone_steps": 4, "steps": 6, "seeds": 2}
SMOKE |= {"points": 100, "test_samples": 100}
"""What both experiments change at their smaller scales."""


@dataclass(frozen=True)
class ToySettings(bk.core.Checked):
    """The numbers that both examples have; the paper has no experiment on them, so nearly all are ours."""

    samples: lab.Count = lab.setting(20_000, "ours", "N")
    batch: lab.Count = lab.setting(200, "ours")
    alone_steps: lab.Count = lab.setting(5000, "ours", "in which layer 2 trains alone")
    steps: lab.Count = lab.setting(20_000, "ours", "after layer 3 has joined")
    rate: lab.Size = lab.setting(0.01, "ours", "of Adam; it falls to zero along a cosine in both stages")
    square: Annotated[float, between(0, 1, "()")] = lab.setting(0.99, "ours", "β₂ of Adam")
    start: lab.Size = lab.setting(0.3, "ours", "weights start as N(0, start²/q) where q numbers enter")
    points: lab.Count = lab.setting(20_000, "ours", "fresh points for what is measured of the layers")
    test_samples: lab.Count = lab.setting(20_000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: sample and start")

    def __post_init__(self) -> None:
        bk.core.require(self.alone_steps >= 2, f"alone_steps must be at least 2, got {self.alone_steps}")

    @property
    def ends(self) -> dict[str, int]:
        """The steps at which the two stages are read; layer 3 joins at the last step of the first."""
        return {ALONE: self.alone_steps - 1, TOGETHER: self.alone_steps + self.steps}


def inputs_of(name: str) -> bk.bfc.QuadraticInputs:
    made = {UNIT: bk.bfc.UniformInputs(1 / math.sqrt(3)), UNIFORM: bk.bfc.UniformInputs()}
    return made[name] if name in made else bk.bfc.GaussianInputs(0.5 if name == SMALL else 1.0)


@functools.cache
def first_toy(alpha: float, inputs: str) -> bk.bfc.FirstToy:
    """The target (1.2)."""
    return bk.bfc.FirstToy(alpha=alpha, inputs=inputs_of(inputs))


@functools.cache
def second_toy(alpha: float) -> bk.bfc.SecondToy:
    """The target of §6.1."""
    return bk.bfc.SecondToy(alpha=alpha, inputs=inputs_of(UNIFORM))


def toy_spec(
    s: ToySettings,
    at: lab.At,
    problem: bk.bfc.FirstToy | bk.bfc.SecondToy,
    widths: tuple[int, int],
    times: tuple[int, ...] = (),
) -> bk.store.RunSpec:
    """The plain learner on an example, kept at the ends of both stages and at further steps.

    Layer 2 is alone, then layer 3 joins; the place's method says what layer 2 does then.
    """
    network = bk.bfc.QuadraticDenseNet(problem.graph, widths, problem.scales, 0.0, scale=s.start)
    steps = (s.alone_steps, s.steps)
    rules = tuple(fading_adam(s.rate, count, s.square) for count in steps)
    rule = bk.bfc.Joining(rules, steps, at.method == LAYERWISE, s.batch)
    kept = tuple(sorted({*times, *s.ends.values()}))
    looks: dict[str, Any] = {"record_points": s.test_samples, "snapshot_at": kept, "snapshot_names": ("all",)}
    learner = bk.engine.TrainedNetwork(network, rule, record_at=kept, **looks)
    measured = (bk.bfc.FeatureErrors(s.points), bk.bfc.SecondLayer(s.points))
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed, measured)


def stage_rows(s: ToySettings, at: lab.At, look: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """What there is to see at the end of layerwise training, or at the ends of both stages of training together."""
    ends = {LAYERWISE: s.ends[TOGETHER]} if at.method == LAYERWISE else s.ends
    return [{"moment": moment, **look(step)} for moment, step in ends.items()]
