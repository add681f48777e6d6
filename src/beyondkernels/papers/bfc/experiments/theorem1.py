"""Theorem 1: the quadratic DenseNet learns targets of three and four layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from beyondkernels.lab import (
    At,
    AtLeast,
    Curves,
    Drawn,
    Experiment,
    Picture,
    Rows,
    Runs,
    Scale,
    Shown,
    Size,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.lab.declaration.rows import OUTCOME
from beyondkernels.papers.bfc.experiments.algorithm1 import StagedSettings, algorithm_of, algorithm_row, algorithm_spec
from beyondkernels.papers.bfc.experiments.common import LEARNT
from beyondkernels.papers.bfc.experiments.layers import INPUTS, NAMES, TOGETHER, plain_spec, problem_at, stage_rows
from beyondkernels.papers.bfc.experiments.pictures import runs_of, seed_curves, size_curves, stage_curves
from beyondkernels.papers.bfc.paper import PAPER

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.problems import QuadraticTarget

ALGORITHM = "Algorithm 1"

BARS = {3: 1e-3, 4: LEARNT}
"""What the error must not exceed: with three layers a part of Var(G*), with four of the variance of layer 4's part."""

NORM = "E‖S‖² over E‖S*‖²"
SELF_REGULARISED = 2.0
"""What E‖S‖² stays below in units of B (Corollary F.3e), where B is at least E‖S*‖² and 1."""

SHARES = {3: 4 / 5, 4: 3 / 5}
"""In which share of the seeds."""


@dataclass(frozen=True)
class Theorem1Settings(StagedSettings):
    """The numbers of the experiment."""

    three_alpha: Size = setting(0.1, "ours", "α₃ with three layers: a ratio of standard deviations")


class Theorem1(Experiment):
    """Test errors of the plain learner and of Algorithm 1."""

    id: ClassVar[str] = "bfc/theorem1"
    reference = PAPER.at("Theorem 1, Algorithm 1, §4")
    text_file: ClassVar[str] = "theorem1.md"
    symbols: ClassVar[Mapping[str, str]] = {"layers": "L"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.5, "laptop": 12.0, "paper": 60.0}
    settings_class: ClassVar[type] = Theorem1Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            three_dim=10,
            four_dim=8,
            samples=5000,
            steps=4000,
            test_samples=10_000,
            width=20,
            stage_steps=2000,
            last_steps=8000,
            seeds=5,
        ),
        "smoke": scale(
            "laptop",
            three_dim=4,
            four_dim=3,
            samples=300,
            batch=50,
            steps=20,
            snapshots=2,
            points=300,
            test_samples=200,
            width=6,
            stage_steps=20,
            last_steps=30,
            draws=3,
            check_every=10,
            looks=1,
            seeds=2,
        ),
    }

    def runs(self, s: Theorem1Settings) -> list[Runs]:
        """The plain learner and Algorithm 1 on both targets."""
        alphas = {3: s.three_alpha, 4: s.four_alphas[1]}
        return [
            Runs(spec, {"layers": [n], "alpha": [alphas[n]], "inputs": [INPUTS[n]], "method": [method]}, rows)
            for n in BARS
            for method, spec, rows in ((TOGETHER, plain_spec, plain_rows), (ALGORITHM, algorithm_spec, algorithm_rows))
        ]

    def claims(self, s: Theorem1Settings) -> list[Statement]:
        """The bars of both targets, for both ways of training."""
        bars = {3: f"{BARS[3]:g} Var(G*)", 4: f"{BARS[4]:g} times the variance of what layer 4 adds"}
        ways = {TOGETHER: "plain training", ALGORITHM: ALGORITHM}
        return [
            claim(
                f"{name}-{n}",
                f"{NAMES[n]}, {ways[method]}: in at least {round(5 * SHARES[n])} of 5 seeds the test error is at most "
                f"{bars[n]}: the share of seeds",
                of("learnt", layers=n, method=method, top=n),
                AtLeast(SHARES[n]),
                paper="any ε, with probability 0.99",
                interval="share of seeds",
            )
            for n in BARS
            for name, method in (("plain", TOGETHER), ("algorithm", ALGORITHM))
        ]

    def table(self, s: Theorem1Settings) -> Table:
        """A line for each run: all seeds are shown."""
        return Table(
            {"layers": "L", "inputs": "Inputs", "method": "Training", "seed": "Seed"},
            [
                Shown("test", "Test error", ".1e", about="Relative to Var(G*), which is what a constant leaves."),
                Shown("bar", "Bar", ".1e"),
                Shown("alone", "Layer 2 alone", ".1e"),
                *(Shown(f"S{i}", f"S{'₂₃₄'[i - 2]}", ".1e") for i in (2, 3, 4)),
                Shown("ranks", "Ranks found", show="first", about="k₂, k₃, … as Algorithm 1 finds them."),
                Shown("norm", "Largest features", ".2f", about=f"{NORM}, the largest of all layers on the way."),
                Shown("steps", "Steps", ",.0f"),
            ],
            where={"last": True},
            order=("layers", "method", "seed"),
        )

    def figures(self, s: Theorem1Settings) -> list[Picture]:
        """The stages of Algorithm 1 with their thresholds, and the test error of every seed."""
        ways = (("plain", TOGETHER, "plain training"), ("algorithm", ALGORITHM, ALGORITHM))
        return [
            *(
                Drawn(
                    f"stages-{n}",
                    f"Algorithm 1 with {NAMES[n].lower()}: the objective and its thresholds",
                    "Seed 0. When the objective falls below a threshold, the next stage begins: W of a layer joins, or "
                    "the layer is distilled and its K joins. ε₀ halves whenever the objective is below ε₀²/4.",
                    "The objective of Algorithm 1 and ε₀² over training, with its thresholds and the steps at which W "
                    "and K of the layers join",
                    lambda picture, rows, n=n: first_run(s, picture, rows, n),
                )
                for n in (4, 3)
            ),
            *(
                Drawn(
                    f"norms-{n}",
                    f"Algorithm 1 with {NAMES[n].lower()}: the size of its features",
                    f"{NORM}, seed 0. W of a layer adds to the prediction when it joins; its features begin with K, "
                    f"whose number of rows is found. Corollary F.3e bounds E‖S‖² by {SELF_REGULARISED:g}B, and "
                    "B ≥ E‖S*‖².",
                    "The mean square of each layer's features over training, relative to the target's, with the steps "
                    "at which W and K of the layers join and the ranks that were found",
                    lambda picture, rows, n=n: [
                        curves
                        for row in runs_of(rows, layers=n, method=ALGORITHM)[:1]
                        for curves in size_curves(picture, row[OUTCOME], n, SELF_REGULARISED)
                    ],
                )
                for n in (4, 3)
            ),
            *(
                Drawn(
                    f"seeds-{n}-{name}",
                    f"{NAMES[n]}, {words}: test error of every seed",
                    "Relative to Var(G*). Each seed has a target, a sample and a start of its own.",
                    f"The test error of every seed over training, with {NAMES[n].lower()}, beside the bar",
                    lambda picture, rows, n=n, method=method: every_seed(s, picture, rows, n, method),
                )
                for n in (4, 3)
                for name, method, words in ways
            ),
        ]


def first_run(s: Theorem1Settings, picture: Drawn, rows: Rows, layers: int) -> list[Curves]:
    """The stages of Algorithm 1 in the run of the first seed."""
    found = runs_of(rows, layers=layers, method=ALGORITHM)[:1]
    return [
        curves
        for row in found
        for curves in stage_curves(picture, row[OUTCOME], algorithm_of(s, problem_at(s, At(row))).settings)
    ]


def every_seed(s: Theorem1Settings, picture: Drawn, rows: Rows, layers: int, method: str) -> list[Curves]:
    """Test errors over training; the plain learner's layers join at the same steps in every run."""
    joins = s.joins(layers) if method == TOGETHER else {}
    bar = "bar" if layers == 3 else "lowest bar of the seeds"
    return seed_curves(picture, rows, joins, bar, layers=layers, method=method, last=True)


def bar_of(problem: QuadraticTarget) -> float:
    """The bar, relative to Var(G*)."""
    if problem.depth == 3:
        return BARS[3]
    part = problem.scales[-1] * problem.layer_stds[problem.depth].value
    return BARS[4] * part**2 / problem.target_std.value**2


def judged(s: Theorem1Settings, at: At, row: dict[str, Any]) -> dict[str, Any]:
    """The last row of a run with its bar and whether it was met; a run that diverged has not met it."""
    bar = bar_of(problem_at(s, at))
    return row | {"last": True, "bar": bar, "learnt": float(row["test"] <= bar)}


def algorithm_rows(s: Theorem1Settings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """The end of Algorithm 1."""
    return [judged(s, at, algorithm_row(s, at, outcome))]


def plain_rows(s: Theorem1Settings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """The stages of the plain learner."""
    first, *rest, end = ({"last": False} | row for row in stage_rows(s, at, outcome))
    more = {"alone": first["test"], "steps": outcome.scalars["steps"]}
    return [first, *rest, judged(s, at, end) | more]
