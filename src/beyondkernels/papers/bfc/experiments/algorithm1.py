"""Algorithm 1 with practical settings, as an experiment runs it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most
from beyondkernels.papers.bfc.experiments.common import TrainingSettings, variances_of
from beyondkernels.papers.bfc.experiments.layers import LayersSettings, problem_at, spec_of, times_of_bound

Steps = Annotated[lab.Count, at_most(1_000_000)]  # a list of all looks at the objective must fit into memory
CHOSEN = "chosen on seeds 100 to 109 of bfc/theorem1"


@dataclass(frozen=True)
class AlgorithmSettings(TrainingSettings):
    """The numbers of Algorithm 1; those of (4.1) cannot be used at these sizes."""

    width: lab.Count = lab.setting(40, "ours", "m of Algorithm 1, the rows of each W")
    stage_steps: Steps = lab.setting(16_000, "ours", "the most steps of a stage of Algorithm 1")
    last_steps: Steps = lab.setting(16_000, "ours", "the most steps of its last stage")
    algorithm_rate: lab.Size = lab.setting(0.01, "ours", f"its Adam's rate, falling to zero in every stage; {CHOSEN}")
    join: lab.Size = lab.setting(1.0, "ours", f"Thres(ℓ,Δ), in variances of what layer ℓ adds; {CHOSEN}")
    distill: lab.Size = lab.setting(0.05, "ours", f"Thres(ℓ,∇), likewise, of all layers but the last; {CHOSEN}")
    last_distill: lab.Size = lab.setting(2e-3, "ours", f"that of the last layer; {CHOSEN}")
    rank_cut: lab.Size = lab.setting(0.35, "ours", f"the least singular value that counts, over the largest; {CHOSEN}")
    tie: lab.Size = lab.setting(0.3, "ours", f"λ₃, λ₄, λ₅ over α²; {CHOSEN}")
    draws: lab.Count = lab.setting(100, "ours", "of R, of which the best conditioned is taken")
    precision: lab.Size = lab.setting(1e-5, "ours", "ε, at which it ends, over the deviation of G*")
    check_every: lab.Count = lab.setting(50, "ours", "steps between two looks at its objective")


@dataclass(frozen=True)
class StagedSettings(AlgorithmSettings, LayersSettings):
    """Targets with three and four layers for Algorithm 1."""

    looks: lab.Count = lab.setting(10, "ours", "of its objective at which features are kept; later, once in so many")


def algorithm_spec(s: StagedSettings, at: lab.At) -> bk.store.RunSpec:
    """Algorithm 1 on a target; its features are kept on the way."""
    problem = problem_at(s, at)
    network = bk.bfc.DistilledDenseNet(problem.graph, s.width, problem.scales)
    rule = algorithm_of(s, problem)
    times = tuple(range(s.check_every, sum(rule.steps), s.check_every))
    kept = (*times[: s.looks], *times[s.looks :: s.looks])
    spec = spec_of(s, at, problem, network, rule, (1, *times), kept)
    return replace(spec, measurements=(*spec.measurements, bk.bfc.HiddenNorms(s.points)))


def algorithm_of(s: AlgorithmSettings, problem: bk.bfc.QuadraticTarget) -> bk.bfc.DenseNetSGD:
    stds = tuple(a * std.value for a, std in zip(problem.scales, problem.layer_stds.values(), strict=True))
    return rule_with(s, problem.scales, stds, s.precision * problem.target_std.value)


def rule_with(
    s: AlgorithmSettings, alphas: tuple[float, ...], stds: tuple[float, ...], error: float, **more: Any
) -> bk.bfc.DenseNetSGD:
    """The rule for a network with some α and ε; its thresholds are parts of the variances of what the layers add."""
    from beyondkernels.algorithms.optimisers import adam

    bars = {"distill": s.distill, "distill_last": s.last_distill, "rank_cut": s.rank_cut}
    numbers = bk.bfc.practical(stds, alphas, error=error, weight=s.tie, **bars)
    numbers = replace(numbers, join_at=(math.inf, *(s.join * std**2 for std in stds[1:])))
    steps = (*(s.stage_steps,) * (2 * len(stds) - 1), s.last_steps)
    return bk.bfc.DenseNetSGD(
        numbers, adam(s.algorithm_rate), steps, s.batch, s.check_every, fading=True, draws=s.draws, **more
    )


def algorithm_row(s: StagedSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """Its end: error, features, the ranks it found, and the largest features on the way."""
    variance, _ = variances_of(problem_at(s, at))
    said, layers = outcome.scalars, range(2, at.layers + 1)
    norms = [outcome.series.get(f"norms/relative{i}", ()) for i in layers]
    return {
        "top": at.layers,
        "variance": variance,
        "test": said.get("test_loss", math.nan) / variance,
        "steps": said["steps"],
        "ranks": ranks_found(said, at.layers),
        "norm": max((float(size) for each in norms for size in each), default=math.nan),
        "right": float(ranks_found(said, at.layers) == ", ".join(map(str, problem_at(s, at).widths))),
        "reached": float(thresholds_reached(s.stage_steps, said, at.layers)),
        "times": largest_constant(problem_at(s, at), outcome),
        **{f"S{i}": said.get(f"features/relative{i}", math.nan) for i in layers},
    }


def thresholds_reached(most: int, scalars: Mapping[str, float], depth: int) -> bool:
    """Whether every stage but the last ended because its threshold was reached, before its steps were over.

    Arguments:
        most: the most steps of a stage.
        scalars: of the run.
        depth: L.
    """
    names = [f"layer{i}/{event}" for i in range(2, depth + 1) for event in ("joined", "distilled")]
    begins = [scalars.get(name, math.inf) for name in names]
    return all(after - before < most for before, after in itertools.pairwise(begins))


def largest_constant(problem: bk.bfc.QuadraticTarget, outcome: bk.core.Outcome) -> float:
    """What the constant of Theorem 2 must be at least at the looks at which each stage with a new K ends."""
    looks = outcome.series.get("features/step", ())
    ends = [outcome.scalars.get(f"layer{i + 1}/joined", math.inf) for i in range(2, problem.depth)]
    found = []
    for top, end in enumerate((*ends, math.inf), 2):
        begin = outcome.scalars.get(f"layer{top}/distilled", math.inf)
        inside = [int(step) for step in looks if begin < step < end]
        found += [times_of_bound(problem, outcome, inside[-1], top, "relative")] if inside else []
    return max(found, default=math.nan)


def ranks_found(scalars: Mapping[str, float], depth: int) -> str | None:
    """k₂, k₃, … as far as a run found them."""
    names = (f"layer{i}/rank" for i in range(2, depth + 1))
    return ", ".join(f"{scalars[name]:.0f}" for name in names if name in scalars) or None
