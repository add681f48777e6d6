"""The information gap: training together while higher layers add more and more."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core import Outcome, require
from beyondkernels.core.constraints import not_empty, positive, rising
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import LEARNT, medians, number, target_of
from beyondkernels.papers.bfc.experiments.layers import TOGETHER
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

ALONE = "layer 2 alone"
LOCAL = 0.19
"""A correction is local if the feature error of layer 2 alone is at most this: 1 − 0.9², a correlation of 0.9."""

WORSE = 10.0
"""How many times larger the feature error must be where it is “worse”."""

Ratios = Annotated[tuple[float, ...], positive, rising, not_empty]


@dataclass(frozen=True)
class GapSettings(layers.LayersSettings):
    """The numbers of the experiment."""

    three_ratios: Ratios = lab.setting(
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0), "ours", "α₃/α₂ with three layers"
    )
    four_ratios: Ratios = lab.setting((0.1, 0.2, 0.5, 1.0, 2.0, 5.0), "ours", "α₃/α₂ = α₄/α₃ with four layers")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("three_ratios", "four_ratios"):
            ratios = getattr(self, name)
            require(ratios[0] < 1 and 1.0 in ratios, f"{name} must hold 1 and a smaller number, got {ratios}")

    def ratios(self, layers: int) -> tuple[float, ...]:
        """The ratios of this number of layers."""
        return self.three_ratios if layers == 3 else self.four_ratios


class Gap(lab.Experiment):
    """Errors over α_{ℓ+1}/α_ℓ."""

    id = "bfc/gap"
    reference = PAPER.at("§3.1, §3.2")
    text_file = "gap.md"
    quantities = {
        **layers.QUANTITIES,
        "ratio": number("ratio", log=True),
        "moment": lab.Quantity("trained"),
    }
    seconds_per_run = {"smoke": 0.5, "laptop": 9.0, "paper": 40.0}
    settings_class = GapSettings
    scales = {
        "laptop": lab.scale(
            **layers.LAPTOP, three_ratios=(0.1, 0.3, 1.0, 3.0, 10.0, 30.0), four_ratios=(0.2, 0.5, 1.0, 2.0), seeds=5
        ),
        "smoke": lab.scale(
            "laptop", **layers.SMOKE, samples=200, steps=10, three_ratios=(0.1, 1.0), four_ratios=(0.2, 1.0)
        ),
    }

    def runs(self, s: GapSettings) -> list[lab.Runs]:
        """Every ratio, with three layers and with four."""
        return [lab.Runs(spec, {"layers": [n], "ratio": s.ratios(n)}, moments) for n in (3, 4)]

    def claims(self, s: GapSettings) -> list[lab.Statement]:
        """Learnt with a gap, what removing it does to layer 2 alone, and whether training together then fails."""
        return [statement for n in (3, 4) for statement in _claims(s, n)]

    def table(self, s: GapSettings) -> lab.Table:
        """A line for each number of layers, ratio and moment: medians."""
        columns = medians("left", "test", "S2", "S3", "S4")
        return lab.Table(["layers", "ratio", "moment"], columns, order=("layers", "ratio"))

    def figures(self, s: GapSettings) -> list[lab.Over]:
        """The error of S₂ before and after, and what is left of the last layer."""
        over: dict[str, Any] = {"x": "ratio", "x_label": "α₃/α₂ (and α₄/α₃)", "middle": "median"}
        over |= {"events": {"no gap": 1.0}}
        ends = {f"L = {n}": {"layers": n, "moment": TOGETHER} for n in (3, 4)}
        places = itertools.product((3, 4), (ALONE, TOGETHER))
        both = {f"L = {n}, {moment}": {"layers": n, "moment": moment} for n, moment in places}
        caption = (
            "Layer 2 alone: before any other layer has joined. Together: at the end, all layers trained. α is the "
            "standard deviation of what a layer adds, so left of 1 there is a gap, and right of 1 it is reversed."
        )
        apart, bar = "over the ratio of neighbouring layers", {"learnt below": LEARNT}
        left = f"What is left of the last layer {apart}", "After training together."
        return [
            lab.Over("features", f"Feature error of S₂ {apart}", caption, y="S2", line=both, **over),
            lab.Over("left", *left, y="left", line=ends, levels=bar, **over),
        ]


def _claims(s: GapSettings, n: int) -> list[lab.Statement]:
    """The claims for one number of layers."""
    smallest, together = min(s.ratios(n)), f"training together leaves at most {LEARNT:g} of what layer {n} adds"
    without = "without the gap (ratio 1)"

    def end(column: str, by: str | None = None, **where: Any) -> lab.Value:
        return lab.of(column, by, layers=n, moment=TOGETHER, **where)

    def alone(by: str | None = None, **where: Any) -> lab.Value:
        return lab.of("S2", by, layers=n, moment=ALONE, **where)

    said = {
        "learnt": f"at every ratio below 1, {together}, in the median",
        "suffices": f"wherever the feature error of layer 2 alone is at most {LOCAL:g} (a local correction), "
        f"{together}, in the median",
        "local": f"at ratio {smallest:g} layer 2 alone needs a local correction only: its feature error is at most "
        f"{LOCAL:g}",
        "nonlocal": f"{without} the correction is not local: the feature error of layer 2 alone is above {LOCAL:g}",
        "breaks": f"{without} training together fails: at least {LEARNT:g} of what layer {n} adds is left, in the "
        "median",
        "worse": f"the features of layer 2 end worse without the gap: their error at ratio 1 is at least {WORSE:g} "
        f"times that at ratio {smallest:g}, in the median",
    }

    def claim(name: str, value: lab.Value, test: lab.Condition, paper: str | None = None, **more: Any) -> lab.Statement:
        return lab.claim(f"{name}-{n}", f"L = {n}: {said[name]}", value, test, paper, **more)

    learnt, why = end("left", "ratio", ratio=with_gap).median(), "local corrections are why it works"
    local = end("left", "ratio").where_holds(alone("ratio"), lab.AtMost(LOCAL)).median()
    worse = (end("S2", ratio=1.0) / end("S2", ratio=smallest)).median()
    return [
        claim("learnt", learnt, lab.AtMost(LEARNT), "learnt"),
        claim("suffices", local, lab.AtMost(LEARNT), why, nowhere="the correction is local at no ratio"),
        claim("local", alone(ratio=smallest), lab.AtMost(LOCAL, "clearly"), "local"),
        claim("nonlocal", alone(ratio=1.0), lab.AtLeast(LOCAL), "non-local"),
        claim("breaks", end("left", ratio=1.0).median(), lab.AtLeast(LEARNT), "fails"),
        claim("worse", worse, lab.AtLeast(WORSE)),
    ]


def with_gap(ratio: float) -> bool:
    """Whether layers add less than those below them."""
    return ratio < 1


def problem_at(s: GapSettings, at: lab.At) -> bk.bfc.QuadraticTarget:
    """The target of a place. From ratio 1 on it is outside the paper's class."""
    return target_of(s.dim(at.layers), tuple(at.ratio**i for i in range(at.layers - 1)), at.seed)


def spec(s: GapSettings, at: lab.At) -> RunSpec:
    """Layers join one after the other, and all that have joined train."""
    return layers.joining_spec(s, at, problem_at(s, at), s.ends(at.layers).values())


def moments(s: GapSettings, at: lab.At, outcome: Outcome) -> list[dict[str, Any]]:
    """Rows: layer 2 alone, and the end of training together."""
    problem, ends = problem_at(s, at), s.ends(at.layers)
    stages = {ALONE: 2, TOGETHER: at.layers}
    return [{"moment": moment, **layers.state_at(problem, outcome, ends[top], top)} for moment, top in stages.items()]
