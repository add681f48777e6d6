"""What is trained and measured: target, network, rule, and the exponents that the lemmas promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import beyondkernels as bk
from beyondkernels.core import require, require_between, require_positive
from beyondkernels.experiments.settings import setting
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.problems import SmoothComposite
    from beyondkernels.theory import ConceptSizes

OUTPUTS = 2
BASE_NORM = 1.0
"""B_F: F lies on a circle."""

LIPSCHITZ = 2.0
"""L_G in the unit ball: G(h) = √2·(h₁h₂, −h₁h₂), whose derivative has the norm 2‖h‖."""

_KEPT = ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")


@dataclass(frozen=True)
class CouplingSettings:
    """The numbers of the experiment; the defaults are those of its largest scale."""

    dim: int = setting(5, "ours", "d; inputs are uniform on the sphere")
    frequency: float = setting(2.0, "ours", "ω of F(x) = (sin ω⟨w, x⟩, cos ω⟨w, x⟩) with ‖w‖ = 1/√2")
    alpha: float = setting(
        0.1, "ours", "at 0.3, tried too, Claim C.6's right side is above the whole signal and says nothing"
    )
    widths: tuple[int, ...] = setting((100, 316, 1000, 3162, 10_000, 31_623, 100_000), "ours", "m, half-decades")
    fit_from: int = setting(
        1000, "ours", "slopes are fitted over the widths from here on: the lemmas speak of m beyond an unstated M"
    )
    first_power: float = setting(
        -5 / 16, "theorem", "σ_w = m to this power: the middle of what Table 1 leaves as m grows at a fixed τ_w"
    )
    second_power: float = setting(3 / 16, "theorem", "σ_v = m to this power: likewise, between m⁰ and m^(3/8)")
    steps: int = setting(100_000, "ours", "T, one fresh point a step, the same at all widths")
    first_rate: float = setting(0.05, "ours", "η_w; the theorem's Θ̃(min{1, δ})")
    second_rate: float = setting(
        0.005, "ours", "η_v; the theorem's own share of η_w, 0.0058 with constants 1, hardly moves V in so many steps"
    )
    snapshots: tuple[int, ...] = setting(
        (0, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000), "ours", "where everything is measured, beside the end"
    )
    points: int = setting(500, "ours", "fresh points at which terms are measured")
    witness_points: int = setting(150, "ours", "on which W* and V* are fitted")
    witness_ridge: float = setting(0.01, "ours", "of that fit, as a share of the Gram matrix's mean diagonal")
    test_samples: int = setting(5000, "ours")
    seeds: int = setting(10, "ours", "0, 1, 2, …: start and points of the training; all share the measured points")
    backend: Literal["compiled", "eager"] = setting(
        "compiled", "ours", "needs a C++ compiler; eager does without, more slowly"
    )

    def __post_init__(self) -> None:
        for name in (
            *("alpha", "steps", "first_rate", "second_rate"),
            *("points", "witness_points", "witness_ridge", "test_samples"),
        ):
            require_positive(name, getattr(self, name))
        require_between("frequency", self.frequency, 0, 5, "(]")  # beyond it the series of base_only_risk cancels
        require(self.dim >= 2, f"dim must be at least 2, got {self.dim}")
        # for a fixed τ_w ≥ 1 Table 1's m^(1/8) σ_w ≤ τ_w ≤ m^(1/8) σ_w^(1/4) leaves, for large m, only these powers
        require_between("first_power", self.first_power, -0.5, -0.125, "()")
        require_between("second_power", self.second_power, 0, 0.375, "()")
        for name in ("widths", "snapshots"):
            values = getattr(self, name)
            rising = len(values) > 0 and list(values) == sorted(set(values))
            require(rising, f"{name} must hold increasing numbers, each once, got {values}")
        require(self.widths[0] >= 2, f"widths must be at least 2, got {self.widths[0]}")
        wide = sum(width >= self.fit_from for width in self.widths)
        require(wide >= 2, f"fit_from must leave at least two widths to fit over, got {self.fit_from}")
        require(self.snapshots[0] == 0, f"snapshots must begin with 0, the start, got {self.snapshots[0]}")

    @property
    def times(self) -> tuple[int, ...]:
        """The snapshots that the run reaches, and its end."""
        return (*(step for step in self.snapshots if step < self.steps), self.steps)

    def stds(self, width: int) -> tuple[float, float]:
        """σ_w and σ_v at a width."""
        return width**self.first_power, width**self.second_power

    @property
    def exponents(self) -> dict[str, float]:
        r"""The powers of m that the right sides fall with, at fixed radii :math:`\tau_w, \tau_v`.

        Terms as the measurements call them; flips as shares of the width. The start's own share in the sums,
        :math:`\sqrt k \sigma_w` and :math:`\sqrt{k/m} \sigma_v`, falls faster for every power that Table 1 leaves.
        """
        a, b = self.first_power, self.second_power
        return {
            "first_flips": -2 * a / 3 - 1 / 3,
            "second_flips": -2 * b / 3,
            "first_vanishing": -a / 3 - 1 / 6,
            "second_vanishing": -b / 3,
            "second_matrix": -b / 3,
            "first_gates": -a / 3 - 1 / 6,
            "second_gates": -b / 3,
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


def power_of(exponent: float) -> str:
    """A power of m as it is written.

    >>> power_of(-1 / 16), power_of(0.25)
    ('m^(−1/16)', 'm^(1/4)')
    """
    return f"m^({Fraction(exponent).limit_denominator(1000)})".replace("-", "−")


def problem_of(settings: CouplingSettings) -> SmoothComposite:
    """A target of Concept 1: F on a circle, G the product of its two coordinates, ‖G(F)‖ at most one."""
    from beyondkernels.problems import resnet as maps

    root = math.sqrt(2)
    return bk.problems.SmoothComposite(
        maps.Sphere(settings.dim),
        maps.CircleMap(settings.dim, OUTPUTS, settings.frequency),
        maps.product_map(OUTPUTS, range(OUTPUTS), (root, -root)),
        settings.alpha,
    )


def spec_of(settings: CouplingSettings, width: int, seed: int) -> RunSpec:
    """Algorithm 1 at a width, with everything measured at the snapshots."""
    learner = bk.engine.TrainedNetwork(
        bk.networks.theorem_network(width, *settings.stds(width)),
        bk.algorithms.OnePass(settings.steps, settings.first_rate, settings.second_rate),
        snapshot_at=settings.times,
        snapshot_names=_KEPT,
        backend=settings.backend,
    )
    measurements = (
        bk.measure.Coupling(settings.points),
        bk.measure.Regret(settings.points, settings.witness_points, settings.witness_ridge),
    )
    return RunSpec(problem_of(settings), learner, settings.steps, settings.test_samples, seed, measurements)


def sizes_of(settings: CouplingSettings) -> ConceptSizes:
    """The target's sizes, with C* = 1."""
    return bk.theory.concept_complexity(problem_of(settings), star=1.0).sizes


def accuracy_of(sizes: ConceptSizes) -> float:
    r""":math:`\tilde\alpha = \alpha/(k p_F \mathfrak C_s(F) + k p_G \mathfrak C_s(G))` of Lemma C.2."""
    return sizes.alpha / (sizes.base_size + sizes.composite_size)
