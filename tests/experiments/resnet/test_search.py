"""The search against a second one that looks at the whole plane of settings."""

from __future__ import annotations

import itertools
import math

import pytest
from beyondkernels.experiments.resnet.search import Axis, Point, Search, number, position, searched

from beyondkernels.core import InputError
from beyondkernels.runs.sweep import one_two_five

WIDE = (1e-4, 1e2)
RATES, DECAYS = Axis((0.02, 0.05, 0.1), WIDE), Axis((0.002, 0.01, 0.05), WIDE)


def bowl(rate: float, decay: float, at: Point) -> float:
    return math.log(rate / at[0]) ** 2 + math.log(decay / at[1]) ** 2


def in_rounds(rates: Axis, decays: Axis, error, most: int = 1000) -> tuple[Search, list[int]]:
    """The search as an experiment does it: points are computed when they are asked for, round by round."""
    known: dict[Point, tuple[float, ...]] = {}
    rounds = []
    while True:
        search = searched(rates, decays, known.get)
        new = [point for point in search.points if point not in known]
        if not new:
            return search, rounds
        rounds.append(len(new))
        assert sum(rounds) <= most
        known |= {point: error(*point) for point in new}


def test_numbers_and_places() -> None:
    numbers = one_two_five(1e-6, 1e6)
    assert [number(place) for place in range(-18, 19)] == numbers
    assert [position(value) for value in numbers] == list(range(-18, 19))
    for value in (0.3, 0.0, -1.0, 2.5, math.inf, math.nan):
        with pytest.raises(InputError, match="1, 2 or 5 times a power of ten"):
            position(value)


def test_an_axis_goes_on_by_its_own_step() -> None:
    decays = Axis((0.002, 0.01, 0.05), WIDE)
    assert (decays.lower(), decays.higher()) == (0.0005, 0.2)
    assert (Axis((0.05,), WIDE).lower(), Axis((0.05,), WIDE).higher()) == (0.02, 0.1)
    ends = Axis((0.1, 0.2, 0.5), (0.1, 0.5))
    assert (ends.lower(), ends.higher()) == (None, None)
    assert Axis((0.2,), (0.1, 0.5)).grown([0.2]).values == (0.1, 0.2, 0.5)
    assert ends.grown([0.1, 0.5]) == ends
    assert decays.grown([0.01]) == decays


@pytest.mark.parametrize("at", [(0.05, 0.01), (0.5, 0.2), (0.001, 0.0005), (2.0, 0.01), (0.02, 5.0)])
def test_the_best_of_a_bowl_is_found_inside(at: Point) -> None:
    search, _ = in_rounds(RATES, DECAYS, lambda rate, decay: (bowl(rate, decay, at),))
    assert search.found is not None
    (found,) = search.found
    assert not found.on_edge
    # the second way: every number of the set, thinned as the axes are
    decays = [number(place) for place in range(position(0.01) - 8, position(0.01) + 12, 2)]
    rates = one_two_five(*WIDE)
    best = min(itertools.product(rates, decays), key=lambda point: bowl(*point, at))
    assert (found.point, found.error) == (best, bowl(*best, at))
    inside = (search.rates.values[1:-1], search.decays.values[1:-1])
    assert found.point[0] in inside[0] and found.point[1] in inside[1]


def test_a_grid_whose_best_is_inside_does_not_grow() -> None:
    search, rounds = in_rounds(RATES, DECAYS, lambda rate, decay: (bowl(rate, decay, (0.05, 0.01)),))
    assert rounds == [9]
    assert (search.rates, search.decays) == (RATES, DECAYS)


def test_every_criterion_is_followed() -> None:
    first, second = (0.2, 0.01), (0.05, 0.0005)
    search, _ = in_rounds(RATES, DECAYS, lambda rate, decay: (bowl(rate, decay, first), bowl(rate, decay, second)))
    assert search.found is not None
    assert [found.point for found in search.found] == [first, second]
    assert not any(found.on_edge for found in search.found)


def test_limits_end_the_search() -> None:
    rates, decays = Axis((0.02, 0.05, 0.1), (0.01, 0.5)), Axis((0.002, 0.01), (0.002, 0.2))
    search, rounds = in_rounds(rates, decays, lambda rate, decay: (decay - rate,))  # runs to 0.5 and stays at 0.002
    assert search.found is not None
    assert (search.found[0].point, search.found[0].on_edge) == ((0.5, 0.002), True)
    assert rounds == [6, 2, 2]


def test_divergence_is_infinitely_bad() -> None:
    def error(rate: float, decay: float) -> tuple[float]:
        return (math.inf if rate > 0.05 else bowl(rate, decay, (0.2, 0.01)),)

    search, _ = in_rounds(RATES, DECAYS, error)
    assert search.found is not None
    assert (search.found[0].point, search.found[0].on_edge) == ((0.05, 0.01), False)
    everything, _ = in_rounds(Axis((0.1,), (0.05, 0.2)), Axis((0.01,), (0.005, 0.02)), lambda *_: (math.inf,))
    assert everything.found is not None and everything.found[0].error == math.inf


def test_nothing_is_found_while_points_are_missing() -> None:
    scores = dict.fromkeys(Search(RATES, DECAYS).points, (1.0,))
    del scores[0.05, 0.01]
    search = searched(RATES, DECAYS, scores.get)
    assert search.found is None
    assert len(search.points) == 9
