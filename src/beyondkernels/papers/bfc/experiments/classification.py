"""Theorem 4 and §3.2: two classes, and what each layer adds to the accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from beyondkernels.lab import (
    AtMost,
    Drawn,
    Experiment,
    Over,
    Picture,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    of,
    scale,
)
from beyondkernels.papers.bfc.experiments.classified import (
    LITERAL,
    NETWORKS,
    PAPER_CONSTANT,
    PRACTICAL,
    ClassificationSettings,
    halvings,
    row,
    spec,
)
from beyondkernels.papers.bfc.experiments.increments import increments, orders, proportions, wrong
from beyondkernels.papers.bfc.paper import PAPER

FEWER = 0.5
"""The part of the wrong labels that may remain when a layer is added."""

LEAST = "the cross-entropy of G* itself over ε₀/2 at the last ε₀, which can halve only where this is below 1"

UPPER = (3, 4)
"""The layers whose α varies."""


class Classification(Experiment):
    """Errors of networks with more and more layers, over α; and Algorithm 1 with cross-entropy."""

    id: ClassVar[str] = "bfc/classification"
    reference = PAPER.at("§3.2, Theorem 4, App. H (footnote 47)")
    text_file: ClassVar[str] = "classification.md"
    symbols: ClassVar[Mapping[str, str]] = {"size": "α₃"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 5.0, "paper": 60.0}
    settings_class: ClassVar[type] = ClassificationSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            dim=6,
            sizes=(0.1, 0.2, 0.4),
            steps=(1000, 2000, 5000),
            samples=200_000,
            algorithm_samples=50_000,
            linear_samples=2000,
            test_samples=100_000,
            width=20,
            stage_steps=2000,
            last_steps=4000,
            check_every=100,
            seeds=5,
        ),
        "smoke": scale(
            "laptop",
            dim=4,
            sizes=(0.2, 0.4),
            steps=(10, 10, 20),
            samples=200,
            algorithm_samples=200,
            batch=50,
            linear_samples=1000,
            test_samples=500,
            width=6,
            stage_steps=5,
            last_steps=5,
            draws=3,
            check_every=5,
            seeds=2,
        ),
    }

    def runs(self, s: ClassificationSettings) -> list[Runs]:
        """Every learner at every α, and Algorithm 1 at one."""
        return [
            Runs(spec, {"method": list(NETWORKS.values()), "size": s.sizes}, row),
            Runs(spec, {"method": [PRACTICAL, LITERAL], "size": [s.algorithm_size]}, row),
        ]

    def claims(self, s: ClassificationSettings) -> list[Statement]:
        """What each layer decides, computed and learnt, and the promise of Theorem 4."""
        allowed = f"{100 * s.accuracy:g} %"
        return [
            *(each for layer in UPPER for each in proportions(layer)),
            *(each for layer in (2, *UPPER) for each in orders(layer)),
            claim(
                "theorem4",
                f"At every α₃ the network with all layers errs on at most {allowed} of the points (median)",
                of("test_error", "size", method=NETWORKS[4]).median(),
                AtMost(s.accuracy),
                paper="at most ε",
            ),
            *(
                claim(
                    f"needed-{layer}",
                    f"At every α₃ the network with layer {layer} errs on at most {FEWER:g} times as many points as the "
                    "one without, in the median of the ratios, seed by seed",
                    (wrong(layer) / wrong(layer - 1)).median(),
                    AtMost(FEWER),
                    paper="all layers are learnt",
                )
                for layer in UPPER
            ),
            *(
                claim(
                    name,
                    f"Algorithm 1 with v = log(1/ε₀)/({constant:g}ε₀) errs on at most {allowed} of the points (median)",
                    of("test_error", method=method).median(),
                    AtMost(s.accuracy),
                    paper="at most ε",
                    beside=(f"{LEAST}:", of("least", method=method)),
                )
                for name, method, constant in (
                    ("algorithm", PRACTICAL, s.constant),
                    ("algorithm-literal", LITERAL, PAPER_CONSTANT),
                )
            ),
        ]

    def table(self, s: ClassificationSettings) -> Table:
        """A line for each α₃ and learner."""
        top = "of the highest layer that the learner has"
        return Table(
            {"size": "α₃", "method": "Learner"},
            [
                Shown("test_error", "Wrong", ".4f", about="The share of fresh points with a wrong label."),
                Shown("train_error", "Wrong, training", ".4f"),
                Shown("alpha", "α", ".3f", about=f"The standard deviation of what a layer adds to G*, {top}."),
                Shown("typical", "Typical", ".3f", about=f"The median of what a layer adds to G*, {top}."),
                Shown(
                    "decided",
                    "Decided, computed",
                    ".4f",
                    about=f"The share of labels that change if the target loses a layer and all above it, {top}.",
                ),
                Shown("ranks", "Ranks found", show="first", about="k₂, k₃, … as Algorithm 1 finds them, seed 0."),
                Shown("target_error", "ε₀", ".1e", about="Algorithm 1's target error at its end."),
                Shown("least", "Least objective", ".2f", about=f"This is {LEAST}."),
            ],
            order=("size",),
        )

    def figures(self, s: ClassificationSettings) -> list[Picture]:
        """Shares of points over α, and the target error of Algorithm 1."""
        methods = {**NETWORKS, 5: PRACTICAL, 6: LITERAL}
        return [
            Drawn(
                "increments",
                "What layers 3 and 4 add to the accuracy",
                "Computed: the share of labels that change if the target loses the layer and those above it. Learnt: "
                "the accuracy that a network gains by the layer, where it gains any. α is before G* is divided by its "
                "deviation. Median over seeds.",
                "Shares of points over α of the layer, for layers 3 and 4, computed and learnt, beside the line where "
                "the share is α",
                lambda picture, rows: increments(picture, rows, s.sizes),
            ),
            Over(
                "error",
                "Wrong labels over α₃",
                "The share of wrong labels of every learner.",
                "The share of wrong labels over α₃: a line for each number of layers, and Algorithm 1 at one α₃",
                x="size",
                y="test_error",
                line={name: {"method": name} for name in methods.values()},
                x_label="α₃",
                y_label="share of wrong labels",
                x_scale="log",
                y_scale="log",
                levels={"allowed": s.accuracy},
            ),
            Drawn(
                "halving",
                "Algorithm 1: the objective and the target error ε₀",
                "Seed 0. ε₀ halves when the objective is below ε₀/2, and then v = log(1/ε₀)/(cε₀) grows: the same "
                "network has a larger objective.",
                "The objective of Algorithm 1 and ε₀ over training, with the paper's c and with ours",
                halvings,
            ),
        ]
