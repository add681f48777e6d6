"""Layerwise pre-training: layers that join one after the other, against all layers from the start."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core import Outcome
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import LEARNT, UNIFORM, medians, number
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER, problem_at
from beyondkernels.papers.bfc.experiments.pictures import LOW, course_lines, over_steps
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

START = "from the start"
"""All layers train from the first step on, for as many steps in all."""

NAMES = {TOGETHER: "joining", START: START, LAYERWISE: LAYERWISE}
"""What each way of training is called on the page."""

KNOWN = 0.1
"""A layer's features count as known if their relative error is below this."""


@dataclass(frozen=True)
class PretrainingSettings(layers.LayersSettings):
    """The numbers of the experiment."""

    alpha: lab.Size = lab.setting(0.1, "ours", "α₃ with three layers: a ratio of standard deviations")


class Pretraining(lab.Experiment):
    """Errors of three ways of training, with three and four layers."""

    id = "bfc/pretraining"
    reference = PAPER.at("§4, App. A.4, footnote 29")
    text_file = "pretraining.md"
    quantities = {
        **layers.QUANTITIES,
        "way": lab.Quantity("training"),
        "known2": number(
            "S₂ known", ".0f", f"The first recorded step from which on the feature error stays below {KNOWN:g}."
        ),
        "known3": number("S₃ known", ".0f"),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 9.0, "paper": 40.0}
    settings_class = PretrainingSettings
    scales = {
        "laptop": lab.scale(**layers.LAPTOP, seeds=5),
        "smoke": lab.scale("laptop", **layers.SMOKE, samples=200, steps=10, snapshots=2),
    }

    def runs(self, s: PretrainingSettings) -> list[lab.Runs]:
        """Three ways of training, with three layers and with four."""
        ways = {"alpha": [s.alpha], "inputs": [UNIFORM], "method": list(NAMES)}
        return [lab.Runs(spec, {"layers": [n], **ways}, end) for n in (3, 4)]

    def claims(self, s: PretrainingSettings) -> list[lab.Statement]:
        """Both ways learn all layers, they end alike, layerwise training does not, and the order of learning."""
        return [statement for n in (3, 4) for statement in _claims(n)]

    def table(self, s: PretrainingSettings) -> lab.Table:
        """A line for each number of layers and way of training: medians."""
        left, *rest = medians("left", "test", "S2", "S3", "S4")
        largest = lab.Shown("left", "Largest", show="largest", about="Of all seeds.")
        return lab.Table(["layers", "way"], [left, largest, *rest, "known2", "known3"], order=("layers",))

    def figures(self, s: PretrainingSettings) -> list[lab.Picture]:
        """Feature errors over training in both ways."""
        return [
            lab.Drawn(
                f"course{n}",
                f"Feature errors over training, L = {n}: joining against from the start",
                "Relative to E‖S*‖²; median over seeds, shaded from the lowest to the highest. Joining: vertical lines "
                "show when a layer joins. From the start: all layers train from step 0.",
                "Feature errors of each layer over training steps, joining and from the start",
                functools.partial(course, s, n),
            )
            for n in (4, 3)
        ]


def _claims(n: int) -> list[lab.Statement]:
    """The claims for one number of layers."""
    left = {way: lab.of("left", layers=n, method=way) for way in NAMES}
    second, third = (lab.of(name, layers=n, method=START) for name in ("known2", "known3"))
    same = f"the difference of what is left of layer {n}, seed by seed, is clearly within {LEARNT:g}"
    more = f"layerwise training leaves more of layer {n} than training from the start, by at least {LEARNT:g}"
    order = f"L = {n}, from the start: S₃ is known clearly later than S₂ (steps between them)"
    behind, later = left[LAYERWISE] - left[START], lab.AtLeast(0.0, "clearly")

    def learnt(name: str, way: str) -> lab.Statement:
        text = f"L = {n}, {NAMES[way]}: at most {LEARNT:g} of what layer {n} adds is left, in the median"
        return lab.claim(f"{name}-{n}", text, left[way].median(), lab.AtMost(LEARNT), "learnt")

    return [
        learnt("joining", TOGETHER),
        learnt("start", START),
        lab.claim(
            f"same-{n}",
            f"L = {n}: both ways end alike: {same}",
            left[START] - left[TOGETHER],
            lab.Between(-LEARNT, LEARNT, "clearly"),
            "almost identical",
        ),
        lab.claim(f"layerwise-{n}", f"L = {n}: {more}", behind, lab.AtLeast(LEARNT), "worse"),
        lab.claim(f"order-{n}", order, third - second, later, "later", nowhere="S₃ was known in no run"),
    ]


def spec(s: PretrainingSettings, at: lab.At) -> RunSpec:
    """One way of training, looked at often."""
    frozen, at_once = at.method == LAYERWISE, at.method == START
    return layers.joining_spec(s, at, problem_at(s, at), s.times(at.layers), frozen, at_once)


def end(s: PretrainingSettings, at: lab.At, outcome: Outcome) -> dict[str, Any]:
    """The end of a run, and when the features of layers 2 and 3 were known."""
    return {
        "way": NAMES[at.method],
        **layers.state_at(problem_at(s, at), outcome, s.ends(at.layers)[at.layers], at.layers),
        **{f"known{i}": bk.bfc.below_from(outcome, f"features/distilled{i}", KNOWN) for i in (2, 3)},
    }


def course(s: PretrainingSettings, n: int, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Feature errors of layers 2 and 3 over training, in both ways that train all layers."""
    lines = []
    for way, layer in ((TOGETHER, 2), (TOGETHER, 3), (START, 2), (START, 3)):
        label, series = f"S{LOW[layer]} {NAMES[way]}", f"features/distilled{layer}"
        joined = (layer - 2) * s.steps if way == TOGETHER else 0
        lines += course_lines(rows, label, series, joined, layers=n, method=way)
    joins = {label: step for label, step in s.joins(n).items() if step > 0}
    return over_steps(picture, lines, "feature error, relative", joins, middle="median")
