"""The pictures: risk over α, both axes logarithmic, so that a power is a straight line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.theorem1.methods import FROZEN, KERNEL, NETWORK, SAME, Method
from beyondkernels.reports import Curves, Figure, Line


def risk_over_alpha(rows: Rows, alphas: Sequence[float], outputs: int) -> list[Figure]:
    """With the theorem's numbers for each α, and with those of the smallest for all.

    Arguments:
        rows: the experiment's rows.
        alphas: where it was run.
        outputs: k.
    """
    kept = ((NETWORK, "average", "average (6.2)"), (NETWORK, "tail", "last half"), (NETWORK, "end", "at the end"))
    others = ((FROZEN, "tail", "V frozen, last half"), (KERNEL, "end", "two-step kernel"))
    same = ((SAME, "average", "average"), (SAME, "tail", "last half"), (SAME, "end", "at the end"))
    levels = [
        Line("F alone, kα²", list(alphas), [outputs * alpha**2 for alpha in alphas]),
        Line("slope 4: kα⁴", list(alphas), [outputs * alpha**4 for alpha in alphas]),
    ]
    drawn = []
    for name, title, words, lines in (
        ("risk", "Risk over α with Theorem 1's T and rates", "T ∝ α⁻⁸ and the rates fall with α", (*kept, *others)),
        ("same-t", "Risk over α with one T and one pair of rates", "Those of the smallest α serve every α", same),
    ):
        found = [
            Line(label, list(alphas), values)
            for method, kind, label in lines
            if (values := _by_seed(rows, method, kind, alphas))
        ]
        if found:
            drawn.append(
                Curves(
                    name=name,
                    title=title,
                    caption=(
                        f"{words}. Mean over seeds, shaded from the lowest to the highest. Both axes are logarithmic; "
                        "what falls faster towards the left than the line of slope 4 keeps the theorem's promise, and "
                        "so does what lies below it."
                    ),
                    alt=f"{title}: {', '.join(line.label for line in found)}, beside lines of slope 2 and 4",
                    lines=[*found, *levels],
                    x_label="α",
                    y_label="risk E‖out − y‖²",
                    x_scale="log",
                    y_scale="log",
                )
            )
    return drawn


def _by_seed(rows: Rows, method: Method, kind: str, alphas: Sequence[float]) -> list[list[float]]:
    """The risks of each seed over α; what is missing is not a number."""
    mine = {(row["seed"], row["alpha"]): row[kind] for row in rows if row["method"] == method.name}
    seeds = dict.fromkeys(seed for seed, _ in mine)
    return [[math.nan if (value := mine.get((seed, alpha))) is None else value for alpha in alphas] for seed in seeds]
