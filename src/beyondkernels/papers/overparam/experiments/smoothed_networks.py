"""What ``overparam/landscape`` and ``overparam/smoothing`` train: Algorithm 2, looked at along its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, positive, rising
from beyondkernels.papers.overparam.experiments.common import Open, Points, Std, Steps, Times

Rising = Annotated[tuple[float, ...], positive, rising, not_empty]


@dataclass(frozen=True)
class SmoothedSettings(bk.core.Checked):
    """The numbers of both experiments; the paper measures nothing, so all are ours."""

    dim: Annotated[int, at_least(2)] = lab.setting(4, "ours", "d; chosen on truth and seed 100, as frequency and ridge")
    frequency: lab.Size = lab.setting(2.0, "ours", "c of F* = ± sin(c⟨w₁, x⟩) exp(⟨w₂, x⟩)")
    output_std: Std = lab.setting(0.3, "ours", "ε_a")
    widths: lab.Counts = lab.setting((64, 128, 256, 512, 1024), "ours", "m₁ = m₂")
    smoothing: lab.Size = lab.setting(0.1, "ours", "σ_w = σ_v, in units of 1/√m")
    other_smoothing: Rising = lab.setting((0.01, 1.0), "ours", "the same, at the least width")
    radius: lab.Size = lab.setting(100.0, "ours", "R of the penalties: λ_w = 2m/R⁴, λ_v = 2/R²")
    epsilon: Open = lab.setting(0.1, "ours", "ε, for how often λ shrinks")
    rate: lab.Size = lab.setting(1.0, "ours", "the step size is rate/(m ε_a²)")
    steps: Steps = lab.setting(300, "ours", "T")
    batch: lab.Count = lab.setting(10, "ours", "points in a step; the paper has one")
    samples: lab.Count = lab.setting(1000, "ours", "N")
    snapshots: Times = lab.setting((0, 3, 10, 20, 30, 50, 100, 200), "ours", "where everything is measured")
    rates: Annotated[tuple[float, ...], between(0, 1, "()"), rising, not_empty] = lab.setting(
        (1e-4, 1e-3, 1e-2), "ours", "η of Lemma 5.3; its square root is the η of Lemma 5.7"
    )
    coupling_rates: Rising = lab.setting(
        (0.1, 0.3, 1.0), "ours", "η of Lemma 5.7, where W″ and V″ have the powers of m of (40)"
    )
    points: Annotated[lab.Count, at_most(10**6)] = lab.setting(200, "ours", "at which everything is measured")
    draws: Points = lab.setting(20, "ours", "of the noise and of ±Σ")
    fit_points: Annotated[lab.Count, at_most(10**6)] = lab.setting(3000, "ours", "from which W* and V* are made")
    ridge: Annotated[float, between(1e-12, 1e6)] = lab.setting(1e-3, "ours", "of their regression")
    test_samples: lab.Count = lab.setting(1000, "ours")
    seeds: lab.Seeds = lab.setting(5, "ours", "0, 1, 2, …: each has a ground truth and a start of its own")

    def __post_init__(self) -> None:
        bk.core.require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")
        last, rate, least = self.snapshots[-1], self.rate, self.widths[0] * self.output_std**2
        bk.core.require(last < self.steps, f"snapshots must end before step {self.steps}, the last, got {last}")
        words = f"other_smoothing must not hold smoothing, which is run anyway, got {self.smoothing:g} in both"
        bk.core.require(self.smoothing not in self.other_smoothing, words)
        bk.core.require(rate < least, f"rate must be below {least:g}, so that λ shrinks by less than all, got {rate:g}")

    @property
    def least_rate(self) -> float:
        return self.rates[0]

    @property
    def largest_width(self) -> int:
        return self.widths[-1]


FEW: dict[str, Any] = {"samples": 50, "points": 10, "draws": 2, "fit_points": 50, "test_samples": 20}
"""How little is drawn at the scale of a moment."""

SCALES: Mapping[str, lab.Scale] = {
    "laptop": lab.scale(widths=(64, 128, 256, 512)),
    "smoke": lab.scale(**FEW, widths=(16, 32), steps=12, snapshots=(0, 3, 10), seeds=2),
}
"""The scales of both experiments, so that they share their runs."""

SECONDS: Mapping[str, float] = {"smoke": 0.2, "laptop": 18.0, "paper": 60.0}


def spec(s: SmoothedSettings, at: lab.At) -> bk.store.RunSpec:
    inputs, wave = bk.overparam.UnitInputs(s.dim), bk.activations.Sine(s.frequency)
    truth = bk.overparam.ThreeLayerTruth(inputs, "identity", wave, "exp", 1, 1, instance=at.seed)
    rate, noise = s.rate / (at.width * s.output_std**2), {"smoothing": at.smoothing, "radius": s.radius}
    settings = bk.overparam.practical(s.epsilon, at.width, rate=rate, steps=s.steps, **noise)
    learner = bk.engine.TrainedNetwork(
        bk.overparam.ThreeLayerLearner(at.width, s.output_std),
        bk.overparam.ThreeLayerSGD(settings, s.steps, rate, batch=s.batch),
        snapshot_at=s.snapshots,
        snapshot_names=("W", "V", "buffers/b1", "buffers/b2", "buffers/a"),
    )
    shared = {"points": s.points, "draws": s.draws, "fit_points": s.fit_points, "ridge": s.ridge}
    measurements = (
        bk.overparam.SmoothedLandscape(rates=s.rates, **shared),
        bk.overparam.SmoothedCoupling(settings.smoothing, rates=s.coupling_rates, **shared),
    )
    return bk.store.RunSpec(truth, learner, s.samples, s.test_samples, at.seed, measurements)
