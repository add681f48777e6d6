"""§6: the convolutional learner on a ground truth whose weights are shared among patches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import require
from beyondkernels.core.constraints import at_most
from beyondkernels.lab import (
    At,
    AtMost,
    Count,
    Counts,
    Experiment,
    Over,
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
from beyondkernels.papers.overparam.experiments.two_layers import (
    SINE,
    TwoLayerSettings,
    algorithm1,
    constant_loss,
    function_of,
    loss,
    overparameterised,
    widest_over,
)
from beyondkernels.papers.overparam.paper import PAPER
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.overparam.problems import ConvolutionalTruth, Patches

SHARED, DENSE = "shared weights", "fully connected"

LEARNT = 0.1
"""A target counts as learnt when the test loss is at most this part of what the mean label leaves."""


@dataclass(frozen=True)
class ConvSettings(TwoLayerSettings):
    """The numbers of the experiment."""

    terms: Count = setting(2, "ours", "p, the channels of the ground truth")
    rows: Annotated[Count, at_most(1000)] = setting(8, "ours", "d, the rows of a point")
    row_dim: Count = setting(4, "ours", "s, the numbers in a row")
    patch: Count = setting(2, "ours", "neighbouring rows in a patch")
    rate: Size = setting(
        3.0, "ours", "η times m ε_a² and the sum of ‖x_S‖² over the patches; chosen on seeds and truths 100, 101"
    )
    steps: Annotated[Count, at_most(10**8)] = setting(10_000, "ours", "T, one point each")
    channels: Counts = setting((64, 256, 1024, 4096), "ours", "m of the learner with shared weights")
    samples: Count = setting(1000, "ours", "N while m varies")
    channel: Count = setting(256, "ours", "m of the learner with shared weights while N varies")
    width: Count = setting(1024, "ours", "m of the fully connected learner")
    sample_sizes: Counts = setting((250, 500, 1000, 2000, 4000), "ours", "N")

    def __post_init__(self) -> None:
        require(self.patch <= self.rows, f"patch must be at most rows = {self.rows}, got {self.patch}")
        require(len(self.channels) > 1, f"channels must hold at least two numbers, got {self.channels}")
        require(self.channel in self.channels, f"channel must be one of channels = {self.channels}, got {self.channel}")
        require(
            self.samples in self.sample_sizes,
            f"sample_sizes must hold samples = {self.samples}, got {self.sample_sizes}",
        )

    @property
    def growth(self) -> float:
        """How many times more channels the largest learner has than the smallest."""
        return self.channels[-1] / self.channels[0]

    @property
    def beyond(self) -> tuple[int, ...]:
        """The numbers of channels that are overparameterised."""
        return overparameterised(self.channels, self.patch * self.row_dim, self.samples)


class Conv(Experiment):
    """Test loss of learners with and without shared weights."""

    id: ClassVar[str] = "overparam/conv"
    reference = PAPER.at("§6")
    text_file: ClassVar[str] = "conv.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m", "samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 1.5, "paper": 3.0}
    settings_class: ClassVar[type] = ConvSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(channels=(16, 64, 256, 1024), sample_sizes=(250, 500, 1000, 2000), test_samples=5000, seeds=6),
        "smoke": scale(
            rows=4,
            row_dim=3,
            channels=(4, 16),
            channel=16,
            width=16,
            samples=40,
            sample_sizes=(20, 40),
            steps=50,
            test_samples=100,
            seeds=2,
        ),
    }

    def runs(self, s: ConvSettings) -> list[Runs]:
        """Shared weights at every m with one N, and at one m with every other N; fully connected at every N."""
        others = [n for n in s.sample_sizes if n != s.samples]
        return [
            Runs(spec, {"method": [SHARED], "width": s.channels, "samples": [s.samples]}, row),
            Runs(spec, {"method": [SHARED], "width": [s.channel], "samples": others}, row),
            Runs(spec, {"method": [DENSE], "width": [s.width], "samples": s.sample_sizes}, row),
        ]

    def claims(self, s: ConvSettings) -> list[Statement]:
        """No rise with the channels; ahead of the fully connected learner; learnt."""
        shared = {"method": SHARED, "samples": s.samples}
        first, last = (of("relative", width=m, **shared) for m in (s.channels[0], s.channels[-1]))
        return [
            claim(
                "flat",
                f"Channels that grow {s.growth:g}-fold do not raise the test loss beyond its interval: last over first",
                last / first,
                AtMost(1.0, "unless clearly not"),
                paper="as Theorem 4.1",
            ),
            claim(
                "flat-beyond",
                "The test loss of the learner with the most channels is not above that of any with fewer channels and "
                f"at least as many trained weights as samples, N = {s.samples}, beyond its interval: the ratio",
                widest_over("relative", s.beyond, **shared),
                AtMost(1.0, "unless clearly not"),
                paper="as Theorem 4.1",
                nowhere="no learner with fewer channels has as many trained weights as samples",
            ),
            claim(
                "ahead",
                f"At every N the learner with shared weights (m = {s.channel}) is clearly ahead of the fully connected "
                f"one (m = {s.width}): its test loss over the other's",
                of("relative", "samples", method=SHARED, width=s.channel)
                / of("relative", "samples", method=DENSE, width=s.width),
                AtMost(1.0, "clearly"),
            ),
            claim(
                "learnt",
                f"With {s.channels[-1]} channels and {s.samples} samples the test loss is at most {LEARNT:.0%} of what "
                "the mean label leaves",
                last,
                AtMost(LEARNT),
                paper="ε₀ + ε",
            ),
        ]

    def table(self, s: ConvSettings) -> Table:
        """A line for each learner, m and N."""
        return Table(
            {"method": "Learner", "width": "m", "samples": "N"},
            [
                Shown("relative", "Test loss", ".3f", about="Divided by what predicting the mean label leaves."),
                Shown("train_loss", "Training loss", ".2e"),
            ],
        )

    def figures(self, s: ConvSettings) -> list[Over]:
        """Test loss over N for both learners, and over the channels."""
        relative = "Test loss divided by what predicting the mean label leaves."
        lines = {SHARED: {"method": SHARED, "width": s.channel}, DENSE: {"method": DENSE, "width": s.width}}
        return [
            Over(
                "samples",
                "Test loss over the samples",
                f"{relative} Shared weights have m = {s.channel}, the fully connected learner m = {s.width}.",
                "Relative test loss over N with shared weights and fully connected",
                x="samples",
                y="relative",
                line=lines,
                x_label="N",
                y_label="test loss, relative",
                x_scale="log",
                y_scale="log",
            ),
            Over(
                "channels",
                "Test loss over the channels",
                f"{relative} N = {s.samples}.",
                "Relative test loss over the channels of the learner with shared weights",
                x="width",
                y="relative",
                line={SHARED: {"method": SHARED}},
                where={"samples": s.samples},
                x_label="m",
                y_label="test loss, relative",
                x_scale="log",
                y_scale="log",
            ),
        ]


def patches_of(s: ConvSettings) -> Patches:
    """All windows of neighbouring rows."""
    from beyondkernels.papers.overparam.problems import windows

    return windows(s.rows, s.patch)


def problem_of(s: ConvSettings, seed: int) -> ConvolutionalTruth:
    """The ground truth of a seed."""
    inputs = bk.overparam.UnitInputs(s.row_dim)
    return bk.overparam.ConvolutionalTruth(
        inputs, s.rows, patches_of(s), function_of(SINE), terms=s.terms, instance=seed
    )


def spec(s: ConvSettings, at: At) -> RunSpec:
    """One run. Patches have norm 1, and all rows together have the squared norm rows/patch."""
    if at.method == DENSE:
        learner = algorithm1(s, at.width, s.rate * s.patch / s.rows)
    else:
        patches = patches_of(s)
        rule = bk.overparam.TwoLayerSGD(s.steps, s.rate / (at.width * s.output_std**2 * len(patches)), loss=loss())
        learner = bk.engine.TrainedNetwork(bk.overparam.ConvolutionalLearner(at.width, patches, s.output_std), rule)
    return RunSpec(problem_of(s, at.seed), learner, at.samples, s.test_samples, at.seed)


def row(s: ConvSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """The test loss over that of the mean label."""
    found = outcome.scalars
    whole = constant_loss(problem_of(s, at.seed))
    return {
        "relative": found["test_loss"] / whole if "test_loss" in found else None,
        "train_loss": found.get("train_loss"),
    }
