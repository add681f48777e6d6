"""Pictures that need their own code: neurons as directions, their cosines, and series over epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import beyondkernels as bk
from beyondkernels import lab

MOMENTS = {0: "at initialisation", 1: "after step one", 2: "after step two"}
DOTS = "Each dot is a neuron, placed by classical multidimensional scaling of the cosine distance."
_POINTS, _COSINES = "directions/points", "alignment/cosines"


def first_run(rows: lab.Rows, series: str, step: int, **where: Any) -> bk.core.Outcome | None:
    """The first finished run at a place, where it has a series at a step."""
    found = lab.select(rows, {**where, "status": "finished"})
    run = found["outcome"].iloc[0] if len(found) else None
    return None if run is None or run.at(series, step, None) is None else run


def neuron_map(
    picture: lab.Drawn,
    places: Sequence[Any],
    titles: Sequence[tuple[str, str]],
    star_labels: Sequence[str],
    near: Sequence[int],
    near_label: str = "neurons",
    star_kinds: Sequence[int] = (),
    most: int | None = None,
) -> list[lab.Figure]:
    """Neurons at several moments, beside stars.

    At each moment there are the places of the neurons, and of the stars after them, and what is written above and
    beneath. Each neuron is near a kind of star, or near none (−1); without kinds, each star is its own. At most so
    many neurons are drawn, evenly from all.
    """
    stars = len(star_kinds) or len(star_labels)
    shown = slice(None, None, 1 if most is None else -(-len(near) // most))
    panels = [
        lab.Panel(title, points[:-stars][shown], points[-stars:], note=note)
        for points, (title, note) in zip(places, titles, strict=True)
    ]
    marks: dict[str, Any] = {"star_labels": star_labels, "star_kinds": star_kinds}
    return [lab.Directions(**picture.words, panels=panels, near=near[shown], near_label=near_label, **marks)]


def two_steps(
    star_labels: Sequence[str],
    note: Callable[[Any], str],
    near: Callable[[Any], float],
    near_label: str = "neurons",
    most: int | None = None,
    **where: str,
) -> Callable[[lab.Drawn, lab.Rows], list[lab.Figure]]:
    """Figures 2, 6, 15 and their like: where the neurons of the first seed point before and after two steps.

    The stars are the direction of the ground truth and its opposite. From the cosines of all neurons with it come the
    note beneath, and after step two the size from which a neuron is near a star.
    """

    def draw(picture: lab.Drawn, rows: lab.Rows) -> list[lab.Figure]:
        run = first_run(rows, _POINTS, 2, method="Network", **where)
        if run is None:
            return []
        titles = [(title, note(run.at(_COSINES, step))) for step, title in MOMENTS.items()]
        places = [run.at(_POINTS, step) for step in MOMENTS]
        cosines = run.at(_COSINES, 2)
        bound = near(cosines)
        kinds = [0 if value >= bound else 1 if value <= -bound else -1 for value in cosines]
        return neuron_map(picture, places, titles, star_labels, kinds, near_label, most=most)

    return draw


def cosine_distribution(picture: lab.Drawn, rows: lab.Rows) -> list[lab.Figure]:
    """How all neurons are aligned at the three moments, for the first seed."""
    run = first_run(rows, _COSINES, 2, method="Network")
    if run is None:
        return []
    sizes = {title: abs(run.at(_COSINES, step)) for step, title in MOMENTS.items()}
    parts = [lab.Distribution(f"{title}: {each.min():.4f} – {each.max():.4f}", each) for title, each in sizes.items()]
    axes: dict[str, Any] = {"x_label": "|cosine| with Σ Mⱼ", "y_label": "share of neurons", "limits": (0.0, 1.0)}
    return [lab.Histogram(**picture.words, distributions=parts, **axes, mark_largest=False)]


@dataclass(frozen=True)
class OverEpochs(lab.OverTime):
    x: str = "epoch"
    steps_per_epoch: int = 1

    def _seeds(self, rows: lab.Rows, y: str) -> tuple[list[float], Any]:
        runs = list(lab.select(rows, {"status": "finished"}).get("outcome", ()))
        if not runs:
            return [], []
        steps = runs[0].over(y)[0]
        return [step / self.steps_per_epoch for step in steps], [self.factor * run.over(y)[1] for run in runs]
