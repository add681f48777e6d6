"""Lemma 5.3: while the smoothed objective is large, random signs on the right direction lower it."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.overparam.experiments.common import drawn, size
from beyondkernels.papers.overparam.experiments.smoothed_networks import SCALES, SECONDS, SmoothedSettings, spec
from beyondkernels.papers.overparam.paper import PAPER

GAMMA = 0.25  # γ, the largest that the lemma allows
LEVEL = 0.1  # how far down the lemma is asked to hold at the largest width, as a part of the first objective (ours)
ERRORS = 2.0  # how many standard errors over the draws are subtracted from a decrease (ours)
FIRST_ORDER = 0.25  # by how much the decrease over η may differ between the least η and the largest, relative (ours)

SHOWN = (-2.0, 3.0)
"""The part of the vertical axis that figures show: far down, decreases are divided by an objective near zero."""


class Landscape(lab.Experiment):
    id = "overparam/landscape"
    reference = PAPER.at("Lemma 5.3, App. D.1")
    quantities = {
        **{name: lab.Quantity(f"decrease, {name}") for name in ("low", "beyond", "short")},
        "eta": lab.Quantity("η"),
        "step": size("step"),
        "relative": size("objective", ".3f", "As a part of the first one."),
        "move": lab.Quantity("By a step", ".2f", about="Decrease over η and the objective, with random signs."),
        "shrink": lab.Quantity("By λ", ".2f", about="The same with λ multiplied by 1 − η."),
        "control": lab.Quantity("shuffled", ".2f", about="By a step with the neurons of W* and V* shuffled."),
        "expected": lab.Quantity("gates fixed", ".2f", about="By a step, if no gate changed."),
        "promised": lab.Quantity("proof", ".2f", about="What the errors of the proof leave of ½."),
        "errors": lab.Quantity("errors", ".2f", about="The sum of the errors of the proof, over the loss."),
        "order": size("change of the decrease over η"),
    }
    seconds_per_run = SECONDS
    settings_class = SmoothedSettings
    scales = SCALES

    def runs(self, s: SmoothedSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"width": s.widths, "smoothing": [s.smoothing]}, points)]

    def claims(self, s: SmoothedSettings) -> list[lab.Statement]:
        most, bar = s.widths[-1], GAMMA / 4
        above: dict[str, Any] = {"per_seed": False, "among": {"relative": above_level}, "width": most}
        low, beyond, short = lab.least("low", **above), lab.least("beyond", per_seed=False), lab.least("short", **above)
        floor = lab.of("floor", "width", step=0, eta=s.rates[0]).slope()
        order = lab.of("order", width=most, eta=s.rates[0], step=0)
        return [
            self.claim(s, "descent", low, lab.AtLeast(bar), f"{bar:g}", bar=bar),
            self.claim(s, "proof", beyond, lab.AtLeast(0.0), "½ less the errors"),
            self.claim(s, "control", short, lab.AtLeast(0.0), bar=bar),
            self.claim(s, "width", floor, lab.Below(0.0), "Ω̃(ε), with ε falling in m"),
            self.claim(s, "order", order, lab.AtMost(FIRST_ORDER), largest_rate=s.rates[-1]),
        ]

    def table(self, s: SmoothedSettings) -> lab.Table:
        columns = ["relative", "move", "shrink", "control", "expected", "promised", "errors"]
        return lab.Table(["width", "step"], columns, where={"eta": s.rates[0]}, order=("width", "step"))

    def figures(self, s: SmoothedSettings) -> list[lab.Drawn]:
        most, eta = s.widths[-1], s.rates[0]
        by_width = {f"m = {m}": ("decrease", m, eta) for m in s.widths}
        ways = {
            "by a step": ("move", most, eta),
            f"by a step, η = {s.rates[-1]:g}": ("move", most, s.rates[-1]),
            "by a step, gates fixed": ("expected", most, eta),
            "by λ": ("shrink", most, eta),
            "what the proof leaves": ("promised", most, eta),
        }
        return [
            lab.Drawn("decrease", by=functools.partial(curves, by_width)),
            lab.Drawn("ways", by=functools.partial(curves, ways)),
        ]


def above_level(relative: float) -> bool:
    """Whether the lemma is asked to hold at this part of the first objective."""
    return relative >= LEVEL


def points(s: SmoothedSettings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    if "landscape/step" not in outcome.series:
        return [{"step": step, "eta": eta} for eta in s.rates for step in s.snapshots]
    found = {name.partition("/")[2]: v for name, v in outcome.series.items() if name.startswith("landscape/")}
    relative = found["objective"] / found["objective"][0]
    change = found["decrease"][:, -1] / found["decrease"][:, 0] - 1
    rows = []
    for e, eta in enumerate(s.rates):
        spread = ERRORS * found["decrease_error"][:, e]
        holds = found["decrease"][:, e] >= GAMMA / 4
        for n, step in enumerate(found["step"]):
            row = {name: found[name][n, e] for name in ("move", "shrink", "decrease", "promised", "errors")}
            rows.append(
                row
                | {"step": int(step), "eta": eta, "relative": relative[n]}
                | {name: found[name][n] for name in ("expected", "control")}
                | {"low": row["decrease"] - spread[n], "beyond": row["decrease"] + spread[n] - row["promised"]}
                | {"floor": relative[list(holds).index(False)] if not holds.all() else relative[-1]}
                | {"order": abs(change[n]), "short": GAMMA / 4 - found["control"][n]}
            )
    return rows


def curves(lines: Mapping[str, tuple[str, int, float]], picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Columns over the objective, the start at the right end; each seed is a curve of its line."""
    found = []
    for label, (column, width, eta) in lines.items():
        mine = lab.select(rows, {"width": width, "eta": eta, "status": "finished"})
        if len(mine):
            runs = [each for _, each in mine.sort_values(["seed", "step"], ascending=False).groupby("seed")]
            objectives = [statistics.fmean(each) for each in zip(*(run["relative"] for run in runs), strict=True)]
            found.append(lab.Line(label, objectives, [list(run[column]) for run in runs]))
    axes = {"y_scale": "linear", "y_limits": SHOWN, "levels": [lab.Level("γ/4", GAMMA / 4)]}
    return drawn(picture, found, "objective, relative to the first", "decrease over η and the objective", **axes)
