"""What ``overparam/rademacher`` trains, with increments in the lemmas' classes, and what is read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import at_least, at_most, between
from beyondkernels.lab import At, Backend, Count, Counts, Seeds, Size, setting
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.core import Outcome


@dataclass(frozen=True)
class RademacherSettings(Checked):
    """The numbers of the experiment; all are ours, because the paper measures nothing."""

    dim: Annotated[int, at_least(2)] = setting(10, "ours", "d")
    terms: Count = setting(4, "ours", "p of the ground truth, with φ = sin")
    output_std: Annotated[float, between(1e-9, 1)] = setting(0.3, "ours", "ε_a")
    widths: Counts = setting((256, 1024, 4096, 16_384), "ours", "m of two layers")
    deep_widths: Counts = setting((64, 128, 256, 512, 1024), "ours", "m₁ = m₂ of three layers")
    samples: Counts = setting((50, 100, 200, 500, 1000), "ours", "N")
    width: Count = setting(1024, "ours", "m of two layers where N varies")
    deep_width: Count = setting(128, "ours", "m₁ = m₂ of three layers where N varies")
    fixed_samples: Count = setting(200, "ours", "N where m varies")
    noise: Annotated[float, between(0, 1)] = setting(0.1, "ours", "label noise, so that there is something to overfit")
    rate: Size = setting(1.0, "ours", "η = rate/(m ε_a²) of Algorithm 1, as in overparam/coupling")
    signed_rate: Size = setting(3.0, "ours", "the same of Algorithm 2; tried with truth and seed 100")
    batch: Count = setting(20, "ours", "points in a step of Algorithm 2, which share their signs; the paper has 1")
    steps: Annotated[Count, at_most(10**8)] = setting(5000, "ours", "T of both")
    draws: Annotated[int, at_least(2), at_most(10**6)] = setting(200, "ours", "of signs ξ")
    test_samples: Count = setting(5000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has a ground truth, a start and a sample of its own")
    backend: Backend = setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        least = min(self.fixed_samples, *self.samples)
        require(self.batch <= least, f"batch must be at most the least number of samples, {least}, got {self.batch}")
        for name, widths in (("widths", self.widths), ("deep_widths", self.deep_widths)):
            require(len(widths) > 1, f"{name} must hold at least two numbers, got {widths}")


def spec(s: RademacherSettings, at: At) -> RunSpec:
    """Two layers by Algorithm 1, three by Algorithm 2 with random signs, with the complexity measured at the end."""
    truth = bk.overparam.TwoLayerTruth(bk.overparam.UnitInputs(s.dim), "sin", s.terms, noise=s.noise, instance=at.seed)
    kind = bk.overparam.TwoLayerLearner if at.layers == 2 else bk.overparam.ThreeLayerLearner
    names = ("W", "buffers/b1", "buffers/a") + (("V", "buffers/b2") if at.layers == 3 else ())
    learner = bk.engine.TrainedNetwork(
        kind(at.width, s.output_std),
        rule_of(s, at),
        snapshot_at=(0, s.steps),
        snapshot_names=names,
        backend=s.backend,
    )
    measurement = bk.overparam.RademacherComplexity(s.draws)
    return RunSpec(truth, learner, at.samples, s.test_samples, at.seed, (measurement,))


def rule_of(s: RademacherSettings, at: At) -> Algorithm:
    """Algorithm 1; or Algorithm 2 with L2 alone: no smoothing (W^ρ = V^ρ = 0), no penalties, λ = 1."""
    loss, size = bk.algorithms.PseudoHuber(), at.width * s.output_std**2
    if at.layers == 2:
        return bk.overparam.TwoLayerSGD(s.steps, s.rate / size, loss=loss)
    bare = bk.overparam.ThreeLayerSettings()
    return bk.overparam.ThreeLayerSGD(bare, s.steps, s.signed_rate / size, "L2", s.batch, loss)


def row(s: RademacherSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """All numbers, and what is compared."""
    if outcome.status != "finished":
        return {}
    found: dict[str, Any] = dict(outcome.scalars)
    bound, whole = found["complexity_bound"], found["complexity"]
    found["gap"] = found["test_loss"] - found["train_loss"]
    found["gap_ratio"] = _over(found["gap"], 2 * whole)
    found["gap_room"] = 2 * whole - found["gap"]
    found["complexity_ratio"], found["complexity_room"] = _over(whole, bound), _over(bound, whole)
    if at.layers == 2:
        real = found["real_complexity"]
        found["real_ratio"], found["real_room"] = _over(real, bound), _over(bound, real)
        found["increment_complexity"] = whole
        found["per_readout"] = _over(whole, found.get("largest_readout", 0.0))
    return found


def _over(above: float, below: float) -> float | None:
    """A ratio, where there is one: a network that has not moved has none."""
    return above / below if below else None
