"""Algorithm 1 with the numbers of (4.1): zero start and noise, truncation, κ above 1, mixtures of Gaussians."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments.algorithm1 import Steps, ranks_found, thresholds_reached
from beyondkernels.papers.bfc.experiments.common import error, number, variances_of
from beyondkernels.papers.bfc.experiments.pictures import entries, over_steps, panel, runs_of
from beyondkernels.papers.bfc.paper import PAPER

GAUSSIAN, MIXTURE = "Gaussian", "mixture"
WIDTHS = (2, 1)  # k₂, k₃: with k₂ = 2 a κ above 1 shows
SHARES = {"learnt": "share of seeds", "right": "ranks right", "reached": "thresholds reached"}
MOST_SEEDS = 0.8  # in which share of the seeds; the theorem has 0.99


@dataclass(frozen=True)
class PrintedSettings(bk.core.Checked):
    """What the paper prints is taken from it; it names no sizes."""

    dim: lab.Count = lab.setting(8, "ours", "d")
    alpha: lab.Size = lab.setting(0.1, "ours", "α₃: a ratio of standard deviations")
    kappa: Annotated[float, at_least(1)] = lab.setting(1.5, "ours", "κ")
    spread: Annotated[float, at_least(1)] = lab.setting(1.5, "ours", "singular values of Σᵢ, from its inverse on")
    width: lab.Count = lab.setting(40, "ours", "m")
    samples: lab.Count = lab.setting(20_000, "ours", "N")
    error: lab.Size = lab.setting(0.01, "ours", "ε, over the standard deviation of what layer 3 adds")
    truncation: lab.Size = lab.setting(30.0, "ours", "B′ of both layers")
    noise: lab.Size = lab.setting(1e-5, "ours", "the standard deviation of the noise on W in a step")
    rate: lab.Size = lab.setting(0.01, "ours", "of Adam, in place of η")
    batch: lab.Count = lab.setting(200, "ours", "in place of single points")
    stage_steps: Steps = lab.setting(16_000, "ours", "the most steps of a stage")
    last_steps: Steps = lab.setting(16_000, "ours", "the most steps of the last stage")
    check_every: lab.Count = lab.setting(20, "ours", "steps between two looks at the objective")
    draws: lab.Count = lab.setting(100, "ours", "of R, of which the best conditioned is taken")
    test_samples: lab.Count = lab.setting(20_000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has a target of its own")


class Printed(lab.Experiment):
    id = "bfc/printed"
    reference = PAPER.at("Theorem 1, Algorithm 1, eq. (4.1), Remark 2.1, Proposition 5.1")
    quantities = {
        "inputs": lab.Quantity("inputs"),
        "left": error("left of layer 3", "Test error of F over the variance of what layer 3 adds."),
        "ranks": lab.Quantity("ranks found", about="k₂, k₃ as Algorithm 1 finds them; those of the target are 2, 1."),
        **{name: lab.Quantity(words, ".2f", lab.SHARE, better="more") for name, words in SHARES.items()},
        "steps": number("steps", ",.0f"),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 12.0, "paper": 120.0}
    settings_class = PrintedSettings
    scales = {
        "laptop": lab.scale(
            dim=5,
            width=12,
            samples=3000,
            stage_steps=4000,
            last_steps=6000,
            check_every=50,
            test_samples=10_000,
            seeds=6,
        ),
        "smoke": lab.scale(
            "laptop", dim=3, width=6, samples=200, stage_steps=20, last_steps=20, batch=50, draws=3, seeds=2
        ),
    }

    def runs(self, s: PrintedSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"inputs": [GAUSSIAN, MIXTURE]}, row)]

    def claims(self, s: PrintedSettings) -> list[lab.Statement]:
        made, many = [], lab.AtLeast(MOST_SEEDS)
        for inputs in (GAUSSIAN, MIXTURE):
            for name, column, paper in (
                ("learnt", "learnt", "any ε, with probability 0.99"),
                ("ranks", "right", "the computed k is correct"),
                ("thresholds", "reached", None),
            ):
                share = lab.of(column, inputs=inputs).share()
                made.append(self.claim(s, f"{name}-{inputs.lower()}", share, many, paper, name, inputs=inputs))
        return made

    def table(self, s: PrintedSettings) -> lab.Table:
        ranks = lab.Shown("ranks", show="first")
        return lab.Table(["inputs", "seed"], ["left", ranks, "reached", "steps"])

    def figures(self, s: PrintedSettings) -> list[lab.Drawn]:
        return [lab.Drawn("stages", by=functools.partial(stages, s))]


def problem_at(s: PrintedSettings, at: lab.At) -> bk.bfc.QuadraticTarget:
    mixed = at.inputs == MIXTURE
    drawn = bk.bfc.drawn_mixture(s.dim, 2, s.spread, at.seed) if mixed else bk.bfc.GaussianInputs()
    more: dict[str, Any] = {"relative": True, "kappa": s.kappa, "instance": at.seed, "inputs": drawn}
    return bk.bfc.QuadraticTarget(s.dim, WIDTHS, bk.bfc.skip_graph(3), (1.0, s.alpha), **more)


def numbers_of(s: PrintedSettings, problem: bk.bfc.QuadraticTarget) -> bk.bfc.DenseNetSettings:
    """(4.1) as printed, with α as factors."""
    least = s.error * variances_of(problem)[1] ** 0.5
    return bk.bfc.theorem1(s.dim, problem.scales, WIDTHS, error=least, kappa=s.kappa)


def spec(s: PrintedSettings, at: lab.At) -> bk.store.RunSpec:
    problem = problem_at(s, at)
    centre = problem.inputs.second_moments(s.dim)
    network = bk.bfc.DistilledDenseNet(
        problem.graph, s.width, problem.scales, truncation=s.truncation, second_moments=centre
    )
    steps = (*(s.stage_steps,) * 3, s.last_steps)
    rate = bk.algorithms.optimisers.adam(s.rate)
    more: dict[str, Any] = {"noise_std": s.noise, "start": "zero", "fading": True, "draws": s.draws}
    rule = bk.bfc.DenseNetSGD(numbers_of(s, problem), rate, steps, s.batch, s.check_every, **more)
    times = (1, *range(s.check_every, sum(steps), s.check_every))
    learner = bk.engine.TrainedNetwork(network, rule, record_at=times, record_points=1)
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed)


def row(s: PrintedSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """The end of a run; one that diverged has learnt nothing."""
    said, problem = outcome.scalars, problem_at(s, at)
    left, ranks = said.get("test_loss", math.nan) / variances_of(problem)[1], ranks_found(said, 3)
    return {
        "left": left,
        "learnt": float(left <= s.error**2),
        "ranks": ranks,
        "right": float(ranks == ", ".join(map(str, WIDTHS))),
        "reached": float(thresholds_reached(s.stage_steps, said, 3)),
        "steps": said["steps"],
    }


def stages(s: PrintedSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """The objective over the stages, with the thresholds of (4.1), of the first run with each inputs."""
    drawn = []
    for inputs in (GAUSSIAN, MIXTURE):
        for found in runs_of(rows, inputs=inputs)[:1]:
            run, numbers = found[OUTCOME], numbers_of(s, problem_at(s, lab.At(found)))
            if "rule/objective" in run.series:
                steps, objective = run.over("rule/objective")
                later = steps >= 1  # ε₀ is set by a look at the objective, in the first step
                target = run.series["rule/target_error"][later] ** 2
                lines = [lab.Line("objective", steps[later], objective[later]), lab.Line("ε₀²", steps[later], target)]
                mine, events = panel(picture, f"-{inputs.lower()}", inputs), entries(run.scalars, 3)
                drawn += over_steps(mine, lines, "objective", events, numbers.thresholds, x_scale="log")
    return drawn
