"""Theorem 4.3: the generalisation gap of Algorithm 2 over the width, with random signs and without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import beyondkernels as bk
from beyondkernels.lab import AtMost, Experiment, Over, Runs, Scale, Shown, Statement, Table, Value, claim, of, scale
from beyondkernels.papers.overparam.experiments.products import TARGETS
from beyondkernels.papers.overparam.experiments.theorem42 import SHORT
from beyondkernels.papers.overparam.experiments.three_layers import (
    OBJECTIVES,
    PLAIN,
    SIGNED,
    Theorem43Settings,
    rate_of,
    row,
    spec,
)
from beyondkernels.papers.overparam.paper import PAPER

LEARNT = 0.2
"""A target is learnt when the test loss is at most this part of what the mean label leaves (ours)."""


class Theorem43(Experiment):
    """The gap between test loss and training loss of both objectives against m."""

    id: ClassVar[str] = "overparam/theorem43"
    reference = PAPER.at("§4.2, Theorems 4.2 and 4.3, Algorithm 2")
    text_file: ClassVar[str] = "theorem43.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 20.0, "paper": 40.0}
    settings_class: ClassVar[type] = Theorem43Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(widths=(8, 32, 128, 512), gradient_noise=0.0, test_samples=5000, seeds=5),
        "smoke": scale(widths=(4, 16), samples=20, steps=20, batch=5, draws=2, test_samples=50, seeds=2),
    }

    def runs(self, s: Theorem43Settings) -> list[Runs]:
        """Both objectives on every target at every width."""
        return [Runs(spec, {"target": list(TARGETS), "objective": list(OBJECTIVES), "width": s.widths}, row)]

    def claims(self, s: Theorem43Settings) -> list[Statement]:
        """What Theorem 4.3 and its proof say of L2, and how L1 stands beside it."""

        def at(column: str, objective: str, width: int = s.widths[-1]) -> Value:
            return of(column, "target", objective=objective, width=width)

        first, last = s.widths[0], s.widths[-1]
        grows = f"a width that grows {s.growth:g}-fold"
        price = {m: at("train", SIGNED, m) - at("train", PLAIN, m) for m in (first, last)}
        made = [
            claim(
                "gap",
                f"For every target, {grows} does not raise L2's gap beyond its interval: last width minus first",
                at("gap", SIGNED) - at("gap", SIGNED, first),
                AtMost(0.0, "unless clearly not"),
                paper="N need not grow with m",
            ),
            claim(
                "test-loss",
                f"For every target, {grows} does not raise L2's test loss beyond its interval: last width over first",
                at("test", SIGNED) / at("test", SIGNED, first),
                AtMost(1.0, "unless clearly not"),
                paper="N need not grow with m",
            ),
            claim(
                "below-plain",
                f"For every target, L2's gap at m = {last} is not above L1's beyond its interval: L2 minus L1",
                at("gap", SIGNED) - at("gap", PLAIN),
                AtMost(0.0, "unless clearly not"),
                paper="better sample efficiency",
            ),
            claim(
                "learnt",
                f"For every target, L2 leaves at most {LEARNT:.0%} of what the mean label leaves at m = {last}",
                at("test", SIGNED),
                AtMost(LEARNT),
                paper="(1 + γ)ε₀ + ε",
            ),
            claim(
                "signs",
                f"For every target, what random signs add to the training loss clearly shrinks from m = {first} to "
                f"{last}: last over first",
                price[last] / price[first],
                AtMost(1.0, "clearly"),
                paper="Lemma 5.8",
            ),
            claim(
                "radii",
                "In every run both norms end within the radii that an objective of at most 2 keeps",
                of("inside", "run").largest(),
                AtMost(1.0),
                paper="‖W‖₂,₄ ≤ τ'_w and ‖V‖_F ≤ τ_v",
            ),
        ]
        for short, target in SHORT.items():
            signed, plain = (of("bound", "width", target=target, objective=each).slope() for each in (SIGNED, PLAIN))
            made.append(
                claim(
                    f"{short}-bound",
                    f"On the {target}, Lemma 5.9's bound for L2 clearly grows with a smaller power of m than the "
                    "spectral bound for L1: difference of the powers",
                    signed - plain,
                    AtMost(0.0, "clearly"),
                    paper="0 against 1",
                )
            )
        return made

    def table(self, s: Theorem43Settings) -> Table:
        """A line for each target, objective and width."""
        relative = "Divided by what predicting the mean label leaves."
        return Table(
            {"target": "Target", "objective": "Objective", "width": "m"},
            [
                Shown("gap", "Gap", ".3f", about=f"Test loss minus training loss. {relative}"),
                Shown("test", "Test loss", ".3f", about=relative),
                Shown("train", "Training loss", ".3f", about=relative),
                Shown("w_norm", "‖W‖₂,₄", ".2f", about="One step before the end."),
                Shown("w_radius", "τ'_w", ".3g", show="first"),
                Shown("v_norm", "‖V‖_F", ".2f", about="One step before the end."),
                Shown("v_radius", "τ_v", ".3g", show="first"),
                Shown("bound", "Bound", ".3g", about="On the gap, from these norms, with all constants read as 1."),
                Shown("scale", "λ_T", ".3f"),
                Shown("chosen", "Draw", ".1f", about=f"Number of the chosen noise matrix, 0 to {s.draws - 1}."),
            ],
        )

    def remarks(self, s: Theorem43Settings) -> list[str]:
        """How the widest network stands to Lemma 5.3's hypotheses."""
        m = s.widths[-1]
        theirs = bk.overparam.lemma53(
            s.epsilon, m, rate=rate_of(s, m), steps=s.steps, terms=(1, s.inner_terms), samples=s.samples
        )
        w, v = theirs.radii
        missed = "; ".join(str(each) for each in theirs.missed)
        words = (
            f"At m = {m} and ε = {s.epsilon:g}, Lemma 5.3 with complexity 1 and all hidden constants 1 has "
            f"τ'_w = {w:.3g} and τ_v = {v:.3g}. Of its hypotheses and those of the theorems these are missed: {missed}."
        )
        return [words]

    def figures(self, s: Theorem43Settings) -> list[Over]:
        """Gap, test loss and bounds over m."""
        lines = {
            f"{each}, {target}": {"objective": each, "target": target} for target in TARGETS for each in OBJECTIVES
        }
        relative = "Divided by what predicting the mean label leaves."
        bounds = "L1: spectral bound of the proof of Theorem 4.2. L2: Lemma 5.9. All constants are read as 1."
        return [
            Over(
                column,
                f"{title} over the width",
                f"{words} N = {s.samples}; mean over seeds, shaded from the lowest to the highest.",
                f"{title} over m, a line for each objective on each target",
                x="width",
                y=column,
                line=lines,
                x_label="m",
                y_label=label,
                x_scale="log",
                y_scale="linear" if column == "gap" else "log",
            )
            for column, title, label, words in (
                ("gap", "Generalisation gap", "test loss − training loss, relative", relative),
                ("test", "Test loss", "test loss, relative", relative),
                ("bound", "Bound on the gap", "bound", bounds),
            )
        ]
