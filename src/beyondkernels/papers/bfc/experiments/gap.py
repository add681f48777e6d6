"""The information gap: training together while higher layers add more and more."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import not_empty, positive, rising
from beyondkernels.papers.bfc.experiments import layers
from beyondkernels.papers.bfc.experiments.common import LEARNT, medians, number, target_of
from beyondkernels.papers.bfc.experiments.layers import TOGETHER
from beyondkernels.papers.bfc.paper import PAPER

ALONE = "layer 2 alone"
NO_GAP = {"no gap": 1.0}
LOCAL = 0.19  # the most feature error of layer 2 alone for a local correction: 1 − 0.9², a correlation of 0.9
WORSE = 10.0  # how many times larger the feature error must be where it is “worse”

Ratios = Annotated[tuple[float, ...], positive, rising, not_empty]


@dataclass(frozen=True)
class GapSettings(layers.LayersSettings):
    three_ratios: Ratios = lab.setting(
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0), "ours", "α₃/α₂ with three layers"
    )
    four_ratios: Ratios = lab.setting((0.1, 0.2, 0.5, 1.0, 2.0, 5.0), "ours", "α₃/α₂ = α₄/α₃ with four layers")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("three_ratios", "four_ratios"):
            ratios = getattr(self, name)
            bk.core.require(ratios[0] < 1 and 1.0 in ratios, f"{name} must hold 1 and a smaller number, got {ratios}")

    def ratios(self, layers: int) -> tuple[float, ...]:
        return self.three_ratios if layers == 3 else self.four_ratios


class Gap(lab.Experiment):
    id = "bfc/gap"
    reference = PAPER.at("§3.1, §3.2")
    quantities = {**layers.QUANTITIES, "ratio": number("ratio", log=True), "moment": lab.Quantity("trained")}
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

    seed_sets = {"laptop": (0, 500, 1000)}

    def runs(self, s: GapSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"layers": [n], "ratio": s.ratios(n)}, moments) for n in (3, 4)]

    def claims(self, s: GapSettings) -> list[lab.Statement]:
        return [statement for n in (3, 4) for statement in self._claims(s, n)]

    def _claims(self, s: GapSettings, n: int) -> list[lab.Statement]:
        smallest = min(s.ratios(n))

        def end(column: str, by: str | None = None, **where: Any) -> lab.Value:
            return lab.of(column, by, layers=n, moment=TOGETHER, **where)

        def alone(by: str | None = None, **where: Any) -> lab.Value:
            return lab.of("S2", by, layers=n, moment=ALONE, **where)

        def claim(name: str, value: lab.Value, test: lab.Condition, paper: Any = None, **more: Any) -> lab.Statement:
            return self.claim(s, f"{name}-{n}", value, test, paper, name, n=n, smallest=smallest, **more)

        with_local = end("left", "ratio").where_holds(alone("ratio"), lab.AtMost(LOCAL)).median()
        why, nowhere = "local corrections are why it works", "the correction is local at no ratio"
        worse = (end("S2", ratio=1.0) / end("S2", ratio=smallest)).median()
        return [
            claim("learnt", end("left", "ratio", ratio=with_gap).median(), lab.AtMost(LEARNT), "learnt"),
            claim("suffices", with_local, lab.AtMost(LEARNT), why, nowhere=nowhere),
            claim("local", alone(ratio=smallest), lab.AtMost(LOCAL), "local"),
            claim("nonlocal", alone(ratio=1.0), lab.AtLeast(LOCAL), "non-local"),
            claim("anyway", end("left", ratio=1.0).median(), lab.AtMost(LEARNT)),
            claim("worse", worse, lab.AtLeast(WORSE)),
        ]

    def table(self, s: GapSettings) -> lab.Table:
        columns = medians("left", "test", "S2", "S3", "S4")
        return lab.Table(["layers", "ratio", "moment"], columns, order=("layers", "ratio"))

    def figures(self, s: GapSettings) -> list[lab.Over]:
        over: dict[str, Any] = {"x": "ratio", "x_label": "α₃/α₂ (and α₄/α₃)", "middle": "median", "events": NO_GAP}
        ends = {f"L = {n}": {"layers": n, "moment": TOGETHER} for n in (3, 4)}
        places = itertools.product((3, 4), (ALONE, TOGETHER))
        both = {f"L = {n}, {moment}": {"layers": n, "moment": moment} for n, moment in places}
        return [
            lab.Over("features", y="S2", line=both, **over),
            lab.Over("left", y="left", line=ends, levels={"learnt below": LEARNT}, **over),
        ]


def with_gap(ratio: float) -> bool:
    """Whether layers add less than those below them."""
    return ratio < 1


def problem_at(s: GapSettings, at: lab.At) -> bk.bfc.QuadraticTarget:
    """The target of a place. From ratio 1 on it is outside the paper's class."""
    return target_of(s.dim(at.layers), tuple(at.ratio**i for i in range(at.layers - 1)), at.seed)


def spec(s: GapSettings, at: lab.At) -> bk.store.RunSpec:
    """Layers join one after the other, and all that have joined train."""
    return layers.joining_spec(s, at, problem_at(s, at), s.ends(at.layers).values())


def moments(s: GapSettings, at: lab.At, outcome: bk.core.Outcome) -> list[dict[str, Any]]:
    """Rows: layer 2 alone, and the end of training together."""
    problem, ends = problem_at(s, at), s.ends(at.layers)
    stages = {ALONE: 2, TOGETHER: at.layers}
    return [{"moment": moment, **layers.state_at(problem, outcome, ends[top], top)} for moment, top in stages.items()]
