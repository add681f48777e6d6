"""The pictures of Figure 2."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig2.methods import KERNELS, KERNELS_BY_SGD, Method
from beyondkernels.reports import Curves, Figure, Level, Line


def error_over_width(
    rows: Rows, trained: Sequence[Method], widths: Sequence[int], levels: Mapping[str, float]
) -> list[Figure]:
    """Figure 2: a curve for each method; of the kernels those that are solved.

    Arguments:
        rows: the experiment's rows.
        trained: what SGD trains.
        widths: the finite ones.
        levels: errors to compare with.
    """
    methods = (*(method for method in trained if not method.kernel), *KERNELS)
    return _over_width(
        rows,
        methods,
        widths,
        levels,
        "error",
        "Test error over width",
        "Networks have the learning rate and weight decay that a search with other seeds found best on test points; "
        "kernels are solved with the ridge that is best on the test points.",
        "Only the three-layer ResNet falls below the error of learning F alone; the kernels stay far above it",
    )


def kernels_by_sgd(rows: Rows, widths: Sequence[int], levels: Mapping[str, float]) -> list[Figure]:
    """The kernels again, trained by SGD.

    Arguments:
        rows: the experiment's rows.
        widths: the finite ones.
        levels: errors to compare with.
    """
    return _over_width(
        rows,
        KERNELS_BY_SGD,
        widths,
        levels,
        "kernels-by-sgd",
        "Test error over width of kernels trained by SGD",
        "(last) trains the readout, (NTK) all parameters of the linearised network, each with the learning rate and "
        "weight decay that a search with other seeds found best on test points. The figure above has them solved.",
        "The kernels trained by SGD stay far above the error of learning F alone",
    )


def _over_width(
    rows: Rows,
    methods: Sequence[Method],
    widths: Sequence[int],
    levels: Mapping[str, float],
    name: str,
    title: str,
    caption: str,
    alt: str,
) -> list[Figure]:
    lines = [
        Line(method.name, list(widths), values)
        for method in methods
        if (values := _by_seed(rows, method.name, "test", widths))
    ]
    if not lines:
        return []
    words = ["Mean over seeds, shaded from the lowest to the highest.", caption, _left_out(rows, methods, "test")]
    return [
        Curves(
            name=name,
            title=title,
            caption=" ".join(filter(None, words)),
            alt=alt,
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
                "errors of the chosen settings with fresh seeds: mean, shaded from the lowest to the highest. "
                f"{_left_out(rows, [method], 'test', 'validation')}"
            ).rstrip(),
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
    """The errors of each seed over the widths.

    In place of a run that diverged stands the mean of those that did not, which changes neither their mean nor their
    range; where there is none, what is not a number.
    """
    mine = {
        (row["seed"], row["width"]): row["test_error"]
        for row in rows
        if (row["method"], row["choice"]) == (name, choice)
    }
    means = {}
    for width in widths:
        there = [value for (_, at), value in mine.items() if at == width and value is not None]
        means[width] = statistics.fmean(there) if there else math.nan
    seeds = dict.fromkeys(seed for seed, _ in mine)
    return [
        [means[width] if (value := mine.get((seed, width))) is None else value for width in widths] for seed in seeds
    ]


def _left_out(rows: Rows, methods: Sequence[Method], *choices: str) -> str:
    """A sentence about the runs that diverged, if there are any."""
    names = [method.name for method in methods]
    runs = [row for row in rows if row["method"] in names and row["choice"] in choices]
    places = dict.fromkeys((row["method"], row["choice"], row["width"]) for row in runs if row["test_error"] is None)
    if not places:
        return ""
    parts = []
    for place in places:
        here = [row for row in runs if (row["method"], row["choice"], row["width"]) == place]
        lost = sum(row["test_error"] is None for row in here)
        by = f", by {place[1]}," if len(choices) > 1 else ""
        parts.append(f"{lost} of {len(here)} runs of {place[0]}{by} at width {place[2]}")
    return f"Diverged and left out: {'; '.join(parts)}."
