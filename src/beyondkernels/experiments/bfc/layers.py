"""Targets of three and four layers and the plain learner: what the experiments on Theorems 1 and 2 share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_most, between, positive
from beyondkernels.frame import At, Count, Frame, Seeds, Shown, Size, setting
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.core import Outcome
    from beyondkernels.networks import Network
    from beyondkernels.problems.bfc import QuadraticTarget

TOGETHER, LAYERWISE = "together", "layerwise"
"""Both let the layers join one after the other. Layers that have joined go on training, or stay as they are."""

WIDTHS = {3: (2, 2), 4: (2, 2, 1)}
"""k₂, k₃, … of the targets, by their number of layers L."""

GAUSSIAN, UNIFORM = "Gaussian", "uniform"
"""Inputs: both have independent coordinates with variance 1."""

INPUTS = {3: GAUSSIAN, 4: UNIFORM}
"""The inputs of Theorem 1's targets: polynomials of degree 16 in Gaussian inputs have tails too heavy for a sample."""

NAMES = {3: "Three layers", 4: "Four layers"}


@dataclass(frozen=True)
class LayersSettings(Checked):
    """The numbers that both experiments have; the paper has no experiment of this kind, so all are ours."""

    three_dim: Count = setting(16, "ours", "d of the target with three layers")
    four_dim: Count = setting(10, "ours", "d of the target with four layers")
    four_alphas: Annotated[tuple[float, ...], positive] = setting(
        (1.0, 0.2, 0.05), "ours", "α₂, α₃, α₄ with four layers: ratios of standard deviations"
    )
    samples: Count = setting(20_000, "ours", "N")
    batch: Count = setting(200, "ours")
    steps: Count = setting(10_000, "ours", "of each stage; in the first, layer 2 trains alone, and then a layer joins")
    rate: Size = setting(0.01, "ours", "of Adam; it falls to zero along a cosine in every stage")
    square: Annotated[float, between(0, 1, "()")] = setting(0.99, "ours", "β₂ of Adam")
    start: Size = setting(0.3, "ours", "weights start as N(0, start²/q) where q numbers enter")
    snapshots: Annotated[Count, at_most(1000)] = setting(25, "ours", "per stage, for the course of training")
    points: Count = setting(10_000, "ours", "fresh points for feature errors")
    test_samples: Count = setting(20_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a target of its own")

    def __post_init__(self) -> None:
        require(self.steps >= 2, f"steps must be at least 2, got {self.steps}")
        require(len(self.four_alphas) == 3, f"four_alphas must hold 3 numbers, got {self.four_alphas}")

    def ends(self, layers: int) -> dict[int, int]:
        """By the highest layer that has joined, the step at which its stage is read.

        The next layer joins at the stage's last step, so a stage is read one step before it.
        """
        tops = range(2, layers + 1)
        return {top: (top - 1) * self.steps - (top < layers) for top in tops}

    def joins(self, layers: int) -> dict[str, float]:
        """When layers join, in words."""
        later = {f"layer {layer} joins": float((layer - 2) * self.steps) for layer in range(3, layers + 1)}
        return {"layer 2 alone": 0.0, **later}

    def times(self, layers: int) -> tuple[int, ...]:
        """Every step at which the network is kept: in each stage the same number, and the ends of stages."""
        every = {stage * self.steps + i * self.steps // self.snapshots for stage, i in self._grid(layers)}
        return tuple(sorted(every | {*self.ends(layers).values()}))

    def _grid(self, layers: int) -> Any:
        return itertools.product(range(layers - 1), range(self.snapshots))


def problem_at(s: LayersSettings, at: At) -> QuadraticTarget:
    """The target of a seed, with orthonormal weights and relative α."""
    from beyondkernels.problems.bfc import GaussianInputs, UniformInputs

    return bk.problems.QuadraticTarget(
        s.four_dim if at.layers == 4 else s.three_dim,
        WIDTHS[at.layers],
        bk.problems.skip_graph(at.layers),
        s.four_alphas if at.layers == 4 else (1.0, at.alpha),
        relative=True,
        instance=at.seed,
        inputs=GaussianInputs() if at.inputs == GAUSSIAN else UniformInputs(),
    )


def neurons_of(layers: int) -> tuple[int, ...]:
    """The learner's widths: k(k + 1)/2 for the widest layer of the target, in every layer."""
    k = max(WIDTHS[layers])
    return (k * (k + 1) // 2,) * (layers - 1)


def plain_spec(s: LayersSettings, at: At) -> RunSpec:
    """The plain learner with layers joining; with four layers its whole course, otherwise the ends of the stages."""
    from beyondkernels.algorithms.optimisers import Cosine, adam

    problem, layers = problem_at(s, at), at.layers
    network = bk.networks.QuadraticDenseNet(problem.graph, neurons_of(layers), problem.scales, scale=s.start)
    rule = adam(Cosine(s.rate, s.steps), square=s.square)
    joining = bk.algorithms.Joining(rule, (s.steps,) * (layers - 1), at.method == LAYERWISE, s.batch)
    times = s.times(layers) if layers == 4 else tuple(s.ends(layers).values())
    return spec_of(s, at, problem, network, joining, times)


def spec_of(
    s: LayersSettings,
    at: At,
    problem: QuadraticTarget,
    network: Network,
    rule: Algorithm,
    times: tuple[int, ...],
    course: bool = True,
) -> RunSpec:
    """A run whose test error, and with its course also its feature errors, are recorded at some steps."""
    learner = bk.engine.TrainedNetwork(
        network,
        rule,
        record_at=times,
        record_points=s.test_samples,
        snapshot_at=times if course else (),
        snapshot_names=("all",),
    )
    return RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (bk.measure.FeatureErrors(s.points),))


def stage_rows(s: LayersSettings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """A row for each stage, named by the highest layer that has joined: test error and feature errors at its end.

    Test errors are relative to Var(G*), feature errors to E‖S*‖². ``S2`` is of the leading directions of S₂, as many as
    S*₂ has; ``all2`` is of all directions.
    """
    variance = problem_at(s, at).target_std.value ** 2
    return [
        {
            "top": top,
            "trained": "2" if top == 2 else f"2 to {top}",
            "variance": variance,
            "test": outcome.at("test_loss", step, math.nan) / variance,
            **{f"S{i}": outcome.at(f"features/distilled{i}", step, math.nan) for i in range(2, top + 1)},
            **{f"all{i}": outcome.at(f"features/relative{i}", step, math.nan) for i in range(2, top + 1)},
        }
        for top, step in s.ends(at.layers).items()
    ]


def medians(column: str, heading: str, about: str = "") -> Shown:
    """A column of medians over seeds."""

    def show(rows: Frame) -> float | None:
        return rows[column].median() if column in rows and rows[column].notna().any() else None

    return Shown(column, heading, ".1e", show=show, about=about)
