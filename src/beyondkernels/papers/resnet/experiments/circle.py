"""What ``resnet/coupling`` trains: a target on a circle, Algorithm 1 at a width, and what is read of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.core.constraints import at_least, between, not_empty, not_negative, rising

OUTPUTS = 2

LIPSCHITZ = 2.0  # L_G in the unit ball: G(h) = √2·(h₁h₂, −h₁h₂), whose derivative has the norm 2‖h‖


@dataclass(frozen=True)
class CouplingSettings(bk.core.Checked):
    dim: Annotated[int, at_least(2)] = lab.setting(5, "ours", "d; inputs are uniform on the sphere")
    frequency: Annotated[float, between(0, 5, "(]")] = lab.setting(
        2.0, "ours", "ω of F(x) = (sin ω⟨w, x⟩, cos ω⟨w, x⟩) with ‖w‖ = 1/√2"
    )
    alpha: lab.Size = lab.setting(
        0.1, "ours", "at 0.3, tried too, Claim C.6's right side is above the whole signal and says nothing"
    )
    widths: Annotated[lab.Counts, at_least(2)] = lab.setting(
        (100, 316, 1000, 3162, 10_000, 31_623, 100_000), "ours", "m, half-decades"
    )
    fit_from: lab.Count = lab.setting(
        1000, "ours", "slopes are fitted over the widths from here on: the lemmas speak of m beyond an unstated M"
    )
    first_power: Annotated[float, between(-0.5, -0.125, "()")] = lab.setting(
        -5 / 16, "theorem", "σ_w = m to this power: the middle of what Table 1 leaves as m grows at a fixed τ_w"
    )
    second_power: Annotated[float, between(0, 0.375, "()")] = lab.setting(
        3 / 16, "theorem", "σ_v = m to this power: likewise, between m⁰ and m^(3/8)"
    )
    steps: lab.Count = lab.setting(100_000, "ours", "T, one fresh point a step, the same at all widths")
    first_rate: lab.Size = lab.setting(0.05, "ours", "η_w; the theorem's Θ̃(min{1, δ})")
    second_rate: lab.Size = lab.setting(
        0.005, "ours", "η_v; the theorem's own share of η_w, 0.0058 with constants 1, hardly moves V in so many steps"
    )
    snapshots: Annotated[tuple[int, ...], not_negative, rising, not_empty] = lab.setting(
        (0, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000), "ours", "where everything is measured, beside the end"
    )
    points: lab.Count = lab.setting(500, "ours", "fresh points at which terms are measured")
    witness_points: lab.Count = lab.setting(150, "ours", "on which W* and V* are fitted")
    witness_ridge: lab.Size = lab.setting(0.01, "ours", "of that fit, as a share of the Gram matrix's mean diagonal")
    test_samples: lab.Count = lab.setting(5000, "ours")
    seeds: lab.Count = lab.setting(
        10, "ours", "0, 1, 2, …: start and points of the training; all share the measured points"
    )
    backend: lab.Backend = lab.setting("compiled", "ours", "needs a C++ compiler; eager does without, more slowly")

    def __post_init__(self) -> None:
        two = len(self.wide) >= 2
        bk.core.require(two, f"fit_from must leave at least two widths to fit over, got {self.fit_from}")
        bk.core.require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")

    @property
    def times(self) -> tuple[int, ...]:
        return (*(step for step in self.snapshots if step < self.steps), self.steps)

    @property
    def wide(self) -> tuple[int, ...]:
        """The widths over which slopes are fitted."""
        return tuple(width for width in self.widths if width >= self.fit_from)

    def stds(self, width: int) -> tuple[float, float]:
        """σ_w and σ_v at a width."""
        return width**self.first_power, width**self.second_power

    @property
    def exponents(self) -> dict[str, float]:
        r"""The powers of m that the right sides fall with, at fixed radii :math:`\tau_w, \tau_v`.

        Terms as the measurements call them; flips as shares of the width. The start's own share in the sums,
        :math:`\sqrt k \sigma_w` and :math:`\sqrt{k/m} \sigma_v`, falls faster for every power that Table 1 leaves.
        """
        first, second = -self.first_power / 3 - 1 / 6, -self.second_power / 3
        return {
            "first_flips": 2 * first,
            "second_flips": 2 * second,
            **dict.fromkeys(("first_vanishing", "first_gates"), first),
            **dict.fromkeys(("second_vanishing", "second_matrix", "second_gates"), second),
        }

    @property
    def base_only_risk(self) -> float:
        r"""The risk of F alone, :math:`\alpha^2 E \sin^2(2\omega\langle w, x\rangle)`, known without the problem.

        On the sphere :math:`E \cos(s x_1) = \sum_j \frac{(-s^2/4)^j}{j!\,(d/2)(d/2+1)\cdots(d/2+j-1)}`.
        """
        quarter, terms = 2 * self.frequency**2, [1.0]  # s²/4 with s = 4ω/√2
        while abs(terms[-1]) > 1e-18 or len(terms) <= quarter:
            j = len(terms)
            terms.append(-terms[-1] * quarter / (j * (self.dim / 2 + j - 1)))
        return self.alpha**2 * (1 - math.fsum(terms)) / 2


def problem_of(s: CouplingSettings) -> bk.resnet.SmoothComposite:
    """A target of Concept 1: F on a circle, G the product of its two coordinates, ‖G(F)‖ at most one."""
    root = math.sqrt(2)
    return bk.resnet.SmoothComposite(
        bk.data.Sphere(s.dim),
        bk.data.CircleMap(s.dim, OUTPUTS, s.frequency),
        bk.resnet.product_map(OUTPUTS, range(OUTPUTS), (root, -root)),
        s.alpha,
    )


def sizes_of(s: CouplingSettings) -> bk.resnet.ConceptSizes:
    """The target's sizes, with C* = 1."""
    return bk.resnet.concept_complexity(problem_of(s), star=1.0).sizes


def spec(s: CouplingSettings, at: lab.At) -> bk.store.RunSpec:
    learner = bk.engine.TrainedNetwork(
        bk.networks.theorem_network(at.width, *s.stds(at.width)),
        bk.algorithms.OnePass(s.steps, s.first_rate, s.second_rate),
        snapshot_at=s.times,
        snapshot_names=bk.resnet.ResNetWeights.NAMES,
        backend=s.backend,
    )
    measurements = bk.resnet.Coupling(s.points), bk.resnet.Regret(s.points, s.witness_points, s.witness_ridge)
    return bk.store.RunSpec(problem_of(s), learner, s.steps, s.test_samples, at.seed, measurements)


def row(s: CouplingSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    line: dict[str, Any] = dict(zip(("first_std", "second_std"), s.stds(at.width), strict=True))
    if outcome.status != "finished":
        return line
    line |= {"test_error": outcome.scalars["test_loss"], **bk.resnet.terms_at(outcome, s.steps)}
    line |= bk.resnet.error_along(outcome, s.alpha, LIPSCHITZ, base_norm=1.0, accuracy=sizes_of(s).accuracy)
    return line | bk.resnet.regret_along(outcome, s.first_rate, s.second_rate)
