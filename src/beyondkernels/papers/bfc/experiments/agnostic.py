"""Theorem 3: labels that no target network explains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.bfc.experiments import common
from beyondkernels.papers.bfc.paper import PAPER

JOINING, LAYERWISE = "layers join", "layerwise training"
NOISE, WAVE = "noise", "wave"
FEATURES = "The least over rotations U of E‖S*₂ − U S₂‖², relative to E‖S*₂‖², of the leading directions of S₂."

MOST_SEEDS = 0.8  # that must keep the bound, where the theorem says with probability at least 0.99
TIMES = 20.0  # how many times closer the features must be than after layerwise training


@dataclass(frozen=True)
class AgnosticSettings(common.PlainSettings):
    """Errors and OPT are in units of the variance of the target."""

    alphas: common.Alphas = lab.setting((1.0, 0.1), "ours", common.ALPHAS)
    steps: common.Steps = lab.setting((2000, 8000), "ours", common.STEPS)
    samples: lab.Count = lab.setting(20_000, "ours", "N")
    optima: lab.Sizes = lab.setting((1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0), "ours", "OPT, in units of Var(G*)")
    gamma: lab.Size = lab.setting(0.1, "ours", "γ; the theorem holds for every constant γ > 0")
    accuracy: lab.Size = lab.setting(1e-4, "ours", "ε², in units of Var(G*)")
    points: lab.Count = lab.setting(10_000, "ours", "fresh points for feature errors")

    def bound(self, optimum: float) -> float:
        """(1 + γ)OPT + ε²."""
        return (1 + self.gamma) * optimum + self.accuracy


class Agnostic(lab.Experiment):
    id = "bfc/agnostic"
    reference = PAPER.at("Theorem 3, Theorem 3', App. B.4")
    quantities = {
        **common.PLAIN,
        "optimum": common.number("OPT", heading="OPT / Var(G*)", log=True),
        "labels": lab.Quantity("labels moved by"),
        "ratio": common.number("test error / OPT", ".3f", heading="Over OPT", log=True),
        "kept": lab.Quantity(
            "bound kept", ".2f", lab.SHARE, better="more", about="The share of seeds that keep the theorem's bound."
        ),
        "S2": common.error("relative feature error of S₂", FEATURES, "S₂"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 2.0, "paper": 10.0}
    settings_class = AgnosticSettings
    scales = {
        "laptop": lab.scale(
            steps=(1000, 4000), samples=5000, optima=(1e-4, 1e-3, 0.01, 0.1, 1.0), test_samples=10_000, seeds=5
        ),
        "smoke": lab.scale(
            dim=4, steps=(10, 20), samples=200, optima=(0.01, 0.1), test_samples=200, points=200, seeds=2, batch=50
        ),
    }

    def runs(self, s: AgnosticSettings) -> list[lab.Runs]:
        return [
            lab.Runs(spec, {"method": [JOINING], "labels": [NOISE, WAVE], "optimum": s.optima}, row),
            lab.Runs(spec, {"method": [LAYERWISE], "labels": [NOISE], "optimum": s.optima}, row),
        ]

    def claims(self, s: AgnosticSettings) -> list[lab.Statement]:
        least, made = s.optima[0], []
        for labels in (NOISE, WAVE):
            kept, promised = lab.of("kept", "optimum", method=JOINING, labels=labels).share(), lab.AtLeast(MOST_SEEDS)
            made.append(self.claim(s, labels, kept, promised, "at most (1 + γ)OPT + ε², with probability 0.99"))
        noisy = {"labels": NOISE, "optimum": least}
        left = lab.of("test_error", method=LAYERWISE, **noisy).median()
        closer = lab.of("S2", method=LAYERWISE, **noisy) / lab.of("S2", method=JOINING, **noisy)
        return [
            *made,
            self.claim(s, "layerwise", left, lab.Above(s.bound(least)), "does not compete (§1.2)", least=least),
            self.claim(s, "features", closer.median(), lab.AtLeast(TIMES), "corrected (Theorem 2)", least=least),
        ]

    def table(self, s: AgnosticSettings) -> lab.Table:
        test, features = common.medians("test_error", "S2")
        largest = lab.Shown("ratio", "Largest", show="largest")
        columns = [test, "ratio", largest, "kept", features]
        return lab.Table(["optimum", "labels", "method"], columns, order=("optimum",))

    def figures(self, s: AgnosticSettings) -> list[lab.Over]:
        lines = {
            "layers join, noise": {"method": JOINING, "labels": NOISE},
            "layers join, wave": {"method": JOINING, "labels": WAVE},
            "layerwise, noise": {"method": LAYERWISE, "labels": NOISE},
        }
        axes: dict[str, Any] = {"x": "optimum", "line": lines, "x_label": "OPT / Var(G*)", "middle": "median"}
        bound = lab.Line("the bound", list(s.optima), [s.bound(each) / each for each in s.optima])
        levels = {"the target itself": 1.0}
        return [
            lab.Over("error", y="ratio", levels=levels, more=lambda _: [bound], **axes),
            lab.Over("features", y="S2", **axes),
        ]


def spec(s: AgnosticSettings, at: lab.At) -> bk.store.RunSpec:
    target = s.target(at.seed)
    problem = bk.bfc.Agnostic(target, at.optimum * common.variances_of(target)[0], at.labels)
    rule = common.rule_of(s, s.steps, s.samples, frozen=at.method == LAYERWISE)
    learner = bk.engine.TrainedNetwork(common.network_of(s, target), rule)
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (bk.bfc.FeatureErrors(s.points),))


def row(s: AgnosticSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """The test error in units of Var(G*), beside OPT and whether the bound is kept."""
    variance, _ = common.variances_of(s.target(at.seed))
    error = outcome.scalars.get("test_loss", math.nan) / variance
    return {
        "test_error": error,
        "ratio": error / at.optimum,
        "kept": float(error <= s.bound(at.optimum)),  # a run that diverged has not kept it
        "S2": outcome.scalars.get("features/distilled2", math.nan),
    }
