"""Theorems G.10, G.11 and §6.2 along a training: is there a way down, and do coefficients follow the error?"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments.common import error, medians, number, target_of, variances_of
from beyondkernels.papers.bfc.experiments.pictures import entries, over_steps, runs_of
from beyondkernels.papers.bfc.paper import PAPER

STEPS = {"top3": "Step 1", "symmetric3": "Step 2", "cross3.0": "Step 3"}
"""What the steps of §6.2 compare in layer 3, by the names of ``CoefficientErrors``."""

OF_LOSS = "The same for the loss, over η₁ times the loss."
PRECISION = 1e-5  # ε, at which Algorithm 1 ends, over the standard deviation of the target; ours
ESCAPE, CLOSE, TIMES = 1.0, 0.01, 20.0
"""Bars, all ours: of (B.2), whose 1/poly(κ̃) is at most 1; of relative differences; of the correction of layer 2."""


@dataclass(frozen=True)
class DescentSettings(bk.core.Checked):
    """The numbers of the experiment; the paper has none of this kind, so all are ours."""

    dim: lab.Count = lab.setting(6, "ours", "d")
    alpha: lab.Size = lab.setting(0.1, "ours", "α₃: a ratio of standard deviations")
    weights: lab.Sizes = lab.setting((0.001, 0.1), "ours", "λ₃ = λ₄ = λ₅ over α²; the theorems have far less")
    width: lab.Count = lab.setting(16, "ours", "m, the rows of each W")
    samples: lab.Count = lab.setting(5000, "ours", "N; as many for the test")
    batch: lab.Count = lab.setting(200, "ours")
    rate: lab.Size = lab.setting(0.02, "ours", "of Adam; the steps were chosen with it")
    steps: lab.Count = lab.setting(2000, "ours", "the most of a stage of Algorithm 1; of the last, four times as many")
    snapshots: Annotated[lab.Count, at_most(1000)] = lab.setting(60, "ours", "points on the way, at even log(step)")
    points: lab.Count = lab.setting(500, "ours", "of the training sample, on which the objective is taken")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has a target of its own")

    @property
    def times(self) -> tuple[int, ...]:
        """The steps of the points on the way, from the tenth step on."""
        ratio = 7 * self.steps / 10
        return tuple(sorted({round(10 * ratio ** (i / self.snapshots)) for i in range(self.snapshots + 1)}))


class Descent(lab.Experiment):
    id = "bfc/descent"
    reference = PAPER.at("Theorems G.10, G.11, eq. (B.2), §6.2")
    quantities = {
        "weight": lab.Quantity("λ/α²"),
        "count": number("points", ".0f", "Points at which the theorems promise a decrease."),
        "beyond": lab.Quantity("decrease beyond it", ".2f", about="The least beyond the promise there, over η₁ε²."),
        "beyond_loss": lab.Quantity("decrease of the loss", ".2f", about=OF_LOSS, heading="Of the loss"),
        "escape": number("way out", ".1f", "Their least gradient or negative curvature, over ε²."),
        "alone2": error("layer 2 alone", "Relative differences of coefficients from the target's."),
        "top2": error("layer 2 at the end", heading="Layer 2, end"),
        **{name: error(step) for name, step in STEPS.items()},
        "steps": error("largest of Steps 1 to 3"),
        "test": error("test error", "Relative to Var(G*)."),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 12.0, "paper": 60.0}
    seed_sets = lab.THREE_SETS
    settings_class = DescentSettings
    scales = {
        "laptop": lab.scale(dim=5, width=12, samples=2000, steps=1000, snapshots=40, seeds=5),
        "smoke": lab.scale("laptop", dim=3, width=8, samples=100, batch=50, steps=30, snapshots=3, seeds=2),
    }

    def runs(self, s: DescentSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"weight": s.weights}, worst_and_last)]

    def claims(self, s: DescentSettings) -> list[lab.Statement]:
        def least(name: str, column: str, bar: float, paper: str, sentence: str = "", **at: Any) -> lab.Statement:
            value = lab.least(column, per_seed=False, **at)
            return self.claim(s, name, value, lab.AtLeast(bar), paper, sentence, **at)

        ratio = lab.of("alone2", "weight") / lab.of("top2", "weight")
        lowered = "beyond", 0.0, "0.7 − 2α²/ε²"
        sentences = {weight: "objective-heavy" if i else "objective" for i, weight in enumerate(s.weights)}
        return [
            least("loss", "beyond_loss", 0.0, "Lemma G.8"),
            *(least(f"objective-{w:g}", *lowered, words, weight=w) for w, words in sentences.items()),
            least("escape", "escape", ESCAPE, "ε²/poly(κ̃)"),
            self.claim(s, "steps", lab.of("steps", "weight").median(), lab.AtMost(CLOSE), "ε̂/α₃ for an error ε̂²"),
            self.claim(s, "corrected", ratio.median(), lab.AtLeast(TIMES), "ε̂/α₂ for an error ε̂²"),
        ]

    def table(self, s: DescentSettings) -> lab.Table:
        columns = ["count", "beyond", "beyond_loss", "escape", *medians("alone2", "top2", *STEPS, "test")]
        return lab.Table(["weight", "seed"], columns)

    def figures(self, s: DescentSettings) -> list[lab.Drawn]:
        decreases = {"decrease": "of the objective", "loss_decrease": "of the loss", "promised": "promised"}
        differences = {"top2": "layer 2", **STEPS}
        return [
            lab.Drawn("decrease", by=functools.partial(curves, "decrease over η₁ε²", "descent", decreases)),
            lab.Drawn("coefficients", by=functools.partial(curves, "relative difference", "coefficients", differences)),
        ]


def spec(s: DescentSettings, at: lab.At) -> bk.store.RunSpec:
    problem = target_of(s.dim, (1.0, s.alpha), at.seed)
    stds = tuple(a * std.value for a, std in zip(problem.scales, problem.layer_stds.values(), strict=True))
    error = PRECISION * problem.target_std.value
    more: dict[str, Any] = {"steps": s.steps, "rate": s.rate, "batch": s.batch, "weight": at.weight}
    rule = bk.bfc.DenseNetSGD.practical(stds, problem.scales, error=error, **more)
    network = bk.bfc.DistilledDenseNet(problem.graph, s.width, problem.scales)
    learner = bk.engine.TrainedNetwork(network, rule, snapshot_at=s.times, snapshot_names=("all",))
    measured = (bk.bfc.DescentDirections(s.points), bk.bfc.CoefficientErrors())
    return bk.store.RunSpec(problem, learner, s.samples, s.samples, at.seed, measured)


def worst_and_last(s: DescentSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """The worst of the points where a decrease is promised, and where the coefficients end."""
    if "descent/step" not in outcome.series:
        return {}
    steps, second = outcome.over("coefficients/top2")
    alone = second[steps < outcome.scalars.get("layer3/joined", math.inf)]
    ends = {name: outcome.series[f"coefficients/{name}"][-1] for name in ("top2", *STEPS)}
    variance, _ = variances_of(target_of(s.dim, (1.0, s.alpha), at.seed))
    return {
        **bk.bfc.worst_promised(outcome),
        "alone2": alone[-1] if len(alone) else math.nan,
        **ends,
        "steps": max(ends[name] for name in STEPS),
        "test": outcome.scalars["test_loss"] / variance,
    }


def curves(y_label: str, group: str, labels: Mapping[str, str], picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Series of the first run where they are positive, with the steps at which W and K of the layers joined."""
    found = [row[OUTCOME] for row in runs_of(rows)][:1]
    lines = [
        lab.Line(label, run.series[f"{group}/step"], [y if y > 0 else math.nan for y in run.series[f"{group}/{name}"]])
        for run in found
        for name, label in labels.items()
    ]
    joined = entries(found[0].scalars, 3) if found else {}
    return over_steps(picture, lines, y_label, joined, x_scale="log")
