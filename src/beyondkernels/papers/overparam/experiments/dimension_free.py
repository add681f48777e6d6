"""How many samples Algorithm 1 needs as the dimension of the inputs grows and the target stays."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, between
from beyondkernels.papers.overparam.experiments import two_layers
from beyondkernels.papers.overparam.experiments.common import Several, Steps, drawn, size
from beyondkernels.papers.overparam.paper import PAPER

LEARNT = 0.05  # a target counts as learnt when the test loss is at most this part of what the mean label leaves

FLAT = 0.25
"""The largest exponent of d that is claimed; the theorem has 0 for the bound, and a linear function of x needs 1."""


@dataclass(frozen=True)
class DimensionSettings(two_layers.TwoLayerSettings):
    steps: Steps = lab.setting(10_000, "ours", "T, one point each")
    dims: Several = lab.setting((16, 32, 64, 128, 256, 512, 1024), "ours", "d")
    relevant: Annotated[int, at_least(2)] = lab.setting(
        4, "ours", "coordinates that the target depends on; with one alone it would be constant"
    )
    share: Annotated[float, between(1e-3, 0.75, "[)")] = lab.setting(0.5, "ours", "their part of ‖x‖² = 1")
    width: lab.Count = lab.setting(256, "ours", "m")
    sample_sizes: Several = lab.setting(
        (64, 125, 250, 500, 1000, 2000, 4000), "ours", "N, wide enough for every target"
    )


class DimensionFree(lab.Experiment):
    id = "overparam/dimension-free"
    reference = PAPER.at("§4.1, Theorem 4.1: “our result is dimension free”")
    quantities = two_layers.LOSSES
    seconds_per_run = {"smoke": 0.1, "laptop": 0.7, "paper": 1.0}
    settings_class = DimensionSettings
    scales = {
        "laptop": lab.scale(dims=(16, 64, 256, 1024), test_samples=5000, seeds=6),
        "smoke": lab.scale(
            dims=(8, 16), relevant=2, width=32, sample_sizes=(20, 80), terms=2, steps=200, test_samples=100, seeds=2
        ),
    }

    def runs(self, s: DimensionSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"dim": s.dims, "samples": s.sample_sizes}, row)]

    def claims(self, s: DimensionSettings) -> list[lab.Statement]:
        (first, *_, last), most = s.dims, s.sample_sizes[-1]
        below, learnt = needed(last).largest(), lab.of("relative", "dim", samples=most)
        return [
            self.claim(s, "exponent", needed().slope(), lab.AtMost(FLAT), "no power of d", first=first, last=last),
            self.claim(s, "below-dim", below, lab.Below(1.0), "a number without d", last=last),
            self.claim(s, "learnt", learnt, lab.AtMost(LEARNT), "ε₀ + ε", most=most),
        ]

    def table(self, s: DimensionSettings) -> lab.Table:
        return lab.Table(["dim", "samples"], ["relative", "train_loss"])

    def figures(self, s: DimensionSettings) -> list[lab.Picture]:
        lines = {f"d = {d}": {"dim": d} for d in s.dims}
        return [
            lab.Drawn("needed", by=functools.partial(needed_curves, s)),
            lab.Over("loss", x="samples", y="relative", line=lines, levels={"learnt": LEARNT}),
        ]


def needed(over_dim: int | None = None) -> lab.Value:
    """The samples that suffice, for each d and seed; or for one d alone, divided by it."""

    def suffice(mine: lab.Rows) -> float:
        found = mine.sort_values("samples").astype(float)
        return bk.overparam.samples_that_suffice(list(found["samples"]), list(found["relative"]), LEARNT)

    def compute(rows: lab.Rows) -> lab.Series:
        mine = lab.select(rows, {} if over_dim is None else {"dim": over_dim})
        if mine.empty or "relative" not in mine:
            return lab.of("relative", "dim").compute(rows.iloc[:0])
        return mine.groupby(["dim", "seed"], sort=False)[["samples", "relative"]].apply(suffice) / (over_dim or 1)

    return lab.Value(compute, "dim", size("samples that suffice"), f"needed(over_dim={over_dim})")


def needed_curves(s: DimensionSettings, picture: lab.Drawn, rows: lab.Rows) -> list[lab.Curves]:
    series = needed().compute(rows)
    x, y = lab.by_seed(series.rename("needed").reset_index(), "dim", "needed") if len(series) else ([], [])
    if not x:
        return []
    counts = {"linear functions": list(s.dims), "degree 2": [math.comb(d + 2, 2) for d in s.dims]}
    lines = [lab.Line("Algorithm 1", x, y), *(lab.Line(label, list(s.dims), n) for label, n in counts.items())]
    return drawn(picture, lines, "d", "samples")


def problem_of(s: DimensionSettings, dim: int, seed: int) -> bk.overparam.TwoLayerTruth:
    """The ground truth of a seed; its values do not depend on the dimension."""
    inputs, wave = bk.overparam.SignalInputs(dim, s.relevant, s.share), two_layers.function_of(two_layers.SINE)
    return bk.overparam.TwoLayerTruth(inputs, wave, terms=s.terms, relevant=s.relevant, instance=seed)


def spec(s: DimensionSettings, at: lab.At) -> bk.store.RunSpec:
    problem = problem_of(s, at.dim, at.seed)
    return bk.store.RunSpec(problem, two_layers.algorithm1(s, s.width, s.rate), at.samples, s.test_samples, at.seed)


def row(s: DimensionSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, float | None]:
    """The test loss over that of the mean label, which is the same for every d."""
    return two_layers.relative_losses(problem_of(s, s.dims[0], at.seed), outcome)
