"""The pictures: sign changes, vanishing terms and Claim C.6 over width, Ξ over steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from beyondkernels.experiments.base import Finished, Rows
from beyondkernels.experiments.resnet.coupling.cases import CouplingSettings, power_of
from beyondkernels.reports import Curves, Figure, Line

_OVER_WIDTH = "Mean over points and seeds at the end of the run, shaded from the lowest seed to the highest. "
_MANY = 4  # lines over steps that can still be told apart


def flips(settings: CouplingSettings, rows: Rows) -> list[Figure]:
    """(a) and (d) with their right sides and slopes."""
    names = {
        "first_flips": "first layer (a)",
        "second_flips": "second layer (d)",
        "first_flips_bound": "right side of (a)",
        "second_flips_bound": "right side of (d)",
    }
    lines = [
        *_measured(settings, rows, names),
        *_references(settings, rows, {"first_flips": "(a)", "second_flips": "(d)"}),
    ]
    return _over_width(
        "flips",
        "Gates that training changes, over width",
        _OVER_WIDTH + "Right sides have constants 1 and the radii that were reached. The straight lines "
        "start on the measured ones where fits begin and fall as the lemma promises at fixed radii: the measured ones "
        "must fall no slower.",
        "share of a layer's gates",
        lines,
    )


def vanishing(settings: CouplingSettings, rows: Rows) -> list[Figure]:
    """The vanishing terms of Lemmas C.1 and C.3."""
    names = {
        "first_vanishing": "(b) start in out₁",
        "second_vanishing": "(e) start in layer 2",
        "second_matrix": "(f) ‖A D V⁽⁰⁾‖",
        "first_gates": "C.3: lost by W*",
        "second_gates": "C.3: lost by V*",
    }
    lines = [
        *_measured(settings, rows, names),
        *_references(settings, rows, {"first_vanishing": "(b)", "second_matrix": "(f)"}),
    ]
    return _over_width(
        "vanishing",
        "Terms that vanish, over width",
        _OVER_WIDTH + "All may fall as slowly as the straight lines, which start on (b) and (f) where fits begin. Of "
        "Lemma C.3's terms the root mean square over points is shown.",
        "norm",
        lines,
    )


def errors(settings: CouplingSettings, rows: Rows) -> list[Figure]:
    """Claim C.6's error, its parts and its right side."""
    names = {
        "error": "E‖Err‖²",
        "error_bound": "right side",
        "diamond": "♦: the start in the output",
        "spade": "♠: the witness's own error",
        "club": "♣: first error in layer 2",
    }
    return _over_width(
        "error",
        "Claim C.6's error and its right side, over width",
        "Mean over points and seeds, shaded from the lowest seed to the highest: E‖Err‖² and the right side, with "
        "constants 1, at the snapshot where their ratio is largest; the three parts of Err at the end. Narrow networks "
        "miss the right side because the terms that vanish with m, which it leaves out, have not yet vanished.",
        "mean square",
        _measured(settings, rows, names),
    )


def regret(settings: CouplingSettings, finished: Finished) -> list[Figure]:
    """E Ξ_t over steps, at some widths."""
    step = -(-len(settings.widths) // _MANY)
    shown = settings.widths[::-1][::step][::-1]
    lines = []
    for width in shown:
        runs = [run.outcome for (m, _), run in finished.items() if m == width and run.outcome.status == "finished"]
        if runs:
            values = [[run.scalars[f"regret/{t}"] for t in settings.times] for run in runs]
            lines.append(Line(f"m = {width}", list(settings.times), values))
    if not lines:
        return []
    return [
        Curves(
            name="regret",
            title="Ξ along the run",
            caption=(
                "E Ξ_t = E⟨∇Obj, (W_t − W*, V_t − V*)⟩ over fresh points, mean over seeds, shaded from the lowest to "
                "the highest: how much the gradient still knows of the way to weights that write the target."
            ),
            alt="Ξ begins near one and falls to zero within the first thousand steps at every width",
            lines=lines,
            x_label="step t",
            y_label="E Ξ_t",
            x_scale="steps",
        )
    ]


def _measured(settings: CouplingSettings, rows: Rows, names: Mapping[str, str]) -> list[Line]:
    """A line for each quantity; what is missing or zero is left out."""
    seeds = dict.fromkeys(row["seed"] for row in rows)
    value = {(row["seed"], row["width"], name): row.get(name) for row in rows for name in names}
    lines = []
    for name, label in names.items():
        values = [[value.get((seed, width, name)) or math.nan for width in settings.widths] for seed in seeds]
        if any(not math.isnan(number) for line in values for number in line):
            lines.append(Line(label, list(settings.widths), values))
    return lines


def _references(settings: CouplingSettings, rows: Rows, terms: Mapping[str, str]) -> list[Line]:
    """Where a term would lie if it fell exactly as promised from the first width of the fit on."""
    wide, lines = [width for width in settings.widths if width >= settings.fit_from], []
    first = wide[0]
    for term, letter in terms.items():
        values = [row[term] for row in rows if row["width"] == first and row.get(term)]
        if values:
            power, start = settings.exponents[term], sum(values) / len(values)
            line = [start * (width / first) ** power for width in wide]
            lines.append(Line(f"{letter} promises {power_of(power)}", wide, line))
    return lines


def _over_width(name: str, title: str, caption: str, y_label: str, lines: Sequence[Line]) -> list[Figure]:
    if not lines:
        return []
    return [
        Curves(
            name=name,
            title=title,
            caption=caption,
            alt=f"{title}: {', '.join(line.label for line in lines)}",
            lines=lines,
            x_label="width m",
            y_label=y_label,
            x_scale="log",
            y_scale="log",
        )
    ]
