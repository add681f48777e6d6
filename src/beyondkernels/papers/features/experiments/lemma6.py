"""Lemma 6: after one step a neuron holds the relevant patterns, after two hardly anything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from beyondkernels.lab import (
    At,
    AtLeast,
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
    least,
    of,
    scale,
)
from beyondkernels.papers.features.experiments import exact_steps
from beyondkernels.papers.features.experiments.exact_steps import PARITY, THRESHOLD, Lemma6Settings, problem_of
from beyondkernels.papers.features.paper import PAPER

AXES = {"relevant": "k", "background": "p_o", "patterns": "D"}
ROOMS = {
    "relevant-1": ("relevant_room_1", "Lemma 15: after step one |Tⱼ − βγ/σ̃| ≤ ε_e/σ̃ for relevant patterns"),
    "background-1": ("background_room_1", "Lemma 15: after step one |Tⱼ| ≤ σ_φ² · ε_e · σ̃ for background patterns"),
    "output": ("output_room", "Lemma 19: |g⁽¹⁾(x)| < 1, here at every x"),
    "relevant-2": (
        "relevant_room_2",
        "Lemma 20: after step two |Tⱼ − βγ/σ̃| is within its bound for relevant patterns",
    ),
    "background-2": (
        "background_room_2",
        "Lemma 20: after step two |Tⱼ| is at most σ_φ² · σ̃ times its ε_e for background patterns",
    ),
}
"""By the claim's short name: the column with the bound over what was found, and the bound in words."""


class Lemma6(Experiment):
    """Tⱼ of every pattern after steps one and two, over k, p_o and D."""

    id: ClassVar[str] = "features/lemma6"
    reference = PAPER.at("Lemma 6; Lemmas 15, 18, 19 and 20")
    text_file: ClassVar[str] = "lemma6.md"
    symbols: ClassVar[Mapping[str, str]] = AXES
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 1.0, "paper": 40.0}
    settings_class: ClassVar[type] = Lemma6Settings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(
            patterns=200,
            relevants=(3, 5, 7, 9),
            backgrounds=(0.125, 0.25, 0.5),
            dictionaries=(100, 200, 400, 800),
            pairs=20,
            seeds=3,
        ),
        "smoke": scale(
            "laptop",
            patterns=20,
            relevant=3,
            relevants=(3, 5),
            backgrounds=(0.3, 0.5),
            dictionaries=(10, 20),
            pairs=3,
            seeds=2,
        ),
    }

    def runs(self, s: Lemma6Settings) -> list[Runs]:
        """Threshold labels over k, p_o and D; parity, which satisfies (A2) at p_o = 1/2 alone, over k."""
        base = {"relevant": [s.relevant], "background": [s.background], "patterns": [s.patterns]}
        return [
            Runs(exact_steps.spec, {"sweep": [name], "labels": [labels], **base, name: list(values)}, exact_steps.row)
            for name, labels, values in (
                ("relevant", THRESHOLD, s.relevants),
                ("background", THRESHOLD, s.backgrounds),
                ("patterns", THRESHOLD, s.dictionaries),
                ("relevant", PARITY, s.relevants),
            )
        ]

    def claims(self, s: Lemma6Settings) -> list[Statement]:
        """The bounds with constants one, how they move with k, p_o and D, and what step two improves."""
        return [
            *(
                claim(
                    name,
                    f"{words}, all constants one: the least bound over what was found, of all runs",
                    least(column, per_seed=False),
                    AtLeast(1.0),
                    paper="at least a constant",
                )
                for name, (column, words) in ROOMS.items()
            ),
            *(
                claim(
                    f"{kind}-over-{symbol.replace('_', '')}",
                    f"After step one, with {symbol} the largest error of {kind} patterns rises no faster than its "
                    f"bound: the slope of log share on log {symbol}",
                    of(f"{kind}_share_1", column, sweep=column, labels=THRESHOLD).slope(),
                    AtMost(0.0),
                    paper="at most 0",
                )
                for column, symbol in AXES.items()
                for kind in ("relevant", "background")
            ),
            *(
                claim(
                    f"beta-{step}",
                    f"β is of order one: the least β of all neurons {words} does not fall with k, by its log-log slope",
                    of(f"least_beta_{step}", "relevant", sweep="relevant", labels=THRESHOLD).slope(),
                    AtLeast(0.0),
                    paper="Ω(1)",
                )
                for step, words in ((1, "in step one"), (2, "in step two"))
            ),
            claim(
                "improves",
                "Step two improves the features: background over relevant Tⱼ after step one is at least as large as "
                "after step two, by the least ratio of the two over all runs",
                least("improvement", per_seed=False),
                AtLeast(1.0),
                paper="decreases",
            ),
        ]

    def table(self, s: Lemma6Settings) -> Table:
        """A line for each problem."""
        return Table(
            {"labels": "Labels", "relevant": "k", "background": "p_o", "patterns": "D"},
            [
                Shown("signal_1", "Tⱼσ̃/γ, relevant", ".3f", about="After step one, mean over neurons and patterns."),
                Shown("relevant_1", "Off βγ", ".1e", about="The largest |Tⱼσ̃ − βγ| after step one."),
                Shown("background_1", "Background", ".1e", about="The largest |Tⱼ|σ̃ after step one."),
                Shown("epsilon", "ε_e", ".1f", about="Above one the lemma's bound is larger than the signal itself."),
                Shown("ratio_1", "Ratio 1", ".1e", about="Largest background over mean relevant Tⱼ, after step one."),
                Shown("ratio_2", "Ratio 2", ".1e", about="The same after step two."),
                Shown("least_beta_1", "Least β, step 1", ".2f"),
                Shown("least_beta_2", "Least β, step 2", ".2f"),
            ],
        )

    def figures(self, s: Lemma6Settings) -> list[Picture]:
        """Tⱼ of all patterns after both steps, and errors over D, k and p_o."""
        return [
            Drawn(
                "components",
                "Tⱼ of relevant and background patterns",
                f"All neurons of the first seed, k = {s.relevant}, p_o = {s.background:g}, D = {s.patterns}, threshold "
                "labels.",
                "Distributions of Tⱼσ̃/γ over neurons: relevant and background patterns after steps one and two",
                lambda picture, rows: exact_steps.components(picture, rows, s),
            ),
            *(
                Over(
                    f"over-{column}",
                    f"What step one leaves of other patterns, over {symbol}",
                    "Largest over neurons and patterns, threshold labels. The bounds have all constants one.",
                    f"Errors of relevant and background patterns and their bounds over {symbol}",
                    x=column,
                    y="relevant_1",
                    line={
                        "relevant": {"y": "relevant_1", "sweep": column, "labels": THRESHOLD},
                        "background": {"y": "background_1", "sweep": column, "labels": THRESHOLD},
                        "bound, relevant": {"y": "epsilon", "sweep": column, "labels": THRESHOLD},
                        "bound, background": {"y": "background_bound_1", "sweep": column, "labels": THRESHOLD},
                    },
                    x_label=symbol.replace("_o", "ₒ"),  # pictures have no subscripts of their own
                    y_label="Tⱼσ̃",
                    x_scale="log",
                    y_scale="log",
                )
                for column, symbol in AXES.items()
            ),
        ]

    def remarks(self, s: Lemma6Settings) -> list[str]:
        """How both kinds of problems stand to the assumptions of the lemma."""
        listed = []
        for labels in (THRESHOLD, PARITY):
            at = At(labels=labels, relevant=s.relevant, background=s.background, patterns=s.patterns)
            found = [str(each) for each in problem_of(at).assumptions() if each.name in ("A0", "A1", "A2")]
            listed.append(f"{labels} labels against the paper's assumptions: {'; '.join(found)}.".capitalize())
        return listed
