"""What the runs say: rows, slopes, the table, the claims."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.theorem1.methods import FROZEN, KERNEL, NETWORK, SAME, Method
from beyondkernels.reports import Claim, Column, at_least, at_most, show_number

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

BOUND = 3.5
"""The least slope that is claimed: α⁴, with room for what a fit over a short range leaves."""

HALF = 0.5
"""The largest share of the risk with V frozen that is claimed to be left when V is trained."""

Levels = Sequence[Sequence[float | None]]
"""Numbers for each seed and each α."""

_SHOWN = {
    "network_tail": (NETWORK, "tail"),
    "network_average": (NETWORK, "average"),
    "network_end": (NETWORK, "end"),
    "frozen_tail": (FROZEN, "tail"),
    "same_tail": (SAME, "tail"),
    "kernel_end": (KERNEL, "end"),
}
"""The table's columns: a method's risk of a kind."""

COLUMNS = (
    Column("alpha_shown", "α"),
    Column("steps", "T", ",.0f"),
    Column("network_tail", "Tail", ".2g", spread="network_tail_slope_sd"),
    Column("network_average", "Average (6.2)", ".2g", spread="network_average_slope_sd"),
    Column("network_end", "End", ".2g", spread="network_end_slope_sd"),
    Column("floor", "F alone", ".2g"),
    Column("frozen_tail", "V frozen, tail", ".2g", spread="frozen_tail_slope_sd"),
    Column("same_tail", "Same T, tail", ".2g", spread="same_tail_slope_sd"),
    Column("kernel_end", "Two steps", ".2g", spread="kernel_end_slope_sd"),
)


def row_of(method: Method, alpha: float, seed: int, outcome: Outcome, floor: float, steps: int) -> dict[str, Any]:
    """A run in plain numbers; all risks are E‖out − y‖².

    Arguments:
        method: the method.
        alpha: α.
        seed: the seed.
        outcome: what the run left.
        floor: the risk of F alone.
        steps: T, or the kernel's points.
    """
    found = outcome.scalars
    return {
        "method": method.name,
        "alpha": alpha,
        "seed": seed,
        "status": outcome.status,
        "points": steps,
        "end": found.get("test_loss", found.get("test_error")),
        "tail": found.get("online_loss_tail"),
        "average": found.get("online_loss"),
        "floor": floor,
    }


def by_seed(rows: Rows, method: Method, kind: str, alphas: Sequence[float]) -> list[list[float | None]]:
    """For each seed that anything was run with, one risk at every α; None where there is none."""
    mine = {(row["seed"], row["alpha"]): row[kind] for row in rows if row["method"] == method.name}
    return [[mine.get((seed, alpha)) for alpha in alphas] for seed in dict.fromkeys(row["seed"] for row in rows)]


def values(rows: Rows, method: Method, kind: str, alpha: float) -> list[float | None]:
    """One risk of each seed."""
    return [row[kind] for row in rows if (row["method"], row["alpha"]) == (method.name, alpha)]


def slopes(rows: Rows, method: Method, kind: str, alphas: Sequence[float]) -> list[float | None]:
    """The fitted slope of log risk on log α of each seed; None where a risk is missing or not positive."""
    return [slope(list(zip(alphas, risks, strict=True))) for risks in by_seed(rows, method, kind, alphas)]


def slope(points: Sequence[tuple[float, float | None]]) -> float | None:
    r"""The least-squares slope of log y on log x; None with fewer than two x or where a y is missing or not positive.

    >>> round(slope([(0.2, 4 * 0.2**3), (0.3, 4 * 0.3**3), (0.5, 4 * 0.5**3)]), 12)
    3.0
    """
    good = [(math.log(x), math.log(y)) for x, y in points if y is not None and 0 < y < math.inf]
    if len(good) < len(points) or len({x for x, _ in good}) < 2:
        return None
    xs, ys = zip(*good, strict=True)
    return statistics.linear_regression(xs, ys).slope


def summary(rows: Rows, alphas: Sequence[float]) -> Rows:
    """A row for each α, and one of slopes: means and standard deviations over seeds.

    Arguments:
        rows: the experiment's rows.
        alphas: every α of the plan: a seed without all of them has no slope.
    """
    lines: Rows = []
    for alpha in dict.fromkeys(row["alpha"] for row in rows):
        mine = [row for row in rows if row["alpha"] == alpha]
        own = [row["points"] for row in mine if row["method"] == NETWORK.name]
        line: dict[str, Any] = {"alpha": alpha, "alpha_shown": f"{alpha:g}", "floor": mine[0]["floor"]}
        line["steps"] = own[0] if own else None
        for name, (method, kind) in _SHOWN.items():
            line |= _spread(name, values(rows, method, kind, alpha))
        lines.append(line)
    last: dict[str, Any] = {"alpha": None, "alpha_shown": "slope", "steps": None}
    last["floor"] = slope([(line["alpha"], line["floor"]) for line in lines])
    for name, (method, kind) in _SHOWN.items():
        found = _spread(name, slopes(rows, method, kind, alphas))
        last |= {name: found[name], f"{name}_slope_sd": found[f"{name}_sd"]}  # the table shows these spreads alone
    return [*lines, last]


def claims(rows: Rows, alphas: Sequence[float], outputs: int, speaks: bool) -> list[Claim]:
    """The slopes, and where the risks lie.

    Arguments:
        rows: the rows.
        alphas: every α of the plan.
        outputs: k.
        speaks: whether the claims say anything at this scale.
    """
    promised = "order α⁴, from above"

    def steep(name: str, text: str, method: Method, kind: str, paper: str | None = promised) -> Claim:
        return at_least(name, text, slopes(rows, method, kind, alphas), BOUND, paper=paper, speaks=speaks)

    def below(name: str, text: str, method: Method, levels: Levels, bound: float, paper: str | None = None) -> Claim:
        tails = by_seed(rows, method, "tail", alphas)
        return at_most(name, text, largest_ratios(tails, levels), bound, paper=paper, speaks=speaks)

    frozen = by_seed(rows, FROZEN, "tail", alphas)
    every = len(frozen)
    return [
        _beside(
            steep(
                "slope",
                "With Theorem 1's T and rates for each α, log risk rises with log α by at least 3.5, the risk being "
                "the mean over the last half of the steps",
                NETWORK,
                "tail",
            ),
            slopes(rows, FROZEN, "tail", alphas),
        ),
        _beside(
            steep("slope-average", "So does (6.2)'s average, which is over all steps", NETWORK, "average"),
            slopes(rows, FROZEN, "average", alphas),
        ),
        below(
            "second-layer",
            "At every α the mean over the last half is at most half of that with V frozen: the largest ratio",
            NETWORK,
            frozen,
            HALF,
        ),
        below(
            "below-floor",
            "At every α the mean over the last half lies below the risk of F alone, kα²: the largest ratio",
            NETWORK,
            [[outputs * alpha**2 for alpha in alphas]] * every,
            1.0,
        ),
        below(
            "fourth-power",
            "With the T and the rates of the smallest α for every α, the mean over the last half lies below kα⁴: the "
            "largest ratio",
            SAME,
            [[outputs * alpha**4 for alpha in alphas]] * every,
            1.0,
            promised,
        ),
        steep(
            "slope-same-t",
            "With the T and the rates of the smallest α for every α, so that α changes the target alone, log risk "
            "rises by at least 3.5 too",
            SAME,
            "tail",
            None,  # a bound from above promises no slope once T stays
        ),
    ]


def largest_ratios(risks: Levels, levels: Levels) -> list[float | None]:
    """For each seed the largest ratio over α of a risk to a level; None where one is missing.

    Arguments:
        risks: for each seed, one at every α.
        levels: likewise, positive.

    >>> largest_ratios([[0.25, 1.0], [None, 1.0]], [[1.0, 2.0], [1.0, 2.0]])
    [0.5, None]
    """
    return [_largest_ratio(*pair) for pair in zip(risks, levels, strict=True)]


def _largest_ratio(risks: Sequence[float | None], levels: Sequence[float | None]) -> float | None:
    pairs = [(risk, level) for risk, level in zip(risks, levels, strict=True) if risk is not None and level is not None]
    return max(risk / level for risk, level in pairs) if len(pairs) == len(risks) else None


def _beside(claim: Claim, control: Sequence[float | None]) -> Claim:
    """The claim on a slope with the control's slope told in its reason, once it is decided."""
    there = [value for value in control if value is not None]
    if claim.holds is None or not there:
        return claim
    return replace(claim, reason=f"{claim.reason}; with V frozen it is {show_number(statistics.fmean(there))}")


def _spread(name: str, given: Sequence[float | None]) -> dict[str, float | None]:
    there = [value for value in given if value is not None]
    return {
        name: statistics.fmean(there) if there else None,
        f"{name}_sd": statistics.stdev(there) if len(there) > 1 else None,
    }
