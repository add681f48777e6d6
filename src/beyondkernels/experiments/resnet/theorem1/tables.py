"""What the runs say: rows, slopes, the table, the claims."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.theorem1.methods import FROZEN, KERNEL, NETWORK, SAME, Method
from beyondkernels.reports import Claim, Column, at_least, at_most

if TYPE_CHECKING:
    from beyondkernels.core import Outcome

BOUND = 3.5
"""The least slope that is claimed: α⁴, with room for what a fit over a short range leaves."""

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


def values(rows: Rows, method: Method, kind: str, alpha: float) -> list[float | None]:
    """One risk of each seed."""
    return [row[kind] for row in rows if (row["method"], row["alpha"]) == (method.name, alpha)]


def slopes(rows: Rows, method: Method, kind: str) -> list[float | None]:
    """The fitted slope of log risk on log α of each seed; None where a risk is missing or not positive."""
    mine = [row for row in rows if row["method"] == method.name]
    seeds = dict.fromkeys(row["seed"] for row in mine)
    return [slope([(row["alpha"], row[kind]) for row in mine if row["seed"] == seed]) for seed in seeds]


def slope(points: Sequence[tuple[float, float | None]]) -> float | None:
    r"""The least-squares slope of log y on log x; None with fewer than two x or where a y is not positive.

    >>> round(slope([(0.2, 4 * 0.2**3), (0.3, 4 * 0.3**3), (0.5, 4 * 0.5**3)]), 12)
    3.0
    """
    good = [(math.log(x), math.log(y)) for x, y in points if y is not None and 0 < y < math.inf]
    if len(good) < len(points) or len({x for x, _ in good}) < 2:
        return None
    xs, ys = zip(*good, strict=True)
    return statistics.linear_regression(xs, ys).slope


def summary(rows: Rows) -> Rows:
    """A row for each α, and one of slopes: means and standard deviations over seeds."""
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
        found = _spread(name, slopes(rows, method, kind))
        last |= {name: found[name], f"{name}_slope_sd": found[f"{name}_sd"]}  # the table shows these spreads alone
    return [*lines, last]


def claims(rows: Rows, outputs: int, speaks: bool) -> list[Claim]:
    """The slopes, and where the risks lie.

    Arguments:
        rows: the rows.
        outputs: k.
        speaks: whether the claims say anything at this scale.
    """
    promised = "order α⁴, from above"

    def steep(name: str, text: str, method: Method, kind: str) -> Claim:
        return at_least(name, text, slopes(rows, method, kind), BOUND, paper=promised, speaks=speaks)

    return [
        steep(
            "slope",
            "With Theorem 1's T and rates for each α, log risk rises with log α by at least 3.5, the risk being the "
            "mean over the last half of the steps",
            NETWORK,
            "tail",
        ),
        steep("slope-average", "So does (6.2)'s average, which is over all steps", NETWORK, "average"),
        at_most(
            "below-floor",
            "At every α the mean over the last half lies below the risk of F alone, kα²: the largest ratio",
            _largest_ratios(rows, NETWORK, lambda row: row["floor"]),
            1.0,
            paper="below 1",
            speaks=speaks,
        ),
        at_most(
            "fourth-power",
            "With the T and the rates of the smallest α for every α, the mean over the last half lies below kα⁴: the "
            "largest ratio",
            _largest_ratios(rows, SAME, lambda row: outputs * row["alpha"] ** 4),
            1.0,
            paper=promised,
            speaks=speaks,
        ),
        steep(
            "slope-same-t",
            "With the T and the rates of the smallest α for every α, so that α changes the target alone, log risk "
            "rises by at least 3.5 too",
            SAME,
            "tail",
        ),
    ]


def _largest_ratios(rows: Rows, method: Method, level: Any) -> list[float | None]:
    """For each seed the largest ratio over α of the tail to a level; None where one is missing."""
    mine = [row for row in rows if row["method"] == method.name]
    found: list[float | None] = []
    for seed in dict.fromkeys(row["seed"] for row in mine):
        tails = [(row["tail"], level(row)) for row in mine if row["seed"] == seed]
        found.append(None if any(tail is None for tail, _ in tails) else max(tail / at for tail, at in tails))
    return found


def _spread(name: str, given: Sequence[float | None]) -> dict[str, float | None]:
    there = [value for value in given if value is not None]
    return {
        name: statistics.fmean(there) if there else None,
        f"{name}_sd": statistics.stdev(there) if len(there) > 1 else None,
    }
