"""Lemma 5.2: the input to a random second-layer neuron holds a Gaussian multiple of any smooth function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, Reference
from beyondkernels.core.constraints import at_least, between
from beyondkernels.frame import (
    At,
    Counts,
    Experiment,
    Over,
    Picture,
    Runs,
    Scale,
    Seeds,
    Shown,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.reports import AtMost, Between
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

FUNCTIONS = ("identity", "sin")
"""φ, by name."""

SLOPE, SLACK = -0.5, 0.1
"""How the rest falls with m₁, and by how much a fitted slope may differ (ours)."""

DEVIATIONS = 5.0
"""By how many standard errors a moment over draws may differ from the lemma's (ours)."""


@dataclass(frozen=True)
class RandomnessSettings(Checked):
    """The numbers of the experiment."""

    widths: Counts = setting((1000, 3162, 10_000, 31_623, 100_000), "ours", "m₁, half-decades")
    draws: Annotated[int, at_least(3)] = setting(1000, "ours", "first layers in a run")
    epsilon: Annotated[float, between(0, 1, "()")] = setting(0.1, "ours", "ε")
    reach: Annotated[float, between(1e-6, 1e6)] = setting(
        1.0, "ours", "the constant in B_i; the paper's 100 makes C so large that no width shows ρ"
    )
    probability: Annotated[float, between(0, 0.01, "(]")] = setting(0.01, "paper", "τ")
    points: Annotated[int, at_least(2)] = setting(7, "ours", "at which everything is measured")
    seeds: Seeds = setting(5, "ours", "of the draws")


class Randomness(Experiment):
    """The parts of n₁ over the width of the first layer, and the moments of ρ."""

    id: ClassVar[str] = "overparam/randomness"
    title: ClassVar[str] = "Lemma 5.2: a smooth function in a random neuron's input"
    summary: ClassVar[str] = (
        "Lemma 5.2 writes the input of a second-layer neuron at the random start as a Gaussian number ρ times a given "
        "smooth function, plus a background that is independent of ρ, plus a rest that vanishes with the width. Here "
        "the proof's construction is executed for many random first layers, and the sizes and moments of the parts are "
        "measured."
    )
    reference: ClassVar[Reference] = Reference("overparam", "Lemma 5.2, App. B.2 and A.2")
    notes_file: ClassVar[str] = "randomness.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m₁", "function": "φ"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 1.5, "paper": 30.0}
    numbers: ClassVar[type] = RandomnessSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(widths=(1000, 3162, 10_000, 31_623), draws=200, seeds=3),
        "smoke": scale(widths=(1000, 3162), draws=10, points=3, seeds=2),
    }

    def runs(self, s: RandomnessSettings) -> list[Runs]:
        """Every function at every width."""
        return [Runs(spec, {"function": FUNCTIONS, "width": s.widths}, row)]

    def claims(self, s: RandomnessSettings) -> list[Statement]:
        """The rest, and the moments of ρ."""
        made = []
        for name in FUNCTIONS:
            made += [
                claim(
                    f"rest-{name}",
                    f"φ = {name}: the rest R falls like m₁^({SLOPE:g}), by its slope within {SLACK:g}",
                    of("rest", "width", function=name).slope(),
                    Between(SLOPE - SLACK, SLOPE + SLACK),
                    paper=f"at most {SLOPE:g}",
                ),
                claim(
                    f"variance-{name}",
                    f"φ = {name}: at every m₁ the variance of ρ differs from τ/(C²m₂) by at most {DEVIATIONS:g} "
                    "standard errors",
                    of("variance_deviation", "width", function=name).largest(),
                    AtMost(DEVIATIONS),
                ),
                claim(
                    f"independent-{name}",
                    f"φ = {name}: at every m₁ and point the correlation of ρ with the background B is at most "
                    f"{DEVIATIONS:g} standard errors",
                    of("correlation_deviation", "width", function=name).largest(),
                    AtMost(DEVIATIONS),
                ),
            ]
        return made

    def table(self, s: RandomnessSettings) -> Table:
        """A line for each function and width."""
        return Table(
            {"function": "φ", "width": "m₁"},
            [
                Shown("whole", "n₁", ".3f", about="Root mean square of the neuron's input, times √m₂."),
                Shown("signal", "ρφ", ".1e", about="Root mean square of the part that holds φ, times √m₂."),
                Shown("rest", "R", ".1e", about="Root mean square of the rest, times √m₂."),
                Shown("variance", "Var ρ", ".3f", about="Over the lemma's τ/(C²m₂)."),
                Shown("correlation", "Corr", ".3f", about="Of ρ and B: the largest over points."),
            ],
        )

    def figures(self, s: RandomnessSettings) -> list[Picture]:
        """The parts over width."""
        parts = {"whole": "n₁", "signal": "ρφ", "rest": "R"}
        return [
            Over(
                "parts",
                "The parts of a neuron's input over the width of the first layer",
                "Root mean squares over draws and points, times √m₂.",
                "The whole input, the part that holds the function, and the rest, for each function, against the width",
                x="width",
                y="rest",
                line={
                    f"{word}, φ = {name}": {"function": name, "y": column}
                    for name in FUNCTIONS
                    for column, word in parts.items()
                },
                x_label="width m₁",
                y_label="root mean square · √m₂",
                x_scale="log",
                y_scale="log",
            )
        ]


def spec(s: RandomnessSettings, at: At) -> RunSpec:
    """Many random first layers of one width."""
    from beyondkernels.problems.overparam import IntervalFunction, smooth_function

    learner = bk.theory.overparam.RandomFirstLayers(
        at.width, s.draws, s.epsilon, s.reach, s.probability, points=s.points
    )
    return RunSpec(IntervalFunction(smooth_function(at.function)), learner, 1, 0, at.seed)


def row(s: RandomnessSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """All numbers, and moments in standard errors."""
    found = dict(outcome.scalars)
    found["variance_deviation"] = abs(found["variance"] - 1) * math.sqrt((s.draws - 1) / 2)
    found["correlation_deviation"] = found["correlation"] * math.sqrt(s.draws)
    return found
