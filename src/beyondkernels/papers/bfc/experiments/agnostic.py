"""Theorem 3: labels that no target network explains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import beyondkernels as bk
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Count,
    Experiment,
    Line,
    Over,
    Runs,
    Scale,
    Shown,
    Size,
    Sizes,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.problems import Agnostic as AgnosticProblem

JOINING, LAYERWISE = "layers join", "layerwise training"
NOISE, WAVE = "noise", "wave"

MOST_SEEDS = 0.8
"""The share of seeds that must keep the bound, where the theorem says with probability at least 0.99."""


@dataclass(frozen=True)
class AgnosticSettings(common.PlainSettings):
    """The numbers of the experiment. Errors and OPT are in units of the variance of the target."""

    alphas: common.Alphas = setting((1.0, 0.1), "ours", common.ALPHAS)
    steps: common.Steps = setting((2000, 8000), "ours", common.STEPS)
    samples: Count = setting(20_000, "ours", "N")
    optima: Sizes = setting((1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0), "ours", "OPT, in units of Var(G*)")
    gamma: Size = setting(0.1, "ours", "γ; the theorem holds for every constant γ > 0")
    accuracy: Size = setting(1e-4, "ours", "ε², in units of Var(G*)")
    points: Count = setting(10_000, "ours", "fresh points for feature errors")

    def bound(self, optimum: float) -> float:
        """(1 + γ)OPT + ε²."""
        return (1 + self.gamma) * optimum + self.accuracy


class Agnostic(Experiment):
    """Test error against OPT."""

    id: ClassVar[str] = "bfc/agnostic"
    reference = PAPER.at("Theorem 3, Theorem 3', App. B.4")
    text_file: ClassVar[str] = "agnostic.md"
    symbols: ClassVar[Mapping[str, str]] = {"optimum": "OPT"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 2.0, "paper": 10.0}
    settings_class: ClassVar[type] = AgnosticSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            steps=(1000, 4000),
            samples=5000,
            optima=(1e-4, 1e-3, 0.01, 0.1, 1.0),
            test_samples=10_000,
            seeds=5,
        ),
        "smoke": scale(
            dim=4, steps=(10, 20), samples=200, optima=(0.01, 0.1), test_samples=200, points=200, seeds=2, batch=50
        ),
    }

    def runs(self, s: AgnosticSettings) -> list[Runs]:
        """Layers that join, with both perturbations; layerwise training with noise."""
        return [
            Runs(spec, {"method": [JOINING], "labels": [NOISE, WAVE], "optimum": s.optima}, row),
            Runs(spec, {"method": [LAYERWISE], "labels": [NOISE], "optimum": s.optima}, row),
        ]

    def claims(self, s: AgnosticSettings) -> list[Statement]:
        """The promise for both perturbations; layerwise training breaks it; features survive the noise."""
        promise = f"(1 + {s.gamma:g})OPT + {s.accuracy:g}·Var(G*)"
        least = s.optima[0]
        corrected = of("S2", method=LAYERWISE, labels=NOISE, optimum=least) / of(
            "S2", method=JOINING, labels=NOISE, optimum=least
        )
        return [
            *(
                claim(
                    labels,
                    f"Labels moved by {words}: at every OPT the test error is at most {promise} for at least "
                    f"{100 * MOST_SEEDS:g} % of the seeds",
                    of("kept", "optimum", method=JOINING, labels=labels),
                    AtLeast(MOST_SEEDS),
                    paper="at most (1 + γ)OPT + ε², with probability 0.99",
                )
                for labels, words in ((NOISE, "coins"), (WAVE, "a wave"))
            ),
            claim(
                "layerwise",
                f"At OPT = {least:g}·Var(G*), layerwise training breaks the promise with every seed",
                of("kept", method=LAYERWISE, labels=NOISE, optimum=least),
                AtMost(0.0),
                paper="does not compete (§1.2)",
            ),
            claim(
                "features",
                f"At OPT = {least:g}·Var(G*), the features of layer 2 are at least 20 times closer to the target's "
                "than after layerwise training (the median ratio, seed by seed)",
                corrected.median(),
                AtLeast(20.0),
                paper="corrected (Theorem 2)",
            ),
        ]

    def table(self, s: AgnosticSettings) -> Table:
        """A line for each OPT, perturbation and method."""
        return Table(
            {"optimum": "OPT / Var(G*)", "labels": "Labels moved by", "method": "Method"},
            [
                common.medians("test_error", "Test error", common.RELATIVE),
                Shown("ratio", "Over OPT", ".3f"),
                Shown("ratio", "Largest", ".3f", show="largest"),
                Shown("kept", "Bound kept", ".2f", about="The share of seeds that keep the theorem's bound."),
                common.medians("S2", "S₂", "S₂ is the relative error of its features."),
            ],
            order=("optimum",),
        )

    def figures(self, s: AgnosticSettings) -> list[Over]:
        """Test error over OPT, and the error of the features."""
        lines = {
            "layers join, noise": {"method": JOINING, "labels": NOISE},
            "layers join, wave": {"method": JOINING, "labels": WAVE},
            "layerwise, noise": {"method": LAYERWISE, "labels": NOISE},
        }
        axes: dict[str, Any] = {
            "x": "optimum",
            "line": lines,
            "x_label": "OPT / Var(G*)",
            "x_scale": "log",
            "y_scale": "log",
            "middle": "median",
        }
        return [
            Over(
                "error",
                "Test error over OPT",
                "OPT is the error of the target itself, so nobody can expect less than 1. The theorem's bound is "
                f"(1 + γ)OPT + ε² with γ = {s.gamma:g} and ε² = {s.accuracy:g}·Var(G*).",
                "Test errors in units of OPT over OPT, a line for each way of training, with the theorem's bound",
                y="ratio",
                y_label="test error / OPT",
                levels={"the target itself": 1.0},
                more=lambda _: [Line("the bound", list(s.optima), [s.bound(each) / each for each in s.optima])],
                **axes,
            ),
            Over(
                "features",
                "Error of the features of layer 2 over OPT",
                "min over rotations of E‖S*₂ − U S₂‖², relative to E‖S*₂‖², of the leading directions of S₂.",
                "The feature error of layer 2 over OPT, a line for each way of training",
                y="S2",
                y_label="feature error of S₂, relative",
                **axes,
            ),
        ]


def problem_of(s: AgnosticSettings, at: At) -> AgnosticProblem:
    """The perturbed target of a seed."""
    target = s.target(at.seed)
    return bk.bfc.Agnostic(target, at.optimum * common.variances_of(target)[0], at.labels)


def spec(s: AgnosticSettings, at: At) -> RunSpec:
    """One run."""
    rule = common.rule_of(s, s.steps, s.samples, frozen=at.method == LAYERWISE)
    learner = bk.engine.TrainedNetwork(common.network_of(s, s.target(at.seed)), rule)
    features = bk.bfc.FeatureErrors(s.points)
    return RunSpec(problem_of(s, at), learner, s.samples, s.test_samples, at.seed, (features,))


def row(s: AgnosticSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The test error in units of Var(G*), beside OPT and whether the bound is kept."""
    variance, _ = common.variances_of(s.target(at.seed))
    error = outcome.scalars.get("test_loss", math.nan) / variance
    return {
        "test_error": error,
        "ratio": error / at.optimum,
        "kept": float(error <= s.bound(at.optimum)),  # a run that diverged has not kept it
        "S2": outcome.scalars.get("features/distilled2", math.nan),
    }
