"""Pictures of the tables that need their own code: neurons as directions, and their cosines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beyondkernels.lab import Directions, Distribution, Drawn, Figure, Histogram, Panel, Rows, select

_MOMENTS = {0: "at initialisation", 1: "after step one", 2: "after step two"}


def neuron_directions(
    where: Mapping[str, str] | None = None, most: int | None = None
) -> Callable[[Drawn, Rows], list[Figure]]:
    """Figures 2 and 6 and their like: where the neurons point, for the first seed.

    Arguments:
        where: which rows.
        most: how many neurons are drawn, evenly from all; None for all.
    """

    def draw(picture: Drawn, rows: Rows) -> list[Figure]:
        run = _first_network(rows, where)
        if run is None or run.at("directions/points", 2, None) is None:
            return []
        near = _nearest(run.at("alignment/cosines", 2))
        shown = slice(None, None, 1 if most is None else -(-len(near) // most))
        panels = []
        for step, title in _MOMENTS.items():
            points = run.at("directions/points", step)
            largest = abs(run.at("alignment/cosines", step)).max()
            panels.append(Panel(title, points[:-2][shown], points[-2:], note=f"largest cosine {largest:.3f}"))
        return [
            Directions(
                **picture.words,
                panels=panels,
                star_labels=("+Σ Mⱼ", "−Σ Mⱼ"),
                near=near[shown],
                near_label="nearest after step two",
            )
        ]

    return draw


def cosine_distribution(picture: Drawn, rows: Rows) -> list[Figure]:
    """How all neurons are aligned at the three moments, for the first seed."""
    run = _first_network(rows)
    if run is None or run.at("alignment/cosines", 2, None) is None:
        return []
    return [
        Histogram(
            **picture.words,
            distributions=[_distribution(title, abs(run.at("alignment/cosines", s))) for s, title in _MOMENTS.items()],
            x_label="|cosine| with Σ Mⱼ",
            y_label="share of neurons",
            limits=(0.0, 1.0),
            mark_largest=False,
        )
    ]


def _distribution(title: str, cosines: Any) -> Distribution:
    return Distribution(f"{title}: {cosines.min():.4f} – {cosines.max():.4f}", cosines)


def _first_network(rows: Rows, where: Mapping[str, str] | None = None) -> Any:
    found = select(rows, {"method": "Network", "status": "finished", **(where or {})})
    return found["outcome"].iloc[0] if len(found) else None


def _nearest(cosines: Any, share: float = 0.9) -> Sequence[int]:
    """0 for neurons near +v, 1 near −v, −1 for the rest: within ``share`` of the largest cosine."""
    bound = share * abs(cosines).max()
    return [0 if value >= bound else 1 if value <= -bound else -1 for value in cosines]
