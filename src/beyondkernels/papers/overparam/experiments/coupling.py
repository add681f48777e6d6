"""Lemmas G.3, 5.5 and 5.8 along real runs: few gates change, and the pseudo network stays close, over width."""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most
from beyondkernels.papers.overparam.experiments.common import Steps, Times, drawn, size
from beyondkernels.papers.overparam.experiments.near_networks import NearSettings, learner_of, truth_of
from beyondkernels.papers.overparam.paper import PAPER

TERMS = {
    2: {
        "flips": ("Lemma G.3 (1): the share of changed gates", -1 / 2),
        "gap": ("Lemma G.3 (2): |f − g|", -1 / 2),
        "gradient_gap": ("Lemma G.3 (3): the gap between the gradients of f and g", 1 / 2),
    },
    3: {
        "first_flips": ("Lemma 5.5: the share of the first layer's gates that changed", -2 / 5),
        "second_flips": ("Lemma 5.5: the share of the second layer's gates that changed", -1 / 3),
        "left_over": ("Lemma 5.8: what random signs leave over", -1 / 10),
    },
}
"""By layers and term: what it is, and the power of m that its right side has if neurons move by an order of 1/m."""

WITHIN = {2: "at every snapshot", 3: "at every snapshot within the lemma's range of radii"}
"""Where a right side is asked to hold."""

SLACK = 0.1  # by how much a fitted slope may exceed the power, because the lemmas leave logarithms open (ours)

NAMES = {term: term.replace("_", " ") for terms in TERMS.values() for term in terms}
"""The terms, as tables write them."""

LAPTOP: dict[str, Any] = {"widths": (256, 1024, 4096, 16_384), "deep_widths": (64, 128, 256, 512)}
ROOM = "Right side with constant 1 over left side: the least over points and snapshots in the range."


@dataclass(frozen=True)
class CouplingSettings(NearSettings):
    widths: lab.Counts = lab.setting((256, 1024, 4096, 16_384, 65_536), "ours", "m of two layers")
    deep_widths: lab.Counts = lab.setting((64, 128, 256, 512, 1024, 2048), "ours", "m₁ = m₂ of three layers")
    rate: lab.Size = lab.setting(1.0, "ours", "η = rate/(m ε_a²); tried with seeds 100 and 101")
    steps: Steps = lab.setting(5000, "ours", "T")
    samples: lab.Count = lab.setting(1000, "ours", "N")
    snapshots: Times = lab.setting((0, 10, 30, 100, 300, 1000), "ours", "where everything is measured, beside the end")
    points: Annotated[lab.Count, at_most(10**6)] = lab.setting(200, "ours", "fresh points at which terms are measured")
    test_samples: lab.Count = lab.setting(2000, "ours")
    seeds: lab.Seeds = lab.setting(10, "ours", "0, 1, 2, …: each has a ground truth and a start of its own")

    def __post_init__(self) -> None:
        bk.core.require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")


class Coupling(lab.Experiment):
    id = "overparam/coupling"
    reference = PAPER.at("Lemmas G.3, 5.5 and 5.8")
    quantities = {
        "layers": lab.Quantity("layers"),
        "test_loss": size("test loss", ".1e", better="less"),
        "radius": size("‖W′‖₂,∞", ".1e", "Two layers: how far the neuron moved that moved most."),
        "first_radius": size("‖W′‖₂,₄", ".1e", "Three layers."),
        "second_radius": size("‖V′‖_F", ".1e", "Three layers."),
        "range": size("τ_w√m", ".1f", "Lemmas 5.5 and 5.8 ask for at most 1."),
        "inside": size("inside", ".1f", "Snapshots, of those after the start, in the range of 5.5 and 5.8."),
        "gates": lab.Quantity("share of a layer's gates", within=lab.SHARE, log=True),
        "outputs": size("difference of outputs", log=True),
        **{
            term: size(NAMES[term], ".1e", f"{words}.")
            for terms in TERMS.values()
            for term, (words, _) in terms.items()
        },
        **{f"{term}_room": size(f"room of {NAMES[term]}", ".3g", ROOM) for term in NAMES},
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 1.5, "paper": 20.0}
    seed_sets = lab.THREE_SETS
    settings_class = CouplingSettings
    scales = {
        "laptop": lab.scale(**LAPTOP, steps=2000, points=100, test_samples=1000, seeds=5),
        "smoke": lab.scale(
            "laptop", widths=(32, 128), deep_widths=(16, 32), steps=40, samples=100, points=20, test_samples=50, seeds=2
        ),
    }

    def runs(self, s: CouplingSettings) -> list[lab.Runs]:
        widths = {2: s.widths, 3: s.deep_widths}
        return [lab.Runs(spec, {"layers": [layers], "width": widths[layers]}, row) for layers in TERMS]

    def claims(self, s: CouplingSettings) -> list[lab.Statement]:
        made = []
        for layers, terms in TERMS.items():
            for term, (words, power) in terms.items():
                slope = lab.of(term, "width", layers=layers).slope()
                room = lab.least(f"{term}_room", per_seed=False, layers=layers)
                name, (lemma, _, _) = term.replace("_", "-"), words.partition(":")
                told = {"words": words, "lemma": lemma, "power": power, "within": WITHIN[layers]}
                made += [
                    self.claim(s, f"{name}-power", slope, lab.AtMost(power + SLACK), power, "power", **told),
                    self.claim(s, f"{name}-bound", room, lab.AtLeast(1.0), "1/Õ(1)", "bound", **told),
                ]
        moved = lab.of("radius", "width", layers=2).slope()
        return [*made, self.claim(s, "radius-power", moved, lab.AtMost(-1 + SLACK), -1)]

    def table(self, s: CouplingSettings) -> lab.Table:
        of_terms = [(term, lab.Shown(f"{term}_room", show=least_of(f"{term}_room"))) for term in NAMES]
        reached = ["test_loss", "radius", "first_radius", "second_radius", "range", "inside"]
        return lab.Table(["layers", "width"], [*reached, *itertools.chain.from_iterable(of_terms)])

    def figures(self, s: CouplingSettings) -> list[lab.Picture]:
        flips = {
            (2, "flips"): ("two layers", "right side of G.3"),
            (3, "first_flips"): ("three layers, first", "right side of 5.5, first"),
            (3, "second_flips"): ("three layers, second", "right side of 5.5, second"),
        }
        gaps = {
            (2, "gap"): ("two layers, |f − g|", "right side of G.3"),
            (3, "left_over"): ("three layers, left over", "right side of 5.8"),
        }

        def over_width(name: str, y: str, labels: dict[tuple[int, str], tuple[str, str]]) -> lab.Over:
            lines = {}
            for (layers, term), (left, right) in labels.items():
                lines |= {left: {"layers": layers, "y": term}, right: {"layers": layers, "y": f"{term}_bound"}}
            return lab.Over(name, x="width", y=y, line=lines)

        return [
            over_width("flips", "gates", flips),
            over_width("gap", "outputs", gaps),
            lab.Drawn("distance", by=functools.partial(along_distance, s)),
        ]


def least_of(column: str) -> Callable[[lab.Rows], float]:
    """What a table shows of a column: the least over the runs; a run that diverged has none."""
    return lambda rows: rows[column].min() if column in rows else math.nan


def along_distance(s: CouplingSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    """For each width the mean gap over the mean distance, from the first snapshot after the start on."""
    lines = []
    for width in s.widths:
        mine = lab.select(rows, {"layers": 2, "width": width, "status": "finished"})
        runs = [outcome.series for outcome in mine["outcome"]] if len(mine) else []
        if runs:
            radii, gaps = ([run[f"coupling/{name}"][1:] for run in runs] for name in ("radius", "gap"))
            means = [statistics.fmean(each) for each in zip(*radii, strict=True)]
            lines.append(lab.Line(f"m = {width}", means, gaps))
    return drawn(picture, lines, "distance ‖W_t‖₂,∞", "mean |f − g|")


def spec(s: CouplingSettings, at: lab.At) -> bk.store.RunSpec:
    """Algorithm 1 at a width, with three layers too; outputs move at the same speed for every m and ε_a."""
    loss, times = bk.algorithms.PseudoHuber(), (*(step for step in s.snapshots if step < s.steps), s.steps)
    rule = bk.overparam.TwoLayerSGD(s.steps, s.rate / (at.width * s.output_std**2), loss=loss)
    of_two, of_three = bk.overparam.TwoLayerCoupling(s.points, loss=loss), bk.overparam.ThreeLayerCoupling(s.points)
    learner, measurements = learner_of(s, at, rule, times), (of_two if at.layers == 2 else of_three,)
    return bk.store.RunSpec(truth_of(s, at.seed), learner, s.samples, s.test_samples, at.seed, measurements)


def row(s: CouplingSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    """One run at its end, and the least ratios of right side to left side along its way."""
    if outcome.status != "finished":
        return {}
    series = {name.removeprefix("coupling/"): values for name, values in outcome.series.items()}
    deep, ends = at.layers == 3, {name: float(values[-1]) for name, values in series.items()}
    radii = ("first_radius", "second_radius") if deep else ("radius",)
    line: dict[str, Any] = {"test_loss": outcome.scalars["test_loss"], **{name: ends[name] for name in radii}}
    rooms, inside = bk.overparam.least_rooms(series, TERMS[at.layers], at.width if deep else None)
    if deep:
        line |= {"range": line["first_radius"] * at.width**0.5, "inside": inside, "snapshots": len(series["step"]) - 1}
    for term, room in rooms.items():
        line |= {term: ends[term], f"{term}_bound": ends[f"{term}_bound"], f"{term}_room": room}
    return line
