"""Theorem 2: higher layers correct the features of lower ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from beyondkernels.core import require
from beyondkernels.lab import (
    AtLeast,
    AtMost,
    Between,
    Drawn,
    Experiment,
    Line,
    Over,
    Picture,
    Rows,
    Runs,
    Scale,
    Sizes,
    Statement,
    Table,
    Value,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.bfc.experiments.common import MEDIAN, UNIFORM, medians
from beyondkernels.papers.bfc.experiments.layers import LAYERWISE, TOGETHER, LayersSettings, plain_spec, stage_rows
from beyondkernels.papers.bfc.experiments.pictures import staircase
from beyondkernels.papers.bfc.paper import PAPER

SLOPE = 2.0
"""The least slope that the theorem promises: α₃², from above."""

LEADING = "(k leading directions)"
"""Which part of the features S of a layer is judged: as many directions as the target's S* has."""

TIMES = 20.0
"""How many times smaller the error of S₂ must become when layer 3 joins."""


@dataclass(frozen=True)
class Theorem2Settings(LayersSettings):
    """The numbers of the experiment."""

    alphas: Sizes = setting((0.01, 0.02, 0.05, 0.1, 0.2), "ours", "α₃ with three layers: ratios of deviations")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.alphas) > 1, f"alphas must hold at least two numbers, got {self.alphas}")


class Theorem2(Experiment):
    """Feature errors against α₃, and over training time."""

    id: ClassVar[str] = "bfc/theorem2"
    reference = PAPER.at("Theorem 2, Figure 5, §6.1")
    text_file: ClassVar[str] = "theorem2.md"
    symbols: ClassVar[Mapping[str, str]] = {"alpha": "α₃"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.5, "laptop": 7.0, "paper": 25.0}
    settings_class: ClassVar[type] = Theorem2Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            three_dim=10,
            four_dim=8,
            samples=5000,
            steps=4000,
            alphas=(0.02, 0.05, 0.1, 0.2),
            test_samples=10_000,
            seeds=5,
        ),
        "smoke": scale(
            "laptop",
            three_dim=4,
            four_dim=3,
            samples=200,
            batch=50,
            steps=20,
            alphas=(0.1, 0.2),
            snapshots=2,
            points=300,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: Theorem2Settings) -> list[Runs]:
        """Both ways of training, with three layers at every α₃ and with four layers."""
        rest = {"inputs": [UNIFORM], "method": [TOGETHER, LAYERWISE]}
        cases = {3: s.alphas, 4: s.four_alphas[1:2]}
        return [
            Runs(plain_spec, {"layers": [layers], "alpha": alphas, **rest}, stage_rows)
            for layers, alphas in cases.items()
        ]

    def claims(self, s: Theorem2Settings) -> list[Statement]:
        """The law of layer 2 alone, what each way of training makes of it, and the staircase."""

        def three(method: str, top: int, column: str = "S2") -> Value:
            return of(column, "alpha", layers=3, method=method, top=top)

        def four(column: str, top: int, method: str = TOGETHER) -> Value:
            return of(column, layers=4, method=method, top=top)

        def step(layer: int, top: int) -> Statement:
            ratio = four(f"S{layer}", top) / four(f"S{layer}", top - 1)
            when = f"layer {top} joins" + (", again" if top > layer + 1 else "")
            return claim(
                f"step-{layer}-{top}",
                f"Four layers: the error of S{'₂₃'[layer - 2]} {LEADING} clearly falls when {when}: after over before",
                replace(ratio, within=(0.0, math.inf)),
                AtMost(1.0, "clearly"),
                paper="falls",
            )

        corrected = (three(TOGETHER, 2) / three(TOGETHER, 3)).median()
        return [
            claim(
                "slope",
                f"Layer 2 alone: log error of S₂ {LEADING} rises with log α₃ by at least {SLOPE:g}",
                three(TOGETHER, 2).slope(),
                AtLeast(SLOPE),
                paper="order α₃², from above",
                beside=("counting all directions of S₂ it is", three(TOGETHER, 2, "all2").slope()),
            ),
            claim(
                "layerwise",
                f"Layerwise training leaves the error of S₂ {LEADING} as it was, at every α₃: its ratio to the error "
                "before",
                three(LAYERWISE, 3) / three(LAYERWISE, 2),
                Between(0.99, 1.01),
                paper="stays",
            ),
            claim(
                "together",
                f"Training together makes the error of S₂ {LEADING} at least {TIMES:g} times smaller in the median, at "
                "every α₃",
                corrected,
                AtLeast(TIMES),
                paper="falls",
                interval=MEDIAN,
            ),
            *(step(layer, top) for layer, top in ((2, 3), (2, 4), (3, 4))),
            claim(
                "test",
                f"Four layers: layerwise training ends with at least {TIMES:g} times the test error of training "
                "together, in the median",
                (four("test", 4, LAYERWISE) / four("test", 4)).median(),
                AtLeast(TIMES),
                paper="worse",
                interval=MEDIAN,
            ),
        ]

    def table(self, s: Theorem2Settings) -> Table:
        """A line for each number of layers, α₃, way of training and stage: medians."""
        return Table(
            {"layers": "L", "alpha": "α₃", "method": "Training", "trained": "Layers trained"},
            [
                medians("test", "Test error", "Relative to Var(G*). All numbers are medians over seeds."),
                medians("S2", "S₂", "S₂, S₃, S₄ are feature errors of the k leading directions, relative to E‖S*‖²."),
                medians("S3", "S₃"),
                medians("S4", "S₄"),
                medians(
                    "all2", "S₂, all directions", "The error that counts directions which the target does not have."
                ),
            ],
        )

    def figures(self, s: Theorem2Settings) -> list[Picture]:
        """The course of all feature errors with four layers, and the error of S₂ over α₃."""
        return [
            Drawn(
                "course",
                "Higher layers correct the features of lower ones",
                "How far the leading features S of each layer are from the target's S*, relative to E‖S*‖². Median "
                "over seeds, shaded from the lowest to the highest. Together: all layers that have joined go on "
                "training. Layerwise: only the newest layer trains.",
                "Feature errors of layers 2, 3 and 4 over training steps, together and layerwise, and when layers join",
                lambda picture, rows: staircase(picture, rows, s.joins(4), (TOGETHER, LAYERWISE)),
            ),
            Over(
                "alpha",
                "Error of S₂ against α₃, three layers",
                "α₃ is the standard deviation of what layer 3 adds to the target, relative to that of layer 2.",
                "The error of S₂ over α₃ with layer 2 alone, layerwise and together, beside a line of slope 2",
                x="alpha",
                y="S2",
                line={
                    "layer 2 alone": {"layers": 3, "method": TOGETHER, "top": 2},
                    LAYERWISE: {"layers": 3, "method": LAYERWISE, "top": 3},
                    TOGETHER: {"layers": 3, "method": TOGETHER, "top": 3},
                },
                x_label="α₃",
                y_label="feature error of S₂, relative",
                x_scale="log",
                y_scale="log",
                middle="median",
                more=lambda rows: square_law(s, rows),
            ),
        ]


def square_law(s: Theorem2Settings, rows: Rows) -> list[Line]:
    """A line that rises as α₃², at half the height of layer 2 alone so that both can be seen."""
    last = s.alphas[-1]
    alone = rows[(rows["layers"] == 3) & (rows["alpha"] == last) & (rows["top"] == 2)]["S2"].median()
    return (
        [Line("slope 2", list(s.alphas), [alone / 2 * (alpha / last) ** 2 for alpha in s.alphas])] if alone > 0 else []
    )
