"""Lemma 5.1 and resnet Lemma E.2: gates of random neurons and a function of their weights write any smooth function."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most, between, not_empty, rising
from beyondkernels.papers.overparam.experiments.common import Points, Reach, drawn, size
from beyondkernels.papers.overparam.paper import PAPER

FUNCTIONS = ("sin", "cos", "exp", "sigmoid", "tanh", "z + 2z³ + z⁴")
"""φ, by name."""

BIASED, UNBIASED = "5.1", "E.2"
"""The lemmas: neurons with a random bias (overparam), and without (resnet)."""

ODD = ("sin", "sigmoid", "tanh")
"""φ for the second: there may be no terms of even order but the constant."""

REACH = 100.0  # the constant of both papers in B_i

ALLOWED = {BIASED: 2.0, UNBIASED: 1.0}
"""How many ε of error they allow."""

SMALL = 10.0  # a constant C* far below the paper's (ours), with which the bound on E h² can fail
DEVIATIONS = 5.0  # by how many standard errors the two ways of computing may differ (ours)


@dataclass(frozen=True)
class IndicatorSettings(bk.core.Checked):
    epsilons: Annotated[tuple[float, ...], between(0, 1, "()"), not_empty] = lab.setting(
        (0.3, 0.1, 0.03, 0.01, 0.001), "ours", "ε"
    )
    reach: Reach = lab.setting(REACH, "paper", "c in B_i, beyond which h_i is constant")
    reaches: Annotated[tuple[float, ...], between(1e-6, 1e6), rising, not_empty] = lab.setting(
        (1.0, 1.5, 2.0), "ours", "smaller constants, to see where holding constant begins to cost"
    )
    star: lab.Size = lab.setting(1e4, "paper", "C of (17)")
    draws: Annotated[lab.Count, at_most(10**9)] = lab.setting(1_000_000, "ours", "of the Monte Carlo estimate")
    points: Points = lab.setting(41, "ours", "of [−1, 1], evenly spaced, the ends among them")
    seeds: lab.Seeds = lab.setting(3, "ours", "of the draws")

    def __post_init__(self) -> None:
        words = f"reaches must not hold reach = {self.reach:g}, got {self.reaches}; leave it out"
        bk.core.require(self.reach not in self.reaches, words)

    @property
    def least_reach(self) -> float:
        return self.reaches[0]


class Indicator(lab.Experiment):
    id = "overparam/indicator"
    reference = PAPER.at("Lemma 5.1, App. B.1; resnet Lemma E.2")
    quantities = {
        "lemma": lab.Quantity("lemma"),
        "function": lab.Quantity("φ"),
        "reach": lab.Quantity("c"),
        "epsilon": lab.Quantity("ε"),
        "error_over_epsilon": size("Error/ε", ".1e", "The largest over [−1, 1]."),
        "sampled_error": size("Of draws", ".1e", "The largest error of the Monte Carlo estimate."),
        "root_mean_square": size("rms h", ".1f", "The root mean square of h.", heading="rms h"),
        "log_range": lab.Quantity("log₁₀ max h", ".1f", about="A bound on |h|."),
        "log_complexity": lab.Quantity("log₁₀ ℭ", ".1f", about="The lemma's bound on |h|."),
        "least_constant": size("least C", ".4g", "With which ℭ bounds h and its slope."),
        "moment_constant": size("Of rms", ".2f", "Least C* with which ℭ_s bounds rms h."),
        "log_hypothesis": lab.Quantity("log₁₀ εℭ(φ,1)", ".1f", about="Negative where ε is in range."),
        "deviation": size("standard errors"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 0.7, "paper": 4.0}
    settings_class = IndicatorSettings
    scales = {
        "laptop": lab.scale(epsilons=(0.3, 0.1, 0.01, 0.001), draws=100_000, points=21, seeds=2),
        "smoke": lab.scale("laptop", epsilons=(0.3, 0.01), reaches=(1.0,), draws=1000, points=3),
    }

    def runs(self, s: IndicatorSettings) -> list[lab.Runs]:
        places = {"lemma": [BIASED], "function": FUNCTIONS, "reach": (*s.reaches, s.reach), "epsilon": s.epsilons}
        without = {"lemma": [UNBIASED], "function": ODD, "reach": [REACH], "epsilon": s.epsilons}
        return [lab.Runs(spec, places, row), lab.Runs(spec, without, row)]

    def claims(self, s: IndicatorSettings) -> list[lab.Statement]:
        made, large = [], "a large constant, e.g. 10⁴"
        for lemma, reach in {BIASED: s.reach, UNBIASED: REACH}.items():
            where, allowed = {"lemma": lemma, "reach": reach}, ALLOWED[lemma]
            error, least = worst("error_over_epsilon", **where), worst("least_constant", **where)
            made += [
                self.claim(s, f"within-{lemma}", error, lab.AtMost(allowed), f"at most {allowed:g}"),
                self.claim(s, f"range-{lemma}", least, lab.AtMost(s.star), large),
            ]
        return [
            *made,
            self.claim(s, "moment", worst("moment_constant", lemma=UNBIASED), lab.AtMost(SMALL), large),
            self.claim(s, "agree", worst("deviation", "largest"), lab.AtMost(DEVIATIONS)),
        ]

    def table(self, s: IndicatorSettings) -> lab.Table:
        sizes = ("root_mean_square", "log_range", "log_complexity", "least_constant", "moment_constant")
        computed = [lab.Shown(each, show="first") for each in ("error_over_epsilon", *sizes, "log_hypothesis")]
        return lab.Table(["lemma", "function", "reach", "epsilon"], [computed[0], "sampled_error", *computed[1:]])

    def figures(self, s: IndicatorSettings) -> list[lab.Picture]:
        return [
            lab.Drawn("functions", by=functools.partial(curves, s)),
            lab.Drawn("error", by=functools.partial(errors, s)),
        ]


def worst(column: str, statistic: Literal["number", "largest"] = "number", **where: Any) -> lab.Value:
    """For each function the largest number of a column over all runs: one number, or one for each seed."""

    def compute(rows: lab.Rows) -> lab.Series:
        mine = lab.select(rows, where)
        if mine.empty or column not in mine:
            return lab.of(column, "function").compute(rows.iloc[:0])
        by = ["function", "seed"] if statistic == "largest" else ["function"]
        return mine.groupby(by, sort=False)[column].agg(lambda numbers: numbers.max(skipna=False))

    return lab.Value(compute, "function", column, f"worst({column!r}, {where})", statistic)


def spec(s: IndicatorSettings, at: lab.At) -> bk.store.RunSpec:
    polynomial = bk.activations.Polynomial((0.0, 1.0, 0.0, 2.0, 1.0))
    function = polynomial if at.function == FUNCTIONS[-1] else bk.activations.smooth_function(at.function)
    learner = bk.overparam.IndicatorEstimate(at.epsilon, at.reach, s.draws, s.points, s.star, biased=at.lemma == BIASED)
    return bk.store.RunSpec(bk.overparam.IntervalFunction(function), learner, 1, 0, at.seed)


def row(s: IndicatorSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    return {**outcome.scalars, "error_over_epsilon": outcome.scalars["error"] / at.epsilon}


def curves(s: IndicatorSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Each function, and its construction with the smallest constant for the largest and the next ε."""
    lines = []
    for name, epsilon in itertools.product(FUNCTIONS[:2], s.epsilons[:2]):
        mine = lab.select(rows, {"lemma": BIASED, "function": name, "reach": s.reaches[0], "epsilon": epsilon})
        for found in [outcome.arrays for outcome in mine["outcome"][:1]] if len(mine) else ():
            if epsilon == s.epsilons[0]:
                lines.append(lab.Line(name, found["x"].tolist(), found["target"].tolist()))
            lines.append(lab.Line(f"{name}, ε = {epsilon:g}", found["x"].tolist(), found["mean"].tolist()))
    return drawn(picture, lines, "x", "φ(x)", x_scale="linear", y_scale="linear")


def errors(s: IndicatorSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    lines = []
    for reach in (*s.reaches, s.reach):
        mine = lab.select(rows, {"lemma": BIASED, "reach": reach})
        if len(mine):
            largest = mine.groupby("epsilon")["error_over_epsilon"].max()
            lines.append(lab.Line(f"c = {reach:g}", list(largest.index), largest.tolist()))
    return drawn(picture, lines, "ε", "largest error / ε", levels=[lab.Level("the lemma's bound", ALLOWED[BIASED])])
