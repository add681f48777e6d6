"""The pictures of Figure 3."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig3.methods import NAMES, TWO_STEP
from beyondkernels.reports import Curves, Figure, Level, Line

if TYPE_CHECKING:
    from beyondkernels.experiments.resnet.fig3.experiment import Fig3Settings


def error_over_beta(rows: Rows, n: int, settings: Fig3Settings) -> list[Figure]:
    """Figure 3 at one N.

    Arguments:
        rows: the experiment's rows.
        n: N of the networks.
        settings: the experiment's.
    """
    betas = settings.betas
    wanted = [*((name, n, name) for name in NAMES.values()), (TWO_STEP, n, TWO_STEP)]
    if n == settings.sizes[-1]:
        wanted += [(TWO_STEP, more, f"{TWO_STEP}, N = {more}") for more in settings.kernel_samples]
    lines = [
        Line(label, list(betas), values)
        for method, size, label in wanted
        if (values := _by_seed(rows, method, size, betas, "test_error"))
    ]
    if not lines:
        return []
    constant = [settings.outputs * (settings.alpha**2 + beta**2) for beta in betas]
    return [
        Curves(
            name=f"error-{n}",
            title=f"Test error over β, N = {n}",
            caption=(
                "Mean over seeds, shaded from the lowest to the highest. Networks have the learning rate and weight "
                "decay that a search with other seeds found best on test points, at every β; the kernel has the weight "
                f"and ridge that are best on the test points.{_left_out(rows, [n])}"
            ),
            alt="Trained together, the ResNet falls below the error of learning βF alone once β is well above α",
            lines=[*lines, Line("constant", list(betas), constant)],
            x_label=f"β (α = {settings.alpha:g})",
            y_label="test error E‖out − y‖²",
            y_scale="log",
            levels=[Level(f"βF learnt, G(F) not ({settings.threshold:.4g})", settings.threshold)],
        )
    ]


def learnt_over_beta(rows: Rows, settings: Fig3Settings) -> list[Figure]:
    """What the networks' predictions hold of G(F), relative to α."""
    lines = [
        Line(f"{name}, N = {n}", list(settings.betas), values)
        for name in NAMES.values()
        for n in reversed(settings.sizes)
        if (values := _by_seed(rows, name, n, settings.betas, "composite_learnt"))
    ]
    if not lines:
        return []
    return [
        Curves(
            name="learnt",
            title="What is learnt of the composite signal",
            caption=(
                "The coefficient of G(F) in the network's predictions, relative to α, for the settings chosen on test "
                "points: mean over seeds, shaded from the lowest to the highest. It leaves the error in βF aside."
                f"{_left_out(rows, settings.sizes)}"
            ),
            alt="The share of G(F) that is learnt is zero for small β and rises once β is well above α",
            lines=lines,
            x_label=f"β (α = {settings.alpha:g})",
            y_label="coefficient of G(F), relative to α",
            levels=[Level("all of it", 1.0), Level("nothing", 0.0)],
        )
    ]


def _by_seed(rows: Rows, method: str, n: int, betas: Sequence[float], name: str) -> list[list[float]]:
    """One number of each seed over β, by the choice on test points.

    In place of a run that diverged stands the mean of those that did not, which changes neither their mean nor their
    range; where there is none, what is not a number.
    """
    mine = {
        (row["seed"], row["beta"]): row[name]
        for row in rows
        if (row["method"], row["samples"], row["choice"]) == (method, n, "test")
    }
    means = {}
    for beta in betas:
        there = [value for (_, at), value in mine.items() if at == beta and value is not None]
        means[beta] = statistics.fmean(there) if there else math.nan
    seeds = dict.fromkeys(seed for seed, _ in mine)
    return [[means[beta] if (value := mine.get((seed, beta))) is None else value for beta in betas] for seed in seeds]


def _left_out(rows: Rows, sizes: Sequence[int]) -> str:
    """A sentence about the runs that diverged, if there are any."""
    lost: dict[str, int] = {}
    for row in rows:
        if row["choice"] == "test" and row["test_error"] is None and row["samples"] in sizes:
            place = f"{row['method']} at N = {row['samples']}, β = {row['beta']:g}"
            lost[place] = lost.get(place, 0) + 1
    runs = "; ".join(f"{count} of {place}" for place, count in lost.items())
    return f" Diverged and left out, runs: {runs}." if lost else ""
