"""Lemma G.1 and resnet Lemma E.1: weights near the start that write the ground truth, over width."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most
from beyondkernels.papers.overparam.experiments.common import Open, Reach, Widths, size
from beyondkernels.papers.overparam.paper import PAPER

BIASED, UNBIASED = "G.1", "E.1"
"""The lemmas: neurons with a random bias (overparam), and without (resnet)."""

FUNCTIONS = {BIASED: ("sin", "cos", "exp", "sigmoid"), UNBIASED: ("sin", "sigmoid")}
CASES = [(lemma, name) for lemma, functions in FUNCTIONS.items() for name in functions]
"""φ by lemma; without a bias there may be no terms of even order but the constant."""

SLOPE, SLACK = -0.5, 0.1  # how errors and norms fall with m, and by how much a fitted slope may differ (ours)
SMALL = 10.0  # a constant C or C* far below the paper's (ours), with which bounds on norms can fail

REAL = "Error of the real network at $W^{(0)} + \\tilde W$."

NORMS = {BIASED: ["rows"], UNBIASED: ["rows", "frobenius"]}
"""The norms that each lemma bounds."""


@dataclass(frozen=True)
class ExistenceSettings(bk.core.Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = lab.setting(10, "ours", "d")
    terms: lab.Count = lab.setting(4, "ours", "p")
    outputs: lab.Count = lab.setting(2, "ours", "k")
    widths: Widths = lab.setting((1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000), "ours", "m, half-decades")
    epsilon: Open = lab.setting(0.001, "ours", "ε, and ε_a where not said otherwise")
    reach: Reach = lab.setting(100.0, "paper", "the constant in B_i of Lemma 5.1")
    stds: lab.Sizes = lab.setting((0.01, 0.1, 1.0), "ours", "other ε_a, for the real network")
    test_samples: Annotated[lab.Count, at_most(10**6)] = lab.setting(
        200, "ours", "points at which the error is measured"
    )
    star: lab.Size = lab.setting(1e4, "paper", "C and C* of the complexities in the conditions on ε")
    seeds: lab.Seeds = lab.setting(20, "ours", "0, 1, 2, …: each has a ground truth and a start of its own")


class Existence(lab.Experiment):
    id = "overparam/existence"
    reference = PAPER.at("Lemma G.1, Corollary G.2; resnet Lemma E.1")
    quantities = {
        "lemma": lab.Quantity("lemma"),
        "function": lab.Quantity("φ"),
        "std": lab.Quantity("ε_a"),
        "error": size("error", ".1e", "Of the pseudo network at W̃, (404).", log=True),
        "expected_error": size("expected", ".1e", "What the law of large numbers leaves at this width."),
        "start_error": size("At W⁽⁰⁾ + W̃", ".1e", "Of the pseudo network there (Corollary G.2)."),
        "real_error": size("error of the real network", ".1e", REAL, heading="Real", log=True),
        "scaled_row_norm": size("m‖W̃‖₂,∞", ".2g", "The longest row, times m."),
        "rows_constant": size("its C", ".2f", "The least C, or C*, with which its bound holds."),
        "frobenius_norm": size("‖W̃‖_F", ".2g"),
        "frobenius_constant": size("its C*", ".2f", "The least with which kpℭ_s(φ)/√m is as large."),
        "log_hypothesis": lab.Quantity("log₁₀ ε", ".1f", about="Over its limit; negative if in range."),
    }
    seconds_per_run = {"smoke": 0.02, "laptop": 0.2, "paper": 3.0}
    seed_sets = lab.THREE_SETS
    settings_class = ExistenceSettings
    scales = {
        "laptop": lab.scale(widths=(1000, 3162, 10_000, 31_623, 100_000), test_samples=50, seeds=10),
        "smoke": lab.scale("laptop", widths=(100, 1000), stds=(1.0,), test_samples=20, seeds=2),
    }

    def runs(self, s: ExistenceSettings) -> list[lab.Runs]:
        biased, unbiased = ({"lemma": [lemma], "function": functions} for lemma, functions in FUNCTIONS.items())
        first = {**biased, "function": FUNCTIONS[BIASED][:1]}
        return [
            lab.Runs(spec, {**each, "width": s.widths, "std": stds}, row)
            for each, stds in ((biased, [s.epsilon]), (first, s.stds), (unbiased, [1.0]))
        ]

    def claims(self, s: ExistenceSettings) -> list[lab.Statement]:
        made, slope = [], lab.AtMost(SLOPE + SLACK)
        for lemma, name in CASES:
            where, which = place(s, lemma, name), {"lemma": lemma, "name": name}
            for short, column in (("error", "error"), ("norm", "frobenius_norm")):
                falls, printed = lab.of(column, "width", **where).slope(), f"at most {SLOPE:g}"
                made.append(self.claim(s, f"{short}-{lemma}-{name}", falls, slope, printed, short, **which))
            for norm in NORMS[lemma]:
                most, large = lab.of(f"{norm}_constant", "width", **where).largest(per_seed=False), lab.AtMost(SMALL)
                said = f"{norm}-{lemma}"
                made.append(self.claim(s, f"{said}-{name}", most, large, "a large constant, e.g. 10⁴", said, **which))
        return made

    def table(self, s: ExistenceSettings) -> lab.Table:
        errors = ["error", "expected_error", "start_error", "real_error"]
        norms = ["scaled_row_norm", "rows_constant", "frobenius_norm", "frobenius_constant"]
        within = lab.Shown("log_hypothesis", show="first")
        return lab.Table(["lemma", "function", "std", "width"], [*errors, *norms, within])

    def figures(self, s: ExistenceSettings) -> list[lab.Picture]:
        first = FUNCTIONS[BIASED][0]
        lines = {f"{name}, {lemma}": place(s, lemma, name) for lemma, name in CASES}
        stds = {f"ε_a = {std:g}": {"lemma": BIASED, "function": first, "std": std} for std in (s.epsilon, *s.stds)}
        return [
            lab.Over("error", x="width", y="error", line=lines, more=functools.partial(guide, s)),
            lab.Over("real", x="width", y="real_error", line=stds),
        ]


def place(s: ExistenceSettings, lemma: str, name: str) -> dict[str, Any]:
    return {"lemma": lemma, "function": name, "std": s.epsilon if lemma == BIASED else 1.0}


def truth_of(s: ExistenceSettings, at: lab.At) -> bk.overparam.TwoLayerTruth:
    source = bk.overparam.UnitInputs(s.dim)
    return bk.overparam.TwoLayerTruth(source, at.function, s.terms, s.outputs, instance=at.seed)


def spec(s: ExistenceSettings, at: lab.At) -> bk.store.RunSpec:
    network = bk.overparam.TwoLayerLearner(at.width, at.std)
    learner = bk.overparam.ExistingNetwork(network, s.epsilon, s.reach, biased=at.lemma == BIASED)
    return bk.store.RunSpec(truth_of(s, at), learner, 1, s.test_samples, at.seed)


def row(s: ExistenceSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float]:
    """All numbers, and the constants with which bounds on norms would hold."""
    found, (function, *_) = dict(outcome.scalars), truth_of(s, at).functions
    found["scaled_row_norm"] = found["row_norm"] * at.width
    if at.lemma == BIASED:
        rows = found["row_norm"], found["row_bound"]
        return found | bk.overparam.biased_constants(function, s.epsilon, s.reach, s.star, rows)
    norms = found["scaled_row_norm"], found["frobenius_norm"] * at.width**0.5
    return found | bk.overparam.unbiased_constants(function, s.epsilon, s.outputs * s.terms, s.star, norms)


def guide(s: ExistenceSettings, rows: lab.Rows) -> list[lab.Line]:
    """A line that falls as promised, from the largest error at the least width on."""
    start = rows.loc[(rows["width"] == s.widths[0]) & (rows["std"] == s.epsilon), "error"].max()
    heights = [start * (width / s.widths[0]) ** SLOPE for width in s.widths]
    return [lab.Line(f"slope −{-SLOPE:g}", list(s.widths), heights)] if start > 0 else []
