"""Theorem 2: higher layers correct the features of lower ones."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import LEARNT, UNIFORM, error, medians, number
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER
from beyondkernels.papers.bfc.experiments.pictures import LOW, course_lines, over_steps
from beyondkernels.papers.bfc.paper import PAPER

NEAR = 0.05  # how much the error over α² may differ between the two smallest α
FLAT = 0.2  # how far the slope on α₃, which cannot be small beside α₄, may be from −2
CONSTANT = 50.0  # the constant of the theorem, in units of the layers' standard deviations
TIMES = 20.0  # how many times smaller the error of S₂ must become when layer 3 joins
LEADING = "(k leading directions)"  # the part of a layer's features that is judged: as many as the target's S* has


@dataclass(frozen=True)
class Theorem2Settings(layers.LayersSettings):
    alphas: lab.Sizes = lab.setting((0.005, 0.01, 0.02, 0.05, 0.1, 0.2), "ours", "α₃ with three layers")
    fourths: lab.Sizes = lab.setting((0.005, 0.01, 0.05), "ours", "α₄ with four layers, at the usual α₃")
    thirds: lab.Sizes = lab.setting((0.1, 0.2, 0.4), "ours", "α₃ with four layers, at the least α₄")

    @property
    def least_fourth(self) -> float:
        return min(self.fourths)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alphas", "fourths", "thirds"):
            values = getattr(self, name)
            bk.core.require(len(values) > 1, f"{name} must hold at least two numbers, got {values}")
        for name, alpha in (("thirds", self.four_alphas[1]), ("fourths", self.four_alphas[2])):
            bk.core.require(alpha in getattr(self, name), f"{name} must hold {alpha}, got {getattr(self, name)}")


class Theorem2(lab.Experiment):
    id = "bfc/theorem2"
    reference = PAPER.at("Theorem 2, Figure 5, §6.1")
    quantities = {
        **layers.QUANTITIES,
        "alpha": number("α₃", log=True),
        "fourth": number("α₄", log=True),
        "times": number("constant", ".2g", "What the theorem's constant must be at least, ε² being the test error."),
        "most": number("constant", ".2g", "The largest of all stages."),
        "place": lab.Quantity("α"),
        "stuck": number("stuck", ".0%", "Starts that leave a tenth of the last layer or more.", within=lab.SHARE),
        "all2": error("S₂, all directions", "The error that counts directions which the target does not have."),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 7.0, "paper": 25.0}
    settings_class = Theorem2Settings
    scales = {
        "laptop": lab.scale(**layers.LAPTOP, alphas=(0.005, 0.01, 0.05, 0.2), seeds=5),
        "smoke": lab.scale("laptop", **layers.SMOKE, samples=200, steps=20, alphas=(0.1, 0.2), snapshots=2),
    }
    seed_sets = {"laptop": (0, 500, 1000)}

    def runs(self, s: Theorem2Settings) -> list[lab.Runs]:
        (_, third, fourth), least = s.four_alphas, s.least_fourth
        both = [TOGETHER, LAYERWISE]
        places = [
            {"layers": [3], "alpha": s.alphas, "method": both},
            {"layers": [4], "alpha": [third], "fourth": [fourth], "method": both},
            {"layers": [4], "alpha": [third], "fourth": [a for a in s.fourths if a != fourth], "method": [TOGETHER]},
            {"layers": [4], "alpha": [a for a in s.thirds if a != third], "fourth": [least], "method": [TOGETHER]},
        ]
        return [lab.Runs(layers.plain_spec, {**at, "inputs": [UNIFORM]}, stage_rows) for at in places]

    def claims(self, s: Theorem2Settings) -> list[lab.Statement]:
        def three(method: str, top: int, column: str = "S2") -> lab.Value:
            return lab.of(column, "alpha", layers=3, method=method, top=top)

        (_, third, fourth), least = s.four_alphas, s.least_fourth

        def four(column: str, top: int, method: str = TOGETHER) -> lab.Value:
            return lab.of(column, layers=4, method=method, top=top, alpha=third, fourth=fourth)

        def step(layer: int, top: int) -> lab.Statement:
            ratio = four(f"S{layer}", top) / four(f"S{layer}", top - 1)
            return self.claim(s, f"step-{layer}-{top}", ratio.median(), lab.Below(1.0), "falls")

        def square(name: str, column: str, by: str, sizes: tuple[float, ...], **at: Any) -> lab.Statement:
            """At the two smallest α, which are where a power of it shows."""
            low, high = sorted(sizes)[:2]
            slope = lab.of(column, by, method=TOGETHER, **at, **{by: (low, high)}).slope().median()
            off = math.log1p(NEAR) / math.log(high / low)
            told = {"layer": LOW[int(column[1])], "low": low, "high": high}
            return self.claim(s, name, slope, lab.Between(2 - off, 2 + off), f"order {by_name[by]}²", **told)

        by_name, times = {"alpha": "α₃", "fourth": "α₄"}, lab.AtLeast(TIMES)
        kept, corrected = three(LAYERWISE, 3) / three(LAYERWISE, 2), three(TOGETHER, 2) / three(TOGETHER, 3)
        tests = four("test", 4, LAYERWISE) / four("test", 4)
        falls = lab.of("S3", "alpha", layers=4, method=TOGETHER, top=3, fourth=least).slope().median()
        most = lab.of("most", "place", method=TOGETHER, last=True).median()
        before: dict[str, Any] = {"layers": 4, "top": 3, "alpha": third}
        return [
            square("alone", "S2", "alpha", s.alphas, layers=3, top=2),
            square("fourth-2", "S2", "fourth", s.fourths, **before),
            square("fourth-3", "S3", "fourth", s.fourths, **before),
            self.claim(s, "third", falls, lab.Between(-2 - FLAT, -2 + FLAT), "1/α₃²", least=least),
            self.claim(s, "constant", most, lab.AtMost(CONSTANT), "≲"),
            self.claim(s, "layerwise", kept, lab.Between(0.99, 1.01), "stays"),
            self.claim(s, "together", corrected.median(), times, "falls"),
            step(2, 3),
            step(2, 4),
            step(3, 4),
            self.claim(s, "test", tests.median(), times, "worse"),
        ]

    def table(self, s: Theorem2Settings) -> lab.Table:
        by = ["layers", "alpha", "fourth", "method", "trained"]
        return lab.Table(by, [*medians("test", "S2", "S3", "S4", "all2", "times"), "stuck"])

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
        where = {"layers": 4, "method": method, "top": 4, "alpha": s.four_alphas[1], "fourth": s.four_alphas[2]}
        lines += course_lines(rows, f"layer {layer}, {method}", f"features/distilled{layer}", start, **where)
    return over_steps(picture, lines, "error of a layer's features, relative", joins, middle="median")


def stage_rows(s: Theorem2Settings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """The stages; the last one also has the largest constant of all, and whether the start was stuck."""
    rows = layers.stage_rows(s, at, outcome)
    place = f"α₃ = {at.alpha:g}" + (f", α₄ = {at.fourth:g}" if at.layers == 4 else "")
    most = max((row["times"] for row in rows), key=lambda x: (math.isnan(x), x))
    last = {"most": most, "stuck": float(not rows[-1]["left"] <= LEARNT)}
    return [row | {"place": place, "last": row is rows[-1]} | (last if row is rows[-1] else {}) for row in rows]


def square_law(s: Theorem2Settings, rows: lab.Rows) -> list[lab.Line]:
    """A line that rises as α₃², at half the height of layer 2 alone so that both can be seen."""
    last = s.alphas[-1]
    alone = lab.select(rows, {"layers": 3, "alpha": last, "top": 2, "method": TOGETHER})["S2"].median()
    heights = [alone / 2 * (alpha / last) ** 2 for alpha in s.alphas]
    return [lab.Line("slope 2", list(s.alphas), heights)] if alone > 0 else []
