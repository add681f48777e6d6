"""Lemma G.1 and resnet Lemma E.1: weights near the start that write the ground truth, over width."""

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
    Count,
    Counts,
    Experiment,
    Line,
    Over,
    Picture,
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
    of,
    scale,
    setting,
)
from beyondkernels.papers.overparam.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.overparam.problems import TwoLayerTruth

BIASED, UNBIASED = "G.1", "E.1"
"""The lemmas: neurons with a random bias (overparam), and without (resnet)."""

FUNCTIONS = {BIASED: ("sin", "cos", "exp", "sigmoid"), UNBIASED: ("sin", "sigmoid")}
"""φ by lemma; without a bias there may be no terms of even order but the constant."""

SLOPE, SLACK = -0.5, 0.1
"""How errors and norms fall with m, and by how much a fitted slope may differ (ours)."""

SMALL = 10.0
"""A constant C or C* far below the paper's (ours), with which bounds on norms can fail."""

BOUNDS = {
    BIASED: [("rows", "no row of W̃ is longer than the proof says", "C")],
    UNBIASED: [("rows", "no row of W̃ is longer than kpℭ_ε(φ)/m", "C*"), ("frobenius", "‖W̃‖_F ≤ kpℭ_s(φ)/√m", "C*")],
}
"""What each lemma says about norms, and the constant in it."""


@dataclass(frozen=True)
class ExistenceSettings(Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = setting(10, "ours", "d")
    terms: Count = setting(4, "ours", "p")
    outputs: Count = setting(2, "ours", "k")
    widths: Annotated[Counts, at_most(10**8)] = setting(
        (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000), "ours", "m, half-decades"
    )
    epsilon: Annotated[float, between(0, 1, "()")] = setting(0.001, "ours", "ε, and ε_a where not said otherwise")
    reach: Annotated[float, between(1e-6, 1e6)] = setting(100.0, "paper", "the constant in B_i of Lemma 5.1")
    stds: Sizes = setting((0.01, 0.1, 1.0), "ours", "other ε_a, for the real network")
    test_samples: Annotated[Count, at_most(10**6)] = setting(200, "ours", "points at which the error is measured")
    star: Size = setting(1e4, "paper", "C and C* of the complexities in the conditions on ε")
    seeds: Seeds = setting(20, "ours", "0, 1, 2, …: each has a ground truth and a start of its own")


class Existence(Experiment):
    """The error and the norms of the explicit weights, over width."""

    id: ClassVar[str] = "overparam/existence"
    reference = PAPER.at("Lemma G.1, Corollary G.2; resnet Lemma E.1")
    text_file: ClassVar[str] = "existence.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m", "function": "φ", "std": "ε_a"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.02, "laptop": 0.2, "paper": 3.0}
    settings_class: ClassVar[type] = ExistenceSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(widths=(1000, 3162, 10_000, 31_623, 100_000), test_samples=50, seeds=10),
        "smoke": scale("laptop", widths=(100, 1000), stds=(1.0,), test_samples=20, seeds=2),
    }

    def runs(self, s: ExistenceSettings) -> list[Runs]:
        """Both lemmas over width, and the real network over width for several ε_a."""
        one = {"width": s.widths, "std": [s.epsilon]}
        return [
            Runs(spec, {"lemma": [BIASED], "function": FUNCTIONS[BIASED], **one}, row),
            Runs(spec, {"lemma": [BIASED], "function": FUNCTIONS[BIASED][:1], "width": s.widths, "std": s.stds}, row),
            Runs(spec, {"lemma": [UNBIASED], "function": FUNCTIONS[UNBIASED], "width": s.widths, "std": [1.0]}, row),
        ]

    def claims(self, s: ExistenceSettings) -> list[Statement]:
        """Slopes, and the constants in the bounds on norms."""
        made = []
        for lemma, functions in FUNCTIONS.items():
            std = s.epsilon if lemma == BIASED else 1.0
            for name in functions:
                where: dict[str, Any] = {"lemma": lemma, "function": name, "std": std}
                made += [
                    claim(
                        f"error-{lemma}-{name}",
                        f"Lemma {lemma}, φ = {name}: the error falls like m^({SLOPE:g}), by its slope within {SLACK:g}",
                        of("error", "width", **where).slope(),
                        Between(SLOPE - SLACK, SLOPE + SLACK),
                        paper=f"at most {SLOPE:g}",
                    ),
                    claim(
                        f"norm-{lemma}-{name}",
                        f"Lemma {lemma}, φ = {name}: ‖W̃‖_F falls like m^({SLOPE:g}), by its slope within {SLACK:g}",
                        of("frobenius_norm", "width", **where).slope(),
                        Between(SLOPE - SLACK, SLOPE + SLACK),
                        paper=f"at most {SLOPE:g}",
                    ),
                ]
                made += [
                    claim(
                        f"{norm}-{lemma}-{name}",
                        f"Lemma {lemma}, φ = {name}: at every m and seed {bound} even if {constant} = {SMALL:g}, by "
                        f"the least such {constant}",
                        of(f"{norm}_constant", "width", **where).largest(per_seed=False),
                        AtMost(SMALL),
                        paper="a large constant, e.g. 10⁴",
                    )
                    for norm, bound, constant in BOUNDS[lemma]
                ]
        return made

    def table(self, s: ExistenceSettings) -> Table:
        """A line for each lemma, function, ε_a and width."""
        return Table(
            {"lemma": "Lemma", "function": "φ", "std": "ε_a", "width": "m"},
            [
                Shown("error", "Error", ".1e", about="Of the pseudo network at W̃, (404)."),
                Shown("expected_error", "Expected", ".1e", about="What the law of large numbers leaves at this width."),
                Shown("start_error", "At W⁽⁰⁾ + W̃", ".1e", about="Of the pseudo network there (Corollary G.2)."),
                Shown("real_error", "Real", ".1e", about="Of the real network at $W^{(0)} + \\tilde W$."),
                Shown("scaled_row_norm", "m‖W̃‖₂,∞", ".2g", about="The longest row, times m."),
                Shown("rows_constant", "Its C", ".2f", about="The least C, or C*, with which its bound holds."),
                Shown("frobenius_norm", "‖W̃‖_F", ".2g"),
                Shown("frobenius_constant", "Its C*", ".2f", about="The least with which kpℭ_s(φ)/√m is as large."),
                Shown("log_hypothesis", "log₁₀ ε", ".1f", show="first", about="Over its limit; negative if in range."),
            ],
        )

    def figures(self, s: ExistenceSettings) -> list[Picture]:
        """The error over width, and that of the real network."""
        lines = {
            f"{name}, {lemma}": {"lemma": lemma, "function": name, "std": s.epsilon if lemma == BIASED else 1.0}
            for lemma, functions in FUNCTIONS.items()
            for name in functions
        }
        return [
            Over(
                "error",
                "Error of the explicit weights over width",
                "The mean over points of the error, summed over outputs, of the pseudo network at W̃. The line "
                f"“slope −{-SLOPE:g}” falls like m^({SLOPE:g}).",
                "The error against the width, one line for each function and lemma, and a line of slope −1/2",
                x="width",
                y="error",
                line=lines,
                x_label="width m",
                y_label="error",
                x_scale="log",
                y_scale="log",
                more=lambda rows: guide(s, rows),
            ),
            Over(
                "real",
                "The real network near the start, over width",
                f"φ = {FUNCTIONS[BIASED][0]}. The start adds an output of size ε_a. Rows of W̃ are of size 1/(mε_a): "
                "the longer they are, the more gates may change.",
                "The error of the real network at the start plus the explicit weights, one line for each ε_a",
                x="width",
                y="real_error",
                line={
                    f"ε_a = {std:g}": {"lemma": BIASED, "function": FUNCTIONS[BIASED][0], "std": std}
                    for std in (s.epsilon, *s.stds)
                },
                x_label="width m",
                y_label="error of the real network",
                x_scale="log",
                y_scale="log",
            ),
        ]


def truth_of(s: ExistenceSettings, at: At) -> TwoLayerTruth:
    """The ground truth of a seed."""
    source = bk.overparam.UnitInputs(s.dim)
    return bk.overparam.TwoLayerTruth(source, at.function, s.terms, s.outputs, instance=at.seed)


def spec(s: ExistenceSettings, at: At) -> RunSpec:
    """The explicit weights at a width."""
    network = bk.overparam.TwoLayerLearner(at.width, at.std)
    learner = bk.overparam.ExistingNetwork(network, s.epsilon, s.reach, biased=at.lemma == BIASED)
    return RunSpec(truth_of(s, at), learner, 1, s.test_samples, at.seed)


def row(s: ExistenceSettings, at: At, outcome: Outcome) -> dict[str, float]:
    """All numbers, and the constants with which bounds on norms would hold."""
    found = dict(outcome.scalars)
    found["scaled_row_norm"] = found["row_norm"] * at.width
    return found | (_biased if at.lemma == BIASED else _unbiased)(s, at, found)


def _biased(s: ExistenceSettings, at: At, found: Mapping[str, float]) -> dict[str, float]:
    """Lemma G.1: the proof's bound on rows has ℭ(φ, √log(1/ε)) in the place of the largest |h|."""
    (function, *_), overparam = truth_of(s, at).functions, bk.overparam
    h = overparam.indicator_function(function, s.epsilon, s.reach)
    reached = h.most * found["row_norm"] / found["row_bound"]
    complexity = bk.activations.smooth_complexity(bk.activations.Polynomial(h.coefficients), 1.0, star=s.star)
    return {
        "rows_constant": overparam.least_constant(h.coefficients, math.sqrt(math.log(1 / s.epsilon)), reached),
        "log_hypothesis": math.log10(s.epsilon) + complexity.log / math.log(10),
    }


def _unbiased(s: ExistenceSettings, at: At, found: Mapping[str, float]) -> dict[str, float]:
    """Lemma E.1: kpℭ_ε(φ)/m bounds rows, and kpℭ_s(φ)/√m the Frobenius norm."""
    (function, *_), overparam, many = truth_of(s, at).functions, bk.overparam, s.outputs * s.terms
    h = overparam.unbiased_indicator_function(function, s.epsilon)
    complexity = bk.activations.sample_complexity(function, star=1.0).value
    return {
        "rows_constant": overparam.least_star(h.coefficients, s.epsilon, found["scaled_row_norm"] / many),
        "frobenius_constant": found["frobenius_norm"] * at.width**0.5 / (many * complexity),
        "log_hypothesis": math.log10(s.epsilon * many * s.star * complexity),
    }


def guide(s: ExistenceSettings, rows: Rows) -> list[Line]:
    """A line that falls as promised, from the largest error at the least width on."""
    start = rows.loc[(rows["width"] == s.widths[0]) & (rows["std"] == s.epsilon), "error"].max()
    heights = [start * (width / s.widths[0]) ** SLOPE for width in s.widths]
    return [Line(f"slope −{-SLOPE:g}", list(s.widths), heights)] if start > 0 else []
