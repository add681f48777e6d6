"""Lemma 5.2: the input to a random second-layer neuron holds a Gaussian multiple of any smooth function."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between
from beyondkernels.papers.overparam.experiments.common import Open, Points, Reach, Widths, size
from beyondkernels.papers.overparam.paper import PAPER

FUNCTIONS = ("identity", "sin")
"""φ, by name."""

SLOPE, SLACK = -0.5, 0.1  # how the rest falls with m₁, and by how much a fitted slope may differ (ours)

DEVIATIONS = 5.0
"""By how many standard errors the variance of ρ over all draws of a width may differ from the lemma's (ours)."""

SHARE = 0.1  # by how much the slope of n₁ − B on ρ may differ from φ_ε, in parts of it (ours)

HALF = 0.5
"""How much of φ_ε a slope on ρ may miss where the background's noise is in it (ours): half of what ρφ_ε itself is."""

ACROSS, TILTED = 0.0, 0.8
"""The last coordinate of w*: as in the proof, and one for which the proof's "without loss of generality" fails."""

WORDS = {ACROSS: "w* ⟂ e_d", TILTED: f"w*_d = {TILTED:g}"}

SLOPES = {
    "independent": ("leak", ACROSS, 0.0),
    "tilted-slope": ("total", TILTED, 1.0),
    "tilted-explained": ("unexplained", TILTED, 0.0),
}
"""Claims about slopes on ρ: a column, w*_d, and the value in units of φ_ε."""


@dataclass(frozen=True)
class RandomnessSettings(bk.core.Checked):
    widths: Widths = lab.setting((1000, 3162, 10_000, 31_623, 100_000), "ours", "m₁, half-decades")
    draws: Annotated[int, at_least(3), at_most(10**6)] = lab.setting(1000, "ours", "first layers in a run")
    epsilon: Open = lab.setting(0.1, "ours", "ε")
    reach: Reach = lab.setting(
        1.0, "ours", "the constant in B_i; the paper's 100 makes C so large that no width shows ρ"
    )
    probability: Annotated[float, between(0, 0.01, "(]")] = lab.setting(0.01, "paper", "τ")
    points: Points = lab.setting(7, "ours", "at which everything is measured")
    seeds: lab.Seeds = lab.setting(5, "ours", "of the draws; draws and bars were chosen on seeds from 100 on")


class Randomness(lab.Experiment):
    id = "overparam/randomness"
    reference = PAPER.at("Lemma 5.2, App. B.2 and A.2")
    quantities = {
        **{name: lab.Quantity(f"n₁ on ρ, {name}") for name in ("total", "unexplained")},
        "function": lab.Quantity("φ"),
        "tilt": lab.Quantity("w*_d"),
        "width": size("m₁", log=True),
        "whole": size("n₁", ".3f", "Root mean square of the neuron's input, times √m₂."),
        "signal": size("ρφ", ".1e", "Root mean square of the part that holds φ, times √m₂."),
        "rest": size("R", ".1e", "Root mean square of the rest, times √m₂."),
        "variance": size("Var ρ", ".3f", "The mean of ρ² over the lemma's τ/(C²m₂)."),
        "carried": lab.Quantity("n₁ − B on ρ", ".2f", about="The slope, as a multiple of φ_ε; 1 by the lemma."),
        "leak": lab.Quantity("B₂ on ρ", ".2f", about="The slope of 𝒮's part of B, likewise; 0 by the lemma."),
        "expected": lab.Quantity("sum", ".2f", about="What the two make together, by (A)."),
        "lost": size("|𝒮 △ 𝒮′|", ".1f", "How many neurons the two sets do not share."),
        "parts": size("root mean square · √m₂", log=True),
    }
    seconds_per_run = {"smoke": 0.05, "laptop": 1.5, "paper": 30.0}
    settings_class = RandomnessSettings
    scales = {
        "laptop": lab.scale(widths=(1000, 3162, 10_000, 31_623), draws=300),
        "smoke": lab.scale(widths=(1000, 3162), draws=10, points=3, seeds=2),
    }

    def runs(self, s: RandomnessSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"function": FUNCTIONS, "tilt": (ACROSS, TILTED), "width": s.widths}, row)]

    def claims(self, s: RandomnessSettings) -> list[lab.Statement]:
        made, error = [], DEVIATIONS * math.sqrt(2 / (s.draws * s.seeds))
        falls, near = lab.AtMost(SLOPE + SLACK), lab.Between(1 - error, 1 + error)
        for tilt, name in itertools.product((ACROSS, TILTED), FUNCTIONS):
            rest, variance = (lab.of(each, "width", function=name, tilt=tilt) for each in ("rest", "variance"))
            told, begin = {"name": name, "words": WORDS[tilt]}, "" if tilt == ACROSS else "tilted-"
            made += [
                self.claim(s, f"{begin}rest-{name}", rest.slope(), falls, f"at most {SLOPE:g}", "rest", **told),
                self.claim(s, f"{begin}variance-{name}", variance, near, 1.0, "variance", error=error, **told),
            ]
        for name in FUNCTIONS:
            carried = lab.of("carried", "width", function=name, tilt=ACROSS)
            most = lab.Between(1 - SHARE, 1 + SHARE)
            made.append(self.claim(s, f"carried-{name}", carried, most, 1.0, "carried", name=name))
            for word, (column, tilt, wanted) in SLOPES.items():
                mean, printed = average(column, function=name, tilt=tilt), None if column == "unexplained" else wanted
                half = lab.Between(wanted - HALF, wanted + HALF)
                made.append(self.claim(s, f"{word}-{name}", mean, half, printed, word, name=name))
            lost, flat = lab.of("lost", "width", function=name, tilt=TILTED).slope(), "at most 0, up to logarithms"
            made.append(self.claim(s, f"tilted-sets-{name}", lost, lab.AtMost(SLACK), flat, "tilted-sets", name=name))
        return made

    def table(self, s: RandomnessSettings) -> lab.Table:
        parts, expected = ["whole", "signal", "rest", "variance"], lab.Shown("expected", show="first")
        return lab.Table(["function", "tilt", "width"], [*parts, "carried", "leak", expected, "lost"])

    def figures(self, s: RandomnessSettings) -> list[lab.Picture]:
        parts = {"whole": "n₁", "signal": "ρφ", "rest": "R"}
        lines = {
            f"{word}, φ = {name}": {"function": name, "tilt": ACROSS, "y": column}
            for name in FUNCTIONS
            for column, word in parts.items()
        }
        lines |= {f"R, φ = {name}, tilted": {"function": name, "tilt": TILTED, "y": "rest"} for name in FUNCTIONS}
        return [lab.Over("parts", x="width", y="parts", line=lines)]


def average(column: str, **where: Any) -> lab.Value:
    """For each seed the mean of a column over all widths."""
    by_width = lab.of(column, "width", **where)

    def compute(rows: lab.Rows) -> lab.Series:
        return by_width.compute(rows).groupby(level="seed", sort=False).agg(lambda numbers: numbers.mean(skipna=False))

    return lab.Value(compute, quantity=column, name=f"average({column!r}, {where})")


def spec(s: RandomnessSettings, at: lab.At) -> bk.store.RunSpec:
    constants = s.epsilon, s.reach, s.probability
    learner = bk.overparam.RandomFirstLayers(at.width, s.draws, *constants, points=s.points, tilt=at.tilt)
    problem = bk.overparam.IntervalFunction(bk.activations.smooth_function(at.function))
    return bk.store.RunSpec(problem, learner, 1, 0, at.seed)


def row(s: RandomnessSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """All numbers, and what n₁ holds of ρ beside what it should."""
    found = dict(outcome.scalars)
    found["total"] = found["carried"] + found["leak"]
    found["expected"] = 1 + found["excess"]
    found["unexplained"] = found["total"] - found["expected"]
    return found
