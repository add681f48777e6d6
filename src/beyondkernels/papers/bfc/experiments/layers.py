"""Targets of three and four layers, and what is read of the plain learner on its way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.common import GAUSSIAN, UNIFORM, error, target_of, variances_of
from beyondkernels.papers.bfc.experiments.pictures import LOW

TOGETHER, LAYERWISE = "together", "layerwise"
"""Both let the layers join one after the other. Layers that have joined go on training, or stay as they are."""

INPUTS = {3: GAUSSIAN, 4: UNIFORM}
"""The inputs of Theorem 1's targets."""

NAMES = {3: "Three layers", 4: "Four layers"}

LAPTOP: dict[str, Any] = {"three_dim": 10, "four_dim": 8, "samples": 5000, "steps": 4000, "test_samples": 10_000}
SMOKE: dict[str, Any] = {"three_dim": 4, "four_dim": 3, "batch": 50, "points": 300, "test_samples": 200, "seeds": 2}
"""What all experiments on these targets change at their smaller scales."""

QUANTITIES = {
    "layers": lab.Quantity("L"),
    "method": lab.Quantity("training"),
    "trained": lab.Quantity("layers trained"),
    "test": error("test error", "Relative to the variance of the target. Errors are medians over seeds."),
    "left": error("left of layer L", "Test error over the variance of what layer L adds to the target."),
    "S2": error(
        "relative feature error of S₂",
        "The feature error of as many leading directions as the target has, relative to E‖S*‖²; S₃ and S₄ likewise.",
        "S₂",
    ),
    **{f"S{i}": error(f"S{LOW[i]}") for i in (3, 4)},
}


@dataclass(frozen=True)
class LayersSettings(common.TrainingSettings):
    """A target with three layers and one with four for each seed, and stages of one length."""

    three_dim: lab.Count = lab.setting(16, "ours", "d of the target with three layers")
    four_dim: lab.Count = lab.setting(10, "ours", "d of the target with four layers")
    four_alphas: common.Alphas = lab.setting((1.0, 0.2, 0.05), "ours", f"with four layers: {common.ALPHAS}")
    samples: lab.Count = lab.setting(20_000, "ours", "N")
    steps: lab.Count = lab.setting(10_000, "ours", "of each stage; the first is of layer 2 alone, then a layer joins")
    snapshots: Annotated[lab.Count, at_most(1000)] = lab.setting(25, "ours", "per stage, for the course of training")
    points: lab.Count = lab.setting(10_000, "ours", "fresh points for feature errors")

    def __post_init__(self) -> None:
        bk.core.require(self.steps >= 2, f"steps must be at least 2, got {self.steps}")
        bk.core.require(len(self.four_alphas) == 3, f"four_alphas must hold 3 numbers, got {self.four_alphas}")

    def dim(self, layers: int) -> int:
        return self.four_dim if layers == 4 else self.three_dim

    def ends(self, layers: int) -> dict[int, int]:
        """By the highest layer that has joined, the step at which its stage is read.

        The next layer joins at the stage's last step, so a stage is read one step before it.
        """
        return {top: (top - 1) * self.steps - (top < layers) for top in range(2, layers + 1)}

    def joins(self, layers: int) -> dict[str, float]:
        later = {f"layer {layer} joins": float((layer - 2) * self.steps) for layer in range(3, layers + 1)}
        return {"layer 2 alone": 0.0, **later}

    def times(self, layers: int) -> tuple[int, ...]:
        """Every step at which the network is kept: in each stage the same number, and the ends of stages."""
        grid = itertools.product(range(layers - 1), range(self.snapshots))
        every = {stage * self.steps + i * self.steps // self.snapshots for stage, i in grid}
        return tuple(sorted(every | {*self.ends(layers).values()}))


def problem_at(s: LayersSettings, at: lab.At) -> bk.bfc.QuadraticTarget:
    """The target of a place; with four layers α₃ and α₄ are the place's only if it names both."""
    four = (1.0, at.alpha, at["fourth"]) if "fourth" in at else s.four_alphas
    return target_of(s.dim(at.layers), four if at.layers == 4 else (1.0, at.alpha), at.seed, at.inputs)


def plain_spec(s: LayersSettings, at: lab.At) -> bk.store.RunSpec:
    """The plain learner with layers joining; with four layers its whole course, otherwise the ends of the stages."""
    times = s.times(4) if at.layers == 4 else s.ends(at.layers).values()
    return joining_spec(s, at, problem_at(s, at), times, frozen=at.method == LAYERWISE)


def joining_spec(
    s: LayersSettings,
    at: lab.At,
    problem: bk.bfc.QuadraticTarget,
    times: Iterable[int],
    frozen: bool = False,
    at_once: bool = False,
) -> bk.store.RunSpec:
    """The plain learner, kept at some steps; layers below the newest may be fixed, or all layers train from the start.

    All ways of training have as many steps in all.
    """
    steps = (s.steps,) * (problem.depth - 1)
    rule = common.rule_of(s, (sum(steps),) if at_once else steps, s.samples, frozen)
    return spec_of(s, at, problem, common.network_of(s, problem), rule, tuple(times))


def spec_of(
    s: LayersSettings,
    at: lab.At,
    problem: bk.bfc.QuadraticTarget,
    network: bk.networks.Network,
    rule: bk.algorithms.Algorithm,
    times: tuple[int, ...],
    kept: tuple[int, ...] | None = None,
) -> bk.store.RunSpec:
    """A run whose test error is recorded at some steps, and whose features are measured there or at others."""
    looks: dict[str, Any] = {"record_at": times, "record_points": s.test_samples, "snapshot_names": ("all",)}
    learner = bk.engine.TrainedNetwork(network, rule, snapshot_at=times if kept is None else kept, **looks)
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (bk.bfc.FeatureErrors(s.points),))


def state_at(problem: bk.bfc.QuadraticTarget, outcome: bk.core.Outcome, step: int, top: int) -> dict[str, Any]:
    """Test error and feature errors at a step, up to the highest layer that has joined by then.

    ``test`` is relative to Var(G*), ``left`` to the variance of what the last layer adds, feature errors to E‖S*‖².
    ``S2`` is of the leading directions of S₂, as many as S*₂ has.
    """
    variance, last = variances_of(problem)
    loss = outcome.at("test_loss", step, math.nan)
    features = {f"S{i}": outcome.at(f"features/distilled{i}", step, math.nan) for i in range(2, top + 1)}
    return {"test": loss / variance, "left": loss / last, **features}


def stage_rows(s: LayersSettings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """A row for each stage, named by the highest layer that has joined; ``all2`` counts all directions of S₂."""
    problem = problem_at(s, at)
    return [
        {
            "top": top,
            "trained": "2" if top == 2 else f"2 to {top}",
            "variance": variances_of(problem)[0],
            **state_at(problem, outcome, step, top),
            **{f"all{i}": outcome.at(f"features/relative{i}", step, math.nan) for i in range(2, top + 1)},
            "times": times_of_bound(problem, outcome, step, top),
        }
        for top, step in s.ends(at.layers).items()
    ]


def times_of_bound(
    problem: bk.bfc.QuadraticTarget, outcome: bk.core.Outcome, step: int, top: int, kind: str = "distilled"
) -> float:
    r"""What the constant of Theorem 2 must be at least, at a step: the largest over the layers ℓ' ≤ ℓ.

    .. math:: \frac{E\|S^\star_{\ell'} - U S_{\ell'}\|^2}{E\|S^\star_{\ell'}\|^2} \cdot
              \frac{s_{\ell'}^2}{s_{\ell+1}^2 + \varepsilon^2}

    where ε² is the test error against the whole target, as in (3.1), and s the standard deviation of what a layer adds
    to the target, which takes the place of α.

    Arguments:
        problem: the target.
        outcome: a run that recorded test errors and features at this step.
        step: the step.
        top: ℓ, the highest layer that has joined.
        kind: which feature error: ``distilled`` of the leading directions, ``relative`` of all.
    """
    squares = {i: (a * problem.layer_stds[i].value) ** 2 for i, a in enumerate(problem.scales, 2)}
    least = squares.get(top + 1, 0.0) + outcome.at("test_loss", step, math.nan)
    return max(outcome.at(f"features/{kind}{i}", step, math.nan) * squares[i] / least for i in range(2, top + 1))
