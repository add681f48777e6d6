"""Theorems I.1 and I.3: what no kernel and no feature map learns from few points, and a network does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from beyondkernels.lab import (
    AtLeast,
    AtMost,
    Experiment,
    Over,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    least,
    of,
    scale,
)
from beyondkernels.papers.bfc.experiments.spans import (
    ENCLOSED,
    KERNELS,
    NETWORK,
    Enclosed,
    TheoremI1Settings,
    bound_line,
    network_row,
    network_spec,
    span_row,
    span_spec,
)
from beyondkernels.papers.bfc.paper import PAPER

TIGHT = 2.0
"""On the target's top part, the best kernel is within this factor of the bound."""

AHEAD = 10.0
"""How many times the network's risk the best kernel has at the same N, at least."""


class TheoremI1(Experiment):
    """Best risks over N, with the bound."""

    id: ClassVar[str] = "bfc/theoremI1"
    reference = PAPER.at("Theorems I.1 and I.3")
    text_file: ClassVar[str] = "theorem_i1.md"
    symbols: ClassVar[Mapping[str, str]] = {"samples": "N", "depth": "L"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 3.0, "paper": 15.0}
    settings_class: ClassVar[type] = TheoremI1Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            two_samples=(22, 44, 87, 150, 218, 400),
            three_samples=(60, 182, 600),
            points=10_000,
            spans=2,
            three_steps=6000,
            seeds=5,
        ),
        "smoke": scale(
            "laptop",
            two_dim=6,
            three_dim=8,
            two_samples=(3, 7),
            three_samples=(5, 30),
            targets=5,
            points=200,
            spans=1,
            two_steps=5,
            three_steps=5,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: TheoremI1Settings) -> list[Runs]:
        """Every kernel and the network at every N."""
        made = []
        for depth in (2, 3):
            place = {"depth": [depth], "samples": s.samples(depth)}
            made.append(Runs(span_spec, {**place, "method": tuple(KERNELS)}, span_row, seeds=s.spans))
            made.append(Runs(network_spec, {**place, "method": [NETWORK]}, network_row))
        return made

    def claims(self, s: TheoremI1Settings) -> list[Statement]:
        """Kernels never fall below the bound, and the network does."""
        return [statement for depth in (2, 3) for statement in _claims(s, depth)]

    def table(self, s: TheoremI1Settings) -> Table:
        """A line for each L, N and method."""
        return Table(
            {"depth": "L", "samples": "N", "method": "Method"},
            [
                Shown("bound", "Bound", ".3f", show="first", about="For kernels: 1 − N/C. All risks are over c²."),
                Shown("low", "Risk, fit", ".3g", about="On the points of the fit, which is too small on average."),
                Shown(
                    "risk", "Risk, fresh", ".3g", about="At fresh points, which is too large on average for a kernel."
                ),
                Shown("error", "±", ".2g", about="The standard error of the risk at fresh points."),
                Shown("low_top", "Top, fit", ".3f", about="The same two risks if the target is its top part alone."),
                Shown("top", "Top, fresh", ".3f"),
            ],
        )

    def figures(self, s: TheoremI1Settings) -> list[Over]:
        """For each L the risk, and the risk of the top part alone."""
        made = []
        for depth in (2, 3):
            common: dict[str, Any] = {"x": "samples", "x_label": "N", "x_scale": "log", "where": {"depth": depth}}
            common |= {"more": lambda rows, depth=depth: bound_line(s, depth)}
            made += [
                Enclosed(
                    f"risk-{depth}",
                    f"L = {depth}: the best risk of kernels, and the risk of a network",
                    f"In units of c², d = {s.dim(depth)}, C = {s.places(depth)}. {ENCLOSED}",
                    "The two numbers of each kernel and the risk of the trained network against N, with the bound",
                    y="risk",
                    low="low",
                    line="method",
                    y_label="risk over c²",
                    y_scale="log",
                    **common,
                ),
                Enclosed(
                    f"top-{depth}",
                    f"L = {depth}: the share of the top part that kernels cannot express",
                    f"The top part, of which the bound speaks, is the target here. {ENCLOSED}",
                    "The part of the product of coordinates that each kernel cannot express against N, in two numbers, "
                    "with the bound",
                    y="top",
                    low="low_top",
                    line={name: {"method": name} for name in KERNELS},
                    y_label="share left",
                    **common,
                ),
            ]
        return made

    def remarks(self, s: TheoremI1Settings) -> list[str]:
        """How the paper's own hypotheses stand here."""
        told = []
        for depth in (2, 3):
            certificate = s.certificate(depth, s.compared(depth))
            held = "; ".join(map(str, certificate.hypotheses))
            told.append(f"L = {depth}, N = {s.compared(depth)}, the paper's hypotheses: {held}. {certificate.verdict}")
        return told


def _claims(s: TheoremI1Settings, depth: int) -> list[Statement]:
    """The claims for one number of layers."""
    n = s.compared(depth)
    bound, kernels = s.bound(depth, n), {"depth": depth, "method": tuple(KERNELS)}
    network = of("risk", depth=depth, method=NETWORK, samples=n)
    return [
        claim(
            f"never-{depth}",
            f"L = {depth}: at every N, the best risk of every kernel is at least the bound, by the smallest difference",
            least("margin", per_seed=False, **kernels),
            AtLeast(0.0),
        ),
        claim(
            f"top-{depth}",
            f"L = {depth}: at every N, the same is true for the top part alone as target, by the smallest difference",
            least("top_margin", per_seed=False, **kernels),
            AtLeast(0.0),
        ),
        claim(
            f"tight-{depth}",
            f"L = {depth}: at N = {n}, some kernel comes within a factor {TIGHT:g} of the bound on the top part",
            least("top", per_seed=False, samples=n, **kernels),
            AtMost(TIGHT * bound),
        ),
        claim(
            f"network-{depth}",
            f"L = {depth}: with N = {n} points (at most half of C), the network's mean risk over seeds is below the "
            "bound for all kernels",
            network,
            AtMost(bound),
        ),
        claim(
            f"ahead-{depth}",
            f"L = {depth}: at N = {n}, the best kernel's risk is at least {AHEAD:g} times the network's mean risk over "
            "seeds",
            least("low", per_seed=False, samples=n, **kernels) / network.mean(),
            AtLeast(AHEAD),
            interval="of the least and the mean",
        ),
    ]
