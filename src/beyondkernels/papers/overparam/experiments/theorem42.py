"""§4.2: products of nonlinear measurements, learnt by three layers, by two layers and by their kernels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import ClassVar

from beyondkernels.lab import AtMost, Experiment, Over, Runs, Scale, Shown, Statement, Table, claim, of, scale
from beyondkernels.papers.overparam.experiments.products import (
    FIRST,
    KERNEL_THREE,
    KERNEL_TWO,
    METHODS,
    ONE,
    SECOND,
    SUMS,
    TARGETS,
    THREE,
    TWO,
    Theorem42Settings,
    row,
    spec,
)
from beyondkernels.papers.overparam.paper import PAPER

SHORT = {"one": ONE, "sums": SUMS}
"""The targets by the beginning of their claims' names, and by their figures' names."""

DEEP = {"": THREE, "l1-": FIRST, "l2-": SECOND}
"""The ways to train three layers, by what their claims' names have in the middle."""

AHEAD = 10
"""How many times smaller the test error of three layers is to be."""

LEARNT = 0.05
"""A target is learnt when the test error is at most this part of its variance."""


class Theorem42(Experiment):
    """Test error of networks and kernels on products of nonlinear measurements."""

    id: ClassVar[str] = "overparam/theorem42"
    reference = PAPER.at("§4.2, Theorem 4.2, eq. (19)")
    text_file: ClassVar[str] = "theorem42.md"
    symbols: ClassVar[Mapping[str, str]] = {"samples": "N"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 20.0, "paper": 60.0}
    settings_class: ClassVar[type] = Theorem42Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            sample_sizes=(3000, 6000),
            two_layer_width=2000,
            two_layer_steps=80_000,
            sgd_steps=20_000,
            sgd_gradient_noise=0.0,
            test_samples=5000,
            seeds=3,
        ),
        "smoke": scale(
            sample_sizes=(30, 60),
            width=16,
            sums_width=16,
            two_layer_width=32,
            steps=30,
            two_layer_steps=30,
            sgd_width=16,
            sgd_steps=30,
            batch=10,
            test_samples=100,
            seeds=2,
        ),
    }

    def runs(self, s: Theorem42Settings) -> list[Runs]:
        """Every method on every target with every N."""
        return [Runs(spec, {"target": list(TARGETS), "method": list(METHODS), "samples": s.sample_sizes}, row)]

    def claims(self, s: Theorem42Settings) -> list[Statement]:
        """For each target and way to train three layers: that they learn it, and are ahead of all others."""
        others = {"two-layers": TWO, "kernel-three": KERNEL_THREE, "kernel-two": KERNEL_TWO}
        made = []
        for (short, target), (infix, deep) in itertools.product(SHORT.items(), DEEP.items()):
            left = of("relative", target=target, method=deep, samples=s.most)
            made.append(
                claim(
                    f"{short}-{infix}learnt",
                    f"On the {target}, “{deep}” leaves at most {LEARNT:.0%} of the variance with {s.most} points",
                    left,
                    AtMost(LEARNT),
                    paper="(1 + γ)ε₀ + ε",
                )
            )
            for name, method in others.items():
                made.append(
                    claim(
                        f"{short}-{infix}{name}",
                        f"On the {target}, “{deep}” has at most 1/{AHEAD} of the test error of “{method}” with "
                        f"{s.most} points",
                        left / of("relative", target=target, method=method, samples=s.most),
                        AtMost(1 / AHEAD),
                        paper="unclear if two layers can" if method == TWO else None,
                    )
                )
        return made

    def table(self, s: Theorem42Settings) -> Table:
        """A line for each target, method and N."""
        return Table(
            {"target": "Target", "method": "Method", "samples": "N"},
            [
                Shown("relative", "Test error", ".2e", about="Mean squared error over the variance of the target."),
                Shown("train_loss", "Training error", ".2e", about="Mean squared error."),
            ],
        )

    def figures(self, s: Theorem42Settings) -> list[Over]:
        """Test error over N, a figure for each target."""
        return [
            Over(
                name,
                f"Test error over the samples: {target}",
                "Mean squared error over the variance of the target.",
                f"Test error over N on the {target}, a line for each of {', '.join(METHODS)}",
                x="samples",
                y="relative",
                line="method",
                where={"target": target},
                x_label="N",
                y_label="test error, relative",
                x_scale="log",
                y_scale="log",
            )
            for name, target in SHORT.items()
        ]
