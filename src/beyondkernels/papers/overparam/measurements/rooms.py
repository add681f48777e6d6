"""How much room the right sides of the coupling lemmas leave along a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from beyondkernels.papers.overparam.measurements.three_layer import allowed_radii, three_layer_bounds

_TINY = 1e-300  # where nothing changed at all a bound has all the room there is


def least_rooms(
    series: Mapping[str, Any], terms: Iterable[str], width: int | None = None
) -> tuple[dict[str, float | None], int]:
    """For each term the least ratio of right side to left side, over points and snapshots; and how many snapshots.

    Snapshots after the start count. With three layers those count that lie in the range of Lemmas 5.5 and 5.8, with
    the right sides of :func:`allowed_radii`; a term has no number where none does.

    Arguments:
        series: of :class:`TwoLayerCoupling` or :class:`ThreeLayerCoupling`, without ``coupling/`` in their names.
        terms: their names.
        width: m₁ = m₂ of three layers; None for two layers.

    >>> least_rooms({"gap_max": [0.0, 2.0, 4.0], "gap_bound": [0.0, 6.0, 8.0]}, ["gap"])
    ({'gap': 2.0}, 2)
    """
    names = list(terms)
    rights = {term: [float(each) for each in series[f"{term}_bound"]] for term in names}
    later = list(range(1, len(series[f"{names[0]}_bound"])))
    if width is not None:
        reached = list(zip(series["first_radius"], series["second_radius"], strict=True))
        allowed = {i: radii for i in later if (radii := allowed_radii(width, reached[i])) is not None}
        for i, radii in allowed.items():
            for term, right in three_layer_bounds((width, width), radii).items():
                rights[term][i] = right
        later = list(allowed)
    rooms = {
        term: min((right[i] / max(series[f"{term}_max"][i], _TINY) for i in later), default=None)
        for term, right in rights.items()
    }
    return rooms, len(later)
