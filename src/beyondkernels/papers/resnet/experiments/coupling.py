"""Sign changes, vanishing terms and Ξ along Algorithm 1, over width: what the proof of Theorem 1 stands on."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import beyondkernels as bk
from beyondkernels import lab
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
"""By column, the claim's short name and the beginning of its sentence."""

BOUNDED = {
    "first_flips_ratio": "first-constant",
    "second_flips_ratio": "second-constant",
    "second_matrix_order": "second-matrix-order",
    "error_ratio": "error",
    "error_size": "error-size",
    "regret_ratio": "regret",
    "test_error": "learns",
}
"""What keeps below a bound: by column, the claim's short name."""

OUTSIDE = "By which factor the norms lie above (×) or below (÷) the ranges that Lemma C.1 asks for."


def _shown(label: str, form: str, heading: str, about: str, within: lab.Range = lab.NON_NEGATIVE) -> lab.Quantity:
    return lab.Quantity(label, form, within, log=True, heading=heading, about=about)


_GATES, _NORM, _SQUARE = "share of a layer's gates", "norm", "mean square"
_CHANGED = "Share of the {} layer's gates that training changed."
_RIGHT = "The right side that the paper gives, with all constants 1 and the norms that were reached as radii."


class Coupling(lab.Experiment):
    id = "resnet/coupling"
    reference = PAPER.at("App. C, Lemmas C.1 to C.3 and Claim C.6")
    quantities = {
        **{name: lab.Quantity(name.replace("_", " "), within=lab.NON_NEGATIVE) for name in BOUNDED},
        "width": lab.Quantity("width m", within=lab.NON_NEGATIVE, log=True, heading="m"),
        "test_error": lab.Quantity("test error", ".1e", lab.NON_NEGATIVE, better="less"),
        "first_radius": _shown(_NORM, ".2f", "‖W‖", "How far the first layer moved from its start."),
        "second_radius": _shown(_NORM, ".2f", "‖V‖", "How far the second layer moved from its start."),
        "first_flips": _shown(_GATES, ".3f", "(a)", _CHANGED.format("first"), lab.SHARE),
        "first_flips_bound": _shown(_GATES, ".2f", "(a) ≤", _RIGHT),
        "second_flips": _shown(_GATES, ".3f", "(d)", _CHANGED.format("second"), lab.SHARE),
        "second_flips_bound": _shown(_GATES, ".2f", "(d) ≤", _RIGHT),
        "first_vanishing": _shown(_NORM, ".3f", "(b)", "What is left of the random start in out₁."),
        "second_vanishing": _shown(_NORM, ".3f", "(e)", "What is left of it in the second layer's output."),
        "second_matrix": _shown(_NORM, ".3f", "(f)", "The spectral norm of $A D V^{(0)}$."),
        "error": _shown(_SQUARE, ".3f", "E‖Err‖²", "The mean square of Claim C.6's error."),
        "error_bound": _shown(_SQUARE, ".3f", "E‖Err‖² ≤", _RIGHT),
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
        return [lab.Runs(spec, {"width": s.widths}, row)]

    def claims(self, s: CouplingSettings) -> list[lab.Statement]:
        first, widest = f"m = {s.wide[0]}", s.widths[-1]
        places = {"second_matrix_order": {"width": s.wide}, "error_ratio": {"width": widest}}
        papers, bounds = {"regret": "at most 1", "learns": None}, {"learns": s.base_only_risk}
        made = []
        for term, (name, words) in PROMISES.items():
            power, slope = s.exponents[term], lab.of(term, "width", width=s.wide).slope()
            told = {"words": words, "power": power_of(power), "first": first}
            made.append(self.claim(s, name, slope, lab.AtMost(power), power, "falls", **told))
        for column, name in BOUNDED.items():
            largest = lab.of(column, "width", **places.get(column, {})).largest()
            most, paper = lab.AtMost(bounds.get(name, 1.0)), papers.get(name, "O(1)")
            made.append(self.claim(s, name, largest, most, paper, first=first, widest=widest))
        return made

    def table(self, s: CouplingSettings) -> lab.Table:
        names = [name for name, quantity in self.quantities.items() if quantity.heading and name != "width"]
        return lab.Table(
            ["width"], ["test_error", *names, lab.Shown("first_radius", "Off C.1", show=outside, about=OUTSIDE)]
        )

    def figures(self, s: CouplingSettings) -> list[lab.Picture]:
        def over_width(name: str, *falling: str, **lines: str) -> lab.Over:
            selections = {label: {"y": column} for column, label in lines.items()}
            more = functools.partial(promised, s, falling)
            return lab.Over(name, x="width", y=next(iter(lines)), line=selections, more=more)

        step = -(-len(s.widths) // 4)  # more lines over steps could not be told apart
        return [
            over_width(
                "flips",
                *("first_flips", "second_flips"),
                first_flips="first layer (a)",
                second_flips="second layer (d)",
                first_flips_bound="right side of (a)",
                second_flips_bound="right side of (d)",
            ),
            over_width(
                "vanishing",
                *("first_vanishing", "second_matrix"),
                first_vanishing="(b) start in out₁",
                second_vanishing="(e) start in layer 2",
                second_matrix="(f) ‖A D V⁽⁰⁾‖",
                first_gates="C.3: lost by W*",
                second_gates="C.3: lost by V*",
            ),
            lab.OverTime(
                "regret",
                x="regret/step",
                y="regret/regret",
                line={f"m = {width}": {"width": width} for width in s.widths[::-1][::step][::-1]},
                x_scale="steps",
            ),
            over_width(
                "error",
                error="E‖Err‖²",
                error_bound="right side",
                diamond="♦: the start in the output",
                spade="♠: the witness's own error",
                club="♣: first error in layer 2",
            ),
        ]

    def facts(self, settings: CouplingSettings) -> Any:
        powers = {name: getattr(settings, name) for name in ("first_power", "second_power")}
        return SimpleNamespace(**{name: power_of(value) for name, value in (powers | settings.exponents).items()})

    def remarks(self, s: CouplingSettings) -> list[str]:
        sizes, width = sizes_of(s), s.widths[-1]
        w, v = s.stds(width)
        network = bk.networks.theorem_network(width, w, v)
        given = {"steps": s.steps, "first_rate": s.first_rate, "second_rate": s.second_rate}
        found = bk.resnet.theorem1(sizes, network, **given, first_std=w, second_std=v)
        asked, missed = len(found.hypotheses), "; ".join(map(str, found.missed)) or "none"
        told: dict[str, Any] = {"asked": asked, "held": asked - len(found.missed), "missed": missed}
        return [
            self.sentence(s, "base", risk=s.base_only_risk, accuracy=sizes.accuracy),
            self.sentence(s, "theorem", width=width, w=found.first_radius, v=found.second_radius, **told),
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


def promised(s: CouplingSettings, terms: tuple[str, ...], rows: lab.Rows) -> list[lab.Line]:
    """Where terms would lie if they fell exactly as promised from the first width of the fit on."""
    made, wide = [], list(s.wide)
    for term in terms:
        start = rows.loc[rows["width"] == wide[0], term].mean() if term in rows else math.nan
        if start > 0:
            power = s.exponents[term]
            heights = [start * (width / wide[0]) ** power for width in wide]
            made.append(lab.Line(f"{PROMISES[term][1][:3]} promises {power_of(power)}", wide, heights))
    return made
