"""The pictures of Figure 2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig2.methods import KERNELS, Method
from beyondkernels.reports import Curves, Figure, Level, Line


def error_over_width(
    rows: Rows, networks: Sequence[Method], widths: Sequence[int], levels: Mapping[str, float]
) -> list[Figure]:
    """Figure 2: a curve for each method.

    Arguments:
        rows: the experiment's rows.
        networks: the trained networks.
        widths: the finite ones.
        levels: errors to compare with.
    """
    lines = [
        Line(method.name, list(widths), values)
        for method in (*networks, *KERNELS)
        if (values := _by_seed(rows, method.name, "test", widths))
    ]
    if not lines:
        return []
    return [
        Curves(
            name="error",
            title="Test error over width",
            caption=(
                "Mean over seeds, shaded from the lowest to the highest. Networks have the learning rate and weight "
                "decay that a search with other seeds found best on test points; kernels are solved with the ridge "
                "that is best on the test points. A line is broken where a run diverged."
            ),
            alt="Only the three-layer ResNet falls below the error of learning F alone; the kernels stay far above it",
            lines=lines,
            x_label="width m",
            y_label="test error E‖out − y‖²",
            x_scale="log",
            y_scale="log",
            levels=[Level(f"{label} ({value:.4g})", value) for label, value in levels.items()],
        )
    ]


def choices(rows: Rows, method: Method, widths: Sequence[int], bound: float) -> list[Figure]:
    """What one method's error is in the search, and with fresh seeds by either choice.

    Arguments:
        rows: the experiment's rows.
        method: a trained method.
        widths: the finite ones.
        bound: the error of learning F alone.
    """
    found = {
        row["width"]: row["search_error"] for row in rows if (row["method"], row["choice"]) == (method.name, "test")
    }
    if not found:
        return []
    lines = [
        Line(f"fresh seeds, {words}", list(widths), values)
        for choice, words in (("test", "by test error"), ("validation", "by validation"))
        if (values := _by_seed(rows, method.name, choice, widths))
    ]
    lines.append(Line("the search's own best", list(widths), [found.get(width, math.nan) for width in widths]))
    return [
        Curves(
            name="choices",
            title=f"{method.name}: what the choice is worth",
            caption=(
                "The least error that the search met, which is what choosing by test error alone would print, and the "
                "errors of the chosen settings with fresh seeds: mean, shaded from the lowest to the highest, the line "
                "broken where a run diverged."
            ),
            alt="Test error over width of the same network: in the search, and retrained with fresh seeds",
            lines=lines,
            x_label="width m",
            y_label="test error E‖out − y‖²",
            x_scale="log",
            y_scale="log",
            levels=[Level(f"F learnt, G(F) not ({bound:.4g})", bound)],
        )
    ]


def _by_seed(rows: Rows, name: str, choice: str, widths: Sequence[int]) -> list[list[float]]:
    """The errors of each seed over the widths; what is missing or diverged is not a number."""
    mine = {
        (row["seed"], row["width"]): row["test_error"]
        for row in rows
        if (row["method"], row["choice"]) == (name, choice)
    }
    seeds = dict.fromkeys(seed for seed, _ in mine)
    return [[math.nan if (value := mine.get((seed, width))) is None else value for width in widths] for seed in seeds]
