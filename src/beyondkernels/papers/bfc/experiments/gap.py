"""The information gap: training together while higher layers add more and more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from beyondkernels.core import require
from beyondkernels.core.constraints import not_empty, positive, rising
from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Experiment,
    Over,
    Runs,
    Scale,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.bfc.experiments.common import LEARNT, MEDIAN, medians, target_of
from beyondkernels.papers.bfc.experiments.layers import TOGETHER, LayersSettings, joining_spec, state_at
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.bfc.problems import QuadraticTarget

ALONE = "layer 2 alone"
LOCAL = 0.19
"""A correction is local if the feature error of layer 2 alone is at most this: 1 − 0.9², a correlation of 0.9."""

Ratios = Annotated[tuple[float, ...], positive, rising, not_empty]


@dataclass(frozen=True)
class GapSettings(LayersSettings):
    """The numbers of the experiment."""

    three_ratios: Ratios = setting(
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0), "ours", "α₃/α₂ with three layers"
    )
    four_ratios: Ratios = setting((0.1, 0.2, 0.5, 1.0, 2.0, 5.0), "ours", "α₃/α₂ = α₄/α₃ with four layers")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("three_ratios", "four_ratios"):
            ratios = getattr(self, name)
            require(ratios[0] < 1 and 1.0 in ratios, f"{name} must hold 1 and a smaller number, got {ratios}")

    def ratios(self, layers: int) -> tuple[float, ...]:
        """The ratios of this number of layers."""
        return self.three_ratios if layers == 3 else self.four_ratios


class Gap(Experiment):
    """Errors over α_{ℓ+1}/α_ℓ."""

    id: ClassVar[str] = "bfc/gap"
    reference = PAPER.at("§3.1, §3.2")
    text_file: ClassVar[str] = "gap.md"
    symbols: ClassVar[Mapping[str, str]] = {"ratio": "ratio", "layers": "L"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.5, "laptop": 9.0, "paper": 40.0}
    settings_class: ClassVar[type] = GapSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            three_dim=10,
            four_dim=8,
            samples=5000,
            steps=4000,
            three_ratios=(0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
            four_ratios=(0.2, 0.5, 1.0, 2.0),
            test_samples=10_000,
            seeds=5,
        ),
        "smoke": scale(
            "laptop",
            three_dim=4,
            four_dim=3,
            samples=200,
            batch=50,
            steps=10,
            three_ratios=(0.1, 1.0),
            four_ratios=(0.2, 1.0),
            points=300,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: GapSettings) -> list[Runs]:
        """Every ratio, with three layers and with four."""
        return [Runs(spec, {"layers": [layers], "ratio": s.ratios(layers)}, moments) for layers in (3, 4)]

    def claims(self, s: GapSettings) -> list[Statement]:
        """Learnt with a gap, what removing it does to layer 2 alone, and whether training together then fails."""
        return [statement for layers in (3, 4) for statement in _claims(s, layers)]

    def table(self, s: GapSettings) -> Table:
        """A line for each number of layers, ratio and moment: medians."""
        return Table(
            {"layers": "L", "ratio": "Ratio", "moment": "Trained"},
            [
                medians("left", "Left of layer L", "Test error over the variance of what layer L adds to the target."),
                medians("test", "Test error", "Relative to the variance of the target. All numbers are medians."),
                medians("S2", "S₂", "S₂, S₃, S₄: feature errors of leading directions, relative to E‖S*‖²."),
                medians("S3", "S₃"),
                medians("S4", "S₄"),
            ],
            order=("layers", "ratio"),
        )

    def figures(self, s: GapSettings) -> list[Over]:
        """The error of S₂ before and after, and what is left of the last layer."""
        over: dict[str, Any] = {"x": "ratio", "x_label": "α₃/α₂ (and α₄/α₃)", "middle": "median"}
        over |= {"x_scale": "log", "y_scale": "log", "events": {"no gap": 1.0}}
        return [
            Over(
                "features",
                "Feature error of S₂ over the ratio of neighbouring layers",
                "Layer 2 alone: before any other layer has joined. Together: at the end, all layers trained. α is the "
                "standard deviation of what a layer adds, so left of 1 there is a gap, and right of 1 it is reversed.",
                "The feature error of S₂ over the ratio, for three and four layers, with layer 2 alone and together",
                y="S2",
                line={
                    f"L = {layers}, {moment}": {"layers": layers, "moment": moment}
                    for layers in (3, 4)
                    for moment in (ALONE, TOGETHER)
                },
                y_label="feature error of S₂, relative",
                **over,
            ),
            Over(
                "left",
                "What is left of the last layer over the ratio of neighbouring layers",
                "Test error after training together, relative to the variance of what layer L adds to the target.",
                "The part of the last layer that is not learnt over the ratio, for three and four layers",
                y="left",
                line={f"L = {layers}": {"layers": layers} for layers in (3, 4)},
                where={"moment": TOGETHER},
                y_label="left of layer L",
                levels={"learnt below": LEARNT},
                **over,
            ),
        ]


def _claims(s: GapSettings, layers: int) -> list[Statement]:
    """The claims for one number of layers."""
    where: dict[str, Any] = {"layers": layers}
    together, without = {**where, "moment": TOGETHER}, {**where, "ratio": 1.0}
    smallest = min(s.ratios(layers))
    alone, left = of("S2", "ratio", moment=ALONE, **where), of("left", "ratio", **together)
    return [
        claim(
            f"learnt-{layers}",
            f"L = {layers}: at every ratio below 1, training together leaves at most {LEARNT:g} of what layer {layers} "
            "adds, in the median",
            of("left", "ratio", ratio=with_gap, **together).median(),
            AtMost(LEARNT),
            paper="learnt",
            interval=MEDIAN,
        ),
        claim(
            f"suffices-{layers}",
            f"L = {layers}: wherever the feature error of layer 2 alone is at most {LOCAL:g} (a local correction), "
            f"training together leaves at most {LEARNT:g} of what layer {layers} adds, in the median",
            left.where_holds(alone, AtMost(LOCAL)).median(),
            AtMost(LEARNT),
            paper="local corrections are why it works",
            interval=MEDIAN,
            nowhere="the correction is local at no ratio",
        ),
        claim(
            f"local-{layers}",
            f"L = {layers}: at ratio {smallest:g} layer 2 alone needs a local correction only: its feature error is at "
            f"most {LOCAL:g}",
            of("S2", moment=ALONE, ratio=smallest, **where),
            AtMost(LOCAL, "clearly"),
            paper="local",
        ),
        claim(
            f"nonlocal-{layers}",
            f"L = {layers}: without the gap (ratio 1) the correction is not local: the feature error of layer 2 alone "
            f"is above {LOCAL:g}",
            of("S2", moment=ALONE, **without),
            AtLeast(LOCAL),
            paper="non-local",
        ),
        claim(
            f"breaks-{layers}",
            f"L = {layers}: without the gap (ratio 1) training together fails: at least {LEARNT:g} of what layer "
            f"{layers} adds is left, in the median",
            of("left", moment=TOGETHER, **without).median(),
            AtLeast(LEARNT),
            paper="fails",
            interval=MEDIAN,
        ),
        claim(
            f"worse-{layers}",
            f"L = {layers}: the features of layer 2 end worse without the gap: their error at ratio 1 is at least 10 "
            f"times that at ratio {smallest:g}, in the median",
            (of("S2", moment=TOGETHER, **without) / of("S2", ratio=smallest, **together)).median(),
            AtLeast(10.0),
            interval=MEDIAN,
        ),
    ]


def with_gap(ratio: float) -> bool:
    """Whether layers add less than those below them."""
    return ratio < 1


def problem_at(s: GapSettings, at: At) -> QuadraticTarget:
    """The target of a place. From ratio 1 on it is outside the paper's class."""
    return target_of(s.dim(at.layers), tuple(at.ratio**i for i in range(at.layers - 1)), at.seed)


def spec(s: GapSettings, at: At) -> RunSpec:
    """Layers join one after the other, and all that have joined train."""
    return joining_spec(s, at, problem_at(s, at), s.ends(at.layers).values())


def moments(s: GapSettings, at: At, outcome: Outcome) -> list[dict[str, Any]]:
    """Rows: layer 2 alone, and the end of training together."""
    problem, ends = problem_at(s, at), s.ends(at.layers)
    stages = {ALONE: 2, TOGETHER: at.layers}
    return [{"moment": moment, **state_at(problem, outcome, ends[top], top)} for moment, top in stages.items()]
