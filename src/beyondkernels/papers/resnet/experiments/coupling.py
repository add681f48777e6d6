"""Sign changes, vanishing terms and Ξ along Algorithm 1, over width: what the proof of Theorem 1 stands on."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
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

_CONSTANT = "At the end of the run a constant of 1 is enough at every point and width"
BOUNDED = {
    "first-constant": f"(a) {_CONSTANT}",
    "second-constant": f"(d) {_CONSTANT}",
    "second-matrix-order": "(f) weakened to what Claim C.6 needs, at the weights that SGD ends with: ‖A D V⁽⁰⁾‖ is at "
    "most ‖V‖ at every measured point and width from {first} on, by the ratio",
    "error": "Claim C.6 with constants 1: at m = {widest} E‖Err‖² keeps below its right side along the whole run, by "
    "the ratio of the two",
    "error-size": "Claim C.6 with constant 1: ‖Err‖ keeps below τ_w at every point, width and snapshot, by the ratio",
    "regret": "App. C.4: at every width and from the start to every snapshot the mean of Ξ keeps below what the way to "
    "W*, V* and a tenth of the mean risk allow, by the ratio",
    "learns": "Meanwhile the network learns more than F: its test error ends below that of F alone at every width",
}
"""What keeps below a bound, by the claim's short name."""

OUTSIDE = "By which factor the norms lie above (×) or below (÷) the ranges that Lemma C.1 asks for."

_MANY = 4  # lines over steps that can still be told apart


def _shown(label: str, form: str, heading: str, about: str, within: lab.Range = lab.NON_NEGATIVE) -> lab.Quantity:
    return lab.Quantity(label, form, within, log=True, heading=heading, about=about)


_GATES, _NORM, _SQUARE = "share of a layer's gates", "norm", "mean square"
_RIGHT = "The right side that the paper gives, with all constants 1 and the norms that were reached as radii."
_RATIOS = ("first_flips_ratio", "second_flips_ratio", "second_matrix_order", "error_ratio", "error_size")


class Coupling(lab.Experiment):
    """Lemmas C.1 to C.3 and Claim C.6 along a run, over width."""

    id = "resnet/coupling"
    reference = PAPER.at("App. C, Lemmas C.1 to C.3 and Claim C.6")
    text_file = "coupling.md"
    quantities = {
        "width": lab.Quantity("width m", within=lab.NON_NEGATIVE, log=True, heading="m"),
        "test_error": lab.Quantity("test error", ".1e", lab.NON_NEGATIVE, better="less"),
        "first_radius": _shown(_NORM, ".2f", "‖W‖", "How far the first layer moved from its start."),
        "second_radius": _shown(_NORM, ".2f", "‖V‖", "How far the second layer moved from its start."),
        "first_flips": _shown(
            _GATES, ".3f", "(a)", "Share of the first layer's gates that training changed.", lab.SHARE
        ),
        "first_flips_bound": _shown(_GATES, ".2f", "(a) ≤", _RIGHT),
        "second_flips": _shown(
            _GATES, ".3f", "(d)", "Share of the second layer's gates that training changed.", lab.SHARE
        ),
        "second_flips_bound": _shown(_GATES, ".2f", "(d) ≤", _RIGHT),
        "first_vanishing": _shown(_NORM, ".3f", "(b)", "What is left of the random start in out₁."),
        "second_vanishing": _shown(_NORM, ".3f", "(e)", "What is left of it in the second layer's output."),
        "second_matrix": _shown(_NORM, ".3f", "(f)", "The spectral norm of $A D V^{(0)}$."),
        "error": _shown(_SQUARE, ".3f", "E‖Err‖²", "The mean square of Claim C.6's error."),
        "error_bound": _shown(_SQUARE, ".3f", "E‖Err‖² ≤", _RIGHT),
        **{name: lab.Quantity(name.replace("_", " "), within=lab.NON_NEGATIVE) for name in _RATIOS},
        "regret_ratio": lab.Quantity("mean of Ξ over what is allowed"),
        "regret/step": lab.Quantity("step t", within=lab.NON_NEGATIVE),
        "regret/regret": lab.Quantity("E Ξ_t"),
    }
    seconds_per_run = {"smoke": 0.1, "laptop": 9.0, "paper": 60.0}
    settings_class = CouplingSettings
    scales = {
        "laptop": lab.scale(steps=30_000, points=100, seeds=5),
        "smoke": lab.scale(
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

    def runs(self, s: CouplingSettings) -> list[lab.Runs]:
        """Algorithm 1 at every width, with everything measured at the snapshots."""
        return [lab.Runs(spec, {"width": s.widths}, row)]

    def claims(self, s: CouplingSettings) -> list[lab.Statement]:
        """The exponents of Lemmas C.1 and C.3, constants where the paper has O(·), Claim C.6, and App. C.4's sum."""
        first, widest = f"m = {s.wide[0]}", s.widths[-1]
        texts = {name: text.format(first=first, widest=widest) for name, text in BOUNDED.items()}
        made = [
            lab.claim(
                name,
                f"{words} with the width at least as fast as {power_of(power)}, by its slope from {first} on",
                lab.of(term, "width", width=s.wide).slope(),
                lab.AtMost(power),
                paper=power,
            )
            for term, (name, words) in PROMISES.items()
            for power in [s.exponents[term]]
        ]

        values = {
            "first-constant": lab.of("first_flips_ratio", "width"),
            "second-constant": lab.of("second_flips_ratio", "width"),
            "second-matrix-order": lab.of("second_matrix_order", "width", width=s.wide),
            "error": lab.of("error_ratio", "width", width=widest),
            "error-size": lab.of("error_size", "width"),
            "regret": lab.of("regret_ratio", "width"),
            "learns": lab.of("test_error", "width"),
        }
        papers, bounds = {"regret": "at most 1", "learns": None}, {"learns": s.base_only_risk}
        made += [
            lab.claim(name, text, values[name].largest(), lab.AtMost(bounds.get(name, 1.0)), papers.get(name, "O(1)"))
            for name, text in texts.items()
        ]
        return made

    def table(self, s: CouplingSettings) -> lab.Table:
        """A line for each width."""
        names = [name for name, quantity in self.quantities.items() if quantity.heading and name != "width"]
        return lab.Table(
            ["width"], ["test_error", *names, lab.Shown("first_radius", "Off C.1", show=outside, about=OUTSIDE)]
        )

    def figures(self, s: CouplingSettings) -> list[lab.Picture]:
        """Sign changes and vanishing terms over width, Ξ over steps, Claim C.6 over width."""

        def over_width(name: str, title: str, caption: str, lines: dict[str, str], *promised: str) -> lab.Over:
            selections = {label: {"y": column} for column, label in lines.items()}
            more = _promised(s, promised) if promised else None
            return lab.Over(name, title, caption, x="width", y=next(iter(lines)), line=selections, more=more)

        step = -(-len(s.widths) // _MANY)
        return [
            over_width(
                "flips",
                "Gates that training changes, over width",
                "Means over points at the end of the run. Right sides have constants 1 and the radii that were "
                "reached. The straight lines start on the measured ones where fits begin and fall as the lemma "
                "promises at fixed radii: the measured ones must fall no slower.",
                {
                    "first_flips": "first layer (a)",
                    "second_flips": "second layer (d)",
                    "first_flips_bound": "right side of (a)",
                    "second_flips_bound": "right side of (d)",
                },
                "first_flips",
                "second_flips",
            ),
            over_width(
                "vanishing",
                "Terms that vanish, over width",
                "Means over points at the end of the run. All may fall as slowly as the straight lines, which start on "
                "(b) and (f) where fits begin. Of Lemma C.3's terms the root mean square over points is shown.",
                {
                    "first_vanishing": "(b) start in out₁",
                    "second_vanishing": "(e) start in layer 2",
                    "second_matrix": "(f) ‖A D V⁽⁰⁾‖",
                    "first_gates": "C.3: lost by W*",
                    "second_gates": "C.3: lost by V*",
                },
                "first_vanishing",
                "second_matrix",
            ),
            OverTime(
                "regret",
                "Ξ along the run",
                "E Ξ_t = E⟨∇Obj, (W_t − W*, V_t − V*)⟩ over fresh points: how much the gradient still knows of the "
                "way to weights that write the target.",
                x="regret/step",
                y="regret/regret",
                line={f"m = {width}": {"width": width} for width in s.widths[::-1][::step][::-1]},
                x_scale="steps",
            ),
            over_width(
                "error",
                "Claim C.6's error and its right side, over width",
                "Means over points: E‖Err‖² and the right side, with constants 1, at the snapshot where their ratio is "
                "largest; the three parts of Err at the end. Narrow networks miss the right side because the terms "
                "that vanish with m, which it leaves out, have not yet vanished.",
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
        """The promised powers in words."""
        powers = {name: getattr(settings, name) for name in ("first_power", "second_power")}
        return SimpleNamespace(**{name: power_of(value) for name, value in (powers | settings.exponents).items()})

    def remarks(self, s: CouplingSettings) -> list[str]:
        """How the case stands to Theorem 1's hypotheses."""
        sizes, width = sizes_of(s), s.widths[-1]
        w, v = s.stds(width)
        network = bk.networks.theorem_network(width, w, v)
        given = {"steps": s.steps, "first_rate": s.first_rate, "second_rate": s.second_rate}
        found = bk.resnet.theorem1(sizes, network, **given, first_std=w, second_std=v)
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


def outside(rows: lab.Rows) -> str:
    """By which factor the mean radii lie above (×) or below (÷) Lemma C.1's ranges, where they do."""
    mean = rows[rows["status"] == "finished"].mean(numeric_only=True)
    if math.isnan(mean.get("first_radius", math.nan)):
        return "all runs diverged"
    stds, radii = ((mean[f"first_{what}"], mean[f"second_{what}"]) for what in ("std", "radius"))
    found = []
    for name, factor in zip("WV", bk.resnet.radius_excess(mean["width"], OUTPUTS, stds, radii), strict=True):
        if factor > 1:
            found.append(f"‖{name}‖ ×{factor:.1f}")
        elif factor < 1:
            found.append(f"‖{name}‖ ÷{1 / factor:.1f}" if factor else f"‖{name}‖ is zero")
    return ", ".join(found)


def _promised(s: CouplingSettings, terms: tuple[str, ...]) -> Callable[[lab.Rows], list[lab.Line]]:
    """Where terms would lie if they fell exactly as promised from the first width of the fit on."""

    def lines(rows: lab.Rows) -> list[lab.Line]:
        made, wide = [], list(s.wide)
        for term in terms:
            start = rows.loc[rows["width"] == wide[0], term].mean() if term in rows else math.nan
            if start > 0:
                power = s.exponents[term]
                heights = [start * (width / wide[0]) ** power for width in wide]
                made.append(lab.Line(f"{PROMISES[term][1][:3]} promises {power_of(power)}", wide, heights))
        return made

    return lines
