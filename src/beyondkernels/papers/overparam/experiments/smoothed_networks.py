"""What ``overparam/landscape`` and ``overparam/smoothing`` train: Algorithm 2, looked at along its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, not_negative, positive, rising
from beyondkernels.lab import At, Count, Counts, Scale, Seeds, Size, scale, setting
from beyondkernels.store import RunSpec


@dataclass(frozen=True)
class SmoothedSettings(Checked):
    """The numbers of both experiments; the paper measures nothing, so all are ours."""

    dim: Annotated[int, at_least(2)] = setting(4, "ours", "d; chosen on truth and seed 100, as frequency and ridge")
    frequency: Size = setting(2.0, "ours", "c of F* = ± sin(c⟨w₁, x⟩) exp(⟨w₂, x⟩)")
    output_std: Annotated[float, between(1e-9, 1)] = setting(0.3, "ours", "ε_a")
    widths: Counts = setting((64, 128, 256, 512, 1024), "ours", "m₁ = m₂")
    smoothing: Size = setting(0.1, "ours", "σ_w = σ_v, in units of 1/√m")
    other_smoothing: Annotated[tuple[float, ...], positive, rising, not_empty] = setting(
        (0.01, 1.0), "ours", "the same, at the least width"
    )
    radius: Size = setting(100.0, "ours", "R of the penalties: λ_w = 2m/R⁴, λ_v = 2/R²")
    epsilon: Annotated[float, between(0, 1, "()")] = setting(0.1, "ours", "ε, for how often λ shrinks")
    rate: Size = setting(1.0, "ours", "the step size is rate/(m ε_a²)")
    steps: Annotated[Count, at_most(10**8)] = setting(300, "ours", "T")
    batch: Count = setting(10, "ours", "points in a step; the paper has one")
    samples: Count = setting(1000, "ours", "N")
    snapshots: Annotated[tuple[int, ...], not_negative, rising, not_empty] = setting(
        (0, 3, 10, 20, 30, 50, 100, 200), "ours", "where everything is measured"
    )
    rates: Annotated[tuple[float, ...], between(0, 1, "()"), rising, not_empty] = setting(
        (1e-4, 1e-3, 1e-2), "ours", "η of Lemma 5.3; its square root is the η of Lemma 5.7"
    )
    coupling_rates: Annotated[tuple[float, ...], positive, rising, not_empty] = setting(
        (0.1, 0.3, 1.0), "ours", "η of Lemma 5.7, where W″ and V″ have the powers of m of (40)"
    )
    points: Annotated[Count, at_most(10**6)] = setting(200, "ours", "at which everything is measured")
    draws: Annotated[int, at_least(2), at_most(10**6)] = setting(20, "ours", "of the noise and of ±Σ")
    fit_points: Annotated[Count, at_most(10**6)] = setting(3000, "ours", "from which W* and V* are made")
    ridge: Annotated[float, between(1e-12, 1e6)] = setting(1e-3, "ours", "of their regression")
    test_samples: Count = setting(1000, "ours")
    seeds: Seeds = setting(5, "ours", "0, 1, 2, …: each has a ground truth and a start of its own")

    def __post_init__(self) -> None:
        require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")
        require(
            self.snapshots[-1] < self.steps,
            f"snapshots must end before step {self.steps}, the last, got {self.snapshots[-1]}",
        )
        require(
            self.smoothing not in self.other_smoothing,
            f"other_smoothing must not hold smoothing, which is run anyway, got {self.smoothing:g} in both",
        )
        least = self.widths[0] * self.output_std**2
        require(
            self.rate < least, f"rate must be below {least:g}, so that λ shrinks by less than all, got {self.rate:g}"
        )


SCALES: Mapping[str, Scale] = {
    "laptop": scale(widths=(64, 128, 256, 512)),
    "smoke": scale(
        widths=(16, 32),
        steps=12,
        snapshots=(0, 3, 10),
        samples=50,
        points=10,
        draws=2,
        fit_points=50,
        test_samples=20,
        seeds=2,
    ),
}
"""The scales of both experiments, so that they share their runs."""

SECONDS: Mapping[str, float] = {"smoke": 0.2, "laptop": 18.0, "paper": 60.0}


def spec(s: SmoothedSettings, at: At) -> RunSpec:
    """Algorithm 2 at a width, with the smoothing noise of this place."""
    from beyondkernels.activations import Sine

    inputs, wave = bk.overparam.UnitInputs(s.dim), Sine(s.frequency)
    truth = bk.overparam.ThreeLayerTruth(inputs, "identity", wave, "exp", 1, 1, instance=at.seed)
    rate = s.rate / (at.width * s.output_std**2)
    settings = bk.overparam.practical(
        s.epsilon, at.width, rate=rate, steps=s.steps, smoothing=at.smoothing, radius=s.radius
    )
    learner = bk.engine.TrainedNetwork(
        bk.overparam.ThreeLayerLearner(at.width, s.output_std),
        bk.overparam.ThreeLayerSGD(settings, s.steps, rate, batch=s.batch),
        snapshot_at=s.snapshots,
        snapshot_names=("W", "V", "buffers/b1", "buffers/b2", "buffers/a"),
    )
    shared = {"points": s.points, "draws": s.draws, "fit_points": s.fit_points, "ridge": s.ridge}
    measured = bk.overparam
    measurements = (
        measured.SmoothedLandscape(rates=s.rates, **shared),
        measured.SmoothedCoupling(settings.smoothing, rates=s.coupling_rates, **shared),
    )
    return RunSpec(truth, learner, s.samples, s.test_samples, at.seed, measurements)
