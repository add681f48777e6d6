"""What ``overparam/coupling`` trains: Algorithm 1 at a width with two or three layers, and what is read of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between, not_empty, not_negative, rising
from beyondkernels.lab import At, Count, Counts, Seeds, Size, setting
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

TERMS = {
    2: {
        "flips": ("Lemma G.3 (1): the share of changed gates", -1 / 2),
        "gap": ("Lemma G.3 (2): |f − g|", -1 / 2),
        "gradient_gap": ("Lemma G.3 (3): the gap between the gradients of f and g", 1 / 2),
    },
    3: {
        "first_flips": ("Lemma 5.5: the share of the first layer's gates that changed", -2 / 5),
        "second_flips": ("Lemma 5.5: the share of the second layer's gates that changed", -1 / 3),
        "left_over": ("Lemma 5.8: what random signs leave over", -1 / 10),
    },
}
"""By layers and term: what it is, and the power of m that its right side has if neurons move by an order of 1/m."""


TINY = 1e-300  # where nothing changed at all a bound has all the room there is


@dataclass(frozen=True)
class CouplingSettings(Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = setting(10, "ours", "d")
    terms: Count = setting(4, "ours", "p of the ground truth, with φ = sin")
    output_std: Annotated[float, between(1e-9, 1)] = setting(0.3, "ours", "ε_a")
    widths: Counts = setting((256, 1024, 4096, 16_384, 65_536), "ours", "m of two layers")
    deep_widths: Counts = setting((64, 128, 256, 512, 1024, 2048), "ours", "m₁ = m₂ of three layers")
    rate: Size = setting(1.0, "ours", "η = rate/(m ε_a²); tried with seeds 100 and 101")
    steps: Annotated[Count, at_most(10**8)] = setting(5000, "ours", "T")
    samples: Count = setting(1000, "ours", "N")
    snapshots: Annotated[tuple[int, ...], not_negative, rising, not_empty] = setting(
        (0, 10, 30, 100, 300, 1000), "ours", "where everything is measured, beside the end"
    )
    points: Annotated[Count, at_most(10**6)] = setting(200, "ours", "fresh points at which terms are measured")
    test_samples: Count = setting(2000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a ground truth and a start of its own")

    def __post_init__(self) -> None:
        require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")

    @property
    def times(self) -> tuple[int, ...]:
        """The snapshots that the run reaches, and its end."""
        return (*(step for step in self.snapshots if step < self.steps), self.steps)

    def widths_of(self, layers: int) -> tuple[int, ...]:
        """The widths of networks with so many layers."""
        return self.widths if layers == 2 else self.deep_widths


def spec(s: CouplingSettings, at: At) -> RunSpec:
    """Algorithm 1 at a width; with three layers, both matrices move by the same rule."""
    from beyondkernels.algorithms.losses import PseudoHuber

    truth = bk.overparam.TwoLayerTruth(bk.overparam.UnitInputs(s.dim), "sin", s.terms, instance=at.seed)
    kind = bk.overparam.TwoLayerLearner if at.layers == 2 else bk.overparam.ThreeLayerLearner
    names = ("W", "buffers/b1", "buffers/a") + (("V", "buffers/b2") if at.layers == 3 else ())
    learner = bk.engine.TrainedNetwork(
        kind(at.width, s.output_std),
        bk.overparam.TwoLayerSGD(s.steps, rate_of(s, at), loss=PseudoHuber()),
        snapshot_at=s.times,
        snapshot_names=names,
    )
    measured = bk.overparam
    measurement = (
        measured.TwoLayerCoupling(s.points, loss=PseudoHuber())
        if at.layers == 2
        else measured.ThreeLayerCoupling(s.points)
    )
    return RunSpec(truth, learner, s.samples, s.test_samples, at.seed, (measurement,))


def rate_of(s: CouplingSettings, at: At) -> float:
    """The step size η, at which the outputs move at the same speed for every m and ε_a."""
    return s.rate / (at.width * s.output_std**2)


def row(s: CouplingSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """One run at its end, and the largest ratios along its way."""
    if outcome.status != "finished":
        return {}
    series = {name.removeprefix("coupling/"): values for name, values in outcome.series.items()}
    line: dict[str, Any] = {"test_loss": outcome.scalars["test_loss"]}
    line |= {name: float(series[name][-1]) for name in ("radius", "first_radius", "second_radius") if name in series}
    later = range(1, len(series["step"]))
    rights = {term: [float(each) for each in series[f"{term}_bound"]] for term in TERMS[at.layers]}
    if at.layers == 3:
        m = at.width
        radii = list(zip(series["first_radius"], series["second_radius"], strict=True))
        later = [i for i in later if radii[i][0] <= m**-0.5 and radii[i][1] <= 1]
        for i in later:  # shorter increments have the right sides of the least radii that the lemmas allow
            allowed = max(radii[i][0], m**-0.75), max(radii[i][1], m**-0.5)
            for term, right in bk.overparam.three_layer_bounds((m, m), allowed).items():
                rights[term][i] = right
        line |= {"range": line["first_radius"] * m**0.5, "inside": len(later), "snapshots": len(radii) - 1}
    for term, right in rights.items():
        line |= {term: float(series[term][-1]), f"{term}_bound": float(series[f"{term}_bound"][-1])}
        line[f"{term}_room"] = min((right[i] / max(series[f"{term}_max"][i], TINY) for i in later), default=None)
    return line
