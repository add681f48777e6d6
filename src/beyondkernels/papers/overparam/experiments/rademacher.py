"""Lemmas G.5 and 5.9: the Rademacher complexity of networks near the start, exactly, over width and sample size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from beyondkernels.lab import (
    AtLeast,
    AtMost,
    Between,
    Experiment,
    Over,
    Picture,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    Value,
    claim,
    least,
    of,
    scale,
)
from beyondkernels.papers.overparam.experiments.near_networks import RademacherSettings, row, spec
from beyondkernels.papers.overparam.paper import PAPER

SLOPE, SLACK = -0.5, 0.05
"""How the complexity falls with N, and by how much a fitted slope may differ from it, or pass 0 in m (ours)."""

OVER_WIDTH, OVER_SAMPLES = "width", "samples"
"""What a series of runs varies."""

LEMMAS = {2: ("G.5", "B", "the radius 1/m"), 3: ("5.9", "ε_a", "the radii m^(-3/4) and 1, without the start's part,")}
"""By layers: the lemma, what its Õ is read as, and the radii of the checks, with the powers of m of the proofs."""


class Rademacher(Experiment):
    """Exact complexities beside their bounds, and the gap of the loss beside both."""

    id: ClassVar[str] = "overparam/rademacher"
    reference = PAPER.at("Lemmas G.5 and 5.9")
    text_file: ClassVar[str] = "rademacher.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m", "samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 3.0, "paper": 40.0}
    settings_class: ClassVar[type] = RademacherSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            widths=(256, 1024, 4096),
            deep_widths=(64, 128, 256, 512),
            samples=(50, 100, 200, 500),
            width=256,
            deep_width=64,
            steps=2000,
            draws=60,
            test_samples=2000,
            seeds=5,
        ),
        "smoke": scale(
            "laptop",
            widths=(32, 128),
            deep_widths=(8, 16),
            samples=(20, 40),
            width=32,
            deep_width=8,
            fixed_samples=20,
            batch=5,
            steps=20,
            draws=5,
            test_samples=50,
            seeds=2,
        ),
    }

    def runs(self, s: RademacherSettings) -> list[Runs]:
        """Both depths over m, and over N."""
        found = []
        for layers, widths, width in ((2, s.widths, s.width), (3, s.deep_widths, s.deep_width)):
            depth = {"layers": [layers]}
            found += [
                Runs(spec, {**depth, "over": [OVER_WIDTH], "width": widths, "samples": [s.fixed_samples]}, row),
                Runs(spec, {**depth, "over": [OVER_SAMPLES], "width": [width], "samples": s.samples}, row),
            ]
        return found

    def claims(self, s: RademacherSettings) -> list[Statement]:
        """What the lemmas say of trained networks; then checks of the closed forms."""

        def slope(column: str, layers: int, axis: str = OVER_WIDTH) -> Value:
            return of(column, axis, over=axis, layers=layers).slope()

        def in_every_run(column: str, **where: Any) -> Value:
            return least(column, per_seed=False, **where)

        grows = f"does not grow with m: its slope, at most {SLACK:g}"
        made = [
            claim(
                "reached-2",
                f"Lemma G.5: at the radius that training reached, the complexity {grows}",
                slope("complexity", 2),
                AtMost(SLACK),
                paper="0 up to logarithms",
                beside=(
                    "the real network at the pseudo network's maximiser has the slope",
                    slope("real_complexity", 2),
                ),
            ),
            claim(
                "readout-2",
                f"Lemma G.5: divided by B = max|a|, which grows like √log m, the same complexity {grows}",
                slope("per_readout", 2),
                AtMost(SLACK),
                paper="0",
            ),
            claim(
                "reached-3",
                f"Lemma 5.9: at the radii that training reached, the complexity without the start's part {grows}",
                slope("increment_complexity", 3),
                AtMost(SLACK),
                paper="0 up to logarithms",
            ),
        ]
        made += [
            claim(
                f"gap-{layers}",
                f"In every run with {layers} layers, test loss minus training loss is at most twice the complexity: "
                "twice the complexity minus the gap, at the least",
                in_every_run("gap_room", layers=layers),
                AtLeast(0.0),
            )
            for layers in LEMMAS
        ]
        made.append(
            claim(
                "real",
                "Lemma G.5: in every run the real network at the pseudo network's maximiser is below the bound: bound "
                "over value, at the least",
                in_every_run("real_room", layers=2),
                AtLeast(1.0),
                paper="Õ(1)",
            )
        )
        for layers, (lemma, constant, radii) in LEMMAS.items():
            made += [
                claim(
                    f"bound-{layers}",
                    f"Check of Lemma {lemma}: in every run the complexity is below the bound with constant {constant}: "
                    "bound over complexity, at the least",
                    in_every_run("complexity_room", layers=layers),
                    AtLeast(1.0),
                    paper="Õ(1)",
                ),
                claim(
                    f"samples-{layers}",
                    f"Check of Lemma {lemma}: at {radii} the complexity falls like N^({SLOPE:g}), by its slope within "
                    f"{SLACK:g}",
                    slope("unit_complexity", layers, OVER_SAMPLES),
                    Between(SLOPE - SLACK, SLOPE + SLACK),
                    paper=SLOPE,
                ),
                claim(
                    f"width-{layers}",
                    f"Check of Lemma {lemma}: at {radii} the complexity does not depend on m, by its slope within "
                    f"{SLACK:g}",
                    slope("unit_complexity", layers),
                    Between(-SLACK, SLACK),
                    paper="0 up to logarithms",
                ),
            ]
        return made

    def table(self, s: RademacherSettings) -> Table:
        """A line for each depth, width and sample size."""
        return Table(
            {"layers": "Layers", "over": "Varies", "width": "m", "samples": "N"},
            [
                Shown("complexity", "Complexity", ".2e", about="Exact supremum, mean over drawn signs."),
                Shown("complexity_bound", "Bound", ".2e", about="The lemma's right side."),
                Shown("complexity_ratio", "Of bound", ".2g", about="Complexity over bound."),
                Shown("gap", "Loss gap", ".2e", about="Test loss minus training loss."),
                Shown("gap_ratio", "Of twice", ".1g", about="Loss gap over twice the complexity."),
                Shown("unit_complexity", "At fixed radii", ".2e", about="The complexity of which slopes are checked."),
                Shown("complexity_error", "Error", ".0e", about="The standard error of the draws in the complexity."),
                Shown("real_complexity", "Real", ".2e", about="The real network at the pseudo network's maximiser."),
                Shown("start_complexity", "Start", ".2e", about="What the start gives, in Lemma 5.9 alone."),
            ],
        )

    def figures(self, s: RademacherSettings) -> list[Picture]:
        """Complexities over width, and over the sample size."""

        def picture(axis: str, title: str, label: str) -> Over:
            columns = {"complexity": "complexity", "complexity_bound": "bound", "gap": "gap of the loss"}
            return Over(
                axis,
                title,
                "With the radii that training reached. Two layers: Lemma G.5; three layers: Lemma 5.9.",
                f"{title}: complexity, bound and gap of the loss for two and three layers",
                x=axis,
                y="complexity",
                line={
                    f"{layers} layers, {words}": {"layers": layers, "over": axis, "y": column}
                    for layers in (2, 3)
                    for column, words in columns.items()
                },
                x_label=label,
                y_label="complexity, gap of the loss",
                x_scale="log",
                y_scale="log",
            )

        return [
            picture(OVER_WIDTH, "Rademacher complexity over width", "width m"),
            picture(OVER_SAMPLES, "Rademacher complexity over the sample size", "samples N"),
        ]
