"""Theorem 2: higher layers correct the features of lower ones."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from beyondkernels import lab
from beyondkernels.core import require
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import UNIFORM, error, medians, number
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER
from beyondkernels.papers.bfc.experiments.pictures import LOW, course_lines, over_steps
from beyondkernels.papers.bfc.paper import PAPER

SLOPE = 2.0
"""The least slope that the theorem promises: α₃², from above."""

LEADING = "(k leading directions)"
"""Which part of the features S of a layer is judged: as many directions as the target's S* has."""

TIMES = 20.0
"""How many times smaller the error of S₂ must become when layer 3 joins."""


@dataclass(frozen=True)
class Theorem2Settings(layers.LayersSettings):
    """The numbers of the experiment."""

    alphas: lab.Sizes = lab.setting((0.01, 0.02, 0.05, 0.1, 0.2), "ours", "α₃ with three layers: ratios of deviations")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Theorem2(lab.Experiment):
    """Feature errors against α₃, and over training time."""

    id = "bfc/theorem2"
    reference = PAPER.at("Theorem 2, Figure 5, §6.1")
    text_file = "theorem2.md"
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
        """Both ways of training, with three layers at every α₃ and with four layers."""
        rest = {"inputs": [UNIFORM], "method": [TOGETHER, LAYERWISE]}
        return [
            lab.Runs(layers.plain_spec, {"layers": [n], "alpha": alphas, **rest}, layers.stage_rows)
            for n, alphas in ((3, s.alphas), (4, s.four_alphas[1:2]))
        ]

    def claims(self, s: Theorem2Settings) -> list[lab.Statement]:
        """The law of layer 2 alone, what each way of training makes of it, and the staircase."""

        def three(method: str, top: int, column: str = "S2") -> lab.Value:
            return lab.of(column, "alpha", layers=3, method=method, top=top)

        def four(column: str, top: int, method: str = TOGETHER) -> lab.Value:
            return lab.of(column, layers=4, method=method, top=top)

        def step(layer: int, top: int, again: str = "") -> lab.Statement:
            when = f"clearly falls when layer {top} joins{again}: after over before"
            text = f"Four layers: the error of S{LOW[layer]} {LEADING} {when}"
            ratio = four(f"S{layer}", top) / four(f"S{layer}", top - 1)
            return lab.claim(f"step-{layer}-{top}", text, ratio, lab.AtMost(1.0, "clearly"), "falls")

        slope = f"Layer 2 alone: log error of S₂ {LEADING} rises with log α₃ by at least {SLOPE:g}"
        beside = "counting all directions of S₂ it is", three(TOGETHER, 2, "all2").slope()
        stays = (
            f"Layerwise training leaves the error of S₂ {LEADING} as it was, at every α₃: its ratio to the error before"
        )
        smaller = f"at least {TIMES:g} times smaller in the median, at every α₃"
        falls = f"Training together makes the error of S₂ {LEADING} {smaller}"
        worse = f"at least {TIMES:g} times the test error of training together, in the median"
        kept, corrected = three(LAYERWISE, 3) / three(LAYERWISE, 2), three(TOGETHER, 2) / three(TOGETHER, 3)
        tests = four("test", 4, LAYERWISE) / four("test", 4)
        times = lab.AtLeast(TIMES)
        return [
            lab.claim(
                "slope", slope, three(TOGETHER, 2).slope(), lab.AtLeast(SLOPE), "order α₃², from above", beside=beside
            ),
            lab.claim("layerwise", stays, kept, lab.Between(0.99, 1.01), "stays"),
            lab.claim("together", falls, corrected.median(), times, "falls"),
            step(2, 3),
            step(2, 4, ", again"),
            step(3, 4),
            lab.claim("test", f"Four layers: layerwise training ends with {worse}", tests.median(), times, "worse"),
        ]

    def table(self, s: Theorem2Settings) -> lab.Table:
        """A line for each number of layers, α₃, way of training and stage: medians."""
        return lab.Table(["layers", "alpha", "method", "trained"], medians("test", "S2", "S3", "S4", "all2"))

    def figures(self, s: Theorem2Settings) -> list[lab.Picture]:
        """The course of all feature errors with four layers, and the error of S₂ over α₃."""
        three = {"layer 2 alone": (TOGETHER, 2), LAYERWISE: (LAYERWISE, 3), TOGETHER: (TOGETHER, 3)}
        lines = {name: {"layers": 3, "method": way, "top": top} for name, (way, top) in three.items()}
        axes: dict[str, Any] = {"x": "alpha", "y": "S2", "line": lines, "middle": "median"}
        return [
            lab.Drawn(
                "course",
                "Higher layers correct the features of lower ones",
                "How far the leading features S of each layer are from the target's S*, relative to E‖S*‖². Median "
                "over seeds, shaded from the lowest to the highest. Together: all layers that have joined go on "
                "training. Layerwise: only the newest layer trains.",
                "Feature errors of layers 2, 3 and 4 over training steps, together and layerwise, and when layers join",
                lambda picture, rows: staircase(s, picture, rows),
            ),
            lab.Over(
                "alpha",
                "Error of S₂ against α₃, three layers",
                "α₃ is the standard deviation of what layer 3 adds to the target, relative to that of layer 2.",
                more=lambda rows: square_law(s, rows),
                **axes,
            ),
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
