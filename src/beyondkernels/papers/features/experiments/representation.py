"""The experiment of Figure 15: its settings, what is trained in it, and what is read off."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import beyondkernels as bk
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between
from beyondkernels.lab import At, Count, Size, setting
from beyondkernels.papers.features.experiments.tables import accuracies, record_steps
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import ProcessSettings
    from beyondkernels.core import Learner, Outcome
    from beyondkernels.papers.features.problems import RepresentationLabels

NETWORK = "Network"
METHODS = (NETWORK, "Constant")
MOMENTS = {0: "at initialisation", 1: "after step one", 2: "after step two"}


@dataclass(frozen=True)
class Fig15Settings(Checked):
    """The numbers of App. E.3.1; the defaults are the paper's."""

    dim: Count = setting(500, "paper")
    patterns: Count = setting(250, "paper")
    relevant: Count = setting(50, "paper")
    per_label: Count = setting(50, "paper", "binary vectors of each label")
    background: Annotated[float, between(0, 1)] = setting(0.5, "paper")
    pairs: Count = setting(300, "ours", "m as in Table 1; not stated in the paper for this figure")
    samples: Count = setting(50_000, "paper", "App. E.1")
    steps: Count = setting(200, "ours", "not stated in the paper for this figure, which shows two")
    batch: Count = setting(1000, "paper", "App. E.1; the first two steps take the whole sample")
    seeds: Count = setting(5, "paper", "each with its own dictionary, relevant set and vectors; 0, 1, 2, …")
    test_samples: Count = setting(10_000, "ours", "not stated in the paper")
    readout_rate: Size = setting(
        0.2,
        "ours",
        "the readout's rate at step 3, falling linearly to zero; all else by Theorem 26's formulas. Table 1's 200 is "
        "too large here. Of 0.2, 2, 20 and 200 the one with the highest training accuracy on other data (instance "
        "and seed 100)",
    )

    def __post_init__(self) -> None:
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        require(self.steps >= 2, f"steps must be at least 2, the steps that the figure shows, got {self.steps}")
        require(
            2 * self.per_label <= self.samples,
            f"samples must be at least the number of vectors, {2 * self.per_label}, got {self.samples}",
        )

    @property
    def later_rate(self) -> float:
        """Theorem 26's rate of the hidden layer for t > 2."""
        return self.relevant**2 / (self.steps * self.pairs ** (1 / 3))


@functools.cache
def problem_of(s: Fig15Settings, seed: int) -> RepresentationLabels:
    """The data of a seed."""
    return bk.features.RepresentationLabels(s.dim, s.patterns, s.relevant, s.per_label, s.background, instance=seed)


def expected_cosine(s: Fig15Settings, seed: int) -> float:
    """The cosine of the mean of yx over the training sample with its expectation g, |g|/√E|mean|², by its moments.

    The inputs have E|x|² = 1, so E|mean|² = |g|² + (1 − |g|²)/n.
    """
    exact = problem_of(s, seed).moments
    g = float(exact.correlations.square().sum()) / exact.variance
    return math.sqrt(g / (g + (1 - g) / s.samples))


@functools.cache
def process_of(s: Fig15Settings, seed: int) -> ProcessSettings:
    """Theorem 26's formulas, with a rate of its own for the readout."""
    return bk.features.as_theorem26(
        problem_of(s, seed),
        bk.networks.TwoLayer(pairs=s.pairs),
        steps=s.steps,
        batch=s.batch,
        readout_rate=s.readout_rate,
    )


def spec(s: Fig15Settings, at: At) -> RunSpec:
    """The run of a method with a seed."""
    measured: tuple[Any, ...] = (bk.measure.Alignment(), bk.measure.Directions()) if at.method == NETWORK else ()
    return RunSpec(problem_of(s, at.seed), learner_of(s, at), s.samples, s.test_samples, at.seed, measured)


def learner_of(s: Fig15Settings, at: At) -> Learner:
    """What learns."""
    if at.method == "Constant":
        return bk.kernels.ConstantClassifier()
    return bk.engine.TrainedNetwork(
        bk.networks.TwoLayer(pairs=s.pairs),
        bk.algorithms.FeatureLearning(process_of(s, at.seed)),
        record_at=record_steps(s.steps),
        snapshot_at=tuple(MOMENTS),
        snapshot_names=("hidden.weight",),
    )


def row(s: Fig15Settings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Accuracies in percent, and how close the neurons are to the direction that joins the class means."""
    problem = problem_of(s, at.seed)
    best = problem.linear_accuracy
    found: dict[str, Any] = {
        **accuracies(outcome),
        "along_means": 100 * problem.direction_accuracy,
        "best_linear": None if best is None else 100 * best,
    }
    for step in MOMENTS:
        cosines = outcome.at("alignment/cosines", step, None)
        found[f"together_{step}"] = None if cosines is None else float(abs(cosines).mean())
    return found
