"""Sign changes, vanishing terms and Ξ along Algorithm 1, over width: what the proof of Theorem 1 stands on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import beyondkernels as bk
from beyondkernels.lab import (
    AtMost,
    Experiment,
    Line,
    Over,
    Picture,
    Rows,
    Runs,
    Scale,
    Shown,
    Statement,
    Table,
    claim,
    of,
    scale,
)
from beyondkernels.lab.declaration.pictures import OverTime
from beyondkernels.papers.resnet.experiments.circle import OUTPUTS, CouplingSettings, row, sizes_of, spec
from beyondkernels.papers.resnet.paper import PAPER

PROMISES = {
    "first_flips": ("first-flips", "(a) The share of the first layer's gates that changed falls"),
    "second_flips": ("second-flips", "(d) The share of the second layer's gates that changed falls"),
    "first_vanishing": ("first-vanishing", "(b) What is left of the start in out₁ falls"),
    "second_vanishing": ("second-vanishing", "(e) What is left of the start in the second layer's output falls"),
    "second_matrix": ("second-matrix", "(f) The spectral norm of A D V⁽⁰⁾ falls"),
    "first_gates": ("first-witness", "Lemma C.3: what W* loses to changed gates falls"),
    "second_gates": ("second-witness", "Lemma C.3: what V* loses to changed gates falls"),
}
"""By term, the claim's short name and the beginning of its sentence."""

RIGHT_SIDE = "The right side that the paper gives, with all constants 1 and the norms that were reached as radii."
OUTSIDE = "By which factor the norms lie above (×) or below (÷) the ranges that Lemma C.1 asks for."

_MANY = 4  # lines over steps that can still be told apart


class Coupling(Experiment):
    """Lemmas C.1 to C.3 and Claim C.6 along a run, over width."""

    id: ClassVar[str] = "resnet/coupling"
    reference = PAPER.at("App. C, Lemmas C.1 to C.3 and Claim C.6")
    text_file: ClassVar[str] = "coupling.md"
    symbols: ClassVar[Mapping[str, str]] = {"width": "m"}
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 9.0, "paper": 60.0}
    settings_class: ClassVar[type] = CouplingSettings
    scales: ClassVar[Mapping[str, Scale]] = {
        "laptop": scale(steps=30_000, points=100, seeds=5),
        "smoke": scale(
            widths=(50, 200, 800),
            fit_from=50,
            steps=1000,
            snapshots=(0, 30, 300),
            points=50,
            witness_points=40,
            test_samples=200,
            seeds=2,
        ),
    }

    def runs(self, s: CouplingSettings) -> list[Runs]:
        """Algorithm 1 at every width, with everything measured at the snapshots."""
        return [Runs(spec, {"width": s.widths}, row)]

    def claims(self, s: CouplingSettings) -> list[Statement]:
        """The exponents of Lemmas C.1 and C.3, constants where the paper has O(·), Claim C.6, and App. C.4's sum."""
        first = f"m = {s.wide[0]}"
        made = [
            claim(
                name,
                f"{words} with the width at least as fast as {power_of(s.exponents[term])}, by its slope from {first} "
                "on",
                of(term, "width", width=s.wide).slope(),
                AtMost(s.exponents[term]),
                paper=s.exponents[term],
            )
            for term, (name, words) in PROMISES.items()
        ]

        def ratio(name: str, text: str, column: str, paper: str | None = "O(1)", **where: Any) -> Statement:
            bound = AtMost(s.base_only_risk if column == "test_error" else 1.0)
            return claim(name, text, of(column, "width", **where).largest(), bound, paper=paper)

        constant = "At the end of the run a constant of 1 is enough at every point and width"
        widest = s.widths[-1]
        return [
            *made,
            ratio("first-constant", f"(a) {constant}", "first_flips_ratio"),
            ratio("second-constant", f"(d) {constant}", "second_flips_ratio"),
            ratio(
                "second-matrix-order",
                "(f) weakened to what Claim C.6 needs, at the weights that SGD ends with: ‖A D V⁽⁰⁾‖ is at most ‖V‖ "
                f"at every measured point and width from {first} on, by the ratio",
                "second_matrix_order",
                width=s.wide,
            ),
            ratio(
                "error",
                f"Claim C.6 with constants 1: at m = {widest} E‖Err‖² keeps below its right side along the whole run, "
                "by the ratio of the two",
                "error_ratio",
                width=widest,
            ),
            ratio(
                "error-size",
                "Claim C.6 with constant 1: ‖Err‖ keeps below τ_w at every point, width and snapshot, by the ratio",
                "error_size",
            ),
            ratio(
                "regret",
                "App. C.4: at every width and from the start to every snapshot the mean of Ξ keeps below what the way "
                "to W*, V* and a tenth of the mean risk allow, by the ratio",
                "regret_ratio",
                "at most 1",
            ),
            ratio(
                "learns",
                "Meanwhile the network learns more than F: its test error ends below that of F alone at every width",
                "test_error",
                None,
            ),
        ]

    def table(self, s: CouplingSettings) -> Table:
        """A line for each width."""
        return Table(
            {"width": "m"},
            [
                Shown("test_error", "Test error", ".1e"),
                Shown("first_radius", "‖W‖", ".2f", about="How far the first layer moved from its start."),
                Shown("second_radius", "‖V‖", ".2f", about="How far the second layer moved from its start."),
                Shown("first_flips", "(a)", ".3f", about="Share of the first layer's gates that training changed."),
                Shown("first_flips_bound", "(a) ≤", ".2f", about=RIGHT_SIDE),
                Shown("second_flips", "(d)", ".3f", about="Share of the second layer's gates that training changed."),
                Shown("second_flips_bound", "(d) ≤", ".2f", about=RIGHT_SIDE),
                Shown("first_vanishing", "(b)", ".3f", about="What is left of the random start in $\\mathrm{out}_1$."),
                Shown("second_vanishing", "(e)", ".3f", about="What is left of it in the second layer's output."),
                Shown("second_matrix", "(f)", ".3f", about="The spectral norm of $A D V^{(0)}$."),
                Shown("error", "E‖Err‖²", ".3f", about="Claim C.6's error, its mean square."),
                Shown("error_bound", "E‖Err‖² ≤", ".3f", about=RIGHT_SIDE),
                Shown("first_radius", "Off C.1", show=outside, about=OUTSIDE),
            ],
        )

    def figures(self, s: CouplingSettings) -> list[Picture]:
        """Sign changes and vanishing terms over width, Ξ over steps, Claim C.6 over width."""

        def over_width(name: str, title: str, caption: str, y: str, lines: dict[str, str], more: Any = None) -> Over:
            return Over(
                name,
                title,
                caption,
                f"{title}: {', '.join(lines.values())}",
                x="width",
                y=next(iter(lines)),
                line={label: {"y": column} for column, label in lines.items()},
                x_label="width m",
                y_label=y,
                x_scale="log",
                y_scale="log",
                more=more,
            )

        step = -(-len(s.widths) // _MANY)
        shown = s.widths[::-1][::step][::-1]
        return [
            over_width(
                "flips",
                "Gates that training changes, over width",
                "Means over points at the end of the run. Right sides have constants 1 and the radii that were "
                "reached. The straight lines start on the measured ones where fits begin and fall as the lemma "
                "promises at fixed radii: the measured ones must fall no slower.",
                "share of a layer's gates",
                {
                    "first_flips": "first layer (a)",
                    "second_flips": "second layer (d)",
                    "first_flips_bound": "right side of (a)",
                    "second_flips_bound": "right side of (d)",
                },
                _promised(s, {"first_flips": "(a)", "second_flips": "(d)"}),
            ),
            over_width(
                "vanishing",
                "Terms that vanish, over width",
                "Means over points at the end of the run. All may fall as slowly as the straight lines, which start on "
                "(b) and (f) where fits begin. Of Lemma C.3's terms the root mean square over points is shown.",
                "norm",
                {
                    "first_vanishing": "(b) start in out₁",
                    "second_vanishing": "(e) start in layer 2",
                    "second_matrix": "(f) ‖A D V⁽⁰⁾‖",
                    "first_gates": "C.3: lost by W*",
                    "second_gates": "C.3: lost by V*",
                },
                _promised(s, {"first_vanishing": "(b)", "second_matrix": "(f)"}),
            ),
            OverTime(
                "regret",
                "Ξ along the run",
                "E Ξ_t = E⟨∇Obj, (W_t − W*, V_t − V*)⟩ over fresh points: how much the gradient still knows of the "
                "way to weights that write the target.",
                "Ξ begins near one and falls to zero within the first thousand steps at every width",
                x="regret/step",
                y="regret/regret",
                line={f"m = {width}": {"width": width} for width in shown},
                x_label="step t",
                y_label="E Ξ_t",
                x_scale="steps",
            ),
            over_width(
                "error",
                "Claim C.6's error and its right side, over width",
                "Means over points: E‖Err‖² and the right side, with constants 1, at the snapshot where their ratio is "
                "largest; the three parts of Err at the end. Narrow networks miss the right side because the terms "
                "that vanish with m, which it leaves out, have not yet vanished.",
                "mean square",
                {
                    "error": "E‖Err‖²",
                    "error_bound": "right side",
                    "diamond": "♦: the start in the output",
                    "spade": "♠: the witness's own error",
                    "club": "♣: first error in layer 2",
                },
            ),
        ]

    def facts(self, settings: CouplingSettings) -> Any:
        """The settings, and the promised powers in words."""
        power = {name: power_of(value) for name, value in settings.exponents.items()}
        return SimpleNamespace(
            s=settings,
            **power,
            first_power=power_of(settings.first_power),
            second_power=power_of(settings.second_power),
        )

    def remarks(self, s: CouplingSettings) -> list[str]:
        """How the case stands to Theorem 1's hypotheses."""
        sizes, width = sizes_of(s), s.widths[-1]
        w, v = s.stds(width)
        found = bk.resnet.theorem1(
            sizes,
            bk.networks.theorem_network(width, w, v),
            steps=s.steps,
            first_rate=s.first_rate,
            second_rate=s.second_rate,
            first_std=w,
            second_std=v,
        )
        held = len(found.hypotheses) - len(found.missed)
        return [
            f"F alone has a risk of {s.base_only_risk:.4g}. α̃ of Lemma C.2 is {sizes.accuracy:.3g}.",
            (
                f"Theorem 1 at m = {width}, its hidden constants and C* taken as one, has τ_w = "
                f"{found.first_radius:.3g} and τ_v = {found.second_radius:.3g}; {held} of its "
                f"{len(found.hypotheses)} hypotheses hold. The others: {'; '.join(map(str, found.missed)) or 'none'}."
            ),
        ]


def power_of(exponent: float) -> str:
    """A power of m as it is written.

    >>> power_of(-1 / 16), power_of(0.25)
    ('m^(−1/16)', 'm^(1/4)')
    """
    return f"m^({Fraction(exponent).limit_denominator(1000)})".replace("-", "−")


def outside(rows: Rows) -> str:
    """By which factor the mean radii lie above (×) or below (÷) Lemma C.1's ranges, where they do.

    Reference: Allen-Zhu & Li (resnet), Lemma C.1.
    """
    mean = rows[rows["status"] == "finished"].mean(numeric_only=True)
    if math.isnan(mean.get("first_radius", math.nan)):
        return "all runs diverged"
    of_w, of_v = bk.resnet.radius_ranges(mean["width"], OUTPUTS, mean["first_std"], mean["second_std"])
    found = []
    for name, tau, low, high in (
        ("W", mean["first_radius"], max(1.0, of_w[0]), of_w[1]),
        ("V", mean["second_radius"], *of_v),
    ):
        if tau > high:
            found.append(f"‖{name}‖ ×{tau / high:.1f}")
        elif tau < low:
            found.append(f"‖{name}‖ ÷{low / tau:.1f}" if tau else f"‖{name}‖ is zero")
    return ", ".join(found)


def _promised(s: CouplingSettings, terms: dict[str, str]) -> Callable[[Rows], list[Line]]:
    """Where a term would lie if it fell exactly as promised from the first width of the fit on."""

    def lines(rows: Rows) -> list[Line]:
        made, wide = [], list(s.wide)
        for term, letter in terms.items():
            start = rows.loc[rows["width"] == wide[0], term].mean() if term in rows else math.nan
            if start > 0:
                power = s.exponents[term]
                heights = [start * (width / wide[0]) ** power for width in wide]
                made.append(Line(f"{letter} promises {power_of(power)}", wide, heights))
        return made

    return lines
