"""The pictures of Figure 4."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig4.construction import least, targets
from beyondkernels.experiments.resnet.fig4.tables import distinct, trained
from beyondkernels.reports import Curves, Figure, Level, Line, Marks, Scatter

if TYPE_CHECKING:
    from beyondkernels.experiments.resnet.fig4.experiment import Fig4Settings

_LABELS = {"train_error": "training error", "test_error": "test error"}


def norm_and_error(settings: Fig4Settings, rows: Rows, error: Literal["train_error", "test_error"]) -> list[Figure]:
    """Figure 4: every run of SGD as a mark, and the weights that exist.

    Arguments:
        settings: the settings.
        rows: the experiment's rows.
        error: which error is on the vertical axis.
    """
    runs = [row for row in distinct(trained(rows)) if row["norm"] is not None]
    if not runs:
        return []
    marks = [
        _marks(f"SGD, {epochs} epochs", mine, error)
        for epochs in settings.epochs
        if (mine := [row for row in runs if row["epochs"] == epochs])
    ]
    marks.append(_marks("W* by descent on all points", [row for row in rows if row["part"] == "W*"], error, True))
    risks, norms = zip(*targets(), strict=True)
    marks.append(Marks("the paper's W*", norms, risks, hollow=True))
    curve = _risks(min([1.0, *(row["norm"] for row in runs)]))
    name = _LABELS[error]
    also = {
        "train_error": "a training error may lie left of it",
        "test_error": "a test error, being over finitely many points, may lie slightly left of it by chance",
    }
    return [
        Scatter(
            name=f"norm-{error.partition('_')[0]}",
            title=f"Norm and {name}",
            caption=(
                "A mark for each run that did not diverge: those of the search, and the chosen settings with fresh "
                "seeds from both starts. The line is a lower bound on the norm of weights with that risk, the mean "
                f"error over all points; {also[error]}. What W* does on six inputs it does on any number."
            ),
            alt=(
                f"{name.capitalize()} against the norm of the weights on a logarithmic scale: a mark for each run of "
                "SGD, hollow marks for W*, and a line for the lower bound on the norm"
            ),
            marks=marks,
            lines=[Line("lower bound on the norm", [least(risk) for risk in curve], curve)],
            x_label="‖W‖_F/√d",
            y_label=name,
            x_scale="log",
        )
    ]


def error_over_width(settings: Fig4Settings, rows: Rows, bound: float) -> list[Figure]:
    """Test error over width for each schedule: the search's best, and fresh seeds by validation.

    Arguments:
        settings: the settings.
        rows: the experiment's rows.
        bound: the best test error of the paper's search.
    """
    if len(settings.widths) < 2 or not rows:
        return []
    lines = []
    for epochs in settings.epochs:
        chosen = _by_seed(settings, [row for row in rows if row["epochs"] == epochs and _is_chosen(row)])
        if chosen:
            lines.append(Line(f"{epochs} epochs, fresh seeds", settings.widths, chosen))
        found = [
            min(
                (
                    row["test_error"]
                    for row in rows
                    if (row["part"], row["epochs"], row["width"]) == ("search", epochs, width)
                    and row["test_error"] is not None
                ),
                default=math.nan,
            )
            for width in settings.widths
        ]
        lines.append(Line(f"{epochs} epochs, search", settings.widths, found))
    return [
        Curves(
            name="width",
            title="Test error over width",
            caption=(
                "The least error that the search met, and the error of the setting chosen on validation points with "
                "fresh seeds: mean, shaded from the lowest to the highest, the line broken where a run diverged."
            ),
            alt="Test error over width for each number of epochs, in the search and with fresh seeds",
            lines=lines,
            x_label="width m",
            y_label="test error",
            x_scale="log",
            levels=[Level("predicting zero", 1.0), Level(f"the paper's best ({bound:g})", bound)],
        )
    ]


def _risks(norm: float) -> list[float]:
    """Risks for the line of the bound: its norms are evenly spaced on a logarithmic axis, from the given one on."""
    most = least(0)
    return [(1 - (norm / most) ** (i / 100)) ** 2 for i in range(101)]


def _marks(label: str, rows: Rows, error: str, hollow: bool = False) -> Marks:
    there = [row for row in rows if row["norm"] is not None]
    return Marks(label, [row["norm"] for row in there], [row[error] for row in there], hollow)


def _is_chosen(row: dict[str, object]) -> bool:
    return (row["part"], row["choice"]) == ("chosen", "validation")


def _by_seed(settings: Fig4Settings, rows: Rows) -> list[list[float]]:
    """The errors of each seed over the widths; what is missing or diverged is not a number."""
    mine = {(row["seed"], row["width"]): row["test_error"] for row in rows}
    seeds = dict.fromkeys(seed for seed, _ in mine)
    return [
        [math.nan if (value := mine.get((seed, width))) is None else value for width in settings.widths]
        for seed in seeds
    ]
