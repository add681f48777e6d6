"""Lemmas G.3, 5.5 and 5.8 along real runs: few gates change, and the pseudo network stays close, over width."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import ClassVar

from beyondkernels.lab import (
    AtLeast,
    AtMost,
    Curves,
    Drawn,
    Experiment,
    Line,
    Over,
    Picture,
    Rows,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    least,
    of,
    scale,
    select,
)
from beyondkernels.papers.overparam.experiments.wide_networks import TERMS, CouplingSettings, row, spec
from beyondkernels.papers.overparam.paper import PAPER

WITHIN = {2: "at every snapshot", 3: "at every snapshot within the lemma's range of radii"}
"""Where a right side is asked to hold."""

SLACK = 0.1
"""By how much a fitted slope may exceed the power, because the lemmas leave logarithms open (ours)."""


class Coupling(Experiment):
    """Changed gates and |f − g| over width and over the distance from the start."""

    id: ClassVar[str] = "overparam/coupling"
    reference = PAPER.at("Lemmas G.3, 5.5 and 5.8")
    text_file: ClassVar[str] = "coupling.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 1.5, "paper": 20.0}
    settings_class: ClassVar[type] = CouplingSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            widths=(256, 1024, 4096, 16_384),
            deep_widths=(64, 128, 256, 512),
            steps=2000,
            points=100,
            test_samples=1000,
            seeds=5,
        ),
        "smoke": scale(
            "laptop", widths=(32, 128), deep_widths=(16, 32), steps=40, samples=100, points=20, test_samples=50, seeds=2
        ),
    }

    def runs(self, s: CouplingSettings) -> list[Runs]:
        """Networks of two and of three layers at every width."""
        return [Runs(spec, {"layers": [layers], "width": s.widths_of(layers)}, row) for layers in TERMS]

    def claims(self, s: CouplingSettings) -> list[Statement]:
        """The powers of m, and constants of 1 where the lemmas have Õ(1)."""
        made = []
        for layers, terms in TERMS.items():
            for term, (words, power) in terms.items():
                left = of(term, "width", layers=layers)
                name = term.replace("_", "-")
                made += [
                    claim(
                        f"{name}-power",
                        f"{words} is at most of the order m^({power:.2g}), by its slope at the end of the run, which "
                        f"may exceed that by {SLACK:g}",
                        left.slope(),
                        AtMost(power + SLACK),
                        paper=power,
                    ),
                    claim(
                        f"{name}-bound",
                        f"{words} keeps below its right side with constant 1 at every point and width, in every seed, "
                        f"{WITHIN[layers]}: the least ratio of right side to left side",
                        least(f"{term}_room", per_seed=False, layers=layers),
                        AtLeast(1.0),
                        paper="1/Õ(1)",
                    ),
                ]
        return [
            *made,
            claim(
                "radius-power",
                "Proof of Lemma G.3: the neuron of two layers that moves most moves by an order of 1/m at the end of "
                f"the run, up to logarithms, for which the slope may exceed −1 by {SLACK:g}",
                of("radius", "width", layers=2).slope(),
                AtMost(-1 + SLACK),
                paper=-1,
            ),
        ]

    def table(self, s: CouplingSettings) -> Table:
        """A line for each depth and width, at the end of the run."""
        of_term = []
        for terms in TERMS.values():
            for term, (words, _) in terms.items():
                name = term.replace("_", " ").capitalize()
                room = "Right side with constant 1 over left side: the least over points and snapshots in the range."
                of_term += [
                    Shown(term, name, ".1e", about=words),
                    Shown(
                        f"{term}_room",
                        f"{name}, room",
                        ".3g",
                        show=least_of(f"{term}_room"),
                        about="" if of_term else room,
                    ),
                ]
        return Table(
            {"layers": "Layers", "width": "m"},
            [
                Shown("test_loss", "Test loss", ".1e"),
                Shown("radius", "‖W′‖₂,∞", ".1e", about="Two layers: how far the neuron moved that moved most."),
                Shown("first_radius", "‖W′‖₂,₄", ".1e", about="Three layers."),
                Shown("second_radius", "‖V′‖_F", ".1e", about="Three layers."),
                Shown("range", "τ_w√m", ".1f", about="Lemmas 5.5 and 5.8 ask for at most 1."),
                Shown(
                    "inside", "Inside", ".1f", about="Snapshots, of those after the start, in the range of 5.5 and 5.8."
                ),
                *of_term,
            ],
        )

    def figures(self, s: CouplingSettings) -> list[Picture]:
        """Gates and gaps over width, and the gap over distance."""
        ending = "Means over points at the end of the run. Right sides have constant 1 and the radii that were reached."

        def over_width(name: str, title: str, y: str, lines: dict[str, tuple[int, str]]) -> Over:
            return Over(
                name,
                title,
                ending,
                f"{title}: {', '.join(lines)}",
                x="width",
                y="flips",
                line={label: {"layers": layers, "y": column} for label, (layers, column) in lines.items()},
                x_label="width m",
                y_label=y,
                x_scale="log",
                y_scale="log",
            )

        return [
            over_width(
                "flips",
                "Gates that training changes, over width",
                "share of a layer's gates",
                {
                    "two layers": (2, "flips"),
                    "right side of G.3": (2, "flips_bound"),
                    "three layers, first": (3, "first_flips"),
                    "right side of 5.5, first": (3, "first_flips_bound"),
                    "three layers, second": (3, "second_flips"),
                    "right side of 5.5, second": (3, "second_flips_bound"),
                },
            ),
            over_width(
                "gap",
                "Between the real and the pseudo network, over width",
                "difference of outputs",
                {
                    "two layers, |f − g|": (2, "gap"),
                    "right side of G.3": (2, "gap_bound"),
                    "three layers, left over": (3, "left_over"),
                    "right side of 5.8": (3, "left_over_bound"),
                },
            ),
            Drawn(
                "distance",
                "|f − g| over the distance from the start",
                "Two layers; a line for each width, along the run: at each snapshot the mean over seeds of the "
                "distance of the neuron that moved most, and of |f − g|. The right side of Lemma G.3 is proportional "
                "to the square of the distance.",
                "The gap between the networks against the largest distance of a neuron, one line for each width",
                lambda picture, rows: along_distance(s, picture, rows),
            ),
        ]


def least_of(column: str) -> Callable[[Rows], float]:
    """What a table shows of a column: the least over the runs; a run that diverged has none."""
    return lambda rows: rows[column].min() if column in rows else math.nan


def along_distance(s: CouplingSettings, picture: Drawn, rows: Rows) -> list[Curves]:
    """For each width the mean gap over the mean distance, from the first snapshot after the start on."""
    lines = []
    for width in s.widths:
        mine = select(rows, {"layers": 2, "width": width, "status": "finished"})
        runs = [outcome.series for outcome in mine["outcome"]] if len(mine) else []
        if runs:
            radii, gaps = ([run[f"coupling/{name}"][1:] for run in runs] for name in ("radius", "gap"))
            means = [statistics.fmean(each) for each in zip(*radii, strict=True)]
            lines.append(Line(f"m = {width}", means, gaps))
    if not lines:
        return []
    x_label, y_label = "distance ‖W_t‖₂,∞", "mean |f − g|"
    return [Curves(**picture.words, lines=lines, x_label=x_label, y_label=y_label, x_scale="log", y_scale="log")]
