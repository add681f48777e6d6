"""Learners of two classes that a quadratic target separates, and what is read of them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import beyondkernels as bk
from beyondkernels.core import require
from beyondkernels.lab import At, Count, Curves, Drawn, Line, Rows, Size, Sizes, setting
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.algorithm1 import AlgorithmSettings, ranks_found, rule_with
from beyondkernels.papers.bfc.experiments.pictures import LOW, runs_of
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.problems import Classified

NETWORKS = {1: "linear", 2: "layer 2", 3: "layers 2 and 3", 4: "layers 2 to 4"}
"""The learners of growing depth, by their highest layer."""

PRACTICAL, LITERAL = "Algorithm 1", "Algorithm 1, the paper's c"

PAPER_CONSTANT = 100.0
"""c of footnote 47."""

POINTS = 100_000
"""Draws for what is computed of a target."""


def scale_of(error: float, constant: float) -> float:
    """V = log(1/ε)/(cε), the number in front of the prediction in the cross-entropy."""
    return math.log(1 / error) / (constant * error)


def alphas_of(size: float) -> tuple[float, ...]:
    """α₂, α₃, α₄ of a place."""
    return 1.0, size, size / 2


@functools.lru_cache(maxsize=256)
def problem_of(dim: int, size: float, seed: int) -> Classified:
    """The labels of a seed's target."""
    return bk.bfc.Classified(common.target_of(dim, alphas_of(size), seed))


@dataclass(frozen=True)
class ClassificationSettings(AlgorithmSettings):
    """The numbers of the experiment."""

    dim: Count = setting(8, "ours", "d")
    sizes: Sizes = setting(
        (0.05, 0.1, 0.2, 0.4), "ours", "α₃; α₂ is 1 and α₄ is α₃/2, before G* is divided by its deviation"
    )
    steps: common.Steps = setting((4000, 8000, 20_000), "ours", common.STEPS)
    samples: Count = setting(400_000, "ours", "N")
    precision: Size = setting(
        5e-4, "ours", "ε, at which Algorithm 1 ends; the networks have the v of this ε throughout"
    )
    constant: Size = setting(
        0.3, "ours", "c of Algorithm 1 in v = log(1/ε₀)/(cε₀); below 0.5, so that the first ε₀ = 1/2 can halve"
    )
    algorithm_size: Size = setting(0.4, "ours", "α₃ at which Algorithm 1 is run")
    algorithm_samples: Count = setting(100_000, "ours", "its points, on all of which its objective is looked at")
    accuracy: Size = setting(0.005, "ours", "ε of Theorem 4: the share of wrong labels that is allowed")
    linear_samples: Count = setting(5000, "ours", "points of the linear classifier")
    test_samples: Count = setting(200_000, "ours")

    def __post_init__(self) -> None:
        require(len(self.sizes) > 1, f"sizes must hold at least two numbers, got {self.sizes}")
        require(max(self.sizes) < 1, f"sizes must be below 1, so that α falls, got {self.sizes}")
        require(len(self.steps) == 3, f"steps must hold 3 numbers, one for each layer, got {self.steps}")
        require(0 < self.precision < 1, f"precision must lie in (0, 1), got {self.precision}")
        require(
            self.algorithm_size in self.sizes,
            f"algorithm_size must be one of sizes={self.sizes}, got {self.algorithm_size}",
        )

    @property
    def v(self) -> float:
        """The scale of the networks' cross-entropy."""
        return scale_of(self.precision, PAPER_CONSTANT)


def spec(s: ClassificationSettings, at: At) -> RunSpec:
    """The linear classifier on (x₀, x), a network with some layers, or Algorithm 1."""
    problem = problem_of(s.dim, at.size, at.seed)
    if at.method == NETWORKS[1]:
        linear = bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
        return RunSpec(problem, linear, s.linear_samples, s.test_samples, at.seed)
    if at.method in (PRACTICAL, LITERAL):
        return RunSpec(problem, algorithm(s, at, problem), s.algorithm_samples, s.test_samples, at.seed)
    return RunSpec(problem, network(s, at, problem), s.samples, s.test_samples, at.seed)


def network(s: ClassificationSettings, at: At, problem: Classified) -> bk.engine.TrainedNetwork:
    """The plain learner with the layers of the method, which join one after the other; all have as many steps."""
    count = top_of(at.method) - 1
    whole = common.network_of(s, common.target_of(s.dim, alphas_of(at.size), at.seed), leading=True)
    part = replace(whole, graph=whole.graph[:count], widths=whole.widths[:count], alphas=problem.scales[:count])
    steps = (*s.steps[: count - 1], sum(s.steps[count - 1 :]))
    rule = common.rule_of(s, steps, s.samples, loss=bk.algorithms.CrossEntropy(s.v))
    return bk.engine.TrainedNetwork(part, rule)


def algorithm(s: ClassificationSettings, at: At, problem: Classified) -> bk.engine.TrainedNetwork:
    """Algorithm 1 with cross-entropy, whose v follows ε₀ and multiplies the regulariser."""
    wide = bk.bfc.DistilledDenseNet(problem.graph, s.width, problem.scales, leading=True)
    stds = tuple(part["alpha"] for part in layers_of(s.dim, at.size, at.seed).values())
    constant = s.constant if at.method == PRACTICAL else PAPER_CONSTANT
    rule = rule_with(s, problem.scales, stds, s.precision, target="classification", constant=constant)
    times = (1, *range(s.check_every, sum(rule.steps), s.check_every))
    return bk.engine.TrainedNetwork(wide, rule, record_at=times, record_points=1)


def top_of(method: str) -> int:
    """The highest layer of a learner."""
    return next((layer for layer, name in NETWORKS.items() if name == method), 4)


def row(s: ClassificationSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Shares of wrong labels, and what each layer of the target adds and decides."""
    said, layers = outcome.scalars, layers_of(s.dim, at.size, at.seed)
    top = layers.get(top_of(at.method), {})
    found: dict[str, Any] = {
        "test_error": 1 - said.get("test_accuracy", math.nan),
        "train_error": 1 - said.get("train_accuracy", math.nan),
        **top,
        **{f"{name}{layer}": value for layer, part in layers.items() for name, value in part.items()},
    }
    if "target_error" not in said:
        return found
    target = said["target_error"]
    v = scale_of(target, s.constant if at.method == PRACTICAL else PAPER_CONSTANT)
    least = cross_entropy_of_target(problem_of(s.dim, at.size, at.seed), v)
    return found | {"ranks": ranks_found(said, 4), "target_error": target, "least": least / (target / 2)}


@functools.lru_cache(maxsize=256)
def layers_of(dim: int, size: float, seed: int) -> dict[int, dict[str, float]]:
    """By layer: α and the typical size of what it adds to G*, and the share of labels it decides with those above."""
    from beyondkernels.core import Stream

    problem = problem_of(dim, size, seed)
    stds, known = problem.teacher.layer_stds, problem.increments()
    added = problem.contributions(problem.sample(POINTS, Stream(0).child("layers")).x)
    return {
        layer: {
            "alpha": a * stds[layer].value,
            "typical": float(added[layer].median()),
            "decided": known[layer].value,
        }
        for layer, a in enumerate(problem.scales, 2)
    }


def cross_entropy_of_target(problem: Classified, v: float) -> float:
    """The cross-entropy of v(x₀ + G*(x)): of the network that makes no mistake."""
    from beyondkernels.core import Stream

    sample = problem.sample(POINTS, Stream(0).child("cross-entropy"))
    margin = (sample.x[:, 0] + sample.hidden["target"]) * sample.y[:, 0]
    return float((-v * margin).exp().log1p().mean())  # no margin is negative


def halvings(picture: Drawn, rows: Rows) -> list[Curves]:
    """Objective and ε₀ of Algorithm 1 in the runs of the first seed."""
    lines = []
    for method, c in ((PRACTICAL, "our c"), (LITERAL, "the paper's c")):
        for run in runs_of(rows, method=method)[:1]:
            if "rule/objective" in run[OUTCOME].series:
                steps, objective = run[OUTCOME].over("rule/objective")
                later = steps >= 1
                target = run[OUTCOME].series["rule/target_error"]
                lines += [Line(f"objective, {c}", steps[later], objective[later])]
                lines += [Line(f"ε{LOW[0]}, {c}", steps[later], target[later])]
    words: dict[str, Any] = {"x_label": "training step", "y_label": "objective", "y_scale": "log"}
    return [Curves(**picture.words, lines=lines, **words)] if lines else []
