"""Learners of two classes that a quadratic target separates, and what is read of them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core import require
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.experiments.algorithm1 import AlgorithmSettings, ranks_found, rule_with

NETWORKS = {1: "linear", 2: "layer 2", 3: "layers 2 and 3", 4: "layers 2 to 4"}
"""The learners of growing depth, by their highest layer."""

PRACTICAL, LITERAL, OTHER = "Algorithm 1", "Algorithm 1, v of footnote 47", "Algorithm 1, v of App. H.1.1"
ALGORITHMS = PRACTICAL, LITERAL, OTHER

PAPER_CONSTANT = 100.0  # c of footnote 47; that of App. H.1.1 is its inverse


def alphas_of(size: float) -> tuple[float, ...]:
    return 1.0, size, size / 2


@functools.lru_cache(maxsize=256)
def problem_of(dim: int, size: float, seed: int) -> bk.bfc.Classified:
    return bk.bfc.Classified(common.target_of(dim, alphas_of(size), seed))


@dataclass(frozen=True)
class ClassificationSettings(AlgorithmSettings):
    dim: lab.Count = lab.setting(8, "ours", "d")
    sizes: lab.Sizes = lab.setting((0.05, 0.1, 0.2, 0.4), "ours", "α₃; α₂ = 1, α₄ = α₃/2, before G* is normalised")
    steps: common.Steps = lab.setting((4000, 8000, 20_000), "ours", common.STEPS)
    samples: lab.Count = lab.setting(400_000, "ours", "N")
    precision: lab.Size = lab.setting(5e-4, "ours", "ε, at which Algorithm 1 ends; networks have its v throughout")
    constant: lab.Size = lab.setting(0.3, "ours", "c of v = log(1/ε₀)/(cε₀); below 0.5, so that ε₀ = 1/2 can halve")
    algorithm_size: lab.Size = lab.setting(0.4, "ours", "α₃ at which Algorithm 1 is run")
    algorithm_samples: lab.Count = lab.setting(100_000, "ours", "its points; its objective is taken on all of them")
    accuracy: lab.Size = lab.setting(0.005, "ours", "ε of Theorem 4: the share of wrong labels that is allowed")
    linear_samples: lab.Count = lab.setting(5000, "ours", "points of the linear classifier")
    test_samples: lab.Count = lab.setting(200_000, "ours")

    def __post_init__(self) -> None:
        require(len(self.sizes) > 1, f"sizes must hold at least two numbers, got {self.sizes}")
        require(max(self.sizes) < 1, f"sizes must be below 1, so that α falls, got {self.sizes}")
        require(len(self.steps) == 3, f"steps must hold 3 numbers, one for each layer, got {self.steps}")
        require(0 < self.precision < 1, f"precision must lie in (0, 1), got {self.precision}")
        size = self.algorithm_size
        require(size in self.sizes, f"algorithm_size must be one of sizes={self.sizes}, got {size}")

    @property
    def v(self) -> float:
        """The scale of the networks' cross-entropy."""
        return bk.bfc.cross_entropy_scale(self.precision, PAPER_CONSTANT)

    def scale_of(self, method: str) -> dict[str, Any]:
        """C and q of Algorithm 1's v = log(1/ε₀)^q/(cε₀)."""
        constants = {PRACTICAL: (self.constant, 1), LITERAL: (PAPER_CONSTANT, 1), OTHER: (1 / PAPER_CONSTANT, 2)}
        return dict(zip(("constant", "power"), constants[method], strict=True))


def spec(s: ClassificationSettings, at: lab.At) -> bk.store.RunSpec:
    """The linear classifier on (x₀, x), a network with some layers, or Algorithm 1."""
    problem = problem_of(s.dim, at.size, at.seed)
    if at.method == NETWORKS[1]:
        linear = bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
        return bk.store.RunSpec(problem, linear, s.linear_samples, s.test_samples, at.seed)
    if at.method in ALGORITHMS:
        return bk.store.RunSpec(problem, algorithm(s, at, problem), s.algorithm_samples, s.test_samples, at.seed)
    return bk.store.RunSpec(problem, network(s, at, problem), s.samples, s.test_samples, at.seed)


def network(s: ClassificationSettings, at: lab.At, problem: bk.bfc.Classified) -> bk.engine.TrainedNetwork:
    """The plain learner with the layers of the method, which join one after the other; all have as many steps."""
    count = top_of(at.method) - 1
    whole = common.network_of(s, common.target_of(s.dim, alphas_of(at.size), at.seed), leading=True)
    part = replace(whole, graph=whole.graph[:count], widths=whole.widths[:count], alphas=problem.scales[:count])
    steps = (*s.steps[: count - 1], sum(s.steps[count - 1 :]))
    rule = common.rule_of(s, steps, s.samples, loss=bk.algorithms.CrossEntropy(s.v))
    return bk.engine.TrainedNetwork(part, rule)


def algorithm(s: ClassificationSettings, at: lab.At, problem: bk.bfc.Classified) -> bk.engine.TrainedNetwork:
    """Algorithm 1 with cross-entropy, whose v follows ε₀ and multiplies the regulariser."""
    wide = bk.bfc.DistilledDenseNet(problem.graph, s.width, problem.scales, leading=True)
    stds = tuple(part["alpha"] for part in bk.bfc.layer_shares(problem).values())
    more: dict[str, Any] = {"target": "classification", **s.scale_of(at.method)}
    rule = rule_with(s, problem.scales, stds, s.precision, **more)
    times = (1, *range(s.check_every, sum(rule.steps), s.check_every))
    return bk.engine.TrainedNetwork(wide, rule, record_at=times, record_points=1)


def top_of(method: str) -> int:
    return next((layer for layer, name in NETWORKS.items() if name == method), 4)


def row(s: ClassificationSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """Shares of wrong labels, and what each layer of the target adds and decides."""
    said, problem = outcome.scalars, problem_of(s.dim, at.size, at.seed)
    layers = bk.bfc.layer_shares(problem)
    found: dict[str, Any] = {
        "test_error": 1 - said.get("test_accuracy", math.nan),
        "train_error": 1 - said.get("train_accuracy", math.nan),
        **layers.get(top_of(at.method), {}),
        **{f"{name}{layer}": value for layer, part in layers.items() for name, value in part.items()},
    }
    if "target_error" not in said:
        return found
    target = said["target_error"]
    v = bk.bfc.cross_entropy_scale(target, **s.scale_of(at.method))
    least = bk.bfc.cross_entropy_of_target(problem, v) / (target / 2)
    return found | {"ranks": ranks_found(said, 4), "target_error": target, "least": least}
