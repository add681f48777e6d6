"""Layerwise pre-training: layers that join one after the other, against all layers from the start."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import LEARNT, UNIFORM, medians, number
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER, problem_at
from beyondkernels.papers.bfc.experiments.pictures import LOW, course_lines, over_steps, panel
from beyondkernels.papers.bfc.paper import PAPER

START = "from the start"
"""All layers train from the first step on, for as many steps in all."""

NAMES = {TOGETHER: "joining", START: START, LAYERWISE: LAYERWISE}
"""What each way of training is called on the page."""

KNOWN = 0.1  # a layer's features count as known if their relative error is below this


@dataclass(frozen=True)
class PretrainingSettings(layers.LayersSettings):
    alpha: lab.Size = lab.setting(0.1, "ours", "α₃ with three layers: a ratio of standard deviations")


class Pretraining(lab.Experiment):
    id = "bfc/pretraining"
    reference = PAPER.at("§4, App. A.4, footnote 29")
    quantities = {
        **layers.QUANTITIES,
        "way": lab.Quantity("training"),
        "known2": number(
            "S₂ known", ".0f", f"The first recorded step from which on the feature error stays below {KNOWN:g}."
        ),
        "known3": number("S₃ known", ".0f"),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 9.0, "paper": 40.0}
    seed_sets = lab.THREE_SETS
    settings_class = PretrainingSettings
    scales = {
        "laptop": lab.scale(**layers.LAPTOP, seeds=5),
        "smoke": lab.scale("laptop", **layers.SMOKE, samples=200, steps=10, snapshots=2),
    }

    def runs(self, s: PretrainingSettings) -> list[lab.Runs]:
        ways = {"alpha": [s.alpha], "inputs": [UNIFORM], "method": list(NAMES)}
        return [lab.Runs(spec, {"layers": [n], **ways}, end) for n in (3, 4)]

    def claims(self, s: PretrainingSettings) -> list[lab.Statement]:
        made = []
        alike, later = lab.Between(-LEARNT, LEARNT), lab.Above(0.0)
        for n in (3, 4):
            joining, start, layerwise = (lab.of("left", layers=n, method=way) for way in NAMES)
            second, third = (lab.of(name, layers=n, method=START) for name in ("known2", "known3"))
            claim = functools.partial(self.claim, s)
            never = "S₃ was known in no run"
            made += [
                claim(
                    f"joining-{n}", joining.median(), lab.AtMost(LEARNT), "learnt", "learnt", n=n, way=NAMES[TOGETHER]
                ),
                claim(f"start-{n}", start.median(), lab.AtMost(LEARNT), "learnt", "learnt", n=n, way=NAMES[START]),
                claim(f"same-{n}", start - joining, alike, "almost identical", "same", n=n),
                claim(f"layerwise-{n}", layerwise - start, lab.AtLeast(LEARNT), "worse", "layerwise", n=n),
                claim(f"order-{n}", third - second, later, "later", "order", n=n, nowhere=never),
            ]
        return made

    def table(self, s: PretrainingSettings) -> lab.Table:
        left, *rest = medians("left", "test", "S2", "S3", "S4")
        largest = lab.Shown("left", "Largest", show="largest", about="Of all seeds.")
        return lab.Table(["layers", "way"], [left, largest, *rest, "known2", "known3"], order=("layers",))

    def figures(self, s: PretrainingSettings) -> list[lab.Picture]:
        return [lab.Drawn("course", by=functools.partial(course, s))]


def spec(s: PretrainingSettings, at: lab.At) -> bk.store.RunSpec:
    frozen, at_once = at.method == LAYERWISE, at.method == START
    return layers.joining_spec(s, at, problem_at(s, at), s.times(at.layers), frozen, at_once)


def end(s: PretrainingSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """The end of a run, and when the features of layers 2 and 3 were known."""
    return {
        "way": NAMES[at.method],
        **layers.state_at(problem_at(s, at), outcome, s.ends(at.layers)[at.layers], at.layers),
        **{f"known{i}": bk.bfc.below_from(outcome, f"features/distilled{i}", KNOWN) for i in (2, 3)},
    }


def course(s: PretrainingSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Feature errors of layers 2 and 3 over training, in both ways that train all layers; four layers, then three."""
    drawn = []
    for n in (4, 3):
        lines = []
        for way, layer in itertools.product((TOGETHER, START), (2, 3)):
            label, series = f"S{LOW[layer]} {NAMES[way]}", f"features/distilled{layer}"
            joined = (layer - 2) * s.steps if way == TOGETHER else 0
            lines += course_lines(rows, label, series, joined, layers=n, method=way)
        joins = {label: step for label, step in s.joins(n).items() if step > 0}
        mine = panel(picture, f"{n}", f"{n}")
        drawn += over_steps(mine, lines, "feature error, relative", joins, middle="median")
    return drawn
