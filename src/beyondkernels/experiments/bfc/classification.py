"""Theorem 4 and §3.2: two classes, and what each layer adds to the accuracy."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import beyondkernels as bk
from beyondkernels.core import Reference, require
from beyondkernels.core.constraints import between
from beyondkernels.experiments.bfc import common
from beyondkernels.frame import (
    At,
    Count,
    Experiment,
    Over,
    Runs,
    Scale,
    Shown,
    Size,
    Sizes,
    Statement,
    Table,
    claim,
    of,
    scale,
    setting,
)
from beyondkernels.reports import AtMost, Between, Line
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.problems import Classified

LINEAR, TWO, THREE = "linear", "layer 2", "layers 2 and 3"

PROPORTIONAL = Between(0.8, 1.2)
"""The slopes that count as “proportional to α₃”."""

ORDER = 10.0
"""How many times larger or smaller a number “of order α₃” may be."""


@dataclass(frozen=True)
class ClassificationSettings(common.PlainSettings):
    """The numbers of the experiment."""

    alphas: common.Alphas = setting((1.0, 0.1), "ours", f"{common.ALPHAS}; others take the place of the last one")
    sizes: Sizes = setting((0.05, 0.1, 0.2, 0.4), "ours", "α₃")
    steps: common.Steps = setting((4000, 16_000), "ours", common.STEPS)
    samples: Count = setting(100_000, "ours", "N")
    target_error: Annotated[float, between(0, 1, "()")] = setting(
        5e-4, "ours", "ε in v = log(1/ε)/(100ε), the number in front of the prediction (footnote 47)"
    )
    accuracy: Size = setting(0.005, "ours", "ε of Theorem 4: the share of wrong labels that is allowed")
    linear_samples: Count = setting(5000, "ours", "points of the linear classifier")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.alphas) == 2, f"alphas must hold 2 numbers here, got {self.alphas}")
        require(len(self.sizes) > 1, f"sizes must hold at least two numbers, got {self.sizes}")

    @property
    def v(self) -> float:
        """The scale of the cross-entropy."""
        return math.log(1 / self.target_error) / (100 * self.target_error)


class Classification(Experiment):
    """Errors of networks with and without layer 3, over α₃."""

    id: ClassVar[str] = "bfc/classification"
    title: ClassVar[str] = "Theorem 4: what each layer adds to the accuracy"
    summary: ClassVar[str] = (
        "The label of a point (x₀, x) is the sign of x₀ + G*(x), where G* has two layers of squares. The paper says "
        "that α_ℓ is about the share of points that layer ℓ decides: the information gap means that hard points are "
        "few. Here the share that layer 3 decides is computed, and learnt: a network without layer 3 and one with it "
        "are trained with the cross-entropy of Theorem 4 at several α₃."
    )
    reference: ClassVar[Reference] = Reference("bfc", "§3.2, Theorem 4, App. H (footnote 47)")
    notes_file: ClassVar[str] = "classification.md"
    symbols: ClassVar[Mapping[str, str]] = {"alpha": "α₃"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 3.0, "paper": 20.0}
    numbers: ClassVar[type] = ClassificationSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(steps=(1000, 4000), samples=20_000, linear_samples=2000, test_samples=50_000, seeds=5),
        "smoke": scale(
            dim=4,
            sizes=(0.2, 0.4),
            steps=(10, 20),
            samples=200,
            batch=50,
            linear_samples=100,
            test_samples=500,
            seeds=2,
        ),
    }

    def runs(self, s: ClassificationSettings) -> list[Runs]:
        """Every learner at every α₃."""
        return [Runs(spec, {"method": [LINEAR, TWO, THREE], "alpha": s.sizes}, row)]

    def claims(self, s: ClassificationSettings) -> list[Statement]:
        """The computed and the learnt share of points that layer 3 decides, and the promise of Theorem 4."""
        exact = of("decided", "alpha", method=TWO)
        gained = of("test_error", "alpha", method=TWO) - of("test_error", "alpha", method=THREE)
        words = {
            "exact": ("The share of points that layer 3 of the target decides, computed,", exact),
            "learnt": ("The accuracy that a trained network gains by layer 3", gained),
        }
        about = "about α₃"
        return [
            *(
                claim(
                    f"{name}-slope",
                    f"{text} is proportional to α₃: the slope of its logarithm is between 0.8 and 1.2",
                    value.slope(),
                    PROPORTIONAL,
                    paper=about,
                )
                for name, (text, value) in words.items()
            ),
            *(
                claim(
                    f"{name}-order",
                    f"{text} is of order α₃: between α₃/{ORDER:g} and {ORDER:g}α₃ at every α₃ (its ratio to α₃)",
                    value / of("alpha_again", "alpha", method=TWO),
                    Between(1 / ORDER, ORDER),
                    paper=about,
                )
                for name, (text, value) in words.items()
            ),
            claim(
                "theorem4",
                f"At every α₃ the network with layer 3 errs on at most {100 * s.accuracy:g} % of the points (median)",
                of("test_error", "alpha", method=THREE).median(),
                AtMost(s.accuracy),
                paper="at most ε",
            ),
            claim(
                "needed",
                "At every α₃ the network with layer 3 errs on at most half as many points as the one without, in the "
                "median of the ratios, seed by seed",
                (of("test_error", "alpha", method=THREE) / of("test_error", "alpha", method=TWO)).median(),
                AtMost(0.5),
                paper="all layers are learnt",
            ),
        ]

    def table(self, s: ClassificationSettings) -> Table:
        """A line for each α₃ and learner."""
        return Table(
            {"alpha": "α₃", "method": "Learner"},
            [
                Shown("test_error", "Wrong", ".4f", about="The share of fresh points with a wrong label."),
                Shown("train_error", "Wrong, training", ".4f"),
                Shown(
                    "decided",
                    "Left out, computed",
                    ".4f",
                    about="The share of labels that change if the target loses the layers that the learner lacks.",
                ),
            ],
            order=("alpha",),
        )

    def figures(self, s: ClassificationSettings) -> list[Over]:
        """Shares of points over α₃."""
        return [
            Over(
                "error",
                "Wrong labels over α₃",
                "The share of wrong labels of a network without layer 3 and of one with it, beside the share of labels "
                "that layer 3 of the target decides. x₀ alone cannot do better than the linear classifier.",
                "The error without layer 3 and the exact share rise in proportion to α₃; with layer 3 the error is "
                "smaller and does not grow",
                x="alpha",
                y="test_error",
                line={
                    "linear classifier": {"method": LINEAR},
                    "network, layer 2 alone": {"method": TWO},
                    "network, layers 2 and 3": {"method": THREE},
                    "decided by layer 3, computed": {"method": TWO, "y": "decided"},
                },
                x_label="α₃",
                y_label="share of points",
                x_scale="log",
                y_scale="log",
                more=lambda _: [Line("α₃", list(s.sizes), list(s.sizes))],
            )
        ]


def target_alphas(s: ClassificationSettings, at: At) -> tuple[float, ...]:
    """α₂ and α₃ of a place."""
    return s.alphas[0], at.alpha


def problem_of(s: ClassificationSettings, at: At) -> Classified:
    """The labels of a seed's target."""
    return bk.problems.Classified(common.target_of(s.dim, target_alphas(s, at), at.seed))


def spec(s: ClassificationSettings, at: At) -> RunSpec:
    """The linear classifier on (x₀, x), or a network with one or two layers."""
    problem = problem_of(s, at)
    if at.method == LINEAR:
        linear = bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
        return RunSpec(problem, linear, s.linear_samples, s.test_samples, at.seed)
    layers = 1 if at.method == TWO else 2
    target = common.target_of(s.dim, target_alphas(s, at), at.seed)
    whole, std = common.network_of(s, target, leading=True), target.target_std.value
    alphas = tuple(alpha / std for alpha in whole.alphas[:layers])  # as those of the normalised target
    network = replace(whole, graph=whole.graph[:layers], widths=whole.widths[:layers], alphas=alphas)
    steps = (sum(s.steps),) if at.method == TWO else s.steps
    rule = common.rule_of(s, steps, s.samples, loss=bk.algorithms.CrossEntropy(s.v))
    return RunSpec(problem, bk.engine.TrainedNetwork(network, rule), s.samples, s.test_samples, at.seed)


def row(s: ClassificationSettings, at: At, outcome: Outcome) -> dict[str, Any]:
    """Shares of wrong labels, and what the layers decide that the learner lacks."""
    return {
        "test_error": 1 - outcome.scalars.get("test_accuracy", math.nan),
        "train_error": 1 - outcome.scalars.get("train_accuracy", math.nan),
        "decided": _decided(s.dim, target_alphas(s, at), at.seed).get({LINEAR: 2, TWO: 3}.get(at.method, 4), 0.0),
        "alpha_again": at.alpha,
    }


@functools.lru_cache(maxsize=256)
def _decided(dim: int, alphas: tuple[float, ...], seed: int) -> dict[int, float]:
    """By layer, the share of labels that change without it and all above."""
    found = bk.problems.Classified(common.target_of(dim, alphas, seed)).increments()
    return {layer: estimate.value for layer, estimate in found.items()}
