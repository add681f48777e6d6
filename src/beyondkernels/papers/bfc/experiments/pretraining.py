"""Layerwise pre-training: layers that join one after the other, against all layers from the start."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from beyondkernels.lab import (
    At,
    AtLeast,
    AtMost,
    Between,
    Curves,
    Drawn,
    Event,
    Experiment,
    Picture,
    Rows,
    Runs,
    Scale,
    Shown,
    Size,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.papers.bfc.experiments.common import LEARNT, MEDIAN, UNIFORM, medians
from beyondkernels.papers.bfc.experiments.layers import (
    LAYERWISE,
    TOGETHER,
    LayersSettings,
    joining_spec,
    problem_at,
    state_at,
)
from beyondkernels.papers.bfc.experiments.pictures import LOW, course_lines
from beyondkernels.papers.bfc.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

START = "from the start"
"""All layers train from the first step on, for as many steps in all."""

NAMES = {TOGETHER: "joining", START: START, LAYERWISE: LAYERWISE}
"""What each way of training is called on the page."""

KNOWN = 0.1
"""A layer's features count as known if their relative error is below this."""


@dataclass(frozen=True)
class PretrainingSettings(LayersSettings):
    """The numbers of the experiment."""

    alpha: Size = setting(0.1, "ours", "α₃ with three layers: a ratio of standard deviations")


class Pretraining(Experiment):
    """Errors of three ways of training, with three and four layers."""

    id: ClassVar[str] = "bfc/pretraining"
    reference = PAPER.at("§4, App. A.4, footnote 29")
    text_file: ClassVar[str] = "pretraining.md"
    symbols: ClassVar[Mapping[str, str]] = {"layers": "L"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.5, "laptop": 9.0, "paper": 40.0}
    settings_class: ClassVar[type] = PretrainingSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(three_dim=10, four_dim=8, samples=5000, steps=4000, test_samples=10_000, seeds=5),
        "smoke": scale(
            "laptop",
            three_dim=4,
            four_dim=3,
            samples=200,
            batch=50,
            steps=10,
            snapshots=2,
            points=300,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: PretrainingSettings) -> list[Runs]:
        """Three ways of training, with three layers and with four."""
        ways = {"alpha": [s.alpha], "inputs": [UNIFORM], "method": list(NAMES)}
        return [Runs(spec, {"layers": [layers], **ways}, end) for layers in (3, 4)]

    def claims(self, s: PretrainingSettings) -> list[Statement]:
        """Both ways learn all layers, they end alike, layerwise training does not, and the order of learning."""
        return [statement for layers in (3, 4) for statement in _claims(layers)]

    def table(self, s: PretrainingSettings) -> Table:
        """A line for each number of layers and way of training: medians."""
        return Table(
            {"layers": "L", "way": "Training"},
            [
                medians("left", "Left of layer L", "Test error over the variance of what layer L adds to the target."),
                Shown("left", "Largest", ".1e", show="largest", about="Of all seeds."),
                medians("test", "Test error", "Relative to the variance of the target. Medians over seeds."),
                medians("S2", "S₂", "S₂, S₃, S₄: feature errors of leading directions, relative to E‖S*‖²."),
                medians("S3", "S₃"),
                medians("S4", "S₄"),
                Shown(
                    "known2",
                    "S₂ known",
                    ".0f",
                    about=f"The first recorded step from which on the feature error stays below {KNOWN:g}.",
                ),
                Shown("known3", "S₃ known", ".0f"),
            ],
            order=("layers",),
        )

    def figures(self, s: PretrainingSettings) -> list[Picture]:
        """Feature errors over training in both ways."""
        return [
            Drawn(
                f"course{layers}",
                f"Feature errors over training, L = {layers}: joining against from the start",
                "Relative to E‖S*‖²; median over seeds, shaded from the lowest to the highest. Joining: vertical lines "
                "show when a layer joins. From the start: all layers train from step 0.",
                "Feature errors of each layer over training steps, joining and from the start",
                functools.partial(course, s, layers),
            )
            for layers in (4, 3)
        ]


def _claims(layers: int) -> list[Statement]:
    """The claims for one number of layers."""
    left = {way: of("left", layers=layers, method=way) for way in NAMES}
    from_start = {"layers": layers, "method": START}
    return [
        *(
            claim(
                f"{name}-{layers}",
                f"L = {layers}, {NAMES[way]}: at most {LEARNT:g} of what layer {layers} adds is left, in the median",
                left[way].median(),
                AtMost(LEARNT),
                paper="learnt",
                interval=MEDIAN,
            )
            for name, way in (("joining", TOGETHER), ("start", START))
        ),
        claim(
            f"same-{layers}",
            f"L = {layers}: both ways end alike: the difference of what is left of layer {layers}, seed by seed, is "
            f"clearly within {LEARNT:g}",
            left[START] - left[TOGETHER],
            Between(-LEARNT, LEARNT, "clearly"),
            paper="almost identical",
        ),
        claim(
            f"layerwise-{layers}",
            f"L = {layers}: layerwise training leaves more of layer {layers} than training from the start, by at least "
            f"{LEARNT:g}",
            left[LAYERWISE] - left[START],
            AtLeast(LEARNT),
            paper="worse",
        ),
        claim(
            f"order-{layers}",
            f"L = {layers}, from the start: S₃ is known clearly later than S₂ (steps between them)",
            of("known3", **from_start) - of("known2", **from_start),
            AtLeast(0.0, "clearly"),
            paper="later",
            nowhere="S₃ was known in no run",
        ),
    ]


def spec(s: PretrainingSettings, at: At) -> RunSpec:
    """One way of training, looked at often."""
    frozen, at_once = at.method == LAYERWISE, at.method == START
    return joining_spec(s, at, problem_at(s, at), s.times(at.layers), frozen, at_once)


def end(s: PretrainingSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The end of a run, and when the features of layers 2 and 3 were known."""
    return {
        "way": NAMES[at.method],
        **state_at(problem_at(s, at), outcome, s.ends(at.layers)[at.layers], at.layers),
        **{f"known{i}": known(outcome, f"features/distilled{i}") for i in (2, 3)},
    }


def known(outcome: Outcome, series: str) -> float:
    """The first recorded step from which on a feature error stays below what counts as known; none, if it ends above.

    Arguments:
        outcome: the run.
        series: the feature error's name.
    """
    if series not in outcome.series:
        return math.nan
    steps, errors = outcome.over(series)
    above = [i for i, error in enumerate(errors) if not error < KNOWN]
    first = above[-1] + 1 if above else 0
    return float(steps[first]) if first < len(steps) else math.nan


def course(s: PretrainingSettings, layers: int, picture: Drawn, rows: Rows) -> list[Curves]:
    """Feature errors of layers 2 and 3 over training, in both ways that train all layers."""
    lines = [
        line
        for way in (TOGETHER, START)
        for layer in (2, 3)
        for line in course_lines(
            rows,
            f"S{LOW[layer]} {NAMES[way]}",
            f"features/distilled{layer}",
            (layer - 2) * s.steps if way == TOGETHER else 0,
            layers=layers,
            method=way,
        )
    ]
    if not lines:
        return []
    return [
        Curves(
            **picture.words,
            lines=lines,
            x_label="training step",
            y_label="feature error, relative",
            y_scale="log",
            middle="median",
            events=[Event(label, step) for label, step in s.joins(layers).items() if step > 0],
        )
    ]
