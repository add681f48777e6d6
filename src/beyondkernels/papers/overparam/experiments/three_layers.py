"""What ``overparam/theorem43`` trains: Algorithm 2 at a width, with both objectives, and what is read of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between, not_negative
from beyondkernels.lab import At, Backend, Count, Counts, Seeds, Size, setting
from beyondkernels.papers.overparam.experiments.products import ONE, Frequency
from beyondkernels.papers.overparam.experiments.two_layers import constant_loss, loss
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.papers.overparam.problems import ThreeLayerTruth
    from beyondkernels.papers.overparam.theory import ThreeLayerSettings

PLAIN, SIGNED = "L1", "L2"
OBJECTIVES = (PLAIN, SIGNED)
"""The objective (13), and the objective (14) with random signs on the increments."""


@dataclass(frozen=True)
class Theorem43Settings(Checked):
    """The numbers of the experiment; the paper has none."""

    dim: Count = setting(6, "ours", "d")
    frequency: Frequency = setting(3.0, "ours", "c of both targets; chosen on truth and seed 100, with 101 beside it")
    inner_terms: Count = setting(2, "ours", "p₂ of the product of sums")
    samples: Count = setting(300, "ours", "N, small enough for a gap that can be seen")
    widths: Counts = setting((16, 32, 64, 128, 256, 512, 1024), "ours", "m₁ = m₂ = m")
    rate: Size = setting(8.0, "ours", "η m where m is large; chosen on truths and seeds 100 and 101")
    largest_rate: Annotated[float, between(0, 1, "()")] = setting(0.1, "ours", "η where m is small, chosen with rate")
    steps: Count = setting(8000, "ours", "T; chosen on truths and seeds 100 to 102")
    batch: Count = setting(50, "ours", "points in a step, which share their noise and signs; the paper has 1")
    first_radius: Size = setting(400.0, "ours", "τ'_w m^(3/4), which Lemma 5.3 keeps fixed; chosen with rate")
    second_radius: Size = setting(60.0, "ours", "τ_v, which Lemma 5.3 keeps fixed; chosen with rate")
    smoothing: Annotated[float, not_negative] = setting(0.05, "ours", "σ_v √m; Lemma 5.3 has (ε')^Θ(1)")
    gradient_noise: Annotated[float, not_negative] = setting(
        1.0, "ours", "σ_n m²; the paper says that this noise may not be necessary"
    )
    epsilon: Annotated[float, between(0, 1, "()")] = setting(0.1, "ours", "ε of the waiting time T_w")
    wait_constant: Size = setting(10.0, "ours", "the constant in the Θ of T_w")
    draws: Count = setting(10, "ours", "noise matrices that the output is chosen from; the paper has Θ(1/ε²)")
    test_samples: Count = setting(10_000, "ours")
    seeds: Seeds = setting(10, "ours", "0, 1, 2, …: each has ground truths of its own")
    backend: Backend = setting("eager", "ours", "compiled is faster for narrow networks, but not for the widest")

    def __post_init__(self) -> None:
        require(len(self.widths) > 1, f"widths must hold at least two numbers, got {self.widths}")
        require(self.steps > 1, f"steps must be at least 2, because norms are read before the last, got {self.steps}")

    @property
    def growth(self) -> float:
        """How many times wider the widest network is than the narrowest."""
        return self.widths[-1] / self.widths[0]


def rate_of(s: Theorem43Settings, width: int) -> float:
    """η."""
    return min(s.largest_rate, s.rate / width)


def settings_of(s: Theorem43Settings, width: int) -> ThreeLayerSettings:
    """The powers of m of Lemma 5.3, with our numbers in the place of its (ε')^Θ(1)."""
    return bk.overparam.ThreeLayerSettings(
        smoothing=(width**-0.99, s.smoothing * width**-0.5),
        gradient_noise=s.gradient_noise / width**2,
        penalties=(2 * width**3 / s.first_radius**4, 2 / s.second_radius**2),
        wait=bk.overparam.waiting_time(rate_of(s, width), s.steps, s.epsilon, constant=s.wait_constant),
        draws=s.draws,
    )


def problem_of(s: Theorem43Settings, target: str, seed: int) -> ThreeLayerTruth:
    """The ground truth of a seed."""
    wave, terms = bk.activations.Cosine(s.frequency), 1 if target == ONE else s.inner_terms
    inputs = bk.overparam.UnitInputs(s.dim)
    return bk.overparam.ThreeLayerTruth(inputs, "identity", wave, wave, outer_terms=1, inner_terms=terms, instance=seed)


def spec(s: Theorem43Settings, at: At) -> RunSpec:
    """One run; norms are recorded before the last step, because afterwards the noise matrix is part of the weights."""
    rule = bk.overparam.ThreeLayerSGD(
        settings_of(s, at.width), s.steps, rate_of(s, at.width), at.objective, s.batch, loss=loss()
    )
    network = bk.overparam.ThreeLayerLearner(at.width)
    learner = bk.engine.TrainedNetwork(network, rule, record_at=(s.steps - 1,), record_points=1, backend=s.backend)
    return RunSpec(problem_of(s, at.target, at.seed), learner, s.samples, s.test_samples, at.seed)


def row(s: Theorem43Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Losses over that of the mean label, the norms at the end beside their radii, and the bound on the gap."""
    radii = settings_of(s, at.width).radii
    run = f"{at.objective}, {at.target}, m = {at.width}"
    line: dict[str, Any] = {"run": run, "w_radius": radii[0], "v_radius": radii[1]}
    if outcome.status != "finished":
        return line
    found, whole = outcome.scalars, constant_loss(problem_of(s, at.target, at.seed))
    w, v = norms = float(outcome.series["rule/w_norm"][-1]), float(outcome.series["rule/v_norm"][-1])
    theory = bk.overparam
    signed = at.objective == SIGNED
    bound = (
        theory.three_layer_bound(s.samples, (at.width, at.width), norms)
        if signed
        else theory.spectral_bound(s.samples, at.width, norms)
    )
    line |= {"train": found["train_loss"] / whole, "test": found["test_loss"] / whole}
    line |= {"gap": line["test"] - line["train"], "w_norm": w, "v_norm": v, "bound": bound}
    return line | {
        "inside": max(w / radii[0], v / radii[1]),
        "scale": found["scale"],
        "chosen": found["chosen"],
    }
