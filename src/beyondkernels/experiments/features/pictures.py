"""The pictures of Table 1's experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from beyondkernels.experiments.base import Finished, Rows
from beyondkernels.reports import (
    Curves,
    Directions,
    Distribution,
    Dot,
    Dots,
    Figure,
    Histogram,
    Level,
    Line,
    Panel,
    Quantity,
)

_MOMENTS = {0: "at initialisation", 1: "after step one", 2: "after step two"}


def accuracy_over_steps(finished: Finished, linear_accuracy: float | None) -> list[Figure]:
    """Figures 1 and 5: test accuracy over steps, with and without input structure.

    Arguments:
        finished: the runs.
        linear_accuracy: what the best linear classifier reaches, in percent, where that is known.
    """
    lines = []
    for name in dict.fromkeys(label[0] for label in finished):
        runs = [run.outcome for label, run in finished.items() if label[0] == name and run.outcome.series]
        whole = [run for run in runs if run.status == "finished"]
        if whole and name != "Network, one rate":
            y = [100 * run.series["test_accuracy"] for run in whole]
            lines.append(Line(str(name), whole[0].series["step"], y))
    if not lines:
        return []
    return [
        Curves(
            name="accuracy",
            title="Test accuracy over steps",
            caption=(
                "Mean over seeds, shaded from the lowest to the highest. The readout's steps are large at first and "
                "fade, so Network and Two Step swing before they settle; the fixed features settle lower, and without "
                "input structure nothing leaves chance."
            ),
            alt="Test accuracy of eight methods against the step on a logarithmic axis",
            lines=lines,
            x_label="step",
            y_label="test accuracy (%)",
            x_scale="log",
            y_limits=(45, 102),
            levels=() if linear_accuracy is None else (Level("best linear classifier", linear_accuracy),),
        )
    ]


def neuron_directions(finished: Finished) -> list[Figure]:
    """Figures 2 and 6: where the neurons point, for the first seed."""
    arrays = _first_network(finished)
    if arrays is None or "directions/2" not in arrays:
        return []
    near = _nearest(arrays["cosines/2"])
    panels = []
    for step, title in _MOMENTS.items():
        points = arrays[f"directions/{step}"]
        largest = abs(arrays[f"cosines/{step}"]).max()
        panels.append(Panel(title, points[:-2], points[-2:], note=f"largest cosine {largest:.3f}"))
    return [
        Directions(
            name="directions",
            title="Where the neurons point",
            caption=(
                "Each dot is a neuron, placed by classical multidimensional scaling of the cosine distance; the stars "
                "are the ground truth ±Σ Mⱼ. Coloured dots are the neurons nearest to a star after step two. First "
                "seed."
            ),
            alt="Neurons scattered at initialisation gather at the two ground-truth directions after one and two steps",
            panels=panels,
            star_labels=("+Σ Mⱼ", "−Σ Mⱼ"),
            near=near,
            near_label="nearest after step two",
        )
    ]


def cosine_distribution(finished: Finished) -> list[Figure]:
    """How all neurons are aligned at the three moments, for the first seed."""
    arrays = _first_network(finished)
    if arrays is None or "cosines/2" not in arrays:
        return []
    return [
        Histogram(
            name="cosines",
            title="Alignment of all neurons with the ground truth",
            caption=(
                "Distribution of |cos(wᵢ, Σ Mⱼ)| over the neurons of the first seed. Step one aligns all of them; what "
                "step two improves are the neurons that lag behind."
            ),
            alt="Cosines close to zero at initialisation, close to one after step one and closer after step two",
            distributions=[_distribution(title, abs(arrays[f"cosines/{s}"])) for s, title in _MOMENTS.items()],
            x_label="|cosine| with Σ Mⱼ",
            y_label="share of neurons",
            limits=(0.0, 1.0),
            mark_largest=False,
        )
    ]


def table_as_dots(summary: Rows) -> list[Figure]:
    """Table 1 as a picture: printed values against measured ones."""
    if not summary:
        return []
    quantities = [
        Quantity("test accuracy (%)", _dots(summary, "test_accuracy"), (45.0, 102.0), chance=50.0),
        Quantity("largest cosine", _dots(summary, "cosine"), (0.0, 1.02)),
    ]
    return [
        Dots(
            name="table",
            title="Measured and printed values",
            caption="The printed values of Table 1 beside ours; where only one of them exists, only that is shown.",
            alt="Test accuracy and cosine of each method, printed and measured",
            methods=[row["method"] for row in summary],
            quantities=quantities,
            interval="from the lowest to the highest seed",
        )
    ]


def strong_as_dots(summary: Rows) -> list[Figure]:
    """The converged classifiers against the network."""
    if not summary:
        return []
    dots = _dots(summary, "test_accuracy")
    return [
        Dots(
            name="table",
            title="The network and converged classifiers on fixed features",
            caption="Test accuracy over seeds; the vertical line is chance.",
            alt="The network near 100 per cent, every fixed feature map well below",
            methods=[row["method"] for row in summary],
            quantities=[Quantity("test accuracy (%)", dots, (45.0, 102.0), chance=50.0)],
            interval="from the lowest to the highest seed",
        )
    ]


def _dots(summary: Rows, quantity: str) -> list[Dot]:
    return [
        Dot(row[quantity], row[f"{quantity}_low"], row[f"{quantity}_high"], row.get(f"{quantity}_paper"))
        for row in summary
    ]


def _distribution(title: str, cosines: Any) -> Distribution:
    return Distribution(f"{title}: {cosines.min():.4f} – {cosines.max():.4f}", cosines)


def _first_network(finished: Finished) -> Any:
    runs = [run for label, run in finished.items() if label[0] == "Network" and run.outcome.status == "finished"]
    return runs[0].outcome.arrays if runs else None


def _nearest(cosines: Any, share: float = 0.9) -> Sequence[int]:
    """0 for neurons near +v, 1 near −v, −1 for the rest: within ``share`` of the largest cosine."""
    bound = share * abs(cosines).max()
    return [0 if value >= bound else 1 if value <= -bound else -1 for value in cosines]
