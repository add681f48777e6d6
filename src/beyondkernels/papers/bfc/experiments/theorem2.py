"""Theorem 2: higher layers correct the features of lower ones."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import UNIFORM, error, medians, number
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER
from beyondkernels.papers.bfc.experiments.pictures import course_lines, over_steps
from beyondkernels.papers.bfc.paper import PAPER

SLOPE = 2.0  # the least slope that the theorem promises: α₃², from above
TIMES = 20.0  # how many times smaller the error of S₂ must become when layer 3 joins
LEADING = "(k leading directions)"  # the part of a layer's features that is judged: as many as the target's S* has


@dataclass(frozen=True)
class Theorem2Settings(layers.LayersSettings):
    alphas: lab.Sizes = lab.setting((0.01, 0.02, 0.05, 0.1, 0.2), "ours", "α₃ with three layers: ratios of deviations")

    def __post_init__(self) -> None:
        super().__post_init__()
        bk.core.require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Theorem2(lab.Experiment):
    id = "bfc/theorem2"
    reference = PAPER.at("Theorem 2, Figure 5, §6.1")
    quantities = {
        **layers.QUANTITIES,
        "alpha": number("α₃", log=True),
        "all2": error("S₂, all directions", "The error that counts directions which the target does not have."),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 7.0, "paper": 25.0}
    settings_class = Theorem2Settings
    scales = {
        "laptop": lab.scale(**layers.LAPTOP, alphas=(0.02, 0.05, 0.1, 0.2), seeds=5),
        "smoke": lab.scale("laptop", **layers.SMOKE, samples=200, steps=20, alphas=(0.1, 0.2), snapshots=2),
    }

    def runs(self, s: Theorem2Settings) -> list[lab.Runs]:
        rest = {"inputs": [UNIFORM], "method": [TOGETHER, LAYERWISE]}
        return [
            lab.Runs(layers.plain_spec, {"layers": [n], "alpha": alphas, **rest}, layers.stage_rows)
            for n, alphas in ((3, s.alphas), (4, s.four_alphas[1:2]))
        ]

    def claims(self, s: Theorem2Settings) -> list[lab.Statement]:
        def three(method: str, top: int, column: str = "S2") -> lab.Value:
            return lab.of(column, "alpha", layers=3, method=method, top=top)

        def four(column: str, top: int, method: str = TOGETHER) -> lab.Value:
            return lab.of(column, layers=4, method=method, top=top)

        def step(layer: int, top: int) -> lab.Statement:
            ratio = four(f"S{layer}", top) / four(f"S{layer}", top - 1)
            return self.claim(s, f"step-{layer}-{top}", ratio, lab.Below(1.0), "falls")

        rise, of_all, times = three(TOGETHER, 2).slope(), three(TOGETHER, 2, "all2").slope(), lab.AtLeast(TIMES)
        beside = "counting all directions of S₂ it is", of_all
        kept, corrected = three(LAYERWISE, 3) / three(LAYERWISE, 2), three(TOGETHER, 2) / three(TOGETHER, 3)
        tests = four("test", 4, LAYERWISE) / four("test", 4)
        return [
            self.claim(s, "slope", rise, lab.AtLeast(SLOPE), "order α₃², from above", beside=beside),
            self.claim(s, "layerwise", kept, lab.Between(0.99, 1.01), "stays"),
            self.claim(s, "together", corrected.median(), times, "falls"),
            step(2, 3),
            step(2, 4),
            step(3, 4),
            self.claim(s, "test", tests.median(), times, "worse"),
        ]

    def table(self, s: Theorem2Settings) -> lab.Table:
        return lab.Table(["layers", "alpha", "method", "trained"], medians("test", "S2", "S3", "S4", "all2"))

    def figures(self, s: Theorem2Settings) -> list[lab.Picture]:
        three = {"layer 2 alone": (TOGETHER, 2), LAYERWISE: (LAYERWISE, 3), TOGETHER: (TOGETHER, 3)}
        lines = {name: {"layers": 3, "method": way, "top": top} for name, (way, top) in three.items()}
        return [
            lab.Drawn("course", by=functools.partial(staircase, s)),
            lab.Over("alpha", x="alpha", y="S2", line=lines, more=functools.partial(square_law, s), middle="median"),
        ]


def staircase(s: Theorem2Settings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """Feature errors of every layer over training time with four layers, from when the layer joins."""
    joins = s.joins(4)
    lines = []
    for method, (layer, start) in itertools.product((TOGETHER, LAYERWISE), enumerate(joins.values(), 2)):
        where = {"layers": 4, "method": method, "top": 4}
        lines += course_lines(rows, f"layer {layer}, {method}", f"features/distilled{layer}", start, **where)
    return over_steps(picture, lines, "error of a layer's features, relative", joins, middle="median")


def square_law(s: Theorem2Settings, rows: lab.Rows) -> list[lab.Line]:
    """A line that rises as α₃², at half the height of layer 2 alone so that both can be seen."""
    last = s.alphas[-1]
    alone = lab.select(rows, {"layers": 3, "alpha": last, "top": 2})["S2"].median()
    heights = [alone / 2 * (alpha / last) ** 2 for alpha in s.alphas]
    return [lab.Line("slope 2", list(s.alphas), heights)] if alone > 0 else []
