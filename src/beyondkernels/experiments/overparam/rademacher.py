"""Lemmas G.5 and 5.9: the Rademacher complexity of networks near the start, exactly, over width and sample size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Checked, Reference
from beyondkernels.core.constraints import at_least, between
from beyondkernels.frame import (
    At,
    Count,
    Counts,
    Experiment,
    Over,
    Picture,
    Runs,
    Scale,
    Seeds,
    Shown,
    Size,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.reports import AtMost, Between
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

SLOPE, SLACK = -0.5, 0.05
"""How the complexity falls with N, and by how much a fitted slope may differ from it, or from 0 in m (ours)."""

OVER_WIDTH, OVER_SAMPLES = "width", "samples"
"""What a series of runs varies."""


@dataclass(frozen=True)
class RademacherSettings(Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = setting(10, "ours", "d")
    terms: Count = setting(4, "ours", "p of the ground truth, with φ = sin")
    output_std: Annotated[float, between(1e-9, 1)] = setting(0.3, "ours", "ε_a")
    widths: Counts = setting((256, 1024, 4096, 16_384), "ours", "m of two layers")
    deep_widths: Counts = setting((64, 128, 256, 512), "ours", "m₁ = m₂ of three layers")
    samples: Counts = setting((50, 100, 200, 500, 1000), "ours", "N")
    width: Count = setting(1024, "ours", "m of two layers where N varies")
    deep_width: Count = setting(128, "ours", "m₁ = m₂ of three layers where N varies")
    fixed_samples: Count = setting(200, "ours", "N where m varies")
    noise: Annotated[float, between(0, 1)] = setting(0.1, "ours", "label noise, so that there is something to overfit")
    rate: Size = setting(1.0, "ours", "η = rate/(m ε_a²), as in overparam/coupling")
    steps: Count = setting(5000, "ours", "T of Algorithm 1")
    draws: Annotated[int, at_least(2)] = setting(200, "ours", "of signs ξ")
    test_samples: Count = setting(5000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a ground truth, a start and a sample of its own")


class Rademacher(Experiment):
    """Exact complexities beside their bounds, and the gap of the loss beside both."""

    id: ClassVar[str] = "overparam/rademacher"
    title: ClassVar[str] = "How complex networks near the start are, over width"
    summary: ClassVar[str] = (
        "Theorem 4.1 asks for a number of samples that hardly depends on the width. Its proof bounds the Rademacher "
        "complexity of networks near the start by a number that hardly depends on the width either. With the gates of "
        "the start kept, the supremum in that complexity has a closed form, here for two and for three layers. It is "
        "computed for the radius that training reached, on the training sample, beside the lemmas' bounds and beside "
        "the difference of test loss and training loss."
    )
    reference: ClassVar[Reference] = Reference("overparam", "Lemmas G.5 and 5.9")
    notes_file: ClassVar[str] = "rademacher.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m", "samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 1.5, "paper": 10.0}
    numbers: ClassVar[type] = RademacherSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            widths=(256, 1024, 4096),
            deep_widths=(32, 64, 128),
            samples=(50, 100, 200, 500),
            width=256,
            deep_width=32,
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
            steps=20,
            draws=5,
            test_samples=50,
            seeds=2,
        ),
    }

    def runs(self, s: RademacherSettings) -> list[Runs]:
        """Algorithm 1 over m, and over N."""
        found = []
        for layers, widths, width in ((2, s.widths, s.width), (3, s.deep_widths, s.deep_width)):
            two = {"layers": [layers]}
            found += [
                Runs(spec, {**two, "over": [OVER_WIDTH], "width": widths, "samples": [s.fixed_samples]}, row),
                Runs(spec, {**two, "over": [OVER_SAMPLES], "width": [width], "samples": s.samples}, row),
            ]
        return found

    def claims(self, s: RademacherSettings) -> list[Statement]:
        """Bounds, powers of N, no growth with m, and the gap."""
        made = []
        for layers, lemma in ((2, "G.5"), (3, "5.9")):
            over = {"layers": layers}
            fixed = "at a radius of 1/m" if layers == 2 else "at the radii m^(-3/4) and m^(-1/2)"
            made += [
                claim(
                    f"bound-{axis}-{layers}",
                    f"Lemma {lemma}: the complexity is below its bound, with constant {'B' if layers == 2 else '1'}, "
                    f"at every {'m' if axis == OVER_WIDTH else 'N'}, by the ratio",
                    of("complexity_ratio", axis, over=axis, **over).largest(),
                    AtMost(1.0),
                    paper="Õ(1)",
                )
                for axis in (OVER_WIDTH, OVER_SAMPLES)
            ]
            made += [
                claim(
                    f"samples-{layers}",
                    f"Lemma {lemma}: {fixed} the complexity falls like N^({SLOPE:g}), by its slope within {SLACK:g}",
                    of("unit_complexity", "samples", over=OVER_SAMPLES, **over).slope(),
                    Between(SLOPE - SLACK, SLOPE + SLACK),
                    paper=SLOPE,
                ),
                claim(
                    f"width-{layers}",
                    f"Lemma {lemma}: {fixed} the complexity does not grow with m, by its slope, at most {SLACK:g}",
                    of("unit_complexity", "width", over=OVER_WIDTH, **over).slope(),
                    AtMost(SLACK),
                    paper="0 up to logarithms",
                ),
                claim(
                    f"gap-{layers}",
                    f"With {layers} layers, test loss minus training loss is at most twice the complexity at every N, "
                    "by the ratio",
                    of("gap_ratio", "samples", over=OVER_SAMPLES, **over).largest(),
                    AtMost(1.0),
                ),
            ]
        made.append(
            claim(
                "real",
                "Lemma G.5: at the pseudo network's maximiser the real network is below the bound as well at every m, "
                "by the ratio",
                of("real_ratio", "width", over=OVER_WIDTH, layers=2).largest(),
                AtMost(1.0),
                paper="Õ(1)",
            )
        )
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
                Shown("unit_complexity", "At fixed radii", ".2e", about="The complexity from which slopes are taken."),
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
                y_label="complexity",
                x_scale="log",
                y_scale="log",
            )

        return [
            picture(OVER_WIDTH, "Rademacher complexity over width", "width m"),
            picture(OVER_SAMPLES, "Rademacher complexity over the sample size", "samples N"),
        ]


def spec(s: RademacherSettings, at: At) -> RunSpec:
    """Algorithm 1, with the complexity measured at its end."""
    from beyondkernels.algorithms.losses import PseudoHuber

    truth = bk.problems.TwoLayerTruth(bk.problems.UnitInputs(s.dim), "sin", s.terms, noise=s.noise, instance=at.seed)
    kind = bk.networks.TwoLayerLearner if at.layers == 2 else bk.networks.ThreeLayerLearner
    names = ("W", "buffers/b1", "buffers/a") + (("V", "buffers/b2") if at.layers == 3 else ())
    rate = s.rate / (at.width * s.output_std**2)
    learner = bk.engine.TrainedNetwork(
        kind(at.width, s.output_std),
        bk.algorithms.TwoLayerSGD(s.steps, rate, objective=PseudoHuber()),
        snapshot_at=(0, s.steps),
        snapshot_names=names,
    )
    measurement = bk.measure.overparam.RademacherComplexity(s.draws)
    return RunSpec(truth, learner, at.samples, s.test_samples, at.seed, (measurement,))


def row(s: RademacherSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """All numbers, and what is compared."""
    if outcome.status != "finished":
        return {}
    found: dict[str, Any] = dict(outcome.scalars)
    found["gap"] = found["test_loss"] - found["train_loss"]
    size, bound = found["complexity"], found["complexity_bound"]  # zero where no gate is open
    found["gap_ratio"] = found["gap"] / (2 * size) if size else None
    found["complexity_ratio"] = size / bound if bound else None
    if at.layers == 2:
        found["real_ratio"] = found["real_complexity"] / bound if bound else None
    return found
