"""What the runs say: rows, the table, the claims."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.coupling.cases import (
    BASE_NORM,
    LIPSCHITZ,
    OUTPUTS,
    CouplingSettings,
    power_of,
)
from beyondkernels.reports import Claim, Column, at_most

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

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

_BOUNDED = ("first_flips", "first_vanishing", "first_output", "second_flips", "second_vanishing", "second_matrix")
_PARTS = ("club", "spade", "diamond")
_WITNESS = ("first_start", "first_now", "first_rest", "second_start", "second_now")

COLUMNS = (
    Column("width", "m", "d"),
    Column("test_error", "Test error", ".1e"),
    Column("first_radius", "‖W‖", ".2f"),
    Column("second_radius", "‖V‖", ".2f"),
    Column("first_flips", "(a)", ".3f"),
    Column("first_flips_bound", "≤", ".2f"),
    Column("second_flips", "(d)", ".3f"),
    Column("second_flips_bound", "≤", ".2f"),
    Column("first_vanishing", "(b)", ".3f"),
    Column("second_vanishing", "(e)", ".3f"),
    Column("second_matrix", "(f)", ".3f"),
    Column("error", "E‖Err‖²", ".3f"),
    Column("error_bound", "≤", ".3f"),
    Column("outside", "Off C.1"),
)


def row(settings: CouplingSettings, width: int, seed: int, outcome: Outcome, accuracy: float) -> dict[str, Any]:
    """One run at its end, and the worst along its way.

    Arguments:
        settings: the settings.
        width: m.
        seed: the run's.
        outcome: what it gave.
        accuracy: α̃ of Lemma C.2.
    """
    from beyondkernels.measure.regret import error_bound

    line: dict[str, Any] = {"width": width, "seed": seed, "status": outcome.status}
    line |= dict(zip(("first_std", "second_std"), settings.stds(width), strict=True))
    if outcome.status != "finished":
        return line
    s, end = outcome.scalars, settings.steps
    line |= {"test_error": s["test_loss"], "first_witness": s["first_witness"], "second_witness": s["second_witness"]}
    for name in ("first_radius", "second_radius", "regret", "regret_se", "risk", *_PARTS, *_WITNESS):
        line[name] = s[f"{name}/{end}"]
    for name in (*_BOUNDED, "second_output"):
        line |= {name + part: s[f"{name}{part}/{end}"] for part in ("", "_max", "_bound", "_ratio")}
    line["second_matrix_order"] = line["second_matrix_max"] / line["second_radius"]
    for name in ("first_gates", "second_gates"):  # squares as measured; the lemma speaks of the norm
        line[name] = math.sqrt(s[f"{name}/{end}"])
        line[f"{name}_ratio"] = math.sqrt(s[f"{name}_ratio/{end}"])
    # τ_v has to bound ‖V‖ and ‖V*‖; the proof's 10‖V*‖ would only make the right side larger
    bounds = {
        t: error_bound(
            s[f"risk/{t}"],
            settings.alpha,
            max(s[f"second_radius/{t}"], s["second_witness"]),
            LIPSCHITZ,
            BASE_NORM,
            accuracy,
        )
        for t in settings.times
    }
    worst = max(settings.times, key=lambda t: s[f"error/{t}"] / bounds[t])
    line |= {"error": s[f"error/{worst}"], "error_bound": bounds[worst], "error_step": worst}
    line["error_ratio"] = line["error"] / line["error_bound"]
    line["error_size"] = max(
        math.sqrt(s[f"error_max/{t}"]) / max(s[f"first_radius/{t}"], s["first_witness"]) for t in settings.times
    )
    line["regret_ratio"] = regret_ratio(settings, s)
    line["gradient_share"] = max(
        (settings.first_rate * s[f"first_gradient/{t}"] + settings.second_rate * s[f"second_gradient/{t}"])
        / (2 * s[f"risk/{t}"])
        for t in settings.times
    )
    return line


def regret_ratio(settings: CouplingSettings, scalars: Mapping[str, float]) -> float:
    r"""The largest, over the ends :math:`T_0` of a run's beginning, of App. C.4's left side over its right side.

    .. math:: \frac{1}{T_0}\sum_{t < T_0} E\,\Xi_t \le \frac{\|W^\star\|_F^2}{2\eta_w T_0} +
              \frac{\|V^\star\|_F^2}{2\eta_v T_0} + \frac{0.1}{T_0}\sum_{t < T_0} E\|H - \mathrm{out}_t\|^2

    Sums are trapezoids between snapshots, which are too large where Ξ falls ever more slowly; 0.1 is what the proof
    lets :math:`O(\eta_w + \eta_v \tau_w^2)` be. So the largest ratio hangs on which snapshots there are.

    Arguments:
        settings: the settings.
        scalars: of a finished run.
    """
    start = scalars["first_witness"] ** 2 / settings.first_rate + scalars["second_witness"] ** 2 / settings.second_rate
    sums, largest = {"regret": 0.0, "risk": 0.0}, -math.inf
    for before, after in itertools.pairwise(settings.times):
        for name in sums:
            sums[name] += (after - before) * (scalars[f"{name}/{before}"] + scalars[f"{name}/{after}"]) / 2
        largest = max(largest, sums["regret"] / (start / 2 + 0.1 * sums["risk"]))
    return largest


def summary(rows: Rows) -> Rows:
    """A row for each width: means and standard deviations over seeds."""
    lines = []
    for width in dict.fromkeys(row["width"] for row in rows):
        mine = [row for row in rows if row["width"] == width and row["status"] == "finished"]
        line: dict[str, Any] = {"width": width, "seeds": len(mine)}
        numbers = [name for name in (mine[0] if mine else {}) if name not in ("width", "seed", "status")]
        for name in numbers:
            values = [row[name] for row in mine]
            line[name] = statistics.fmean(values)
            line[f"{name}_sd"] = statistics.stdev(values) if len(values) > 1 else None
        lines.append(line | {"outside": outside(line) if mine else "all runs diverged"})
    return lines


def outside(line: Mapping[str, float]) -> str:
    """By which factor the mean radii lie above (×) or below (÷) Lemma C.1's ranges, where they do.

    >>> outside({"width": 10_000, "first_std": 0.1, "second_std": 4.0, "first_radius": 3.52, "second_radius": 0.1})
    '‖W‖ ×2.0, ‖V‖ ÷1.6'

    Reference: Allen-Zhu & Li (resnet), Lemma C.1.
    """
    m, (sigma_w, sigma_v), k = line["width"], (line["first_std"], line["second_std"]), OUTPUTS
    ranges = {
        "W": (max(1.0, m ** (1 / 8 + 0.001) * sigma_w), m ** (1 / 8 - 0.001) * sigma_w**0.25),
        "V": (sigma_v * (k / m) ** (3 / 8), sigma_v),
    }
    found = []
    for (name, (low, high)), tau in zip(ranges.items(), (line["first_radius"], line["second_radius"]), strict=True):
        if tau > high:
            found.append(f"‖{name}‖ ×{tau / high:.1f}")
        elif tau < low:
            found.append(f"‖{name}‖ ÷{low / tau:.1f}" if tau else f"‖{name}‖ is zero")
    return ", ".join(found)


def claims(settings: CouplingSettings, rows: Rows, speaks: bool) -> list[Claim]:
    """The exponents of Lemmas C.1 and C.3, constants where the paper has O(·), Claim C.6, and App. C.4's sum.

    Arguments:
        settings: the settings.
        rows: the rows.
        speaks: whether the claims say anything at this scale.
    """
    wide = [row for row in rows if row["width"] >= settings.fit_from]
    made, first = [], f"m = {min(width for width in settings.widths if width >= settings.fit_from)}"
    for term, (name, words) in PROMISES.items():
        promised = settings.exponents[term]
        text = f"{words} with the width at least as fast as {power_of(promised)}, by its slope from {first} on"
        made.append(at_most(name, text, slopes(wide, term), promised, paper=promised, speaks=speaks))
    for layer, words in (("first", "(a)"), ("second", "(d)")):
        made.append(
            at_most(
                f"{layer}-constant",
                f"{words} At the end of the run a constant of 1 is enough at every point and width",
                worst(rows, f"{layer}_flips_ratio"),
                1.0,
                paper="O(1)",
                speaks=speaks,
            )
        )
    widest = settings.widths[-1]
    made += [
        at_most(
            "second-matrix-order",
            f"(f) weakened to what Claim C.6 needs, at the weights that SGD ends with: ‖A D V⁽⁰⁾‖ is at most ‖V‖ at "
            f"every measured point and width from {first} on, by the ratio",
            worst(wide, "second_matrix_order"),
            1.0,
            paper="O(1)",
            speaks=speaks,
        ),
        at_most(
            "error",
            f"Claim C.6 with constants 1: at m = {widest} E‖Err‖² keeps below its right side along the whole run, by "
            "the ratio of the two",
            worst([row for row in rows if row["width"] == widest], "error_ratio"),
            1.0,
            paper="O(1)",
            speaks=speaks,
        ),
        at_most(
            "error-size",
            "Claim C.6 with constant 1: ‖Err‖ keeps below τ_w at every point, width and snapshot, by the ratio",
            worst(rows, "error_size"),
            1.0,
            paper="O(1)",
            speaks=speaks,
        ),
        at_most(
            "regret",
            "App. C.4: at every width and from the start to every snapshot the mean of Ξ keeps below what the way to "
            "W*, V* and a tenth of the mean risk allow, by the ratio",
            worst(rows, "regret_ratio"),
            1.0,
            paper="at most 1",
            speaks=speaks,
        ),
        at_most(
            "learns",
            "Meanwhile the network learns more than F: its test error ends below that of F alone at every width",
            worst(rows, "test_error"),
            settings.base_only_risk,
            speaks=speaks,
        ),
    ]
    return made


def slopes(rows: Rows, term: str) -> list[float | None]:
    """For each seed the least-squares slope of log term on log m; None where a run diverged or a term is zero."""
    found: list[float | None] = []
    for mine in _by_seed(rows):
        values = [row.get(term) for row in mine]
        if len(mine) < 2 or not all(values):
            found.append(None)
            continue
        x, y = [math.log(row["width"]) for row in mine], [math.log(value) for value in values if value]
        found.append(statistics.linear_regression(x, y).slope)
    return found


def worst(rows: Rows, name: str) -> list[float | None]:
    """For each seed the largest over widths; None where a run diverged."""
    found: list[float | None] = []
    for mine in _by_seed(rows):
        values = [row.get(name) for row in mine]
        there = [value for value in values if value is not None]
        found.append(max(there) if len(there) == len(values) else None)
    return found


def _by_seed(rows: Rows) -> list[Rows]:
    return [[row for row in rows if row["seed"] == seed] for seed in dict.fromkeys(row["seed"] for row in rows)]
