"""Theorems G.10, G.11 and §6.2 along a training: is there a way down, and do coefficients follow the error?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked
from beyondkernels.core.constraints import at_most
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Count,
    Curves,
    Drawn,
    Event,
    Experiment,
    Line,
    Rows,
    Runs,
    Scale,
    Seeds,
    Shown,
    Size,
    Sizes,
    Statement,
    Table,
    claim,
    least,
    of,
    scale,
    setting,
)
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments.common import MEDIAN, medians, target_of
from beyondkernels.papers.bfc.experiments.pictures import entries, runs_of
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    import numpy as np

    from beyondkernels.core import Outcome

STEPS = {"top3": "Step 1", "symmetric3": "Step 2", "cross3.0": "Step 3"}
"""What the steps of §6.2 compare in layer 3, by the names of ``CoefficientErrors``."""

PRECISION = 1e-5
"""ε, at which Algorithm 1 ends, over the standard deviation of the target; ours."""

ESCAPE, CLOSE, TIMES = 1.0, 0.01, 20.0
"""Bars, all ours: of (B.2), whose 1/poly(κ̃) is at most 1; of relative differences; of the correction of layer 2."""


@dataclass(frozen=True)
class DescentSettings(Checked):
    """The numbers of the experiment; the paper has none of this kind, so all are ours."""

    dim: Count = setting(6, "ours", "d")
    alpha: Size = setting(0.1, "ours", "α₃: a ratio of standard deviations")
    weights: Sizes = setting((0.001, 0.1), "ours", "λ₃ = λ₄ = λ₅ over α²; the theorems have far less")
    width: Count = setting(16, "ours", "m, the rows of each W")
    samples: Count = setting(5000, "ours", "N; as many for the test")
    batch: Count = setting(200, "ours")
    rate: Size = setting(0.02, "ours", "of Adam; the steps were chosen with it")
    steps: Count = setting(2000, "ours", "the most of a stage of Algorithm 1; of the last stage four times as many")
    snapshots: Annotated[Count, at_most(1000)] = setting(
        60, "ours", "points on the way, evenly spaced in the logarithm of the step"
    )
    points: Count = setting(500, "ours", "of the training sample, on which the objective is taken")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a target of its own")

    @property
    def times(self) -> tuple[int, ...]:
        """The steps of the points on the way, from the tenth step on."""
        ratio = 7 * self.steps / 10
        return tuple(sorted({round(10 * ratio ** (i / self.snapshots)) for i in range(self.snapshots + 1)}))


class Descent(Experiment):
    """The step of App. G, slope and curvature, and coefficients, at points along Algorithm 1."""

    id: ClassVar[str] = "bfc/descent"
    symbols: ClassVar[Mapping[str, str]] = {"weight": "λ/α²"}
    reference = PAPER.at("Theorems G.10, G.11, eq. (B.2), §6.2")
    text_file: ClassVar[str] = "descent.md"
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.5, "laptop": 12.0, "paper": 60.0}
    settings_class: ClassVar[type] = DescentSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(dim=5, width=12, samples=2000, steps=1000, snapshots=40, seeds=5),
        "smoke": scale("laptop", dim=3, width=8, samples=100, batch=50, steps=30, snapshots=3, seeds=2),
    }

    def runs(self, s: DescentSettings) -> list[Runs]:
        """Algorithm 1 on the target of each seed, with each weight of the regulariser."""
        return [Runs(spec, {"weight": s.weights}, worst_and_last)]

    def claims(self, s: DescentSettings) -> list[Statement]:
        """The promised decrease, the way out, the three steps, and the correction of layer 2."""
        worst = "the least over all points and seeds"
        loss, where = (f"At every point where a decrease of the {what} is promised" for what in ("loss", "objective"))
        parts = f"Steps 1 to 3: what they compare of layer 3 ends within {CLOSE:g} of the target's, relative"
        nearer = f"The coefficients of degree 4 in layer 2 come at least {TIMES:g} times nearer when layer 3 trains too"

        def least_of(name: str, text: str, column: str, bar: float, paper: str, **at: Any) -> Statement:
            value = least(column, per_seed=False, **at)
            return claim(name, text, value, AtLeast(bar), paper=paper, interval=worst)

        lower = "the step of App. G lowers it by at least as much: the difference over η₁"
        out = f"the gradient or a negative eigenvalue of the Hessian is at least {ESCAPE:g} times ε²"
        named = ((f"objective-{weight:g}", f"{where}, and λ = {weight:g}α²", weight) for weight in s.weights)
        return [
            least_of("loss", f"{loss}, {lower} times the loss", "beyond_loss", 0.0, "Lemma G.8"),
            *(
                least_of(name, f"{text}, {lower}ε²", "beyond", 0.0, "0.7 − 2α²/ε²", weight=weight)
                for name, text, weight in named
            ),
            least_of("escape", f"{where}, {out}", "escape", ESCAPE, "ε²/poly(κ̃)"),
            claim(
                "steps",
                f"{parts}, the largest of the three, in the median",
                of("steps", "weight").median(),
                AtMost(CLOSE),
                paper="ε̂/α₃ for an error ε̂²",
                interval=MEDIAN,
            ),
            claim(
                "corrected",
                f"{nearer}, in the median",
                (of("alone2", "weight") / of("top2", "weight")).median(),
                AtLeast(TIMES),
                paper="ε̂/α₂ for an error ε̂²",
                interval=MEDIAN,
            ),
        ]

    def table(self, s: DescentSettings) -> Table:
        """A line for each run."""
        return Table(
            {"weight": "λ/α²", "seed": "Seed"},
            [
                Shown("count", "Points", ".0f", about="Points at which the theorems promise a decrease."),
                Shown("beyond", "Decrease beyond it", ".2f", about="The least beyond the promise there, over η₁ε²."),
                Shown("beyond_loss", "Of the loss", ".2f", about="The same for the loss, over η₁ times the loss."),
                Shown("escape", "Way out", ".1f", about="Their least gradient or negative curvature, over ε²."),
                medians("alone2", "Layer 2 alone", "Relative differences of coefficients from the target's."),
                *(medians(name, heading) for name, heading in {"top2": "Layer 2, end", **STEPS}.items()),
                medians("test", "Test error", "Relative to Var(G*)."),
            ],
        )

    def figures(self, s: DescentSettings) -> list[Drawn]:
        """What the step of App. G does, and how far coefficients are, over the training of seed 0."""
        decreases = {"decrease": "of the objective", "loss_decrease": "of the loss", "promised": "promised"}
        return [
            Drawn(
                "decrease",
                "How much the step of App. G lowers the objective",
                "Along Algorithm 1 with the least λ, seed 0; of the loss over η₁ times the loss. Drawn where positive.",
                "Decrease of objective and loss over training steps, and what the theorems promise",
                lambda picture, rows: curves(picture, rows, "decrease over η₁ε²", "descent", decreases),
            ),
            Drawn(
                "coefficients",
                "Coefficients of the learner against the target's",
                "Along Algorithm 1 with the least λ, seed 0. Layer 2: coefficients of degree 4. Steps 1 to 3: layer 3.",
                "Relative differences of coefficients of layers 2 and 3 over training steps",
                lambda picture, rows: curves(
                    picture, rows, "relative difference", "coefficients", {"top2": "layer 2", **STEPS}
                ),
            ),
        ]


def spec(s: DescentSettings, at: At) -> RunSpec:
    """Algorithm 1, looked at along its way."""
    problem = target_of(s.dim, (1.0, s.alpha), at.seed)
    stds = tuple(a * std.value for a, std in zip(problem.scales, problem.layer_stds.values(), strict=True))
    error = PRECISION * problem.target_std.value
    more: dict[str, Any] = {"steps": s.steps, "rate": s.rate, "batch": s.batch, "weight": at.weight}
    rule = bk.bfc.DenseNetSGD.practical(stds, problem.scales, error=error, **more)
    network = bk.bfc.DistilledDenseNet(problem.graph, s.width, problem.scales)
    learner = bk.engine.TrainedNetwork(network, rule, snapshot_at=s.times, snapshot_names=("all",))
    measured = (bk.bfc.DescentDirections(s.points), bk.bfc.CoefficientErrors())
    return RunSpec(problem, learner, s.samples, s.samples, at.seed, measured)


def worst_and_last(s: DescentSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The worst of the points where a decrease is promised, and where the coefficients end."""
    if "descent/step" not in outcome.series:
        return {}
    steps = outcome.series["descent/step"]
    said = {name.partition("/")[2]: values for name, values in outcome.series.items() if len(values) == len(steps)}
    alone = steps < outcome.scalars.get("layer3/joined", math.inf)

    def worst(values: np.ndarray, promised: np.ndarray) -> float:
        return values[promised > 0].min() if (promised > 0).any() else math.nan

    ends = {name: said[name][-1] for name in ("top2", *STEPS)}
    return {
        "count": (said["promised"] > 0).sum(),
        "beyond": worst(said["decrease"] - said["promised"], said["promised"]),
        "beyond_loss": worst(said["loss_decrease"] - said["loss_promised"], said["loss_promised"]),
        "escape": worst(said["escape"], said["promised"]),
        "alone2": said["top2"][alone][-1] if alone.any() else math.nan,
        **ends,
        "steps": max(ends[name] for name in STEPS),
        "test": outcome.scalars["test_loss"] / target_of(s.dim, (1.0, s.alpha), at.seed).target_std.value ** 2,
    }


def curves(picture: Drawn, rows: Rows, y_label: str, group: str, labels: Mapping[str, str]) -> list[Curves]:
    """Series of the first run on logarithmic axes, with the steps at which W and K of the layers joined."""
    return [
        Curves(
            **picture.words,
            lines=[
                Line(
                    label,
                    run.series[f"{group}/step"],
                    [y if y > 0 else math.nan for y in run.series[f"{group}/{name}"]],
                )
                for name, label in labels.items()
            ],
            x_label="training step",
            y_label=y_label,
            x_scale="log",
            y_scale="log",
            events=[Event(label, max(step, 1.0)) for label, step in entries(run.scalars, 3)],
        )
        for run in [row[OUTCOME] for row in runs_of(rows)][:1]
    ]
