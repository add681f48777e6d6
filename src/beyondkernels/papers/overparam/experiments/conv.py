"""§6: the convolutional learner on a ground truth whose weights are shared among patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_most
from beyondkernels.papers.overparam.experiments import two_layers
from beyondkernels.papers.overparam.experiments.common import Several, Steps
from beyondkernels.papers.overparam.paper import PAPER

SHARED, DENSE = "shared weights", "fully connected"

LEARNT = 0.1  # a target counts as learnt when the test loss is at most this part of what the mean label leaves


@dataclass(frozen=True)
class ConvSettings(two_layers.TwoLayerSettings):
    terms: lab.Count = lab.setting(2, "ours", "p, the channels of the ground truth")
    rows: Annotated[lab.Count, at_most(1000)] = lab.setting(8, "ours", "d, the rows of a point")
    row_dim: lab.Count = lab.setting(4, "ours", "s, the numbers in a row")
    patch: lab.Count = lab.setting(2, "ours", "neighbouring rows in a patch")
    rate: lab.Size = lab.setting(
        3.0, "ours", "η times m ε_a² and the sum of ‖x_S‖² over the patches; chosen on seeds and truths 100, 101"
    )
    steps: Steps = lab.setting(10_000, "ours", "T, one point each")
    channels: Several = lab.setting((64, 256, 1024, 4096), "ours", "m of the learner with shared weights")
    samples: lab.Count = lab.setting(1000, "ours", "N while m varies")
    channel: lab.Count = lab.setting(256, "ours", "m of the learner with shared weights while N varies")
    width: lab.Count = lab.setting(1024, "ours", "m of the fully connected learner")
    sample_sizes: lab.Counts = lab.setting((250, 500, 1000, 2000, 4000), "ours", "N")

    def __post_init__(self) -> None:
        bk.core.require(self.patch <= self.rows, f"patch must be at most rows = {self.rows}, got {self.patch}")
        words = f"channel must be one of channels = {self.channels}, got {self.channel}"
        bk.core.require(self.channel in self.channels, words)
        words = f"sample_sizes must hold samples = {self.samples}, got {self.sample_sizes}"
        bk.core.require(self.samples in self.sample_sizes, words)

    @property
    def growth(self) -> float:
        return self.channels[-1] / self.channels[0]


class Conv(lab.Experiment):
    id = "overparam/conv"
    reference = PAPER.at("§6")
    quantities = {**two_layers.LOSSES, "method": lab.Quantity("learner")}
    seconds_per_run = {"smoke": 0.1, "laptop": 1.5, "paper": 3.0}
    seed_sets = lab.THREE_SETS
    settings_class = ConvSettings
    scales = {
        "laptop": lab.scale(**two_layers.LAPTOP, channels=(16, 64, 256, 1024), test_samples=5000),
        "smoke": lab.scale(**two_layers.SMOKE, rows=4, row_dim=3, channels=(4, 16), channel=16, width=16, steps=50),
    }

    def runs(self, s: ConvSettings) -> list[lab.Runs]:
        others = [n for n in s.sample_sizes if n != s.samples]
        return [
            lab.Runs(spec, {"method": [SHARED], "width": s.channels, "samples": [s.samples]}, row),
            lab.Runs(spec, {"method": [SHARED], "width": [s.channel], "samples": others}, row),
            lab.Runs(spec, {"method": [DENSE], "width": [s.width], "samples": s.sample_sizes}, row),
        ]

    def claims(self, s: ConvSettings) -> list[lab.Statement]:
        shared, most = {"method": SHARED, "samples": s.samples}, s.channels[-1]
        first, last = (lab.of("relative", width=m, **shared) for m in (s.channels[0], most))
        beyond = two_layers.overparameterised(s.channels, s.patch * s.row_dim, s.samples)
        widest = two_layers.widest_over("relative", beyond, **shared)
        by_samples = {SHARED: s.channel, DENSE: s.width}
        mine, theirs = (lab.of("relative", "samples", method=each, width=m) for each, m in by_samples.items())
        flat, same = lab.AtMost(1.0), "as Theorem 4.1"
        nowhere = "no learner with fewer channels has as many trained weights as samples"
        return [
            self.claim(s, "flat", last / first, flat, same),
            self.claim(s, "flat-beyond", widest, flat, same, nowhere=nowhere),
            self.claim(s, "ahead", mine / theirs, lab.Below(1.0)),
            self.claim(s, "learnt", last, lab.AtMost(LEARNT), "ε₀ + ε", most=most),
        ]

    def table(self, s: ConvSettings) -> lab.Table:
        return lab.Table(["method", "width", "samples"], ["relative", "train_loss"])

    def figures(self, s: ConvSettings) -> list[lab.Over]:
        lines = {SHARED: {"method": SHARED, "width": s.channel}, DENSE: {"method": DENSE, "width": s.width}}
        where = {"method": SHARED, "samples": s.samples}
        return [
            lab.Over("samples", x="samples", y="relative", line=lines),
            lab.Over("channels", x="width", y="relative", line="method", where=where),
        ]


def problem_of(s: ConvSettings, seed: int) -> bk.overparam.ConvolutionalTruth:
    inputs, patches = bk.overparam.UnitInputs(s.row_dim), bk.overparam.windows(s.rows, s.patch)
    wave = two_layers.function_of(two_layers.SINE)
    return bk.overparam.ConvolutionalTruth(inputs, s.rows, patches, wave, terms=s.terms, instance=seed)


def spec(s: ConvSettings, at: lab.At) -> bk.store.RunSpec:
    """One run. Patches have norm 1, and all rows together have the squared norm rows/patch."""
    problem = problem_of(s, at.seed)
    learner = two_layers.algorithm1(s, at.width, s.rate * s.patch / s.rows)
    if at.method == SHARED:
        rate = s.rate / (at.width * s.output_std**2 * len(problem.patches))
        network = bk.overparam.ConvolutionalLearner(at.width, problem.patches, s.output_std)
        learner = bk.engine.TrainedNetwork(network, bk.overparam.TwoLayerSGD(s.steps, rate, loss=two_layers.loss()))
    return bk.store.RunSpec(problem, learner, at.samples, s.test_samples, at.seed)


def row(s: ConvSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float | None]:
    return two_layers.relative_losses(problem_of(s, at.seed), outcome)
