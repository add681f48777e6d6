"""Lemma 5.2: the input to a random second-layer neuron holds a Gaussian multiple of any smooth function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked
from beyondkernels.core.constraints import at_least, at_most, between
from beyondkernels.lab import (
    At,
    AtMost,
    Between,
    Counts,
    Experiment,
    Over,
    Picture,
    Rows,
    Runs,
    Scale,
    Seeds,
    Series,
    Shown,
    Statement,
    Table,
    Value,
    claim,
    of,
    scale,
    select,
    setting,
)
from beyondkernels.papers.overparam.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

FUNCTIONS = ("identity", "sin")
"""φ, by name."""

SLOPE, SLACK = -0.5, 0.1
"""How the rest falls with m₁, and by how much a fitted slope may differ (ours)."""

DEVIATIONS = 5.0
"""By how many standard errors the variance of ρ over all draws of a width may differ from the lemma's (ours)."""

SHARE = 0.1
"""By how much the slope of n₁ − B on ρ may differ from φ_ε, in parts of it (ours)."""

HALF = 0.5
"""How much of φ_ε a slope on ρ may miss where the background's noise is in it (ours): half of what ρφ_ε itself is."""

ACROSS, TILTED = 0.0, 0.8
"""The last coordinate of w*: as in the proof, and one for which the proof's "without loss of generality" fails."""

WORDS = {ACROSS: "w* ⟂ e_d", TILTED: f"w*_d = {TILTED:g}"}
"""Both in words."""

SLOPES = {
    "independent": ("leak", ACROSS, 0.0, "the slope of B on ρ is zero; it would be φ_ε, if B had all of n₁"),
    "tilted-slope": ("total", TILTED, 1.0, "the slope of n₁ on ρ is φ_ε"),
    "tilted-explained": ("unexplained", TILTED, 0.0, "the slope of n₁ on ρ is that of (A), ours"),
}
"""Claims about slopes on ρ: a column, w*_d, the value in units of φ_ε, and a text."""


@dataclass(frozen=True)
class RandomnessSettings(Checked):
    """The numbers of the experiment."""

    widths: Annotated[Counts, at_most(10**8)] = setting(
        (1000, 3162, 10_000, 31_623, 100_000), "ours", "m₁, half-decades"
    )
    draws: Annotated[int, at_least(3), at_most(10**6)] = setting(1000, "ours", "first layers in a run")
    epsilon: Annotated[float, between(0, 1, "()")] = setting(0.1, "ours", "ε")
    reach: Annotated[float, between(1e-6, 1e6)] = setting(
        1.0, "ours", "the constant in B_i; the paper's 100 makes C so large that no width shows ρ"
    )
    probability: Annotated[float, between(0, 0.01, "(]")] = setting(0.01, "paper", "τ")
    points: Annotated[int, at_least(2), at_most(10**6)] = setting(7, "ours", "at which everything is measured")
    seeds: Seeds = setting(5, "ours", "of the draws; draws and bars were chosen on seeds from 100 on")


class Randomness(Experiment):
    """The parts of n₁ over the width of the first layer, and the moments of ρ."""

    id: ClassVar[str] = "overparam/randomness"
    reference = PAPER.at("Lemma 5.2, App. B.2 and A.2")
    text_file: ClassVar[str] = "randomness.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m₁", "function": "φ", "tilt": "w*_d"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 1.5, "paper": 30.0}
    settings_class: ClassVar[type] = RandomnessSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(widths=(1000, 3162, 10_000, 31_623), draws=300),
        "smoke": scale(widths=(1000, 3162), draws=10, points=3, seeds=2),
    }

    def runs(self, s: RandomnessSettings) -> list[Runs]:
        """Every function and direction at every width."""
        return [Runs(spec, {"function": FUNCTIONS, "tilt": (ACROSS, TILTED), "width": s.widths}, row)]

    def claims(self, s: RandomnessSettings) -> list[Statement]:
        """The rest, the moments of ρ, and what depends on ρ."""
        made = [each(s, name, tilt) for tilt in (ACROSS, TILTED) for name in FUNCTIONS for each in (rest, variance)]
        return made + [each for name in FUNCTIONS for each in (carried(name), *slopes(name), lost(name))]

    def table(self, s: RandomnessSettings) -> Table:
        """A line for each function, direction and width."""
        return Table(
            {"function": "φ", "tilt": "w*_d", "width": "m₁"},
            [
                Shown("whole", "n₁", ".3f", about="Root mean square of the neuron's input, times √m₂."),
                Shown("signal", "ρφ", ".1e", about="Root mean square of the part that holds φ, times √m₂."),
                Shown("rest", "R", ".1e", about="Root mean square of the rest, times √m₂."),
                Shown("variance", "Var ρ", ".3f", about="The mean of ρ² over the lemma's τ/(C²m₂)."),
                Shown("carried", "n₁ − B on ρ", ".2f", about="The slope, as a multiple of φ_ε; 1 by the lemma."),
                Shown("leak", "B₂ on ρ", ".2f", about="The slope of 𝒮's part of B, likewise; 0 by the lemma."),
                Shown("expected", "Sum", ".2f", show="first", about="What the two make together, by (A)."),
                Shown("lost", "|𝒮 △ 𝒮′|", ".1f", about="How many neurons the two sets do not share."),
            ],
        )

    def figures(self, s: RandomnessSettings) -> list[Picture]:
        """The parts over width."""
        parts = {"whole": "n₁", "signal": "ρφ", "rest": "R"}
        return [
            Over(
                "parts",
                "The parts of a neuron's input over the width of the first layer",
                f"Root mean squares over draws and points, times √m₂. Lines called tilted have w*_d = {TILTED:g}.",
                "The whole input, the part that holds the function, and the rest, for each function, against the width",
                x="width",
                y="rest",
                line={
                    f"{word}, φ = {name}": {"function": name, "tilt": ACROSS, "y": column}
                    for name in FUNCTIONS
                    for column, word in parts.items()
                }
                | {f"R, φ = {name}, tilted": {"function": name, "tilt": TILTED, "y": "rest"} for name in FUNCTIONS},
                x_label="width m₁",
                y_label="root mean square · √m₂",
                x_scale="log",
                y_scale="log",
            )
        ]


def rest(s: RandomnessSettings, name: str, tilt: float) -> Statement:
    """How the rest falls."""
    return claim(
        f"rest-{name}" if tilt == ACROSS else f"tilted-rest-{name}",
        f"φ = {name}, {WORDS[tilt]}: the rest R falls like m₁^({SLOPE:g}), by its slope within {SLACK:g}",
        of("rest", "width", function=name, tilt=tilt).slope(),
        Between(SLOPE - SLACK, SLOPE + SLACK),
        paper=f"at most {SLOPE:g}",
    )


def variance(s: RandomnessSettings, name: str, tilt: float) -> Statement:
    """The size of ρ; with a tilt it has power against sets that depend on W⁽⁰⁾."""
    error = DEVIATIONS * math.sqrt(2 / (s.draws * s.seeds))
    return claim(
        f"variance-{name}" if tilt == ACROSS else f"tilted-variance-{name}",
        f"φ = {name}, {WORDS[tilt]}: at every m₁ the mean of ρ² over all draws is τ/(C²m₂), up to {DEVIATIONS:g} "
        f"standard errors, which are {error:.2g} of it",
        of("variance", "width", function=name, tilt=tilt),
        Between(1 - error, 1 + error),
        paper=1.0,
    )


def carried(name: str) -> Statement:
    """What the background leaves of n₁."""
    return claim(
        f"carried-{name}",
        f"φ = {name}, {WORDS[ACROSS]}: at every m₁ the slope of n₁ − B on ρ is φ_ε up to {SHARE:.0%} of it, on "
        "average over seeds",
        of("carried", "width", function=name, tilt=ACROSS),
        Between(1 - SHARE, 1 + SHARE),
        paper=1.0,
    )


def slopes(name: str) -> list[Statement]:
    """What depends on ρ, where the background's noise is in it."""
    return [
        claim(
            f"{word}-{name}",
            f"φ = {name}, {WORDS[tilt]}: {text}, up to {HALF:g}φ_ε, on average over widths and seeds",
            average(column, function=name, tilt=tilt),
            Between(wanted - HALF, wanted + HALF),
            paper=None if column == "unexplained" else wanted,
        )
        for word, (column, tilt, wanted, text) in SLOPES.items()
    ]


def lost(name: str) -> Statement:
    """The step of the proof that fails."""
    return claim(
        f"tilted-sets-{name}",
        f"φ = {name}, {WORDS[TILTED]}: |𝒮 △ 𝒮′| does not grow with m₁, by its slope",
        of("lost", "width", function=name, tilt=TILTED).slope(),
        AtMost(SLACK),
        paper="at most 0, up to logarithms",
    )


def average(column: str, **where: Any) -> Value:
    """For each seed the mean of a column over all widths."""

    def compute(rows: Rows) -> Series:
        mine = select(rows, where)
        if mine.empty or column not in mine:
            return of(column).compute(rows.iloc[:0])
        return mine.groupby("seed", sort=False)[column].agg(lambda numbers: numbers.mean(skipna=False))

    return Value(compute, name=f"average({column!r}, {where})")


def spec(s: RandomnessSettings, at: At) -> RunSpec:
    """Many random first layers of one width."""
    from beyondkernels.activations import smooth_function
    from beyondkernels.papers.overparam.problems import IntervalFunction

    learner = bk.overparam.RandomFirstLayers(
        at.width, s.draws, s.epsilon, s.reach, s.probability, points=s.points, tilt=at.tilt
    )
    return RunSpec(IntervalFunction(smooth_function(at.function)), learner, 1, 0, at.seed)


def row(s: RandomnessSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """All numbers, and what n₁ holds of ρ beside what it should."""
    found = dict(outcome.scalars)
    found["total"] = found["carried"] + found["leak"]
    found["expected"] = 1 + found["excess"]
    found["unexplained"] = found["total"] - found["expected"]
    return found
