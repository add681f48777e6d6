"""Lemma 5.1 and resnet Lemma E.2: gates of random neurons and a function of their weights write any smooth function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, rising
from beyondkernels.lab import (
    At,
    AtMost,
    Count,
    Curves,
    Drawn,
    Experiment,
    Level,
    Line,
    Picture,
    Rows,
    Runs,
    Scale,
    Seeds,
    Series,
    Shown,
    Size,
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

FUNCTIONS = ("sin", "cos", "exp", "sigmoid", "tanh", "z + 2z³ + z⁴")
"""φ, by name."""

BIASED, UNBIASED = "5.1", "E.2"
"""The lemmas: neurons with a random bias (overparam), and without (resnet)."""

ODD = ("sin", "sigmoid", "tanh")
"""φ for the second: there may be no terms of even order but the constant."""

REACH = 100.0
"""The constant of both papers in B_i."""

LEMMAS = {BIASED: (2.0, "ℭ(φ, √log(1/ε))", "C"), UNBIASED: (1.0, "ℭ_ε(φ, 1)", "C*")}
"""How many ε of error they allow, what they say bounds |h|, and the constant in it."""

SMALL = 10.0
"""A constant C* far below the paper's (ours), with which the bound on E h² can fail."""

DEVIATIONS = 5.0
"""By how many standard errors the two ways of computing may differ (ours)."""


@dataclass(frozen=True)
class IndicatorSettings(Checked):
    """The numbers of the experiment."""

    epsilons: Annotated[tuple[float, ...], between(0, 1, "()"), not_empty] = setting(
        (0.3, 0.1, 0.03, 0.01, 0.001), "ours", "ε"
    )
    reach: Annotated[float, between(1e-6, 1e6)] = setting(REACH, "paper", "c in B_i, beyond which h_i is constant")
    reaches: Annotated[tuple[float, ...], between(1e-6, 1e6), rising, not_empty] = setting(
        (1.0, 1.5, 2.0), "ours", "smaller constants, to see where holding constant begins to cost"
    )
    star: Size = setting(1e4, "paper", "C of (17)")
    draws: Annotated[Count, at_most(10**9)] = setting(1_000_000, "ours", "of the Monte Carlo estimate")
    points: Annotated[int, at_least(2), at_most(10**6)] = setting(
        41, "ours", "of [−1, 1], evenly spaced, the ends among them"
    )
    seeds: Seeds = setting(3, "ours", "of the draws")

    def __post_init__(self) -> None:
        require(
            self.reach not in self.reaches,
            f"reaches must not hold reach = {self.reach:g}, got {self.reaches}; leave it out",
        )


class Indicator(Experiment):
    """The identity (20) by quadrature and by draws, and the range of h."""

    id: ClassVar[str] = "overparam/indicator"
    reference = PAPER.at("Lemma 5.1, App. B.1; resnet Lemma E.2")
    text_file: ClassVar[str] = "indicator.md"
    symbols: ClassVar[Mapping[str, str]] = {"epsilon": "ε", "reach": "c", "function": "φ"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 0.7, "paper": 4.0}
    settings_class: ClassVar[type] = IndicatorSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(epsilons=(0.3, 0.1, 0.01, 0.001), draws=100_000, points=21, seeds=2),
        "smoke": scale("laptop", epsilons=(0.3, 0.01), reaches=(1.0,), draws=1000, points=3),
    }

    def runs(self, s: IndicatorSettings) -> list[Runs]:
        """Every function with every ε, with the paper's constant and with smaller ones, and without biases."""
        places = {"lemma": [BIASED], "function": FUNCTIONS, "reach": (*s.reaches, s.reach), "epsilon": s.epsilons}
        without = {"lemma": [UNBIASED], "function": ODD, "reach": [REACH], "epsilon": s.epsilons}
        return [Runs(spec, places, row), Runs(spec, without, row)]

    def claims(self, s: IndicatorSettings) -> list[Statement]:
        """The lemma for every function and ε, with the paper's constants."""
        made = []
        for lemma, (allowed, bound, constant) in LEMMAS.items():
            where = {"lemma": lemma, "reach": s.reach if lemma == BIASED else REACH}
            made += [
                claim(
                    f"within-{lemma}",
                    f"Lemma {lemma}: for every φ and ε, gate times h is φ on average, up to {allowed:g}ε at every x",
                    worst("error_over_epsilon", **where),
                    AtMost(allowed),
                    paper=f"at most {allowed:g}",
                ),
                claim(
                    f"range-{lemma}",
                    f"Lemma {lemma}: for every φ and ε, |h| and the slope of h in α are at most {bound} with "
                    f"{constant} = {s.star:g}, by the least {constant} for which they are",
                    worst("least_constant", **where),
                    AtMost(s.star),
                    paper="a large constant, e.g. 10⁴",
                ),
            ]
        return [
            *made,
            claim(
                "moment",
                f"Lemma {UNBIASED}: for every φ and ε, E h² ≤ ℭ_s(φ, 1)² even if C* = {SMALL:g}, by the least such C*",
                worst("moment_constant", lemma=UNBIASED),
                AtMost(SMALL),
                paper="a large constant, e.g. 10⁴",
            ),
            claim(
                "agree",
                f"Random draws and quadrature differ by at most {DEVIATIONS:g} standard errors, in every run and point",
                worst("deviation"),
                AtMost(DEVIATIONS),
            ),
        ]

    def table(self, s: IndicatorSettings) -> Table:
        """A line for each function, constant and ε."""
        return Table(
            {"lemma": "Lemma", "function": "φ", "reach": "c", "epsilon": "ε"},
            [
                Shown("error_over_epsilon", "Error/ε", ".1e", show="first", about="The largest over [−1, 1]."),
                Shown("sampled_error", "Of draws", ".1e", about="The largest error of the Monte Carlo estimate."),
                Shown("root_mean_square", "rms h", ".1f", show="first", about="The root mean square of h."),
                Shown("log_range", "log₁₀ max h", ".1f", show="first", about="A bound on |h|."),
                Shown("log_complexity", "log₁₀ ℭ", ".1f", show="first", about="The lemma's bound on |h|."),
                Shown("least_constant", "Least C", ".4g", show="first", about="With which ℭ bounds h and its slope."),
                Shown("moment_constant", "Of rms", ".2f", show="first", about="Least C* with which ℭ_s bounds rms h."),
                Shown("log_hypothesis", "log₁₀ εℭ(φ,1)", ".1f", show="first", about="Negative where ε is in range."),
            ],
        )

    def figures(self, s: IndicatorSettings) -> list[Picture]:
        """What the construction gives, and its error over ε."""
        return [
            Drawn(
                "functions",
                "Functions and what gates make of them",
                f"By quadrature, with c = {s.reaches[0]:g} in place of the paper's {s.reach:g}. A line with an ε "
                "is the mean of gate times h.",
                "Two functions on [−1, 1], and the construction for two values of ε each",
                lambda picture, rows: curves(s, picture, rows),
            ),
            Drawn(
                "error",
                "Error of the construction over ε",
                "The largest over the interval and over all functions of the table, by quadrature. Hermite polynomials "
                "are held constant beyond $B_i = c\\sqrt{i\\,\\log(1/\\varepsilon)}$.",
                "The largest error over ε against ε, one line for each constant c, and the lemma's bound",
                lambda picture, rows: errors(s, picture, rows),
            ),
        ]


def worst(column: str, **where: Any) -> Value:
    """For each function the largest number of a column over all runs."""

    def compute(rows: Rows) -> Series:
        mine = select(rows, where)
        if mine.empty or column not in mine:
            return of(column, "function").compute(rows.iloc[:0])
        return mine.groupby("function", sort=False)[column].agg(lambda numbers: numbers.max(skipna=False))

    return Value(compute, "function", (0.0, math.inf), f"worst({column!r}, {where})")


def function_of(name: str) -> Any:
    """The function of that name."""
    from beyondkernels.activations import smooth_function

    if name == FUNCTIONS[-1]:
        return bk.activations.Polynomial((0.0, 1.0, 0.0, 2.0, 1.0))
    return smooth_function(name)


def spec(s: IndicatorSettings, at: At) -> RunSpec:
    """The construction for one function."""
    from beyondkernels.papers.overparam.problems import IntervalFunction

    learner = bk.overparam.IndicatorEstimate(at.epsilon, at.reach, s.draws, s.points, s.star, biased=at.lemma == BIASED)
    return RunSpec(IntervalFunction(function_of(at.function)), learner, 1, 0, at.seed)


def row(s: IndicatorSettings, at: At, outcome: Outcome) -> dict[str, float]:
    """All numbers, and the error over ε."""
    return {**outcome.scalars, "error_over_epsilon": outcome.scalars["error"] / at.epsilon}


def curves(s: IndicatorSettings, picture: Drawn, rows: Rows) -> list[Curves]:
    """Each function, and its construction with the smallest constant for the largest and the next ε."""
    lines = []
    for name in FUNCTIONS[:2]:
        for epsilon in s.epsilons[:2]:
            mine = select(rows, {"lemma": BIASED, "function": name, "reach": s.reaches[0], "epsilon": epsilon})
            if mine.empty:
                continue
            found = mine["outcome"].iloc[0].arrays
            if epsilon == s.epsilons[0]:
                lines.append(Line(name, found["x"].tolist(), found["target"].tolist()))
            lines.append(Line(f"{name}, ε = {epsilon:g}", found["x"].tolist(), found["mean"].tolist()))
    return [Curves(**picture.words, lines=lines, x_label="x", y_label="φ(x)")] if lines else []


def errors(s: IndicatorSettings, picture: Drawn, rows: Rows) -> list[Curves]:
    """For each constant the largest error over ε of all functions."""
    lines = []
    for reach in (*s.reaches, s.reach):
        mine = select(rows, {"lemma": BIASED, "reach": reach})
        if len(mine):
            largest = mine.groupby("epsilon")["error_over_epsilon"].max()
            lines.append(Line(f"c = {reach:g}", list(largest.index), largest.tolist()))
    words = {"x_label": "ε", "y_label": "largest error / ε", "levels": [Level("the lemma's bound", LEMMAS[BIASED][0])]}
    return [Curves(**picture.words, lines=lines, x_scale="log", y_scale="log", **words)] if lines else []
