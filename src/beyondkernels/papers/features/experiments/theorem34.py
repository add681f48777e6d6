"""Theorem 34: how much incoherence, noise and imbalance the network bears."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments.cases import Odd, Part
from beyondkernels.papers.features.experiments.tables import ACCURACIES, accuracies
from beyondkernels.papers.features.paper import PAPER

EQUAL, RANDOM, NOISE, ALL = "equal angles", "random directions", "noise", "all at once"
KINDS = {
    EQUAL: "patterns whose inner products are all µ/√d",
    RANDOM: "random directions, pushed apart until µ holds",
    NOISE: "orthonormal patterns and noise",
    ALL: "inner products µ/√d, noise, and unequal classes, all at once",
}
PROOF = 1 / 16  # the constant that the proof has in its condition on µ, Dµ/√d ≤ 1/16; ours for the noise
LEARNT = 99.0


@dataclass(frozen=True)
class Theorem34Settings(bk.core.Checked):
    dim: lab.Count = lab.setting(500, "ours", "Table 1's")
    patterns: lab.Count = lab.setting(100, "ours", "Table 1's")
    relevant: Odd = lab.setting(5, "ours", "Table 1's")
    ratio: Part = lab.setting(0.8, "ours", "share of class −1 in 'all at once': Table 4's")
    shares: lab.Sizes = lab.setting(
        (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0), "ours", "of µ ≤ √d/D and of σ_ζ ≤ min(1/σ̃, σ̃/√d)"
    )
    pairs: lab.Count = lab.setting(300, "ours", "Table 1's; the theorem asks for m ≥ d")
    samples: lab.Count = lab.setting(50_000, "ours", "Table 1's")
    steps: lab.Count = lab.setting(600, "ours", "Table 1's")
    batch: lab.Count = lab.setting(1000, "ours", "Table 1's; from step 3 on")
    readout_rate: lab.Size = lab.setting(200.0, "ours", "Table 1's; here looked at on instance 100 alone")
    test_samples: lab.Count = lab.setting(10_000, "ours")
    seeds: lab.Seeds = lab.setting(5, "ours", "each with its own dictionary and relevant set")

    def __post_init__(self) -> None:
        bk.core.require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        first, last = self.shares[0], self.shares[-1]
        bk.core.require(last < self.patterns, f"shares must be below patterns ({self.patterns}), got {last}")
        bk.core.require(first <= PROOF, f"shares must begin at 1/16 or below, where claims speak, got {first}")


class Theorem34(lab.Experiment):
    id = "features/theorem34"
    reference = PAPER.at("App. F, Theorem 34")
    quantities = {
        **ACCURACIES,
        "kind": lab.Quantity("data"),
        "share": lab.Quantity("share of the condition", log=True, heading="Share"),
        "mu": lab.Quantity("µ", ".3f", about="The largest inner product of two patterns, times √d."),
        "noise_std": lab.Quantity("σ_ζ", ".3f", lab.NON_NEGATIVE),
    }
    seconds_per_run = {"smoke": 0.2, "laptop": 2.5, "paper": 15.0}
    settings_class = Theorem34Settings
    scales = {
        "laptop": lab.scale(dim=100, patterns=50, samples=10_000, batch=500, test_samples=4000, seeds=3),
        "smoke": lab.scale(
            "laptop", dim=24, patterns=12, shares=(1 / 16, 2.0), pairs=10, samples=300, steps=20, batch=50, seeds=2
        ),
    }

    def runs(self, s: Theorem34Settings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"kind": list(KINDS), "share": s.shares}, row)]

    def claims(self, s: Theorem34Settings) -> list[lab.Statement]:
        values = [
            (kind, lab.of("test_accuracy", "share", kind=kind, share=lambda share: share <= PROOF)) for kind in KINDS
        ]
        return [
            self.claim(s, kind.replace(" ", "-"), value, lab.AtLeast(LEARNT), "any ε", "learns", words=KINDS[kind])
            for kind, value in values
        ]

    def table(self, s: Theorem34Settings) -> lab.Table:
        given = (lab.Shown(name, show="first") for name in ("mu", "noise_std"))
        return lab.Table(["kind", "share"], [*given, "train_accuracy", "test_accuracy"])

    def figures(self, s: Theorem34Settings) -> list[lab.Picture]:
        clean = problem_of(s, lab.At(kind=NOISE, share=0.0, seed=0))
        return [
            lab.Over(
                "accuracy",
                x="share",
                y="test_accuracy",
                line="kind",
                y_limits=(50.0, 107.0),
                levels={"best linear": 100 * (clean.linear_accuracy or 0.5)},
                events={"the proof's constant": PROOF, "constant one": 1.0},
            )
        ]

    def remarks(self, s: Theorem34Settings) -> list[str]:
        process = process_of(s, lab.At(kind=ALL, share=s.shares[0], seed=0))
        listed = "; ".join(str(found) for found in process.hypotheses)
        return [f"Theorem 34 for data with all at once, at the smallest share, constants one, δ = ε = 0.1: {listed}."]


def problem_of(s: Theorem34Settings, at: lab.At) -> bk.features.DictionaryProblem:
    """Parity with overlapping patterns, noise or unequal classes, each at a share of the theorem's condition."""
    ratio = s.ratio if at.kind == ALL else None
    clean = bk.features.DictionaryParity(s.dim, s.patterns, s.relevant, negative_ratio=ratio, instance=at.seed)
    if at.kind != NOISE:
        dictionary = bk.features.Incoherent if at.kind == RANDOM else bk.features.Equiangular
        clean = replace(clean, dictionary=dictionary(at.share * math.sqrt(s.dim) / s.patterns))
    if at.kind in (NOISE, ALL):
        return replace(clean, noise_std=bk.core.settled(bk.features.noise_at(at.share, clean.moments.variance, s.dim)))
    return clean


def process_of(s: Theorem34Settings, at: lab.At) -> Any:
    """Theorem 34's numbers, the readout with a rate of its own."""
    network = bk.networks.TwoLayer(s.pairs)
    return bk.features.theorem34(problem_of(s, at), network, steps=s.steps, batch=s.batch, readout_rate=s.readout_rate)


def spec(s: Theorem34Settings, at: lab.At) -> bk.store.RunSpec:
    """The Network of Table 1 under Theorem 34's settings."""
    rule = bk.algorithms.FeatureLearning(process_of(s, at))
    learner = bk.engine.TrainedNetwork(bk.networks.TwoLayer(s.pairs), rule)
    return bk.store.RunSpec(problem_of(s, at), learner, s.samples, s.test_samples, at.seed)


def row(s: Theorem34Settings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    problem = problem_of(s, at)
    return {**accuracies(outcome), "mu": problem.dictionary.incoherence, "noise_std": problem.noise_std}
