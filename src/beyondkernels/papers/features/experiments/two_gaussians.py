"""A mixture of two Gaussians, the paper's example of a dictionary with a single pattern."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
from beyondkernels.papers.features.experiments.tables import ACCURACIES, accuracies, percent
from beyondkernels.papers.features.paper import PAPER

PROOF = 1 / 16  # the constant of the condition on the noise at which claims speak, as in features/theorem34
LEARNT, CLOSE = 99.0, 1.0
NETWORK, BAYES = "Network", "best classifier"


@dataclass(frozen=True)
class TwoGaussiansSettings(bk.core.Checked):
    dim: lab.Count = lab.setting(100, "ours")
    shares: lab.Sizes = lab.setting((1 / 16, 1 / 4, 1 / 2, 1.0, 2.0), "ours", "of the condition on σ_ζ")
    pairs: lab.Count = lab.setting(100, "ours", "m; the theorem asks for m ≥ d")
    samples: lab.Count = lab.setting(10_000, "ours")
    batch: lab.Count = lab.setting(500, "ours", "from step 3 on")
    readout_rate: lab.Size = lab.setting(
        1.0,
        "ours",
        "at step 3, falling to zero; beside the theorem's tried on instances and seeds 100 and 101",
    )
    test_samples: lab.Count = lab.setting(10_000, "ours")
    seeds: lab.Seeds = lab.setting(5, "ours", "each with its own direction v")

    def __post_init__(self) -> None:
        bk.core.require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        first = self.shares[0]
        bk.core.require(first <= PROOF, f"shares must begin at 1/16 or below, where claims speak, got {first}")

    @property
    def noise(self) -> float:
        r"""The largest σ with σ ≤ 1/σ̃, where σ̃² = 1/4 + dσ²; the condition σ ≤ σ̃/√d then holds too."""
        return math.sqrt((math.sqrt(1 / 16 + 4 * self.dim) - 1 / 4) / (2 * self.dim))


class TwoGaussians(lab.Experiment):
    id = "features/two-gaussians"
    reference = PAPER.at("App. F.1, Example; Theorem 34")
    quantities = {
        **ACCURACIES,
        "share": lab.Quantity("share of the condition", log=True, heading="Share"),
        "noise_std": lab.Quantity("σ_ζ", ".3f", lab.NON_NEGATIVE),
        "bayes": percent(BAYES),
        "cosine": lab.Quantity("largest |cos| with v after step two", ".4f", lab.SHARE, heading="|cos|"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 2.0, "paper": 2.0}
    settings_class = TwoGaussiansSettings
    seed_sets = {"laptop": (0, 500, 1000)}
    scales = {
        "laptop": lab.scale(seeds=3),
        "smoke": lab.scale(dim=8, shares=(1 / 16, 1.0), pairs=8, samples=200, batch=50, test_samples=200, seeds=2),
    }

    def runs(self, s: TwoGaussiansSettings) -> list[lab.Runs]:
        return [lab.Runs(spec, {"share": s.shares}, row)]

    def claims(self, s: TwoGaussiansSettings) -> list[lab.Statement]:
        accuracy, bayes, cosine = (lab.of(column, "share") for column in ("test_accuracy", "bayes", "cosine"))
        least = lab.of("test_accuracy", "share", share=lambda share: share <= PROOF)
        return [
            self.claim(s, "learns", least, lab.AtLeast(LEARNT), "any ε"),
            self.claim(s, "aligned", cosine, lab.AtLeast(0.99)),
            self.claim(s, "bayes", accuracy - bayes, lab.AtLeast(-CLOSE)),
        ]

    def table(self, s: TwoGaussiansSettings) -> lab.Table:
        given = (lab.Shown(name, show="first") for name in ("noise_std", "bayes"))
        return lab.Table(["share"], [*given, "train_accuracy", "test_accuracy", "cosine"])

    def figures(self, s: TwoGaussiansSettings) -> list[lab.Picture]:
        lines = {NETWORK: {"y": "test_accuracy"}, BAYES: {"y": "bayes"}}
        events = {"where claims speak": PROOF, "constant one": 1.0}
        return [lab.Over("accuracy", x="share", y="test_accuracy", line=lines, events=events)]


def problem_of(s: TwoGaussiansSettings, at: lab.At) -> bk.features.DictionaryProblem:
    return bk.features.two_gaussians(s.dim, at.share * s.noise, instance=at.seed)


def spec(s: TwoGaussiansSettings, at: lab.At) -> bk.store.RunSpec:
    """The network under Theorem 34's settings, the readout with a rate of its own."""
    problem, network = problem_of(s, at), bk.networks.TwoLayer(s.pairs)
    rule = bk.algorithms.FeatureLearning(
        bk.features.theorem34(problem, network, batch=s.batch, readout_rate=s.readout_rate)
    )
    learner = bk.engine.TrainedNetwork(network, rule, snapshot_at=(2,), snapshot_names=("hidden.weight",))
    return bk.store.RunSpec(problem, learner, s.samples, s.test_samples, at.seed, (bk.measure.Alignment(),))


def row(s: TwoGaussiansSettings, at: lab.At, outcome: bk.core.Outcome) -> dict[str, Any]:
    problem = problem_of(s, at)
    best = problem.linear_accuracy  # by symmetry the best of all classifiers is linear
    return {
        **accuracies(outcome),
        "noise_std": problem.noise_std,
        "bayes": None if best is None else 100 * best,
        "cosine": outcome.at("alignment/cosine_either", 2, None),
    }
